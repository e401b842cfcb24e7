"""A text to read and scroll: wrapped to the width without leaving anything out, drawn as needed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from typing_extensions import override

from tui_agent.ui.lines import Line, text_of, wrapped
from tui_agent.ui.widgets.drawing import blank_strip, strip_of


class Pager(ScrollView, can_focus=True):
    """Shows lines, wrapped; arrows and page keys scroll."""

    DEFAULT_CSS = """
    Pager { height: auto; width: 1fr; scrollbar-size: 0 1; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "scroll_up", "Up", show=False),
        Binding("j", "scroll_down", "Down", show=False),
        Binding("g", "scroll_home", "Top", show=False),
        Binding("G", "scroll_end", "End", show=False),
    ]

    def __init__(self, lines: Iterable[Line] = (), *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._lines = list(lines)
        self._wrapped: list[Line] = []
        self._width = -1

    @property
    def plain(self) -> str:
        """What it says, for tests."""
        return text_of(self._lines)

    @property
    def is_at_end(self) -> bool:
        """Whether the last line is in view."""
        return self.scroll_offset.y >= self.max_scroll_y

    def set_lines(self, lines: Iterable[Line]) -> None:
        """Show these lines from now on, from where the reader is."""
        self._lines = list(lines)
        self._width = -1
        self._wrap(self.content_region.width)
        self.refresh(layout=True)

    @override
    def get_content_width(self, container: Size, viewport: Size) -> int:
        """As wide as it may be."""
        return container.width

    @override
    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as the wrapped text."""
        self._wrap(width)
        return max(1, len(self._wrapped))

    def on_resize(self) -> None:
        """Wrap anew."""
        self._wrap(self.content_region.width)

    def render_line(self, y: int) -> Strip:
        """One line as a strip."""
        width = self.scrollable_content_region.width
        at = y + self.scroll_offset.y
        if at >= len(self._wrapped):
            return blank_strip(self, width)
        return strip_of(self, self._wrapped[at], width)

    def _wrap(self, width: int) -> None:
        """Wrap for a widget of this width. The last column is the scrollbar's even while there is
        none: nothing may ever stand beneath it."""
        width = max(1, width - 1) if width > 0 else 0
        if width <= 0 or width == self._width:
            return
        self._width = width
        self._wrapped = [part for each in self._lines for part in wrapped(each, width)]
        size = Size(width, len(self._wrapped))
        if size != self.virtual_size:
            self.virtual_size = size
