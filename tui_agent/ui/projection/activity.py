"""Rows of the activity pane: one for each tool call of a session. Pure functions of calls."""

from __future__ import annotations

from tui_agent.ui.lines import Line, Piece, Row, Tone
from tui_agent.ui.marks import CALL_WORDS, Marks, of_call, tone_of
from tui_agent.ui.projection.items import CallItem
from tui_agent.ui.projection.words import duration, plural
from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.states import CallState

NAME_WIDTH = 8
"""Cells of the tool's name, so that subjects stand in a column."""


def activity_rows(calls: tuple[CallItem, ...], marks: Marks, now: float) -> tuple[Row, ...]:
    """One row a call, oldest first; `now` is wall-clock seconds."""
    return tuple(Row(call.key, (call_line(call, marks, now),)) for call in calls)


class ActivityRows:
    """`activity_rows` for a list that grows: the rows of calls that are over are made once."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[CallItem, Row]] = {}

    def rows(self, calls: tuple[CallItem, ...], marks: Marks, now: float) -> tuple[Row, ...]:
        """As `activity_rows`."""
        return tuple(self._row(call, marks, now) for call in calls)

    def _row(self, call: CallItem, marks: Marks, now: float) -> Row:
        made = self._made.get(call.key)
        if made is not None and made[0] is call:
            return made[1]
        row = Row(call.key, (call_line(call, marks, now),))
        if call.state.is_settled:
            self._made[call.key] = (call, row)
        return row


def call_line(call: CallItem, marks: Marks, now: float) -> Line:
    """Mark, tool, subject; at the right how long it took or what it waits for."""
    mark = of_call(call.state)
    name = call.tool.ljust(NAME_WIDTH)
    said = Piece(call.subject, Tone.MUTED if call.state.is_settled else Tone.TEXT)
    left: tuple[Piece, ...] = (marks.piece(mark), Piece(f" {name} ", Tone.STRONG), said)
    found = found_words(call.details)
    if found:
        left = (*left, Piece(f"  {found}", Tone.MUTED))
    return Line(left, (Piece(timing(call, now), _timing_tone(call)),))


def timing(call: CallItem, now: float) -> str:
    """How long a call ran or runs; in words when it does neither."""
    match call.state:
        case CallState.STARTED if call.started is not None:
            return duration(now - call.started)
        case CallState.DONE | CallState.FAILED if call.duration is not None:
            return duration(call.duration)
        case _:
            return CALL_WORDS[call.state]


def found_words(details: JsonObject) -> str:
    """What a finished call found or changed, from its details; empty when they say nothing."""
    match details.get("kind"):
        case "diff":
            added, removed = details.get("added"), details.get("removed")
            if isinstance(added, int) and isinstance(removed, int):
                return f"+{added} −{removed}"
        case "matches" | "paths":
            count = details.get("count", details.get("total"))
            if isinstance(count, int):
                return plural(count, "hit" if details.get("kind") == "matches" else "file")
        case "shell":
            code = details.get("exit_code")
            if isinstance(code, int) and code != 0:
                return f"exit {code}"
        case _:
            pass
    return ""


def _timing_tone(call: CallItem) -> Tone:
    if call.state in (CallState.DONE, CallState.FAILED) and call.duration is not None:
        return Tone.MUTED
    return tone_of(of_call(call.state))
