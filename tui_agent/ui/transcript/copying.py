"""What a selection holds, as the text that was written.

Textual keeps a selection as two positions in a widget, sorted by row. Rows on screen change their
numbers all the time here, so a position's row is made of what stays: the item's place in the order,
the part of it, and the line in that part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from textual.selection import Selection

from tui_agent.text import truncate
from tui_agent.ui.transcript.lines import Line, logical_text, slice_runs
from tui_agent.ui.transcript.model import Entry, Transcript
from tui_agent.ui.transcript.render import source_text

MOST_RENDERED: Final = 200
"""Items; of a longer selection the source is copied, which takes no time."""

_WORDS: Final = re.compile(r"[\w./~:@-]+|[^\w\s]+|\s+")
"""A path or an address is one word."""

_PARTS: Final = 10**9
_LINES: Final = 10**5


def position(ordinal: int, part: int, line: int) -> int:
    """The row of a position: grows downwards and does not change while other items do."""
    return ordinal * _PARTS + part * _LINES + line


def selected_text(
    model: Transcript, lines_of: Callable[[Entry, int], Sequence[Line]], selection: Selection
) -> str:
    """The text of a selection; without ends, the source of everything."""
    entries = _touched(model, selection)
    if len(entries) > MOST_RENDERED or (selection.start is None and selection.end is None):
        return "\n\n".join(source_text(entry.item) for entry in entries)
    pieces: list[str] = []
    for entry in entries:
        taken: list[str] = []
        for number in range(len(model.resolve(entry))):
            first = position(entry.ordinal, number, 0)
            lines = []
            for index, line in enumerate(lines_of(entry, number)):
                span = selection.get_span(first + index)
                if span is not None:
                    start, end = span
                    end = len(line.text) if end < 0 else end
                    lines.append(line._replace(runs=tuple(slice_runs(line.runs, start, end))))
            if lines:
                if taken and not model.resolve(entry)[number].is_joined:
                    taken.append("")
                taken.append(logical_text(lines))
        if taken:
            pieces.append("\n".join(taken))
    return "\n\n".join(pieces)


def word_at(text: str, cell: int) -> tuple[int, int]:
    """The characters from the start to the end of the word at a cell of a line."""
    index = len(truncate(text, max(0, cell) + 1, ellipsis="")) - 1
    for match in _WORDS.finditer(text):
        if match.start() <= index < match.end():
            return match.span()
    return len(text), len(text)


def _touched(model: Transcript, selection: Selection) -> list[Entry]:
    first = selection.start.y // _PARTS if selection.start is not None else None
    last = selection.end.y // _PARTS if selection.end is not None else None
    return [
        entry
        for entry in model.entries
        if (first is None or entry.ordinal >= first) and (last is None or entry.ordinal <= last)
    ]
