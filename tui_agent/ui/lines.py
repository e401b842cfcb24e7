"""Lines of text as the panes describe them, before any terminal or widget is involved.

A projection says what stands in a line and in which tone; `fit` and `wrapped` lay it out in cells.
Every text goes through `exact` here, so that nothing foreign can reach a terminal by way of a line,
whatever a pane was handed. Pure functions of frozen data: no Textual, no colours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tui_agent.text import cell_width, exact, truncate


class Tone(StrEnum):
    """What a piece of text means; the theme decides how that looks."""

    TEXT = "text"
    STRONG = "strong"
    MUTED = "muted"
    ACCENT = "accent"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Piece:
    """Text in one tone. `text` may be foreign: it is made safe when it is laid out."""

    text: str
    tone: Tone = Tone.TEXT


@dataclass(frozen=True, slots=True)
class Line:
    """One line: `left` is cut to fit, `right` stands at the right edge and is never cut, only
    left out when there is no room for it."""

    left: tuple[Piece, ...] = ()
    right: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of a list: a key that stays the same while the entry changes, and its lines."""

    key: str
    lines: tuple[Line, ...]


def line(*left: Piece | str, right: Sequence[Piece | str] = ()) -> Line:
    """A line of pieces; a bare string has the tone of plain text."""
    return Line(_pieces(left), _pieces(right))


def note(text: str) -> Line:
    """A line of muted text."""
    return Line((Piece(text, Tone.MUTED),))


def keys_line(*keys: tuple[str, str]) -> Line:
    """Keys and what they do."""
    pieces: list[Piece] = []
    for key, does in keys:
        if pieces:
            pieces.append(Piece("   "))
        pieces.extend((Piece(key, Tone.ACCENT), Piece(f" {does}", Tone.MUTED)))
    return Line(tuple(pieces))


def keys_lines(keys: Sequence[tuple[str, str]], width: int) -> list[Line]:
    """Keys and what they do, in as few lines of `width` cells as they fit in."""
    rows: list[list[tuple[str, str]]] = [[]]
    used = 0
    for key, does in keys:
        size = cell_width(key) + 1 + cell_width(does)
        if rows[-1] and used + 3 + size > width:
            rows.append([])
            used = 0
        used += size + (3 if rows[-1] else 0)
        rows[-1].append((key, does))
    return [keys_line(*row) for row in rows]


def fit(content: Line, width: int) -> tuple[Piece, ...]:
    """The pieces of `content`, made safe and exactly `width` cells wide."""
    if width <= 0:
        return ()
    right = _safe(content.right)
    right_width = _width(right)
    gap = 1 if right else 0
    if right_width + gap > width or (content.left and right_width + gap > width - 4):
        right, right_width, gap = (), 0, 0
    left = _cut(_safe(content.left), width - right_width - gap)
    padding = width - right_width - _width(left)
    return (*left, Piece(" " * padding), *right) if padding else (*left, *right)


def wrapped(content: Line, width: int) -> list[Line]:
    """`content` in as many lines of at most `width` cells as it takes, broken behind blanks where
    possible; a word wider than a line is cut. No character is left out, no blank either."""
    if width <= 0:
        return []
    pieces = _safe((*content.left, *content.right))
    if _width(pieces) <= width:
        return [Line(pieces)]
    rows: list[list[Piece]] = [[]]
    room = width
    for word, blanks in _words(pieces):
        # a blank of its own goes with the word: no row begins with the one that ends the word
        size = _width(word) + (1 if blanks else 0)
        if room < size <= width and any(piece.text.strip(" ") for piece in rows[-1]):
            rows.append([])
            room = width
        for piece in (*word, *blanks):
            room = _write(piece, rows, room, width)
    return [Line(tuple(row)) for row in rows]


def body(text: str, tone: Tone = Tone.TEXT) -> list[Line]:
    """The lines of a text in which every odd character is visible."""
    return [Line((Piece(each, tone),)) for each in exact(text, one_line=False).split("\n")]


def text_of(lines: Iterable[Line]) -> str:
    """The plain text of lines, for copying and for tests."""
    return "\n".join("".join(piece.text for piece in (*each.left, *each.right)) for each in lines)


def _pieces(parts: Sequence[Piece | str]) -> tuple[Piece, ...]:
    return tuple(Piece(part) if isinstance(part, str) else part for part in parts)


def _safe(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    return tuple(Piece(exact(piece.text), piece.tone) for piece in pieces if piece.text)


def _width(pieces: Iterable[Piece]) -> int:
    return sum(cell_width(piece.text) for piece in pieces)


def _cut(pieces: tuple[Piece, ...], width: int) -> tuple[Piece, ...]:
    if _width(pieces) <= width:
        return pieces
    kept: list[Piece] = []
    for piece in pieces:
        size = cell_width(piece.text)
        if size > width:
            kept.append(Piece(truncate(piece.text, width), piece.tone))
            break
        kept.append(piece)
        width -= size
        if width == 0:
            last = kept.pop()
            kept.append(Piece(truncate(last.text + "…", size), last.tone))
            break
    return tuple(kept)


_RUN = re.compile(" +|[^ ]+")


def _words(pieces: Iterable[Piece]) -> Iterator[tuple[list[Piece], list[Piece]]]:
    """Each word, which may have several tones, and the blanks behind it."""
    word: list[Piece] = []
    blanks: list[Piece] = []
    for piece in pieces:
        for run in _RUN.findall(piece.text):
            if run[0] == " ":
                blanks.append(Piece(run, piece.tone))
                continue
            if blanks:
                yield word, blanks
                word, blanks = [], []
            word.append(Piece(run, piece.tone))
    if word or blanks:
        yield word, blanks


def _write(piece: Piece, rows: list[list[Piece]], room: int, width: int) -> int:
    """Put `piece` behind what is in the last row, and where that is full into rows of its own; the
    room that is left in the last one."""
    rest = piece.text
    while rest:
        head = truncate(rest, room, ellipsis="")
        if not head and not rows[-1]:
            head = rest[0]  # wider than the whole line: it must still be shown
        if head:
            row = rows[-1]
            if row and row[-1].tone is piece.tone:
                row[-1] = Piece(row[-1].text + head, piece.tone)
            else:
                row.append(Piece(head, piece.tone))
            room -= cell_width(head)
            rest = rest[len(head) :]
        if rest:
            rows.append([])
            room = width
    return room
