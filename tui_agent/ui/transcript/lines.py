"""Lines of text with named styles, and how they are wrapped.

The renderers make these and the widget paints them. A style is one or more role names separated by
blanks (`"heading"`, `"quote strong"`); what a role looks like is decided by `theme` alone, so that
nothing here knows a colour. Widths are cells of a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from wcwidth import iter_graphemes

from tui_agent.text import cell_width


class Run(NamedTuple):
    """A stretch of text in one style.

    `href` is where a link leads; it is reported when clicked and never opened here. `is_drawn`
    marks what the screen adds (gutters, padding, hanging indents): it is not copied.
    """

    text: str
    style: str = ""
    href: str | None = None
    is_drawn: bool = False


class Line(NamedTuple):
    """One row. `joint` is what stands between this row and the one before it in the text itself:
    a line feed, or the blank (or nothing) at which a long line was broken.

    `fill` names the style of the rest of the row, for bands of colour.
    """

    runs: tuple[Run, ...]
    joint: str = "\n"
    fill: str = ""

    @property
    def text(self) -> str:
        """What is drawn, without its styles."""
        return "".join(run.text for run in self.runs)

    @property
    def width(self) -> int:
        """Cells that the runs take."""
        return sum(cell_width(run.text) for run in self.runs)


EMPTY: Final = Line(())

_WIDE: Final = (
    "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6"
    "\U00020000-\U0003fffd"
)
_CLOSING: Final = "、。，．：；！？）」』】〉》〕"
# Between wide characters a line may break anywhere, but not before a closing mark.
_PIECES: Final = re.compile(
    rf"[{_WIDE}][{_CLOSING}]*|[^\s{_WIDE}]+(?:\xa0[^\s{_WIDE}]+)*[{_CLOSING}]*|\xa0+"
)


def wrap_runs(runs: Sequence[Run], width: int) -> list[Line]:
    """`runs` as rows of at most `width` cells, broken at blanks, else between characters.

    The blanks at which a line is broken become the joint of the next row. A character wider than
    `width` gets a row of its own.
    """
    width = max(1, width)
    text = "".join(run.text for run in runs)
    if cell_width(text) <= width:
        return [Line(tuple(runs))]
    return _cut(runs, _rows(text, width))


def wrap_hard(runs: Sequence[Run], width: int) -> list[Line]:
    """`runs` as rows of at most `width` cells, broken wherever they are full: for code."""
    width = max(1, width)
    text = "".join(run.text for run in runs)
    if cell_width(text) <= width:
        return [Line(tuple(runs))]
    ends = _hard_ends(text, 0, len(text), width, width)
    return _cut(runs, ((start, end, "" if start else "\n") for start, end in pairwise((0, *ends))))


def slice_runs(runs: Iterable[Run], start: int, end: int) -> list[Run]:
    """The runs that hold the characters from `start` up to `end`."""
    taken: list[Run] = []
    at = 0
    for run in runs:
        after = at + len(run.text)
        if after > start and at < end:
            if start <= at and after <= end:
                taken.append(run)
            else:
                taken.append(run._replace(text=run.text[max(0, start - at) : end - at]))
        at = after
        if at >= end:
            break
    return taken


def _cut(runs: Sequence[Run], rows: Iterable[tuple[int, int, str]]) -> list[Line]:
    """The rows as lines. Rows follow one another, so each run is looked at once for every row that
    it is in and never again: a long paragraph has as many runs as rows."""
    lines: list[Line] = []
    number = at = 0
    for start, end, joint in rows:
        taken: list[Run] = []
        while number < len(runs) and at < end:
            run = runs[number]
            after = at + len(run.text)
            if after > start:
                whole = start <= at and after <= end
                part = run.text[max(0, start - at) : end - at]
                taken.append(run if whole else run._replace(text=part))
            if after > end:
                break  # the next row goes on with it
            number, at = number + 1, after
        lines.append(Line(tuple(taken), joint))
    return lines


def prefixed(
    lines: Iterable[Line], first: tuple[Run, ...], rest: tuple[Run, ...] | None = None
) -> list[Line]:
    """`lines` with `first` before the first one and `rest` (or `first` again) before the others."""
    out: list[Line] = []
    before = first
    following = first if rest is None else rest
    for line in lines:
        out.append(line._replace(runs=before + line.runs))
        before = following
    return out


def logical_text(lines: Iterable[Line]) -> str:
    """The text of `lines` as it was written: no wrapping, no gutters, no padding."""
    parts: list[str] = []
    for line in lines:
        if parts:
            parts.append(line.joint)
        parts.append("".join(run.text for run in line.runs if not run.is_drawn))
    return "\n".join(part.rstrip() for part in "".join(parts).split("\n"))


def _rows(text: str, width: int) -> Iterable[tuple[int, int, str]]:
    """Where each row starts and ends, with its joint."""
    start = end = used = 0
    joint = "\n"
    for match in _PIECES.finditer(text):
        piece_start, piece_end = match.span()
        size = cell_width(match.group())
        gap = piece_start - end
        if end > start or piece_start > start:
            if used + gap + size <= width:
                end, used = piece_end, used + gap + size
                continue
            if end > start:
                yield start, end, joint
                joint = text[end:piece_start]
            start, used = piece_start, 0
        if size > width:
            *full, last = _hard_ends(text, piece_start, piece_end, width, width)
            for cut in full:
                yield start, cut, joint
                start, joint = cut, ""
            end, used = last, cell_width(text[start:last])
        else:
            end, used = piece_end, size
    if end > start or joint == "\n":
        yield start, max(end, start), joint


def _hard_ends(text: str, start: int, end: int, width: int, room: int) -> list[int]:
    """Where the rows end when `text[start:end]` is broken between characters."""
    ends: list[int] = []
    at = start
    for cluster in iter_graphemes(text[start:end]):
        size = cell_width(cluster)
        if size > room and at > start and (not ends or at > ends[-1]):
            ends.append(at)
            room = width
        room -= size
        at += len(cluster)
    ends.append(end)
    return ends
