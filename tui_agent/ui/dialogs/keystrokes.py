"""What a key says of the person who pressed it: whether it is part of writing a text.

Only text counts as typing: letters and the keys that end or mend a line. Moving about does not.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from textual import events

SCROLL_KEYS = frozenset("jkgG")
"""Letters that scroll what a dialog shows."""

_MENDING = frozenset({"enter", "ctrl+j", "backspace", "delete", "ctrl+w", "ctrl+u"})


def is_typed(event: events.Key) -> bool:
    """Whether it is part of writing a text."""
    return event.is_printable or event.key in _MENDING


def with_key(text: str, event: events.Key) -> str:
    """`text` after this key, had it gone into a field."""
    if event.key in ("enter", "ctrl+j"):
        return f"{text}\n"
    if event.key == "backspace":
        return text[:-1]
    return text + (event.character or "") if event.is_printable else text


def is_prose(text: str, own_keys: AbstractSet[str]) -> bool:
    """Whether a burst of typing was meant for something else than a dialog with these keys. A key
    that is tried on the dialog, alone or over and over, is not."""
    letters = set(text.strip()) - SCROLL_KEYS
    return bool(letters - own_keys) or len(letters) > 1
