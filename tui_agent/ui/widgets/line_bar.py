"""A widget of one or a few lines that are set from outside. With a fixed height, setting
them never causes a layout."""

from __future__ import annotations

from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget
from typing_extensions import override

from tui_agent.ui.lines import Line, text_of
from tui_agent.ui.widgets.drawing import blank_strip, strip_of


class LineBar(Widget, can_focus=False):
    """Draws its lines, cut to its width."""

    DEFAULT_CSS = """
    LineBar { height: 1; width: 1fr; }
    """

    def __init__(self, *lines: Line, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._lines = lines

    @property
    def plain(self) -> str:
        """What it says, for tests."""
        return text_of(self._lines)

    @property
    def lines(self) -> tuple[Line, ...]:
        """What it draws."""
        return self._lines

    def set_lines(self, *lines: Line) -> None:
        """Draw these from now on."""
        if lines != self._lines:
            grows = len(lines) != len(self._lines) and self._is_as_high_as_its_lines
            self._lines = lines
            self.refresh(layout=grows)

    @override
    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One row a line, where the stylesheet asks for as much."""
        return len(self._lines)

    @property
    def _is_as_high_as_its_lines(self) -> bool:
        height = self.styles.height
        return height is not None and height.is_auto

    def render_line(self, y: int) -> Strip:
        """One line as a strip."""
        width = self.size.width
        if y >= len(self._lines):
            return blank_strip(self, width)
        return strip_of(self, self._lines[y], width)
