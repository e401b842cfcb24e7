"""The list of items as rows: how tall each is, where it stands, what is on screen.

A height is an estimate until the item comes on screen; then it is made exact. The place that is
shown is kept as an item, a part and a row in it, never as a number of rows from the top: so nothing
that happens above or below moves it, and estimates can become exact without a jump. No Textual: the
lines of a part come from a function that is handed in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count
from typing import NamedTuple

from tui_agent.ui.transcript.blocks import Item, StreamingText, ToolCard
from tui_agent.ui.transcript.markdown import References
from tui_agent.ui.transcript.render import (
    WHOLE,
    estimated_height,
    gap_between,
    is_markdown,
    source_text,
)
from tui_agent.ui.transcript.stream import MarkdownStream, Part, split_parts


@dataclass(slots=True, eq=False)
class Entry:
    """An item in its place. `ordinal` grows downwards and stays, whatever comes above or below.

    `heights` are those of the parts without the empty rows above them; `is_exact` says which of
    them were measured.
    """

    item: Item
    ordinal: int
    index: int = 0
    is_open: bool = False
    gap: int = 0
    parts: Sequence[Part] | None = None
    heights: list[int] = field(default_factory=list)
    is_exact: list[bool] = field(default_factory=list)
    references: References = field(default_factory=dict)
    stream: MarkdownStream | None = None
    revision: int = 0
    """Changes when settled parts must be drawn anew."""
    tail_revision: int = 0
    """Changes when only the last part must be."""

    def lead(self, number: int) -> int:
        """Empty rows above a part."""
        if number == 0:
            return self.gap
        return 0 if self.parts is None or self.parts[number].is_joined else 1

    def part_height(self, number: int) -> int:
        """Rows of a part with the empty ones above it."""
        height = self.heights[number]
        return self.lead(number) + height if height else 0

    @property
    def height(self) -> int:
        """Rows of the whole item."""
        return sum(self.part_height(number) for number in range(len(self.heights)))


class Place(NamedTuple):
    """A row: the entry, the part, and the row in the part, empty ones above it included."""

    entry: Entry
    part: int
    row: int


class Transcript:
    """Entries, oldest first. `measure` gives the number of lines of a part."""

    def __init__(self, measure: Callable[[Entry, int], int]) -> None:
        self._measure = measure
        self.width = 80
        self.entries: list[Entry] = []
        self._by_id: dict[str, Entry] = {}
        self._offsets: list[int] = [0]
        self._dirty_from = 0
        # Never the same twice: an item may get the ordinal of one that was removed.
        self._revisions = count(1)

    # ---------------------------------------------------------------- items

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, item_id: str) -> Entry | None:
        """The entry of an item, if it is here."""
        return self._by_id.get(item_id)

    def set_items(self, items: Sequence[Item]) -> None:
        """These items and no others; what a person folded or unfolded stays so."""
        opened = {key: entry.is_open for key, entry in self._by_id.items()}
        self.entries, self._by_id, self._dirty_from = [], {}, 0
        for item in items:
            entry = self._added(item)
            entry.is_open = opened.get(item.item_id, entry.is_open)
        self.estimate()

    def append(self, item: Item) -> Entry:
        """A new item at the end."""
        entry = self._added(item)
        self._estimate_one(entry)
        self._spoil(entry.index)
        return entry

    def prepend(self, items: Sequence[Item]) -> None:
        """Older items above all others."""
        first = self.entries[0].ordinal if self.entries else 0
        older = [
            self._entry(item, first - len(items) + number) for number, item in enumerate(items)
        ]
        self.entries[:0] = older
        self._by_id.update((entry.item.item_id, entry) for entry in older)
        self._renumber(0)
        for entry in older:
            self._estimate_one(entry)
        self._regap(len(older))
        self._spoil(0)

    def replace(self, item_id: str, item: Item) -> Entry:
        """The item in place of the one with this id; its own id may be another."""
        entry = self._by_id.pop(item_id)
        was_card = isinstance(entry.item, ToolCard) and isinstance(item, ToolCard)
        started_open = isinstance(entry.item, ToolCard) and entry.item.is_open
        if not was_card or entry.is_open == started_open:
            # A person's choice outlives changes of the card.
            entry.is_open = isinstance(item, ToolCard) and item.is_open
        entry.item = item
        entry.stream = _stream_of(item)
        self._by_id[item.item_id] = entry
        self._estimate_one(entry)
        self._regap(entry.index + 1)
        self._spoil(entry.index)
        return entry

    def remove(self, item_id: str) -> Entry:
        """Takes an item out; the entry keeps the index it had."""
        entry = self._by_id.pop(item_id)
        del self.entries[entry.index]
        self._renumber(entry.index)
        self._regap(entry.index)
        self._spoil(entry.index)
        return entry

    def fold(self, entry: Entry, is_open: bool) -> None:
        """Shows or hides what an item can hide."""
        entry.is_open = is_open
        self._estimate_one(entry)
        self._regap(entry.index + 1)
        self._spoil(entry.index)

    def grow(self, entry: Entry) -> None:
        """Measures anew what grew; of a message, what was not settled the last time."""
        entry.tail_revision += 1
        known = self._take_settled(entry, entry.stream) if entry.stream is not None else 0
        if entry.stream is None:
            entry.parts = WHOLE
        size = len(entry.parts or WHOLE)
        entry.heights[known:] = [1] * (size - known)
        entry.is_exact[known:] = [False] * (size - known)
        for number in range(known, size):
            self.measured(entry, number)
        self._spoil(entry.index)

    def _take_settled(self, entry: Entry, stream: MarkdownStream) -> int:
        """Takes over the parts of a stream; returns how many of them are as they were."""
        version = stream.version
        stream.settle()
        known = min(len(stream.settled), len(entry.parts or ()))
        # What was the tail until now has to be measured again, settled or not.
        while known and (entry.parts is None or entry.parts[known - 1].is_tail):
            known -= 1
        if version != stream.version:
            entry.revision = next(self._revisions)
            known = 0
        entry.references = stream.references
        entry.parts = stream.parts or WHOLE
        return known

    def _added(self, item: Item) -> Entry:
        entry = self._entry(item, self.entries[-1].ordinal + 1 if self.entries else 0)
        entry.index = len(self.entries)
        self.entries.append(entry)
        self._by_id[item.item_id] = entry
        return entry

    def _entry(self, item: Item, ordinal: int) -> Entry:
        is_open = isinstance(item, ToolCard) and item.is_open
        return Entry(item, ordinal, is_open=is_open, stream=_stream_of(item))

    def _renumber(self, start: int) -> None:
        for index in range(start, len(self.entries)):
            self.entries[index].index = index

    # ---------------------------------------------------------------- heights

    def estimate(self) -> None:
        """Forgets every height: the width changed, or all items did."""
        for entry in self.entries:
            self._estimate_one(entry)
        self._spoil(0)

    def _estimate_one(self, entry: Entry) -> None:
        entry.revision = next(self._revisions)
        entry.references = {}
        entry.parts = None if is_markdown(entry.item) else WHOLE
        entry.heights = [estimated_height(entry.item, self.width, entry.is_open)]
        entry.is_exact = [False]
        self._regap(entry.index)

    def _regap(self, index: int) -> None:
        if not 0 <= index < len(self.entries):
            return
        entry = self.entries[index]
        before = self.entries[index - 1] if index else None
        entry.gap = gap_between(
            before.item if before else None,
            before.is_open if before else False,
            entry.item,
            entry.is_open,
        )

    def _spoil(self, index: int) -> None:
        self._dirty_from = min(self._dirty_from, index)

    def resolve(self, entry: Entry) -> Sequence[Part]:
        """The parts of an entry; a message is cut into them when it first comes on screen."""
        if entry.parts is None:
            if entry.stream is not None:
                entry.stream.settle()
                parts: Sequence[Part] = entry.stream.parts
                entry.references = entry.stream.references
            else:
                parts = split_parts(source_text(entry.item), entry.references)
            entry.parts = parts or WHOLE
            # The estimate is shared out, so that the sum stays what it was.
            total = max(len(entry.parts), sum(entry.heights))
            size = max(1, sum(len(part.source) for part in entry.parts))
            entry.heights = [max(1, total * len(part.source) // size) for part in entry.parts]
            entry.is_exact = [False] * len(entry.parts)
            self._spoil(entry.index)
        return entry.parts

    def measured(self, entry: Entry, number: int) -> int:
        """The exact height of a part, empty rows above it included."""
        self.resolve(entry)
        number = min(number, len(entry.heights) - 1)
        if not entry.is_exact[number]:
            height = self._measure(entry, number)
            entry.is_exact[number] = True
            if height != entry.heights[number]:
                entry.heights[number] = height
                self._spoil(entry.index)
        return entry.part_height(number)

    @property
    def total(self) -> int:
        """Rows of everything, as far as known."""
        return self._fresh_offsets()[-1]

    def offset(self, place: Place) -> int:
        """Rows above a place, as far as known."""
        # an item that was rendered anew may have fewer parts than when the place was taken
        parts = min(place.part, len(place.entry.heights))
        above = sum(place.entry.part_height(number) for number in range(parts))
        return self._fresh_offsets()[place.entry.index] + above + place.row

    def at(self, y: int) -> Place | None:
        """The place `y` rows from the top, as far as known."""
        if not self.entries:
            return None
        offsets = self._fresh_offsets()
        y = max(0, min(y, offsets[-1] - 1))
        index = min(bisect_right(offsets, y) - 1, len(self.entries) - 1)
        entry = self.entries[index]
        self.resolve(entry)
        return self.settled(Place(entry, 0, max(0, y - offsets[index])))

    def _fresh_offsets(self) -> list[int]:
        start = self._dirty_from
        if start < len(self.entries) or len(self._offsets) != len(self.entries) + 1:
            start = min(start, len(self._offsets) - 1, len(self.entries))
            base = self._offsets[start]
            heights = (entry.height for entry in self.entries[start:])
            self._offsets[start:] = accumulate(heights, initial=base)
        self._dirty_from = len(self.entries)
        return self._offsets

    # ---------------------------------------------------------------- places

    def settled(self, place: Place) -> Place:
        """The same row, named by the part that it is really in."""
        entry, number, row = place
        while row >= (height := self.measured(entry, number)):
            following = self._next(entry, number)
            if following is None:
                return Place(entry, min(number, len(entry.heights) - 1), max(0, height - 1))
            row -= height
            entry, number = following
        return Place(entry, number, max(0, row))

    def moved(self, place: Place, rows: int) -> Place:
        """The place `rows` further down (or up, below zero), stopping at the ends."""
        entry, number, row = place
        row += rows
        while row < 0:
            previous = self._previous(entry, number)
            if previous is None:
                return Place(entry, 0, 0)
            entry, number = previous
            row += self.measured(entry, number)
        return self.settled(Place(entry, number, row))

    def bottom(self, height: int) -> Place | None:
        """The place at the top of the screen when its last row is the last of all."""
        if not self.entries:
            return None
        entry = self.entries[-1]
        number = len(self.resolve(entry)) - 1
        last = Place(entry, number, self.measured(entry, number) - 1)
        return self.moved(last, 1 - height)

    def rows(self, place: Place, height: int) -> Iterator[Place]:
        """The `height` rows from a place on, fewer at the end."""
        entry, number, row = self.settled(place)
        while height > 0:
            count = self.measured(entry, number)
            for index in range(row, min(count, row + height)):
                yield Place(entry, number, index)
            height -= max(0, count - row)
            row = 0
            following = self._next(entry, number)
            if following is None:
                return
            entry, number = following

    def _next(self, entry: Entry, number: int) -> tuple[Entry, int] | None:
        if number + 1 < len(self.resolve(entry)):
            return entry, number + 1
        if entry.index + 1 < len(self.entries):
            return self.entries[entry.index + 1], 0
        return None

    def _previous(self, entry: Entry, number: int) -> tuple[Entry, int] | None:
        if number > 0:
            return entry, number - 1
        if entry.index > 0:
            before = self.entries[entry.index - 1]
            return before, len(self.resolve(before)) - 1
        return None


def _stream_of(item: Item) -> MarkdownStream | None:
    if isinstance(item, StreamingText) and not item.is_thinking:
        return MarkdownStream(item.text)
    return None
