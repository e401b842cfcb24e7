"""Picking one of several things from a list that can be filtered by typing."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from tui_agent.ui.dialogs.sizes import ROOMY
from tui_agent.ui.lines import Piece, Row, Tone, line
from tui_agent.ui.screens.closing import ClosesOnce
from tui_agent.ui.widgets.keys_bar import KeysBar
from tui_agent.ui.widgets.line_bar import LineBar
from tui_agent.ui.widgets.row_list import RowList


class Picker(ModalScreen[str | None], ClosesOnce[str | None]):
    """Answers with the key of the chosen row, or `None`. `rows_for` gives the rows for a filter."""

    def __init__(
        self,
        title: str,
        rows_for: Callable[[str], tuple[Row, ...]],
        *,
        empty: str,
        does: str = "takes it",
        filter_hint: str = "type to filter",
    ) -> None:
        super().__init__()
        self._title = title
        self._rows_for = rows_for
        self._does = does
        self._field = Input(placeholder=filter_hint, id="dialog-field")
        self._options = RowList(empty=empty, id="dialog-options")

    def compose(self) -> ComposeResult:
        """Title, filter, list, keys."""
        with Vertical(id="dialog", classes="tall"):
            yield LineBar(line(Piece(self._title, Tone.STRONG)), id="dialog-head")
            yield self._field
            yield self._options
            yield KeysBar(("Enter", self._does), ("Esc", "closes"), id="dialog-choices")

    def on_mount(self) -> None:
        """Show everything, ready to filter."""
        self.redraw()
        self._field.focus()

    def redraw(self) -> None:
        """Take the rows anew."""
        self._options.set_rows(self._rows_for(self._field.value))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter."""
        event.stop()
        self.redraw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the row under the cursor."""
        event.stop()
        if self._options.cursor_key is not None:
            _ = self.dismiss(self._options.cursor_key)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Take a row."""
        event.stop()
        _ = self.dismiss(event.key)

    def on_resize(self) -> None:
        """Without blank lines where the screen is low."""
        self.query_one("#dialog").set_class(self.app.size.height < ROOMY, "tight")

    def on_key(self, event: events.Key) -> None:
        """Arrows move in the list while the filter has the focus; Esc closes."""
        moves = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}
        if event.key == "escape":
            event.stop()
            _ = self.dismiss(None)
        elif event.key in moves and self._field.has_focus:
            event.stop()
            self._options.action_move(moves[event.key])
