"""Everything that happens, as one closed union of events.

`type` is also the name on the wire. The emitter fills in what happened; the bus stamps `seq` and
`time`. A merged delta covers `seq_from` to `seq`. Consumers ignore types they do not know.

Three events tell of completion and none follows from another: `provider:complete`, `done`,
`session:phase` with phase idle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tui_agent.vocabulary.blocks import JsonObject, Outcome
from tui_agent.vocabulary.decisions import Action, PendingItem, Source
from tui_agent.vocabulary.messages import Message, StopReason
from tui_agent.vocabulary.states import DoneReason, LoopState, Mode, Phase, PhaseLabel, Trigger
from tui_agent.vocabulary.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBase:
    """What every event carries. `agent_path` lists session ids, root first; `turn_id` is `None`
    outside a turn; `seq` counts over the whole process; `time` is wall-clock seconds."""

    session_id: str = ""
    turn_id: str | None = None
    agent_path: tuple[str, ...] = ()
    seq: int = 0
    time: float = 0.0


# --- the turn ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEvent(EventBase):
    """First event of every turn."""

    type: Literal["session"] = "session"
    trigger: Trigger
    resumes: str | None = None
    agent: str = "main"
    provider: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateEvent(EventBase):
    """The loop went from one state to another."""

    type: Literal["state"] = "state"
    from_: LoopState
    to: LoopState


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStored(EventBase):
    """A message was committed; what panes draw, live and loaded alike."""

    type: Literal["message:stored"] = "message:stored"
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetCheck(EventBase):
    """Before every model call: tokens spent and allowed, context used and available."""

    type: Literal["budget:check"] = "budget:check"
    spent: int
    limit: int | None
    context_used: int
    window: int
    rounds: int
    max_turns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneEvent(EventBase):
    """Last event of the turn, exactly one."""

    type: Literal["done"] = "done"
    reason: DoneReason
    cause: str | None = None
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    rounds: int = 0
    pending_approvals: int = 0
    pending_questions: int = 0
    background_agents: int = 0
    awaited_shells: int = 0
    queued: int = 0
    held_results: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEvent(EventBase):
    """Something failed in-band. `action` says what to do."""

    type: Literal["error"] = "error"
    message: str
    action: str = ""
    error_class: str = ""


# --- how the turn stopped: exactly one of these before `done` ------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopDone(EventBase):
    """A genuine final answer, or a tool that ended the turn. `cut`: by the output limit."""

    type: Literal["loop:done"] = "loop:done"
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopMaxTurns(EventBase):
    """The round limit was reached."""

    type: Literal["loop:max_turns"] = "loop:max_turns"
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopDenied(EventBase):
    """A person's plain No."""

    type: Literal["loop:denied"] = "loop:denied"
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPendingApproval(EventBase):
    """At least one approval is open and nobody is there."""

    type: Literal["loop:pending_approval"] = "loop:pending_approval"
    pending_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPendingQuestion(EventBase):
    """Only questions are open and nobody is there."""

    type: Literal["loop:pending_question"] = "loop:pending_question"
    pending_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopAborted(EventBase):
    """Interrupted by a person, or the program is closing."""

    type: Literal["loop:aborted"] = "loop:aborted"
    cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopBudgetExceeded(EventBase):
    """The token limit was reached."""

    type: Literal["loop:budget_exceeded"] = "loop:budget_exceeded"
    spent: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopDetected(EventBase):
    """The same call with the same result, `count` times in a row."""

    type: Literal["loop:detected"] = "loop:detected"
    tool: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopHookStopped(EventBase):
    """A hook ended the turn."""

    type: Literal["loop:hook_stopped"] = "loop:hook_stopped"
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopError(EventBase):
    """The turn failed."""

    type: Literal["loop:error"] = "loop:error"
    message: str
    action: str = ""


# --- the model call ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderStarted(EventBase):
    """A model call begins. Ends in exactly one `provider:retry` or `provider:complete`."""

    type: Literal["provider:started"] = "provider:started"
    model_call_id: str
    provider: str
    model: str
    attempt: int = 1
    purpose: Literal["round", "compaction"] = "round"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRetry(EventBase):
    """The call failed and will be tried again in `delay` seconds; its deltas are withdrawn. It was
    attempt number `attempt` of `attempts` at most; 0 is not known."""

    type: Literal["provider:retry"] = "provider:retry"
    model_call_id: str
    attempt: int
    delay: float
    message: str
    error_class: str
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderComplete(EventBase):
    """The response ended. `first_token` is seconds from the start of the call."""

    type: Literal["provider:complete"] = "provider:complete"
    model_call_id: str
    stop_reason: StopReason
    usage: Usage
    first_token: float | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(EventBase):
    """Text as it is generated."""

    type: Literal["text:delta"] = "text:delta"
    model_call_id: str
    text: str
    seq_from: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta(EventBase):
    """Reasoning as it is generated."""

    type: Literal["thinking:delta"] = "thinking:delta"
    model_call_id: str
    text: str
    seq_from: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInputDelta(EventBase):
    """Arguments of a call as they are generated; `text` is a piece of JSON."""

    type: Literal["tool:input_delta"] = "tool:input_delta"
    model_call_id: str
    tool_use_id: str
    name: str
    text: str
    seq_from: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantText(EventBase):
    """The text beside tool calls of the same message."""

    type: Literal["assistant:text"] = "assistant:text"
    text: str


