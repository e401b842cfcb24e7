"""Walking through what was sent before, with the draft and every change made on the way kept.

Like the history of a shell: a step up from what is typed goes to the newest prompt that begins with
it (any prompt, when none does), and steps down lead back to what was typed. Pure: no Textual.
"""

from __future__ import annotations

from collections.abc import Sequence


class History:
    """One walk at a time; `older` begins it, `end` ends it."""

    def __init__(self) -> None:
        self._entries: tuple[str, ...] = ()
        self._at = 0
        self._draft = ""
        self._changed: dict[str, str] = {}

    @property
    def waiting_draft(self) -> str:
        """What was typed before the walk, while something sent before is in its place."""
        return self._draft if self._entries else ""

    def older(self, current: str, sent: Sequence[str]) -> str | None:
        """What was sent before `current`, which is kept; `None` when there is nothing older. A walk
        that begins goes through `sent`, oldest first."""
        if self._entries:
            self._keep(current)
        else:
            self._entries = _found(current, sent)
            self._at = len(self._entries)
            self._draft = current
        if self._at == 0:
            return None
        self._at -= 1
        return self._entry()

    def newer(self, current: str) -> str | None:
        """What was sent after `current`, in the end the draft; `None` when nothing is walked."""
        if not self._entries:
            return None
        self._keep(current)
        self._at += 1
        if self._at < len(self._entries):
            return self._entry()
        self._entries = ()
        return self._draft

    def end(self) -> None:
        """Something was sent, or another session is shown."""
        self._entries = ()
        self._draft = ""
        self._changed.clear()

    def _keep(self, current: str) -> None:
        if current != self._entries[self._at]:
            self._changed[self._entries[self._at]] = current

    def _entry(self) -> str:
        entry = self._entries[self._at]
        return self._changed.get(entry, entry)


def _found(current: str, sent: Sequence[str]) -> tuple[str, ...]:
    """Each prompt once, at its newest place."""
    newest_first = dict.fromkeys(text for text in reversed(sent) if text and text != current)
    matching = tuple(text for text in newest_first if text.startswith(current))
    return tuple(reversed(matching or tuple(newest_first)))
