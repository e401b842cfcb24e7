"""What every dialog that answers something has in common: it takes no key typed for something else.

A dialog opens without being asked for, so keys may be under way that were meant for the composer.
For the first moments after it opened every key is ignored, counted from when the key was typed and
not from when it is handled.
"""

from __future__ import annotations

from time import monotonic
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.screen import ModalScreen

GUARD_SECONDS = 0.4
"""How long a dialog ignores keys after it opened, and how long typing must rest before it opens."""


class GuardedDialog(ModalScreen[None]):
    """A modal dialog that Esc closes and that ignores keys at first."""

    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, *, guard_seconds: float = GUARD_SECONDS) -> None:
        super().__init__()
        self._guard_seconds = guard_seconds
        self._opened: float | None = None
        self._has_left = False

    def on_mount(self) -> None:
        """From here on it can be seen."""
        self._opened = monotonic()

    def is_early(self, event: events.Key) -> bool:
        """Whether the key was typed before a person can have read the dialog."""
        return self._opened is None or event.time - self._opened < self._guard_seconds

    async def on_key(self, event: events.Key) -> None:
        """Keys that no focused field took."""
        if self.is_early(event):
            event.stop()
            event.prevent_default()
        elif event.key == "escape":
            event.stop()
            await self.on_escape()
        elif await self.take_key(event.key):
            event.stop()
            event.prevent_default()

    async def on_escape(self) -> None:
        """Close; whatever was asked stays open."""
        self.leave()

    def leave(self) -> None:
        """Close, once: the answer and the news that the item is resolved may both ask for it, and
        Textual would pop whatever screen is on top then."""
        if not self._has_left and self.is_current:
            self._has_left = True
            _ = self.dismiss(None)

    async def take_key(self, key: str) -> bool:
        """Act on a key; whether it meant something."""
        raise NotImplementedError


FRAME_ROWS = 2
"""Rows of a dialog's own edge."""
ROOMY = 20
"""Rows of the screen from which a dialog has blank lines between its parts."""


def room_for_body(screen_height: int, fixed_rows: int, gaps: int) -> tuple[int, bool]:
    """Rows left for what scrolls, so that the keys below it are always on screen, and whether the
    parts must do without blank lines between them."""
    is_tight = screen_height < ROOMY
    used = FRAME_ROWS + fixed_rows + (0 if is_tight else gaps)
    return max(1, screen_height - used), is_tight
