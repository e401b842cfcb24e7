"""A field of a dialog: remembers what stood in it when Enter was pressed."""

from __future__ import annotations

from textual import events
from textual.widgets import Input


class AnswerField(Input):
    """One line of text that Enter ends. Over a slow line more keys may be in it by the time the
    dialog hears of Enter; `ended` is without them."""

    ended = ""

    async def _on_key(self, event: events.Key) -> None:
        # Textual calls the handler of `Input` after this one.
        if event.key == "enter":
            self.ended = self.value
