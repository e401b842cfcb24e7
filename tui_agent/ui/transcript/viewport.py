"""Which rows of a transcript are on screen, and the strip of each.

Between the model, which knows heights, and the widget, which knows Textual: holds the place at the
top or follows the end, settles which rows are shown, and draws them from the cache. It is told the
size and the colours, and never asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.style import Style
from textual.filter import LineFilter
from textual.selection import Selection
from textual.strip import Strip

from tui_agent.text import cell_width
from tui_agent.ui.transcript import copying
from tui_agent.ui.transcript.glyphs import Glyphs
from tui_agent.ui.transcript.lines import EMPTY, Line, Run
from tui_agent.ui.transcript.model import Entry, Place, Transcript
from tui_agent.ui.transcript.render import WIDEST, lines_of
from tui_agent.ui.transcript.strips import Rendered, Setting, StripCache
from tui_agent.ui.transcript.theme import Palette


@dataclass(frozen=True, slots=True)
class Row:
    """What stands in a row of the screen: a line of a part, an empty row above it, or nothing."""

    place: Place | None = None
    rendered: Rendered | None = None
    number: int = -1

    @property
    def line(self) -> Line | None:
        """The line that is drawn here."""
        return None if self.rendered is None else self.rendered.lines[self.number]

    @property
    def position(self) -> int | None:
        """The row as selections name it."""
        if self.place is None:
            return None
        entry, part, _ = self.place
        return copying.position(entry.ordinal, part, max(0, self.number))


class Viewport:
    """The rows of one transcript on one screen. `settle` after every change, then `strip`."""

    def __init__(self, glyphs: Glyphs) -> None:
        self.glyphs = glyphs
        self.model = Transcript(self._measure)
        self.cache = StripCache()
        self.setting = Setting(1, 0, 1, Palette(Style(), {}))
        self.is_following = True
        self.new_count = 0
        """Items that came while the place was not the end."""
        self.is_grown_below = False
        self.top: Place | None = None
        self.rows: list[Row] = []
        self._setting_key: tuple[object, ...] = ()

    @property
    def width(self) -> int:
        """Cells of the screen."""
        return self.setting.width

    @property
    def offset(self) -> int:
        """Rows above the screen, as far as known."""
        return self.model.offset(self.top) if self.top is not None else 0

    def row(self, y: int) -> Row:
        """What stands in a row of the screen."""
        return self.rows[y] if 0 <= y < len(self.rows) else Row()

    def run_at(self, x: int, y: int) -> Run | None:
        """The run at a cell of the screen."""
        line = self.row(y).line
        end = self.setting.margin
        for run in line.runs if line is not None else ():
            end += cell_width(run.text)
            if x < end:
                return run
        return None

    # ---------------------------------------------------------------- size and colours

    def configure(
        self,
        width: int,
        base: Style,
        variables: Mapping[str, str],
        filters: Sequence[LineFilter],
        theme: str,
    ) -> None:
        """Takes over the width and the colours; what was drawn with others is forgotten."""
        key = (width, base, theme, tuple(map(id, filters)))
        if key == self._setting_key:
            return
        self._setting_key = key
        width = max(1, width)
        # One cell for the thumb and one beside it, where there is room for such niceties.
        spare = 3 if width >= 24 else 1 if width > 1 else 0
        column = min(WIDEST, width - spare)
        margin = max(spare // 2, (width - column) // 2) if spare > 1 else 0
        self.setting = Setting(width, margin, column, Palette(base, variables), filters)
        if column == self.model.width:
            self.cache.forget_strips()
        else:
            self._rewrap(column)

    def _rewrap(self, column: int) -> None:
        """A new width: the same item stays at the top, scrolled as far as before in proportion."""
        top = None if self.is_following else self.top
        share = self._above(top) / max(1, top.entry.height) if top is not None else 0.0
        self.cache.clear()
        self.model.width = column
        self.model.estimate()
        if top is not None:
            parts = self.model.resolve(top.entry)
            height = sum(self.model.measured(top.entry, part) for part in range(len(parts)))
            self.top = Place(top.entry, 0, int(share * height))

    # ---------------------------------------------------------------- the place

    def follow_end(self) -> None:
        """From now on the end stays on screen."""
        self.is_following = True
        self.is_grown_below = False
        self.new_count = 0

    def go_to(self, place: Place) -> None:
        """From now on this place is at the top."""
        self.is_following = False
        self.top = place

    def move(self, rows: int, height: int) -> None:
        """Moves by rows, up below zero; at the end it is followed."""
        if self.top is None or (self.is_following and rows > 0):
            return
        self.go_to(self.model.moved(self.top, rows))
        bottom = self.model.bottom(height)
        if bottom is not None and self.offset >= self.model.offset(bottom):
            self.follow_end()

    def anchor(self) -> dict[str, Any]:
        """The place as JSON: the item at the top and how many rows of it are above the screen."""
        if self.is_following or self.top is None:
            return {"follow": True}
        row = self._above(self.top)
        return {"follow": False, "item_id": self.top.entry.item.item_id, "row": row}

    def restore(self, anchor: Mapping[str, Any]) -> None:
        """Goes back to a place; to the end when its item is not here any more."""
        entry = self.model.get(str(anchor.get("item_id", "")))
        if anchor.get("follow", True) or entry is None:
            self.follow_end()
        else:
            self.go_to(Place(entry, 0, max(0, int(anchor.get("row", 0)))))

    def name_by_item(self, item_id: str) -> None:
        """Before an item changes: if it is at the top, its row is named without its parts."""
        if self.top is not None and self.top.entry.item.item_id == item_id:
            self.top = Place(self.top.entry, 0, self._above(self.top))

    def leave(self, gone: Entry) -> None:
        """After an item went: if it was at the top, the next one is."""
        if self.top is not None and self.top.entry is gone:
            entries = self.model.entries
            self.top = Place(entries[min(gone.index, len(entries) - 1)], 0, 0) if entries else None

    def _above(self, place: Place) -> int:
        """Rows of the item above a place in it."""
        return sum(place.entry.part_height(part) for part in range(place.part)) + place.row

    # ---------------------------------------------------------------- the rows

    def settle(self, height: int) -> None:
        """Decides which rows are on screen; the heights of what is there become exact."""
        model = self.model
        if self.is_following or self.top is None:
            self.top = model.bottom(height)
        else:
            self.top = model.settled(self.top)
        places = list(model.rows(self.top, height)) if self.top is not None else []
        if len(places) < height and not self.is_following:
            # The end is on screen: from here on it is followed.
            self.follow_end()
            self.top = model.bottom(height)
            places = list(model.rows(self.top, height)) if self.top is not None else []
        self.rows = [self._row(place) for place in places]
        self.rows += [Row()] * (height - len(places))

    def _row(self, place: Place) -> Row:
        number = place.row - place.entry.lead(place.part)
        if number < 0:
            return Row(place)
        return Row(place, self.rendered(place.entry, place.part), number)

    def _measure(self, entry: Entry, part: int) -> int:
        return len(self.rendered(entry, part).lines)

    def rendered(self, entry: Entry, part: int) -> Rendered:
        """The lines of a part, from the cache or drawn now."""
        parts = self.model.resolve(entry)
        is_last = part == len(parts) - 1
        key = (entry.ordinal, part)
        revision = (entry.revision, entry.tail_revision if is_last or parts[part].is_tail else -1)
        found = self.cache.get(key, revision)
        if found is None:
            lines = lines_of(
                entry.item,
                parts,
                part,
                width=self.model.width,
                glyphs=self.glyphs,
                references=entry.references,
                is_open=entry.is_open,
            )
            found = self.cache.put(key, revision, lines)
        return found

    # ---------------------------------------------------------------- strips

    def strip(self, y: int, selection: Selection | None, selected: Style) -> Strip:
        """The strip of a row, exactly as wide as the screen."""
        row = self.row(y)
        has_thumb = y in self._thumb_rows()
        strip = self._selected(row, selection, selected)
        if strip is None and row.rendered is not None:
            strip = self._from_cache(row.rendered, row.number, has_thumb=has_thumb)
        else:
            strip = strip or self.setting.strip(EMPTY)
            strip = self.setting.with_thumb(strip, self.glyphs.thumb) if has_thumb else strip
        if y == len(self.rows) - 1 and (words := self.badge()):
            strip = self.setting.with_badge(strip, words)
        return strip

    def _from_cache(self, rendered: Rendered, number: int, *, has_thumb: bool) -> Strip:
        strip = rendered.strips[number]
        if strip is None:
            strip = rendered.strips[number] = self.setting.strip(rendered.lines[number])
        if has_thumb:
            if number not in rendered.thumbs:
                rendered.thumbs[number] = self.setting.with_thumb(strip, self.glyphs.thumb)
            strip = rendered.thumbs[number]
        return strip

    def _selected(self, row: Row, selection: Selection | None, style: Style) -> Strip | None:
        line, position = row.line, row.position
        if selection is None or line is None or position is None:
            return None
        span = selection.get_span(position)
        if span is None:
            return None
        start, end = span
        return self.setting.selected(line, start, len(line.text) if end < 0 else end, style)

    def _thumb_rows(self) -> range:
        """The rows of the screen that the thumb covers; none when everything is on screen."""
        height, total = len(self.rows), self.model.total
        if total <= height or height < 4 or self.width < 8:
            return range(0)
        size = max(1, height * height // total)
        room = height - size
        at = room if self.is_following else min(room, self.offset * room // (total - height))
        return range(at, at + size)

    def badge(self) -> str:
        """What came below while the person reads further up, in words."""
        if self.is_following:
            return ""
        if self.new_count:
            return f" {self.new_count} new "
        return " more below " if self.is_grown_below else ""
