"""The loop's states, the reasons at its end, the phases of a session, the states of a call.

The transition table is data so that the driver can enforce it and a test can walk it.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType


class LoopState(StrEnum):
    """Where the turn's state machine stands."""

    THINKING = "thinking"
    STREAMING = "streaming"
    EXECUTING = "executing"
    CONFIRMING = "confirming"
    COMPACTING = "compacting"
    DONE = "done"


TRANSITIONS: MappingProxyType[LoopState, frozenset[LoopState]] = MappingProxyType(
    {
        LoopState.THINKING: frozenset({LoopState.STREAMING, LoopState.COMPACTING, LoopState.DONE}),
        LoopState.STREAMING: frozenset(
            {LoopState.EXECUTING, LoopState.THINKING, LoopState.COMPACTING, LoopState.DONE}
        ),
        LoopState.EXECUTING: frozenset(
            {
                LoopState.CONFIRMING,
                LoopState.EXECUTING,
                LoopState.COMPACTING,
                LoopState.THINKING,
                LoopState.DONE,
            }
        ),
        LoopState.CONFIRMING: frozenset({LoopState.EXECUTING, LoopState.THINKING, LoopState.DONE}),
        LoopState.COMPACTING: frozenset({LoopState.THINKING, LoopState.DONE}),
        LoopState.DONE: frozenset(),
    }
)


class DoneReason(StrEnum):
    """Why a turn ended."""

    MODEL_STOP = "model_stop"
    MAX_TURNS = "max_turns"
    USER_ABORT = "user_abort"
    ERROR = "error"
    BUDGET_EXCEEDED = "budget_exceeded"
    LOOP_DETECTED = "loop_detected"
    DENIED = "denied"
    HOOK_STOPPED = "hook_stopped"
    PENDING_APPROVAL = "pending_approval"
    PENDING_QUESTION = "pending_question"

    @property
    def is_pause(self) -> bool:
        """Whether the turn waits for a person and goes on with the answer."""
        return self in (DoneReason.PENDING_APPROVAL, DoneReason.PENDING_QUESTION)


class Trigger(StrEnum):
    """What started a turn."""

    PROMPT = "prompt"
    DECISION = "decision"
    HELD_RESULTS = "held_results"
    QUEUE = "queue"
    RESUME = "resume"


class Phase(StrEnum):
    """What a session as a whole is doing. `REQUIRES_ACTION`: only a person can move it."""

    IDLE = "idle"
    RUNNING = "running"
    DRAINING = "draining"
    REQUIRES_ACTION = "requires_action"


class PhaseLabel(StrEnum):
    """The finer step behind a phase, in words for people."""

    PREPARING = "preparing"
    REQUESTING = "requesting"
    TOOL_REVIEW = "tool review"
    TOOL_RUNNING = "tool running"
    CONFIRMING = "confirming"
    COMPACTING = "compacting"
    DRAINING = "draining"
    IDLE = "idle"


class CallState(StrEnum):
    """Where one tool call of a batch stands. The row is the only record of it."""

    PLANNED = "planned"
    ASKED = "asked"
    APPROVED = "approved"
    DENIED = "denied"
    STARTED = "started"
    WAITING = "waiting"
    """A Task call whose child session is paused."""
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"

    @property
    def is_settled(self) -> bool:
        """Whether the call has its outcome."""
        return self in _SETTLED


_SETTLED = frozenset(
    {
        CallState.DENIED,
        CallState.DONE,
        CallState.FAILED,
        CallState.CANCELLED,
        CallState.UNKNOWN,
    }
)


class Mode(StrEnum):
    """How much runs without asking."""

    ASK = "ask"
    ACCEPT_EDITS = "accept-edits"
    PLAN = "plan"
    AUTO = "auto"
