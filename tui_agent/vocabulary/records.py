"""Rows of the store as values: sessions, turns, tool runs, and what surfaces see of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui_agent.vocabulary.agents import Limits, ModelChoice
from tui_agent.vocabulary.blocks import ContentPart, JsonObject, Outcome
from tui_agent.vocabulary.decisions import PendingItem, Verdict
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.rules import Rules
from tui_agent.vocabulary.states import CallState, DoneReason, Mode, Phase, Trigger
from tui_agent.vocabulary.usage import Usage

if TYPE_CHECKING:
    # Making the events costs as much as the rest of this room; who reads rows may need none.
    from tui_agent.vocabulary.events import QueuedMessage


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """Everything that whoever continues a session needs. `parent_id` and `parent_tool_use_id` link
    a subagent's session to the call that started it; `root_id` is the session's own id for a root.
    """

    id: str
    folder: str
    model: ModelChoice
    root_id: str
    created: float
    updated: float
    title: str = ""
    agent: str = "main"
    mode: Mode = Mode.ASK
    parent_id: str | None = None
    parent_tool_use_id: str | None = None
    forked_from: str | None = None
    extra_folders: tuple[str, ...] = ()
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    limits: Limits = field(default_factory=Limits)
    rules: Rules = field(default_factory=Rules)


PROCESS_ENDED = "process ended"
"""The cause of a turn whose process went away before the turn had its end."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn. `reason` of `None` on a turn that no process runs means that it was cut."""

    id: str
    session_id: str
    trigger: Trigger
    started: float
    resumes: str | None = None
    ended: float | None = None
    reason: DoneReason | None = None
    cause: str | None = None
    usage: Usage = field(default_factory=Usage)
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One call of a batch and where it stands. `message_id` is the assistant message that made the
    call, `position` its place in it. `input` is what runs: the edited input once one was approved.
    """

    session_id: str
    tool_use_id: str
    message_id: str
    position: int
    name: str
    input: JsonObject
    state: CallState = CallState.PLANNED
    problem: str | None = None
    verdict: Verdict | None = None
    comment: str | None = None
    answers: JsonObject | None = None
    digest: str | None = None
    attempt: int = 0
    started: float | None = None
    ended: float | None = None
    outcome: Outcome | None = None
    content: tuple[ContentPart, ...] = ()
    details: JsonObject = field(default_factory=dict)
    ends_turn: bool = False
    child_id: str | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class Partial:
    """A reply that was still streaming when it was last saved."""

    session_id: str
    turn_id: str
    model_call_id: str
    text: str
    thinking: str
    updated: float


@dataclass(frozen=True, slots=True)
class Boundary:
    """A stored compaction: the request starts with the summary message, then `kept_from` on."""

    session_id: str
    summary_message_id: str
    kept_from: int
    trigger: str
    tokens_before: int
    tokens_after: int
    created: float


@dataclass(frozen=True, slots=True)
class Clearing:
    """Results that stand as markers in requests, by the ids of their calls. Message `first_seq`
    holds the first of them, `newest_seq` was the newest message when they were cleared: what the
    model said between the two, it said to a conversation that read differently."""

    tool_use_ids: tuple[str, ...]
    first_seq: int
    newest_seq: int


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One line of a listing."""

    id: str
    title: str
    folder: str
    phase: Phase
    created: float
    updated: float
    messages: int
    usage: Usage
    pending: int
    parent_id: str | None = None
    model: str = ""
    provider: str = ""
    agent: str = "main"
    last_reason: DoneReason | None = None
    """How its newest turn ended; `None` without one, or while it has not."""
    is_cut: bool = False
    """Whether its newest turn has no end: somebody runs it, or it was cut."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One message that a search found. `snippet` is foreign text: one line around the first match;
    `matches` are the (start, end) of the matches in it."""

    session_id: str
    root_id: str
    message_id: str
    seq: int
    title: str
    folder: str
    snippet: str
    created: float
    matches: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class SessionSnapshot:
    """What a surface needs to draw a session: true for the event number `seq`, so that a
    subscription from there continues it without gap or double. `messages` may be only the newest;
    `first_seq` is the lowest message number that exists, 0 without messages."""

    seq: int
    session: SessionRecord
    agent_path: tuple[str, ...]
    messages: tuple[Message, ...]
    first_seq: int
    tool_runs: tuple[ToolRun, ...]
    pending: tuple[PendingItem, ...]
    turns: tuple[TurnRecord, ...]
    children: tuple[SessionSummary, ...]
    queue: tuple[QueuedMessage, ...]
    partial: Partial | None
    draft: str
    view: JsonObject
    phase: Phase
    waiting_for: str
    boundaries: tuple[Boundary, ...] = ()
    cost: float | None = None
    """USD for the replies of the session itself, as far as prices are known."""
    is_ours: bool = True
    """Whether this process owns the session's tree; else it can only be followed."""
