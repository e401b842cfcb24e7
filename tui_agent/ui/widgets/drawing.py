"""From lines with tones to strips with colours, in the theme of the widget that draws them."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from tui_agent.ui.lines import Line, fit
from tui_agent.ui.themes import style_of


def strip_of(widget: Widget, content: Line, width: int, background: str | None = None) -> Strip:
    """`content` in exactly `width` cells. `background` names a theme variable, `None`: the
    widget's own."""
    variables = widget.app.theme_variables
    behind = widget.background_colors[1].hex if background is None else variables[background]
    segments = [
        Segment(piece.text, style_of(piece.tone, variables, behind))
        for piece in fit(content, width)
    ]
    return Strip(segments, width)


def blank_strip(widget: Widget, width: int) -> Strip:
    """An empty line on the widget's background."""
    return Strip.blank(width, Style(bgcolor=widget.background_colors[1].hex))