# --- calls ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ActAuthDecision(EventBase):
    """The gate's judgement on one call; one per call that reaches it."""

    type: Literal["actauth:decision"] = "actauth:decision"
    tool_use_id: str
    tool: str
    action: Action
    source: Source
    reason: str
    rule: str | None = None
    stop: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPending(EventBase):
    """An approval is open; it is already committed."""

    type: Literal["approval:pending"] = "approval:pending"
    pending_id: str
    item: PendingItem


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPending(EventBase):
    """A question is open; it is already committed."""

    type: Literal["question:pending"] = "question:pending"
    pending_id: str
    item: PendingItem


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalResolved(EventBase):
    """An approval was answered, or closed without an answer (`choice` is then `None`)."""

    type: Literal["approval:resolved"] = "approval:resolved"
    pending_id: str
    tool_use_id: str
    choice: str | None
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionResolved(EventBase):
    """A question was answered, or closed without an answer (`choice` is then `None`)."""

    type: Literal["question:resolved"] = "question:resolved"
    pending_id: str
    tool_use_id: str
    choice: str | None
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(EventBase):
    """A call runs. Always followed by its `tool:result`."""

    type: Literal["tool:started"] = "tool:started"
    tool_use_id: str
    tool: str
    input: JsonObject
    subject: str = ""
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress(EventBase):
    """Output of a running call so far: the newest piece in `text`, all bytes in `total_bytes`."""

    type: Literal["tool:progress"] = "tool:progress"
    tool_use_id: str
    text: str
    total_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultEvent(EventBase):
    """A call has its outcome, whether it ran or not. `duration` is seconds; `None` if it never
    ran."""

    type: Literal["tool:result"] = "tool:result"
    tool_use_id: str
    tool: str
    outcome: Outcome
    content: str
    details: JsonObject
    duration: float | None = None


# --- context, agents, sessions -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillLoaded(EventBase):
    """The Skill tool resolved to a body."""

    type: Literal["skill:loaded"] = "skill:loaded"
    name: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRan(EventBase):
    """A hook ended."""

    type: Literal["hook:ran"] = "hook:ran"
    hook_event: str
    command: str
    exit_code: int | None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextCleared(EventBase):
    """Older tool results were replaced by markers in the projection."""

    type: Literal["context:cleared"] = "context:cleared"
    tool_use_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCompaction(EventBase):
    """Compaction and where it stands; `completed` is the stored boundary."""

    type: Literal["prompt:compaction"] = "prompt:compaction"
    phase: Literal["started", "progress", "completed", "failed"]
    trigger: Literal["auto", "manual", "overflow"]
    tokens_before: int = 0
    tokens_after: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStarted(EventBase):
    """A subagent was started by the call `tool_use_id`; `child_id` is its session."""

    type: Literal["agent:started"] = "agent:started"
    child_id: str
    tool_use_id: str
    agent: str
    description: str
    background: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProgress(EventBase):
    """What a subagent has done so far."""

    type: Literal["agent:progress"] = "agent:progress"
    child_id: str
    rounds: int
    tool_calls: int
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFinished(EventBase):
    """A subagent's turn ended; `reason` may be a pause."""

    type: Literal["agent:finished"] = "agent:finished"
    child_id: str
    tool_use_id: str
    reason: DoneReason
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChanged(EventBase):
    """The queue as it is now."""

    type: Literal["queue:changed"] = "queue:changed"
    items: tuple[QueuedMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeChanged(EventBase):
    """The permission mode changed."""

    type: Literal["mode:changed"] = "mode:changed"
    mode: Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoChanged(EventBase):
    """The todo list as it is now."""

    type: Literal["todo:changed"] = "todo:changed"
    items: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPhase(EventBase):
    """What the session as a whole is doing, and in finer words."""

    type: Literal["session:phase"] = "session:phase"
    phase: Phase
    label: PhaseLabel
    waiting_for: str = ""
    background_agents: int = 0


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A message typed while a turn ran. `after_turn` waits for the turn's end, else it steers."""

    id: str
    text: str
    after_turn: bool = False


Event = (
    SessionEvent
    | StateEvent
    | MessageStored
    | BudgetCheck
    | ProviderStarted
    | ProviderRetry
    | ProviderComplete
    | TextDelta
    | ThinkingDelta
    | ToolInputDelta
    | AssistantText
    | ActAuthDecision
    | ApprovalPending
    | ApprovalResolved
    | QuestionPending
    | QuestionResolved
    | ToolStarted
    | ToolProgress
    | ToolResultEvent
    | SkillLoaded
    | HookRan
    | ContextCleared
    | PromptCompaction
    | AgentStarted
    | AgentProgress
    | AgentFinished
    | QueueChanged
    | ModeChanged
    | TodoChanged
    | LoopDone
    | LoopMaxTurns
    | LoopDenied
    | LoopPendingApproval
    | LoopPendingQuestion
    | LoopAborted
    | LoopBudgetExceeded
    | LoopDetected
    | LoopHookStopped
    | LoopError
    | DoneEvent
    | SessionPhase
    | ErrorEvent
)

Delta = TextDelta | ThinkingDelta | ToolInputDelta
"""The events that a slow consumer gets merged."""
