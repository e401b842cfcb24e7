"""Asking for one line of text, or for a plain yes."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from tui_agent.ui.lines import Line, Piece, Tone, line
from tui_agent.ui.screens.closing import ClosesOnce
from tui_agent.ui.widgets.keys_bar import KeysBar
from tui_agent.ui.widgets.line_bar import LineBar


class AskText(ModalScreen[str | None], ClosesOnce[str | None]):
    """Answers with what was written, or `None`."""

    def __init__(self, title: str, value: str = "", placeholder: str = "") -> None:
        super().__init__()
        self._title = title
        self._value = value
        self._placeholder = placeholder

    def compose(self) -> ComposeResult:
        """Title, field, keys."""
        with Vertical(id="dialog"):
            yield LineBar(line(Piece(self._title, Tone.STRONG)), id="dialog-head")
            yield Input(self._value, placeholder=self._placeholder, id="dialog-field")
            yield KeysBar(("Enter", "takes it"), ("Esc", "closes"), id="dialog-choices")

    def on_mount(self) -> None:
        """Ready to write."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take it."""
        event.stop()
        _ = self.dismiss(event.value.strip() or None)

    def on_key(self, event: events.Key) -> None:
        """Esc closes."""
        if event.key == "escape":
            event.stop()
            _ = self.dismiss(None)


class Confirm(ModalScreen[bool], ClosesOnce[bool]):
    """Answers with whether the person said yes."""

    def __init__(self, *lines: Line, yes: str) -> None:
        super().__init__()
        self._lines = lines
        self._yes = yes

    def compose(self) -> ComposeResult:
        """What would happen, and the two keys."""
        with Vertical(id="dialog"):
            yield LineBar(*self._lines, id="dialog-head")
            yield KeysBar(("y", self._yes), ("Esc", "closes"), id="dialog-choices")

    def on_key(self, event: events.Key) -> None:
        """Only y is a yes."""
        event.stop()
        if event.key == "y":
            _ = self.dismiss(True)
        elif event.key in ("escape", "n"):
            _ = self.dismiss(False)
