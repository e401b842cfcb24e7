"""Tables set to a width: columns as wide as they need, shrunk fairly when there is no room.

No frame: two blanks between columns and one rule below the head. Where the columns would become
too narrow to read, each row is set as a list of `head: value` instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tui_agent.text import cell_width
from tui_agent.ui.transcript.lines import EMPTY, Line, Run, wrap_runs

_GAP: Final = 2
_NARROWEST: Final = 6


class Cell(NamedTuple):
    """The content of one cell; `align` is left, center or right."""

    runs: list[Run]
    align: str

    @property
    def width(self) -> int:
        """Cells the content takes in one line."""
        return sum(cell_width(run.text) for run in self.runs)


def table_lines(rows: Sequence[Sequence[Cell]], width: int, rule: str) -> list[Line]:
    """The lines of a table whose first row is its head."""
    natural = [max(1, *(cell.width for cell in column)) for column in zip(*rows, strict=True)]
    widths = _shrunk(natural, width - _GAP * (len(natural) - 1))
    if widths is None:
        return _stacked(rows, width)
    lines = _row_lines(rows[0], widths)
    lines.append(Line((Run((" " * _GAP).join(rule * size for size in widths), "rule"),)))
    is_wrapped = any(
        cell.width > size for row in rows for cell, size in zip(row, widths, strict=True)
    )
    for index, row in enumerate(rows[1:]):
        if is_wrapped and index:
            # Without an empty line, rows of several lines cannot be told apart.
            lines.append(EMPTY)
        lines.extend(_row_lines(row, widths))
    return lines


def _shrunk(natural: list[int], room: int) -> list[int] | None:
    """Widths that fit into `room`: narrow columns keep theirs, wide ones share the rest."""
    if sum(natural) <= room:
        return natural
    if room < sum(min(size, _NARROWEST) for size in natural):
        return None
    widths = [0] * len(natural)
    left = room
    by_size = sorted(range(len(natural)), key=natural.__getitem__)
    for place, column in enumerate(by_size):
        share = left // (len(by_size) - place)
        widths[column] = min(natural[column], share)
        left -= widths[column]
    return widths


def _row_lines(row: Sequence[Cell], widths: Sequence[int]) -> list[Line]:
    columns = [wrap_runs(cell.runs, size) for cell, size in zip(row, widths, strict=True)]
    lines = []
    for index in range(max(map(len, columns))):
        runs: list[Run] = []
        for column, cell, size in zip(columns, row, widths, strict=True):
            if runs:
                runs.append(Run(" " * _GAP))
            line = column[index] if index < len(column) else EMPTY
            space = max(0, size - line.width)
            before = {"right": space, "center": space // 2}.get(cell.align, 0)
            if before:
                runs.append(Run(" " * before))
            runs.extend(line.runs)
            if space - before:
                runs.append(Run(" " * (space - before)))
        lines.append(Line(tuple(runs)))
    return lines


def _stacked(rows: Sequence[Sequence[Cell]], width: int) -> list[Line]:
    head, *body = rows
    lines: list[Line] = []
    for row in body or [head]:
        if lines:
            lines.append(EMPTY)
        for name, cell in zip(head, row, strict=True):
            label = [*name.runs, Run(": ", "table-head")] if row is not head else []
            lines.extend(wrap_runs([*label, *cell.runs], width))
    return lines
