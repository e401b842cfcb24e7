"""The shared context of one turn, and the ways in which a turn can be told to stop.

State handlers read and change a `Turn`; it holds no copy of what the store holds about a batch.
What the loop needs from above (steering messages, the presence of a person) comes in through
small protocols.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from tui_agent.context.budget import cost
from tui_agent.context.request import NextRequest
from tui_agent.loop.settling import Place
from tui_agent.loop.waiting import RetryWait
from tui_agent.providers.base import ModelClient, ModelRequest, ToolSchema
from tui_agent.providers.retry import RetryPolicy
from tui_agent.rules.syntax import Rule, RuleSet, parse_rules
from tui_agent.store import Store
from tui_agent.tools.base import Spawner
from tui_agent.tools.ledger import ReadLedger
from tui_agent.tools.locks import PathLocks
from tui_agent.tools.names import ASK_USER_QUESTION, TASK
from tui_agent.tools.registry import ToolRegistry
from tui_agent.vocabulary.agents import AgentConfig, ModelFacts
from tui_agent.vocabulary.blocks import ToolResult
from tui_agent.vocabulary.events import ErrorEvent, Event, MessageStored, QueuedMessage
from tui_agent.vocabulary.ids import SYSTEM_CLOCK, Clock
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import SessionRecord, ToolRun
from tui_agent.vocabulary.states import DoneReason, LoopState, Trigger
from tui_agent.vocabulary.usage import Usage

MOST_FAILED_COMPACTIONS = 3

T = TypeVar("T")


class StopKind(Enum):
    """Who stops a turn that has not ended by itself."""

    INTERRUPT = "interrupt"
    """A person: open calls are answered, asks are cancelled."""
    CLOSING = "closing"
    """The program ends: open asks stay open, to be answered another day."""


class Steering(Protocol):
    """Where messages come from that a person typed while the turn runs."""

    async def next_steering(self, session_id: str) -> QueuedMessage | None:
        """The oldest message that should be delivered now; it stays queued until it is stored."""
        ...

    async def queue_changed(self, session_id: str) -> None:
        """A queued message was delivered."""
        ...


class Presence(Protocol):
    """Whether somebody is there to decide."""

    @property
    def is_attended(self) -> bool:
        """False: an ask ends the turn as pending instead of being waited for."""
        ...


class ForeignDecisions(Protocol):
    """Decisions that other processes took about calls of this one."""

    async def catch_up(self) -> None:
        """Tell those that nobody here has told yet; before a batch is answered or a turn ends."""
        ...


class Grants(Protocol):
    """What a person has allowed so far, for this session or always."""

    async def granted(self, session: SessionRecord) -> Sequence[Rule]:
        """The rules in force now."""
        ...


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """The model of the next call: who answers, which id, what is known of it."""

    client: ModelClient
    model: str
    facts: ModelFacts


class ModelSource(Protocol):
    """Finds the client for a session; asked before every call, as the choice may change."""

    async def access(self, session: SessionRecord) -> ModelAccess:
        """Raises `UserError` when the provider cannot be used."""
        ...


class RequestLog(Protocol):
    """Keeps what goes to models, for whoever wants to look."""

    def sent(self, session: SessionRecord, client: ModelClient, prepared: NextRequest) -> None:
        """`prepared` goes out now."""
        ...


@dataclass(frozen=True, slots=True)
class TurnServices:
    """What every turn of a workspace shares."""

    store: Store
    models: ModelSource
    tools: ToolRegistry
    rules: RuleSet
    grants: Grants
    steering: Steering
    presence: Presence
    decisions: ForeignDecisions
    requests: RequestLog
    spill_folder: Path
    environment: dict[str, str]
    retry: RetryPolicy
    locks: PathLocks
    clock: Clock = SYSTEM_CLOCK


class TurnFailed(Exception):  # noqa: N818 - an end like another, not a programming error
    """The turn ends with reason error. `action` says what a person should do."""

    def __init__(self, message: str, action: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.action = action


@dataclass(frozen=True, slots=True)
class EarlyCall:
    """A read that began while its reply still streamed: the call as its row will be, its run."""

    run: ToolRun
    task: asyncio.Task[ToolResult]


@dataclass(slots=True)
class StreamedReply:
    """What has streamed of the current response; kept so that an interruption can store it."""

    model_call_id: str
    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    first_token: float | None = None
    saved: float = 0.0
    is_dirty: bool = False
    is_complete: bool = False
    inputs: dict[str, str] = field(default_factory=dict)
    """The arguments of each call as far as they have come, while all may start early."""
    early: dict[str, EarlyCall] = field(default_factory=dict)
    may_start_early: bool = True


@dataclass(slots=True)
class Turn:
    """One turn in progress."""

    id: str
    session: SessionRecord
    agent: AgentConfig
    agent_path: tuple[str, ...]
    trigger: Trigger
    services: TurnServices
    ledger: ReadLedger
    entry: LoopState
    resumes: str | None = None
    opening: Message | None = None
    """The stored message that starts the turn; told right after `session`."""
    has_begun: bool = False
    """Whether the turn's row is stored."""
    spawner: Spawner | None = None
    rounds_before: int = 0
    policy_denies: bool = False
    """Nobody is there and nobody will come: asks are answered with a policy No."""

    state: LoopState = LoopState.THINKING
    usage: Usage = field(default_factory=Usage)
    rounds: int = 0
    reason: DoneReason | None = None
    cause: str | None = None
    final_text: str = ""
    is_cut: bool = False
    access: ModelAccess | None = None
    request: ModelRequest | None = None
    reply: StreamedReply | None = None
    running: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    early: dict[str, EarlyCall] = field(default_factory=dict)
    """Reads of the open batch that have begun and are not in `running` yet."""
    spent_ids: set[str] = field(default_factory=set)
    """Ids of calls that were told and then discarded with their reply."""
    rejoined: set[str] = field(default_factory=set)
    """Task calls whose paused child this turn has already gone back to."""
    last_batch: str = ""
    repeats: int = 0
    empty_answers: int = 0
    overhead: int = 0
    """Tokens of the last request without its history, an estimate."""
    compactions_in_a_row: int = 0
    failed_compactions: int = 0
    compaction_trigger: Literal["auto", "manual", "overflow"] = "auto"
    compact_focus: str | None = None
    stop: StopKind | None = None
    ended_by: Event | None = None
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    retry_wait: RetryWait = field(default_factory=RetryWait)
    work: asyncio.Task[None] | None = None
    outbox: Callable[[Event], None] = lambda _event: None

    @property
    def store(self) -> Store:
        """The session database."""
        return self.services.store

    @property
    def folder(self) -> Path:
        """The workspace folder."""
        return Path(self.session.folder)

    @property
    def chain_rounds(self) -> int:
        """Model responses of this turn and of those that it resumes."""
        return self.rounds_before + self.rounds

    @property
    def rules(self) -> RuleSet:
        """The rules of the settings and those that the session was started with."""
        mine = self.session.rules
        return self.services.rules + parse_rules(allow=mine.allow, ask=mine.ask, deny=mine.deny)

    @property
    def place(self) -> Place:
        """Where this turn's batch is."""
        return Place(self.session.id, self.agent_path, self.session.folder, self.id)

    def emit(self, event: Event) -> None:
        """Send an event with this turn's address on it."""
        self.outbox(
            replace(
                event,
                session_id=self.session.id,
                turn_id=self.id,
                agent_path=self.agent_path,
            )
        )

    def remark(self, message: str, action: str) -> None:
        """Tell a person of something odd that is not the turn's end."""
        self.outbox(
            ErrorEvent(
                message=message,
                action=action,
                session_id=self.session.id,
                agent_path=self.agent_path,
            )
        )

    def now(self) -> float:
        """Wall-clock seconds."""
        return self.services.clock.wall()

    def request_stop(self, kind: StopKind) -> None:
        """End the turn now: the current handler is cancelled, never the reader of its events."""
        if self.stop is None:
            self.stop = kind
            if self.work is not None:
                self.work.cancel()

    def tool_schemas(self) -> tuple[ToolSchema, ...]:
        """The tools of this agent as the model sees them; a child gets no way to ask a person."""
        wanted = self.agent.tools
        names = self.services.tools.names if wanted is None else wanted
        if self.session.parent_id is not None:
            names = tuple(name for name in names if name != ASK_USER_QUESTION)
        if self.spawner is None:
            names = tuple(name for name in names if name != TASK)
        return self.services.tools.schemas(names)

    def may_compact(self) -> bool:
        """Whether a compaction now may help: never twice without an answer in between, and not
        after several that failed."""
        return self.compactions_in_a_row == 0 and self.failed_compactions < MOST_FAILED_COMPACTIONS

    def spend(self, usage: Usage) -> None:
        """Count what a model call took, whatever became of it."""
        self.usage = self.usage + usage

    def cost_of(self, usage: Usage) -> float | None:
        """USD for `usage` at the current model's prices; `None` when they are not known."""
        return None if self.access is None else cost(usage, self.access.facts)

    def ask_compaction(self, focus: str) -> None:
        """Compact at the next batch boundary."""
        self.compact_focus = focus

    def end(self, reason: DoneReason, cause: str | None = None) -> LoopState:
        """Note why the turn ends; returns the state to go to."""
        self.reason = reason
        self.cause = cause
        return LoopState.DONE

    async def refresh(self) -> None:
        """Take over what changed in the session's row: mode, model, title."""
        self.session = await self.store.session(self.session.id)

    async def announce(self, message: Message) -> None:
        """Tell that `message` is stored."""
        self.emit(MessageStored(message=message))


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`, a commit and the telling of it, to its end even when cancelled meanwhile: what
    is stored is always told. The cancellation takes effect afterwards."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait((task,))
        if not task.cancelled() and (failure := task.exception()) is not None:
            raise failure from None
        raise
