"""From lines to strips of exactly the width of the screen, and the cache that keeps them.

A strip that has the right width is cut, filtered and turned into terminal codes once, however often
it is painted. The cache is bounded by lines and forgets what was longest out of sight.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rich.segment import Segment
from rich.style import Style
from textual.filter import LineFilter
from textual.strip import Strip

from tui_agent.text import cell_width
from tui_agent.ui.transcript.lines import Line
from tui_agent.ui.transcript.theme import Palette


@dataclass(frozen=True, slots=True)
class Setting:
    """How lines stand on a screen of `width` cells: a margin, a column of text, room for the thumb.

    `column` is where a band of colour ends. The filters are the app's: no colour, or a terminal's
    own colours.
    """

    width: int
    margin: int
    column: int
    palette: Palette
    filters: Sequence[LineFilter] = ()

    def strip(self, line: Line) -> Strip:
        """`line` as a strip of exactly `width` cells."""
        palette = self.palette
        segments = [Segment(" " * self.margin, palette.base)] if self.margin else []
        used = self.margin
        for run in line.runs:
            segments.append(Segment(run.text, palette.style(run.style)))
            used += cell_width(run.text)
        band = self.margin + self.column
        if line.fill and used < band:
            segments.append(Segment(" " * (band - used), palette.style(line.fill)))
            used = band
        if used < self.width:
            segments.append(Segment(" " * (self.width - used), palette.base))
        return self.finished(segments, max(used, self.width))

    def finished(self, segments: Sequence[Segment], cells: int) -> Strip:
        """A strip of segments that take `cells` cells, cut to the width, filters applied."""
        strip = Strip(segments, cells)
        if cells > self.width:
            strip = strip.crop(0, self.width)
        for each in self.filters:
            strip = strip.apply_filter(each, self.palette.background)
        return strip

    def with_thumb(self, strip: Strip, thumb: str) -> Strip:
        """`strip` with the thumb in its last cell."""
        return self._with_end(strip, Segment(thumb, self.palette.style("thumb")))

    def with_badge(self, strip: Strip, words: str) -> Strip:
        """`strip` with words over its right end."""
        if cell_width(words) >= self.width:
            return strip
        return self._with_end(strip, Segment(words, self.palette.style("new reverse")))

    def _with_end(self, strip: Strip, segment: Segment) -> Strip:
        keep = self.width - cell_width(segment.text)
        return self.finished([*strip.crop(0, keep), segment], self.width)

    def selected(self, line: Line, start: int, end: int, style: Style) -> Strip:
        """`line` with the characters from `start` to `end` in the colours of a selection."""
        runs = []
        at = 0
        for run in line.runs:
            cuts = sorted(
                {0, *(min(max(0, cut - at), len(run.text)) for cut in (start, end)), len(run.text)}
            )
            runs += [run._replace(text=run.text[a:b]) for a, b in pairwise(cuts)]
            at += len(run.text)
        strip = self.strip(line._replace(runs=tuple(runs)))
        # Runs were only split, so the segments after the margin are theirs, in order.
        segments = list(strip)
        first = 1 if self.margin else 0
        at = 0
        for index, run in enumerate(runs, first):
            after = at + len(run.text)
            if index < len(segments) and start <= at and after <= end and run.text:
                text, old, _ = segments[index]
                segments[index] = Segment(text, (old or Style()) + style)
            at = after
        return Strip(segments, strip.cell_length)


@dataclass(slots=True)
class Rendered:
    """The lines of one part and the strips made of them so far."""

    revision: tuple[int, int]
    lines: Sequence[Line]
    strips: list[Strip | None]
    thumbs: dict[int, Strip] = field(default_factory=dict)


class StripCache:
    """Rendered parts by key, at most `limit` lines in all."""

    def __init__(self, limit: int = 4_000) -> None:
        self.limit = limit
        self.line_count = 0
        self._parts: OrderedDict[tuple[int, int], Rendered] = OrderedDict()

    def get(self, key: tuple[int, int], revision: tuple[int, int]) -> Rendered | None:
        """The part as of `revision`, if it is still here."""
        part = self._parts.get(key)
        if part is None or part.revision != revision:
            return None
        self._parts.move_to_end(key)
        return part

    def put(
        self, key: tuple[int, int], revision: tuple[int, int], lines: Sequence[Line]
    ) -> Rendered:
        """Keeps the lines of a part; of too many, the parts longest out of use are forgotten."""
        if (old := self._parts.pop(key, None)) is not None:
            self.line_count -= len(old.lines)
        part = self._parts[key] = Rendered(revision, lines, [None] * len(lines))
        self.line_count += len(lines)
        while self.line_count > self.limit and len(self._parts) > 1:
            _, oldest = self._parts.popitem(last=False)
            self.line_count -= len(oldest.lines)
        return part

    def clear(self) -> None:
        """Forgets everything: the width or the theme changed."""
        self._parts.clear()
        self.line_count = 0

    def forget_strips(self) -> None:
        """Keeps the lines, forgets what they look like."""
        for part in self._parts.values():
            part.strips = [None] * len(part.lines)
            part.thumbs.clear()
