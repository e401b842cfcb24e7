"""A list of rows with a cursor: one widget whatever the number of rows.

Rows come from a projection and are replaced as a whole; the cursor stays on the row with the same
key. With `follows`, the newest (last) row stays in view as long as nobody moved away from it.
"""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_agent.text import wrap
from tui_agent.ui.lines import Row, note, text_of
from tui_agent.ui.widgets.drawing import blank_strip, strip_of


class RowList(ScrollView, can_focus=True):
    """Draws rows; Enter or a click chooses one."""

    DEFAULT_CSS = """
    RowList { height: 1fr; width: 1fr; scrollbar-size: 0 0; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "move(-10)", "Page up", show=False),
        Binding("pagedown", "move(10)", "Page down", show=False),
        Binding("home,g", "move(-1000000)", "First", show=False),
        Binding("end,G", "move(1000000)", "Last", show=False),
        Binding("enter", "choose", "Open", show=False),
    ]

    class Chosen(Message):
        """A row was chosen."""

        def __init__(self, rows: RowList, key: str) -> None:
            super().__init__()
            self.rows = rows
            self.key = key

        @property
        def control(self) -> RowList:
            """The list it was chosen in."""
            return self.rows

    def __init__(
        self,
        *,
        empty: str = "",
        follows: bool = False,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self._empty = empty
        self._follows = follows
        self._rows: tuple[Row, ...] = ()
        self._places: list[tuple[int, int]] = []  # y: (row, line of the row)
        self._tops: list[int] = []
        self._cursor = 0

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows as they are."""
        return self._rows

    @property
    def cursor_key(self) -> str | None:
        """The key of the row under the cursor."""
        return self._rows[self._cursor].key if self._rows else None

    @property
    def plain(self) -> str:
        """What it shows, for tests."""
        if not self._rows:
            return self._empty
        return "\n".join(text_of(row.lines) for row in self._rows)

    def set_rows(self, rows: tuple[Row, ...]) -> None:
        """Show these rows from now on."""
        if rows == self._rows:
            return
        was_last = self._cursor >= len(self._rows) - 1
        key = self.cursor_key
        self._rows = rows
        self._places = [(at, y) for at, row in enumerate(rows) for y in range(len(row.lines))]
        self._tops = []
        top = 0
        for row in rows:
            self._tops.append(top)
            top += len(row.lines)
        keys = [row.key for row in rows]
        if self._follows and was_last and not (self.has_focus and key in keys[:-1]):
            self._cursor = max(0, len(rows) - 1)
        elif key in keys:
            self._cursor = keys.index(key)
        else:
            self._cursor = min(self._cursor, max(0, len(rows) - 1))
        if self.virtual_size.height != len(self._places):
            self.virtual_size = Size(self.size.width, len(self._places))
        self._show_cursor()
        self.refresh()

    def go_to(self, key: str) -> None:
        """Put the cursor on the row of that key."""
        for at, row in enumerate(self._rows):
            if row.key == key:
                self._cursor = at
                self._show_cursor()
                self.refresh()

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        if self._rows:
            self._cursor = max(0, min(len(self._rows) - 1, self._cursor + by))
            self._show_cursor()
            self.refresh()

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        key = self.cursor_key
        if key is not None:
            self.post_message(self.Chosen(self, key))

    def on_click(self, event: events.Click) -> None:
        """A click chooses what is under it."""
        y = event.y - self.gutter.top + self.scroll_offset.y
        if 0 <= y < len(self._places):
            self._cursor = self._places[y][0]
            self.refresh()
            self.action_choose()

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._show_cursor()

    def render_line(self, y: int) -> Strip:
        """One line as a strip."""
        width = self.scrollable_content_region.width
        if not self._rows:
            return self._empty_line(y, width)
        at = y + self.scroll_offset.y
        if at >= len(self._places):
            return blank_strip(self, width)
        row, part = self._places[at]
        background = "selected" if self.has_focus and row == self._cursor else None
        return strip_of(self, self._rows[row].lines[part], width, background)

    def _empty_line(self, y: int, width: int) -> Strip:
        lines = wrap(self._empty, width) if self._empty and width > 0 else []
        if y >= len(lines):
            return blank_strip(self, width)
        return strip_of(self, note(lines[y]), width)

    def _show_cursor(self) -> None:
        if self._rows and self.size.height:
            top = self._tops[self._cursor]
            height = len(self._rows[self._cursor].lines)
            self.scroll_to_region(
                Region(0, top, 1, min(height, self.size.height)), animate=False, force=True
            )
