"""What was killed, newest last, to be put back: the ring that users of readline know. Pure."""

from __future__ import annotations

MOST_KILLS = 32


class KillRing:
    """Texts that were killed, in the form of drafts."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._back = 0

    def add(self, text: str, *, backwards: bool, goes_on: bool) -> None:
        """A text was killed. One that `goes_on` from the kill right before it is one text with it;
        `backwards` says at which end."""
        if not text:
            return
        if goes_on and self._texts:
            last = self._texts.pop()
            text = text + last if backwards else last + text
        self._texts.append(text)
        del self._texts[:-MOST_KILLS]
        self._back = 0

    def newest(self) -> str:
        """The text that was killed last; empty when there is none."""
        self._back = 0
        return self._texts[-1] if self._texts else ""

    def before(self) -> str:
        """The text killed before the one that was given last, round and round."""
        self._back = (self._back + 1) % max(1, len(self._texts))
        return self._texts[-1 - self._back] if self._texts else ""
