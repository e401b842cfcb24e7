"""Things that need the same key twice, soon after another and with nothing done in between."""

from __future__ import annotations

from time import monotonic

CONFIRM_SECONDS = 3.0
"""How long "press again" holds."""


class SecondPress:
    """Which key waits for its second press."""

    def __init__(self) -> None:
        self._armed: tuple[str, float] = ("", 0.0)

    def is_here(self, what: str) -> bool:
        """Whether this is the second press; the first one makes the next the second."""
        armed, since = self._armed
        if armed == what and monotonic() - since < CONFIRM_SECONDS:
            self.disarm()
            return True
        self._armed = (what, monotonic())
        return False

    def disarm(self) -> None:
        """Something else was done: "press again" no longer holds."""
        self._armed = ("", 0.0)
