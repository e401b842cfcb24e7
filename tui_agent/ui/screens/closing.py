"""Screens that lie over the workspace, and that a person closes with a key."""

from __future__ import annotations

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import Screen
from typing_extensions import override

Answer = TypeVar("Answer")


class ClosesOnce(Screen[Answer]):
    """Closes once. Over a slow line two keys that close may come in one burst, and for the second
    Textual would take away whatever screen is on top by then, or fail at the last one.

    Stands behind `ModalScreen` among the bases: Textual takes styles from the first one only.
    """

    @override
    def dismiss(self, result: Answer | None = None) -> AwaitComplete:
        """Close with an answer; nothing when the screen has closed or something lies over it."""
        return super().dismiss(result) if self.is_current else AwaitComplete()
