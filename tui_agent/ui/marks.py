"""One set of marks, used everywhere for the same thing, each with a twin in ASCII.

Every mark is one cell wide in every terminal: no emoji, nothing of ambiguous width. Colour is never
the only carrier of a state; the mark is the other. Pure data.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tui_agent.ui.lines import Piece, Tone
from tui_agent.vocabulary.states import CallState, Phase

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
ASCII_SPINNER = "|/-\\"


class Mark(StrEnum):
    """What is marked."""

    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    UNKNOWN = "unknown"
    QUEUED = "queued"
    IDLE = "idle"


_GLYPHS = {
    Mark.RUNNING: ("⠋", "*"),
    Mark.WAITING: ("▸", "!"),
    Mark.DONE: ("✓", "+"),
    Mark.FAILED: ("✗", "x"),
    Mark.DENIED: ("⊘", "-"),
    Mark.UNKNOWN: ("?", "?"),
    Mark.QUEUED: ("◌", "o"),
    Mark.IDLE: ("▪", "."),
}

_TONES = {
    Mark.RUNNING: Tone.RUNNING,
    Mark.WAITING: Tone.WAITING,
    Mark.DONE: Tone.DONE,
    Mark.FAILED: Tone.FAILED,
    Mark.DENIED: Tone.FAILED,
    Mark.UNKNOWN: Tone.UNKNOWN,
    Mark.QUEUED: Tone.MUTED,
    Mark.IDLE: Tone.MUTED,
}

_OF_PHASE = {
    Phase.IDLE: Mark.IDLE,
    Phase.RUNNING: Mark.RUNNING,
    Phase.DRAINING: Mark.RUNNING,
    Phase.REQUIRES_ACTION: Mark.WAITING,
}

_OF_CALL = {
    CallState.PLANNED: Mark.QUEUED,
    CallState.ASKED: Mark.WAITING,
    CallState.APPROVED: Mark.QUEUED,
    CallState.DENIED: Mark.DENIED,
    CallState.STARTED: Mark.RUNNING,
    CallState.WAITING: Mark.WAITING,
    CallState.DONE: Mark.DONE,
    CallState.FAILED: Mark.FAILED,
    CallState.CANCELLED: Mark.DENIED,
    CallState.UNKNOWN: Mark.UNKNOWN,
}

CALL_WORDS = {
    CallState.PLANNED: "planned",
    CallState.ASKED: "needs you",
    CallState.APPROVED: "approved",
    CallState.DENIED: "denied",
    CallState.STARTED: "running",
    CallState.WAITING: "agent waits",
    CallState.DONE: "done",
    CallState.FAILED: "failed",
    CallState.CANCELLED: "not run",
    CallState.UNKNOWN: "unknown outcome",
}
"""The same words for the same state, in cards, panes and dialogs."""

PHASE_WORDS = {
    Phase.IDLE: "idle",
    Phase.RUNNING: "running",
    Phase.DRAINING: "draining",
    Phase.REQUIRES_ACTION: "needs you",
}


def of_phase(phase: Phase) -> Mark:
    """The mark of a session."""
    return _OF_PHASE[phase]


def of_call(state: CallState) -> Mark:
    """The mark of a tool call."""
    return _OF_CALL[state]


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks as drawn: in ASCII or not, the running one at a frame of its spinner."""

    ascii_only: bool = False
    frame: int = 0

    def glyph(self, mark: Mark) -> str:
        """The one-cell character of `mark`."""
        if mark is Mark.RUNNING:
            frames = ASCII_SPINNER if self.ascii_only else SPINNER
            return frames[self.frame % len(frames)]
        return _GLYPHS[mark][1 if self.ascii_only else 0]

    def piece(self, mark: Mark) -> Piece:
        """`mark` in its state's tone."""
        return Piece(self.glyph(mark), _TONES[mark])


def tone_of(mark: Mark) -> Tone:
    """The tone of words that stand beside `mark`."""
    return _TONES[mark]
