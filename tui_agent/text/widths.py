"""How wide text is on a terminal, and cutting it without breaking a character.

In: text that is already safe. Out: numbers of cells, and pieces cut between grapheme clusters, so
that no accent loses its letter and no wide character hangs over an edge. A cell is one column.
"""

from collections.abc import Iterable
from typing import Literal, assert_never

from wcwidth import iter_graphemes, wcswidth


def cell_width(text: str) -> int:
    """Columns that `text` takes in one line; control characters count nothing."""
    if text.isascii() and text.isprintable():
        return len(text)
    width = wcswidth(text)
    return width if width >= 0 else sum(max(0, wcswidth(part)) for part in iter_graphemes(text))


def truncate(
    text: str, cells: int, *, ellipsis: str = "…", keep: Literal["start", "end", "middle"] = "start"
) -> str:
    """`text` in at most `cells` columns, with `ellipsis` for what was cut.

    `keep` says what stays: the start, the end, or with "middle" both ends, cut in the middle.
    """
    if cells <= 0:
        return ""
    if _fits(text, cells):
        return text
    room = cells - cell_width(ellipsis)
    if room < 0:
        return _fitting(iter_graphemes(ellipsis), cells)
    match keep:
        case "start":
            return _fitting(iter_graphemes(text), room) + ellipsis
        case "end":
            return ellipsis + _fitting_end(text, room)
        case "middle":
            start = _fitting(iter_graphemes(text), (room + 1) // 2)
            return start + ellipsis + _fitting_end(text, room - cell_width(start))
        case _:
            assert_never(keep)


def wrap(text: str, width: int) -> list[str]:
    """The lines of `text`, none wider than `width` cells, broken at blanks where possible.

    Line feeds break always; a word wider than a line is broken hard. The blanks at a break are
    dropped, those at the start of a line of the text stay. A single character wider than `width`
    gets a line of its own.
    """
    if width <= 0:
        raise ValueError(f"cannot wrap to {width} cells")
    lines: list[str] = []
    for line in text.split("\n"):
        lines.extend([line] if cell_width(line) <= width else _wrap_line(line, width))
    return lines


def _wrap_line(line: str, width: int) -> list[str]:
    lines: list[str] = []
    row: list[str] = []  # clusters of the row
    row_width = 0
    break_at = 0  # index in the row after the last blank that has text before it
    for cluster in iter_graphemes(line):
        size = cell_width(cluster)
        if row and row_width + size > width:
            if cluster == " ":
                lines.append("".join(row).rstrip(" "))
                row, row_width, break_at = [], 0, 0
                continue
            cut = break_at or len(row)
            lines.append("".join(row[:cut]).rstrip(" ") if break_at else "".join(row))
            row = row[cut:]
            row_width, break_at = sum(map(cell_width, row)), 0
        if cluster == " " and not row and lines:
            continue
        row.append(cluster)
        row_width += size
        if cluster == " " and any(earlier != " " for earlier in row):
            break_at = len(row)
    if row:
        lines.append("".join(row))
    return lines


def _fits(text: str, cells: int) -> bool:
    if len(text) > 8 * cells + 64:
        # A long text is rarely worth measuring to its end.
        width = 0
        for cluster in iter_graphemes(text):
            width += cell_width(cluster)
            if width > cells:
                return False
    return cell_width(text) <= cells


def _fitting(clusters: Iterable[str], cells: int) -> str:
    taken: list[str] = []
    for cluster in clusters:
        cells -= cell_width(cluster)
        if cells < 0:
            break
        taken.append(cluster)
    return "".join(taken)


def _fitting_end(text: str, cells: int) -> str:
    """The end of `text`, looking no further back than it must."""
    reach = 4 * cells + 64
    clusters = list(iter_graphemes(text[-reach:]))
    if reach < len(text):
        del clusters[0]  # it may be the rest of a cluster
    taken: list[str] = []
    for cluster in reversed(clusters):
        cells -= cell_width(cluster)
        if cells < 0:
            break
        taken.append(cluster)
    return "".join(reversed(taken))
