"""The header, the tab strip, the queue, the hints above the composer and the status line.

Pure functions from what is shown to lines; the widgets that draw them are bars without a mind.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tui_agent.text import cell_width, exact, truncate
from tui_agent.ui.lamp import ThreeLamps
from tui_agent.ui.lines import Line, Piece, Tone
from tui_agent.ui.marks import Mark, Marks
from tui_agent.ui.projection.words import money, plural, spent

if TYPE_CHECKING:
    from tui_agent.ui.projection.session import SessionView
    from tui_agent.vocabulary.events import QueuedMessage

WIDE_LAMPS = 110
"""Columns from which the lamps say more than their names."""


ALL_TABS = 60
"""Columns from which the strip of tabs names them all."""


def header_line(
    folder: str, session: SessionView | None, open_items: int, marks: Marks, width: int
) -> Line:
    """Folder and title, the inbox's count, the three lamps. The lamps always fit: they are what
    the line is for."""
    lamps = session.lamps.now() if session else ThreeLamps()
    right: list[Piece] = []
    if open_items:
        right = [
            marks.piece(Mark.WAITING),
            Piece(f" {open_items} inbox", Tone.WAITING),
            Piece("   "),
        ]
    lamp_pieces = lamps.pieces(marks, with_words=width >= WIDE_LAMPS)
    room = width - 2 - sum(cell_width(piece.text) for piece in lamp_pieces)
    if right and room < 20:
        right = [marks.piece(Mark.WAITING), Piece(f"{open_items} ", Tone.WAITING)]
    name = os.path.basename(folder.rstrip("/")) or folder
    left = [Piece(f" {name}", Tone.STRONG)]
    if width >= WIDE_LAMPS:
        left.append(Piece(f"  {_home(folder)}", Tone.MUTED))
    if session and session.title:
        left.append(Piece(f"  {session.title}", Tone.TEXT))
    return Line(tuple(left), (*right, *lamp_pieces, Piece(" ")))


def status_meters(session: SessionView | None) -> list[Piece]:
    """Mode, context, tokens, cost, model: the most wanted first."""
    if session is None:
        return []
    meters = [Piece(session.mode.value, Tone.ACCENT)]
    if session.context_used is not None and session.window:
        share = round(100 * session.context_used / session.window)
        meters.append(Piece(f"ctx {share}%", Tone.WAITING if share >= 80 else Tone.MUTED))
    if session.usage.total:
        meters.append(Piece(spent(session.usage), Tone.MUTED))
    if session.cost is not None:
        meters.append(Piece(money(session.cost), Tone.MUTED))
    meters.append(Piece(session.model.model, Tone.MUTED))
    if session.usage.cached_share:
        meters.append(Piece(f"{session.usage.cached_share:.0%} cached", Tone.MUTED))
    return meters


def status_line(waiting: tuple[Piece, ...], session: SessionView | None, width: int) -> Line:
    """What is waited for at the left, the meters at the right, as many as there is room for. Of
    the words at the left the first piece is cut if it must be; since when and the key never."""
    meters = status_meters(session)
    while len(meters) > 1 and _width(waiting) + _meters_width(meters) > width - 3:
        meters.pop()
    if meters and _width(waiting[1:]) + _meters_width(meters) > width - 24:
        meters.clear()
    room = width - 3 - _width(waiting[1:]) - _meters_width(meters)
    cut = (Piece(truncate(exact(waiting[0].text), max(8, room)), waiting[0].tone), *waiting[1:])
    right: list[Piece] = []
    for at in sorted(range(len(meters)), key=lambda at: at == 0):
        right.extend((Piece("  "), meters[at]))
    return Line((Piece(" "), *cut), (*right[1:], Piece(" ")) if right else ())


def _width(pieces: tuple[Piece, ...] | list[Piece]) -> int:
    return sum(cell_width(exact(piece.text)) for piece in pieces)


def _meters_width(meters: list[Piece]) -> int:
    return _width(meters) + 2 * len(meters)


def tab_line(tabs: tuple[tuple[str, str, int], ...], shown: str, width: int) -> Line:
    """One pane at a time: their names, the shown one strong, and how many rows the others have.
    Where not all names fit, only the shown one and its place among them."""
    next_key = (Piece("F6", Tone.ACCENT), Piece(" next ", Tone.MUTED))
    pieces: list[Piece] = [Piece(" ")]
    for at, (key, title, count) in enumerate(tabs):
        said = f"{title} {count}" if count else title
        if width >= ALL_TABS:
            tone = Tone.STRONG if key == shown else Tone.MUTED
            pieces.append(Piece(f"[{said}]" if key == shown else f" {said} ", tone))
        elif key == shown:
            pieces.append(Piece(said, Tone.STRONG))
            pieces.append(Piece(f"  {at + 1} of {len(tabs)}", Tone.MUTED))
    return Line(tuple(pieces), next_key)


def when_words(message: QueuedMessage) -> str:
    """When a queued message is delivered."""
    return "after the turn" if message.after_turn else "next step"


def queue_lines(queue: tuple[QueuedMessage, ...], marks: Marks, most: int = 3) -> tuple[Line, ...]:
    """What waits to be delivered, with when."""
    lines = []
    for message in queue[:most]:
        text = " ".join(message.text.split())
        lines.append(
            Line(
                (Piece(" "), marks.piece(Mark.QUEUED), Piece(f" {text}", Tone.MUTED)),
                (Piece(f"queued: {when_words(message)} ", Tone.MUTED),),
            )
        )
    if len(queue) > most:
        more = plural(len(queue) - most, "more message")
        lines.append(Line((Piece(f"   {more} queued · Ctrl+Q edits", Tone.MUTED),)))
    return tuple(lines)


def _home(folder: str) -> str:
    home = os.path.expanduser("~")
    return f"~{folder[len(home) :]}" if folder.startswith(f"{home}/") else folder
