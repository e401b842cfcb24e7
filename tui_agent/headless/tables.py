"""Tables of text for people.

In come rows of safe cells, out come aligned lines. On a terminal the one column that may give way
is cut until a line fits; in a pipe nothing is cut.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, TextIO

from tui_agent.text import cell_width, truncate

GAP: Final = "  "
_NARROWEST: Final = 8


def terminal_width(stream: TextIO) -> int | None:
    """Columns of the terminal behind `stream`; `None` when there is none."""
    try:
        if stream.isatty():
            return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        pass  # closed, or no real file: then it is no terminal
    return None


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None, gives_way: int
) -> list[str]:
    """The lines of a table. Column `gives_way` is cut so that lines have at most `width` cells."""
    everything = [head, *rows]
    widths = [max(cell_width(row[at]) for row in everything) for at in range(len(head))]
    if width is not None:
        others = sum(widths) - widths[gives_way] + len(GAP) * (len(head) - 1)
        widths[gives_way] = min(widths[gives_way], max(_NARROWEST, width - others))
    lines = []
    for row in everything:
        cells = [truncate(cell, room) for cell, room in zip(row, widths, strict=True)]
        padded = [
            cell + " " * (room - cell_width(cell)) for cell, room in zip(cells, widths, strict=True)
        ]
        lines.append(GAP.join(padded).rstrip())
    return lines
