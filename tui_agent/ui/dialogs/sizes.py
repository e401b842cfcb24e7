"""How much of the screen the parts of a dialog get, and what it says where there is too little."""

from __future__ import annotations

from tui_agent.text import cell_width, wrap
from tui_agent.ui.lines import Line, Piece, Tone, line, text_of

FRAME_ROWS = 2
"""Rows of a dialog's own edge."""
ROOMY = 20
"""Rows of the screen from which a dialog has blank lines between its parts."""


def room_for_body(screen_height: int, fixed_rows: int, gaps: int) -> tuple[int, bool]:
    """Rows left for what scrolls, so that the keys below it are always on screen, and whether the
    parts must do without blank lines between them. No room is 0 or less."""
    is_tight = screen_height < ROOMY
    used = FRAME_ROWS + fixed_rows + (0 if is_tight else gaps)
    return screen_height - used, is_tight


def fits(lines: list[Line], width: int) -> bool:
    """Whether every line can be drawn whole."""
    return all(cell_width(text_of([each])) <= width for each in lines)


def too_small(screen_height: int, width: int) -> list[Line]:
    """What a dialog says that cannot show what it asks, as long as there is room for."""
    rows = max(1, screen_height - FRAME_ROWS)
    parts = [wrap(text, width) for text in _TOO_SMALL]
    said = next((each for each in parts if len(each) <= rows), parts[-1])
    return [line(Piece(part, Tone.WAITING)) for part in said[:rows]]


_TOO_SMALL = (
    "The terminal is too small to show what is asked. Make it larger to decide. Esc closes.",
    "Too small to show what is asked. Esc closes.",
    "Too small to ask. Esc closes.",
)
