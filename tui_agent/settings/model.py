"""What can be set, as frozen data, and what must hold of it beyond the types.

These are plain dataclasses so that a surface can read them without loading pydantic; `load` holds
files against them with pydantic, strictly, unknown keys refused. The docstring of a field is its
description for people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal
from urllib.parse import urlsplit

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_NO_EXTRA: Final = {"extra": "forbid"}

Theme = Literal["dark", "light"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model is to think; `vocabulary.agents.EFFORTS` as a type."""
KeyPath = tuple[str | int, ...]
"""The way to a value: `("models", "my-local", "window")`."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model answers when neither a flag nor the session says so."""

    __pydantic_config__: ClassVar = _NO_EXTRA

    provider: str | None = None
    """Name of a provider: anthropic, openai, gemini, deepseek, kimi, glm, compatible, demo, …"""
    id: str | None = None
    """The model's id, as the provider writes it."""
    base_url: str | None = None
    """Address of the provider's API, when it is not the usual one."""
    effort: Effort | None = None
    """How much a model is to think. A level that the model does not know is not asked for."""


@dataclass(frozen=True, slots=True)
class PriceSettings:
    """What a model costs, in USD per million tokens. Left out means unknown, not free."""

    __pydantic_config__: ClassVar = _NO_EXTRA

    input: float | None = None
    """Fresh prompt tokens."""
    output: float | None = None
    """Generated tokens."""
    cache_read: float | None = None
    """Prompt tokens read from the provider's cache."""
    cache_write: float | None = None
    """Prompt tokens written to the provider's cache."""


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """Facts about one model; they extend or correct the shipped catalogue."""

    __pydantic_config__: ClassVar = _NO_EXTRA

    provider: str | None = None
    """Name of the provider that offers it."""
    base_url: str | None = None
    """Address of the API that offers it."""
    window: int | None = None
    """Context window in tokens."""
    max_output: int | None = None
    """Most tokens of one response."""
    price: PriceSettings = field(default_factory=PriceSettings)
    """What it costs."""
    effort: Effort | None = None
    """How much it is to think; goes before the level for all models."""
    options: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    """Extra fields of the request, sent as they are: `{ temperature = 0 }`."""


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """Bounds of a turn. Left out means the default of the surface."""

    __pydantic_config__: ClassVar = _NO_EXTRA

    max_turns: int | None = None
    """Most model responses in a row without a new prompt."""
    max_session_tokens: int | None = None
    """Most tokens of a session, its subagents included."""
    repeat_limit: int | None = None
    """Stop after so many equal calls with equal results."""


@dataclass(frozen=True, slots=True)
class PermissionSettings:
    """Permission rules, as `Tool` or `Tool(exact text)`. Deny beats ask beats allow."""

    __pydantic_config__: ClassVar = _NO_EXTRA

    allow: tuple[str, ...] = ()
    """Runs without asking. Never taken from a project's files."""
    ask: tuple[str, ...] = ()
    """Asks, whatever the mode."""
    deny: tuple[str, ...] = ()
    """Never runs."""


@dataclass(frozen=True, slots=True)
class UiSettings:
    """How the workspace looks."""

    __pydantic_config__: ClassVar = _NO_EXTRA

    theme: Theme | None = None
    """Colours for a dark or a light terminal."""
    ascii: bool = False
    """Draw marks and borders with ASCII characters only."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set."""

    __pydantic_config__: ClassVar = _NO_EXTRA

    model: ModelSettings = field(default_factory=ModelSettings)
    """Which model answers."""
    models: Mapping[str, ModelEntry] = field(default_factory=lambda: NOTHING)
    """Facts about models, by model id."""
    limits: LimitSettings = field(default_factory=LimitSettings)
    """Bounds of a turn."""
    permissions: PermissionSettings = field(default_factory=PermissionSettings)
    """What may run."""
    ui: UiSettings = field(default_factory=UiSettings)
    """How the workspace looks."""


def address_problem(address: str) -> str | None:
    """What is wrong with the base URL `address`; `None` when it is one."""
    try:
        parts = urlsplit(address)
        has_place = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        has_place = False
    if has_place and address.isprintable() and " " not in address:
        return None
    return "is not an address: write it as http://host:port/path or https://host/path"


def problems(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    """What the types cannot say: each problem with the way to its value."""
    if (address := settings.model.base_url) is not None and (text := address_problem(address)):
        yield ("model", "base_url"), text
    for name in ("max_turns", "max_session_tokens", "repeat_limit"):
        yield from _below_one(("limits", name), getattr(settings.limits, name))
    for name, entry in settings.models.items():
        if (address := entry.base_url) is not None and (text := address_problem(address)):
            yield ("models", name, "base_url"), text
        yield from _below_one(("models", name, "window"), entry.window)
        yield from _below_one(("models", name, "max_output"), entry.max_output)
        for kind in ("input", "output", "cache_read", "cache_write"):
            price = getattr(entry.price, kind)
            if price is not None and not 0 <= price < float("inf"):
                yield ("models", name, "price", kind), "must be a number, 0 or more"


def _below_one(path: KeyPath, value: int | None) -> Iterator[tuple[KeyPath, str]]:
    if value is not None and value < 1:
        yield path, "must be 1 or more; leave it out for no bound of your own"
