"""A text over the workspace that a person reads and closes: a call, a check, a report."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from tui_agent.ui.dialogs.sizes import ROOMY
from tui_agent.ui.lines import Line
from tui_agent.ui.screens.closing import ClosesOnce
from tui_agent.ui.widgets.keys_bar import KeysBar
from tui_agent.ui.widgets.line_bar import LineBar
from tui_agent.ui.widgets.pager import Pager


class ReadingScreen(ModalScreen[None], ClosesOnce[None]):
    """Shows what `lines` gives; `redraw` takes it anew, so that a running call can be watched."""

    def __init__(self, title: Line, lines: Callable[[], list[Line]]) -> None:
        super().__init__()
        self._title = title
        self._lines = lines

    def compose(self) -> ComposeResult:
        """Title, text, keys."""
        with Vertical(id="dialog", classes="wide tall"):
            yield LineBar(self._title, id="dialog-head")
            yield Pager(self._lines(), id="dialog-body")
            yield KeysBar(("Up Down PgUp PgDn", "read"), ("Esc", "closes"), id="dialog-choices")

    def on_mount(self) -> None:
        """Ready to scroll."""
        self._pager = self.query_one(Pager)
        self._pager.focus()
        self._shown = self._lines()

    def redraw(self) -> None:
        """Take the text anew, when it changed."""
        lines = self._lines()
        if self.is_mounted and lines != self._shown:
            self._shown = lines
            self._pager.set_lines(lines)

    def on_resize(self) -> None:
        """Without blank lines where the screen is low."""
        self.query_one("#dialog").set_class(self.app.size.height < ROOMY, "tight")

    def on_key(self, event: events.Key) -> None:
        """Esc and q close."""
        if event.key in ("escape", "q"):
            event.stop()
            _ = self.dismiss(None)
