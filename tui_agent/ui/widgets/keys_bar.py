"""The keys at the foot of a dialog, in as many lines as they need: a key that is cut is no help."""

from __future__ import annotations

from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget
from typing_extensions import override

from tui_agent.ui.lines import keys_lines, text_of
from tui_agent.ui.widgets.drawing import blank_strip, strip_of


class KeysBar(Widget, can_focus=False):
    """Draws keys and what they do."""

    DEFAULT_CSS = """
    KeysBar { height: auto; width: 1fr; }
    """

    def __init__(self, *keys: tuple[str, str], id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._keys = keys

    @property
    def plain(self) -> str:
        """What it says, for tests."""
        return text_of(keys_lines(self._keys, 1_000))

    @override
    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as the keys need it."""
        return len(keys_lines(self._keys, width))

    def render_line(self, y: int) -> Strip:
        """One line as a strip."""
        width = self.size.width
        lines = keys_lines(self._keys, width)
        return strip_of(self, lines[y], width) if y < len(lines) else blank_strip(self, width)
