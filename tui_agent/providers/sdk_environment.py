"""What the SDKs would take from the environment behind our back, taken out again.

Both SDKs send headers from a variable of their own to whatever server they are pointed at. A
session says where its requests go and with what, so nothing else may travel along.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from tui_agent.vocabulary.errors import ErrorClass, ProviderError

CONNECT_SECONDS = 4.0
"""Bound of one connection attempt: two of them fit into the ten seconds after which we give up."""


def ambient_header_names(environ: Mapping[str, str], variable: str) -> tuple[str, ...]:
    """The names of the headers that the SDK reads from `variable` (lines of `Name: value`)."""
    lines = environ.get(variable, "").split("\n")
    return tuple(line.split(":", 1)[0].strip() for line in lines if ":" in line)


def silence_deprecations() -> None:
    """Keeps the SDKs from printing that a model is deprecated onto the screen."""
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"tui_agent\.providers")
    warnings.filterwarnings("ignore", message="The model ", category=DeprecationWarning)


def usable_key(key: str | None, provider: str) -> str:
    """`key` as a header can carry it. Raises `ProviderError` when none can."""
    key = (key or "").strip()
    if not key:
        raise ProviderError(
            ErrorClass.AUTH, f"There is no API key for {provider}", "Set one and start again."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ProviderError(
            ErrorClass.AUTH,
            f"The API key for {provider} holds a character that no key has",
            "Copy it again, without spaces, quotes or line breaks.",
        )
    return key
