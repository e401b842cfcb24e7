"""What only this room hands out or takes: frozen values beside the records of the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, field

from tui_agent.vocabulary.decisions import Decision, PendingItem
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.states import DoneReason
from tui_agent.vocabulary.usage import Usage


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ended; `usage` and `rounds` are the turn's totals."""

    turn_id: str
    reason: DoneReason
    ended: float
    usage: Usage = field(default_factory=Usage)
    rounds: int = 0
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    """How one session's open batch is closed: the calls in `settled` get the outcome they carry,
    `message` answers every call, and `note`, a message of its own, follows it."""

    session_id: str
    message: Message
    settled: tuple[ToolRun, ...] = ()
    note: Message | None = None


@dataclass(frozen=True, slots=True)
class PendingEntry:
    """A pending item and what became of it. `resolved` of `None`: still open. A resolved item
    without a decision was closed unanswered; `why` then says what closed it."""

    item: PendingItem
    resolved: float | None = None
    decision: Decision | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Decided:
    """What a decision did. When `applied` is false nothing changed and `why` says what stands in
    the way. `run` is the decided call as it is now, `settled` are the siblings that a stopping
    denial settled, in call order."""

    applied: bool
    item: PendingItem
    why: str = ""
    run: ToolRun | None = None
    settled: tuple[ToolRun, ...] = ()
