"""Keys that terminals without the Kitty protocol send and Textual 8.2 does not tell apart."""

from __future__ import annotations

from enum import Enum
from typing import cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS


class _Key(Enum):
    ALT_ENTER = "alt+enter"
    ALT_BACKSPACE = "alt+backspace"


def teach_keys() -> None:
    """Let Textual know Alt+Enter and Alt+Backspace as escape and the key: unknown, the first would
    come as a plain Enter and the second as Ctrl+W. Doing it twice changes nothing."""
    known = cast("dict[str, tuple[object, ...]]", ANSI_SEQUENCES_KEYS)
    known["\x1b\r"] = known["\x1b\n"] = (_Key.ALT_ENTER,)
    known["\x1b\x7f"] = known["\x1b\x08"] = (_Key.ALT_BACKSPACE,)
