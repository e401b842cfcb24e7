"""What a turn told: in words to compare with a list written by hand, and the promises that hold for
every trace."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from tui_agent.vocabulary.events import (
    ActAuthDecision,
    ApprovalPending,
    ApprovalResolved,
    DoneEvent,
    Event,
    MessageStored,
    PromptCompaction,
    ProviderComplete,
    ProviderRetry,
    ProviderStarted,
    QuestionPending,
    QuestionResolved,
    SessionEvent,
    SessionPhase,
    StateEvent,
    ToolResultEvent,
    ToolStarted,
)
from tui_agent.vocabulary.states import TRANSITIONS, LoopState

PATIENCE = 30.0
"""Seconds after which something that was awaited is taken for lost."""

_LEFT_OUT = ("text:delta", "thinking:delta", "tool:input_delta", "tool:progress", "session:phase")


def words(events: Iterable[Event], session_id: str | None = None) -> list[str]:
    """Events as short lines: the type, and the one thing about it that a trace is about."""
    return [
        _word(event)
        for event in events
        if event.type not in _LEFT_OUT and session_id in (None, event.session_id)
    ]


def _word(event: Event) -> str:  # noqa: C901 - one case a type
    match event:
        case SessionEvent():
            return f"session {event.trigger}"
        case StateEvent():
            return f"{event.from_} → {event.to}"
        case MessageStored():
            return f"stored {event.message.origin}{' cut' if event.message.cut else ''}"
        case ProviderStarted():
            return f"provider:started {event.purpose}"
        case ProviderComplete():
            return f"provider:complete {event.stop_reason}"
        case ActAuthDecision():
            return f"actauth {event.action} {event.tool_use_id}"
        case ApprovalPending() | QuestionPending():
            return f"{event.type} {event.item.tool_use_id}"
        case ApprovalResolved() | QuestionResolved():
            return f"{event.type} {event.tool_use_id} {event.choice}"
        case ToolStarted():
            return f"{event.type} {event.tool_use_id}"
        case ToolResultEvent():
            return f"{event.type} {event.tool_use_id} {event.outcome}"
        case PromptCompaction():
            return f"compaction {event.phase} {event.trigger}"
        case DoneEvent():
            return f"done {event.reason}"
        case _:
            return event.type


def brief(event: Event) -> str:
    """One line about an event, for the text of a failure."""
    return f"{event.session_id[-4:]} {_word(event)}"


def dishonesties(events: Sequence[Event]) -> list[str]:
    """What in a whole trace breaks a promise; empty is good."""
    wrong: list[str] = []
    turns: defaultdict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.turn_id is not None:
            turns[event.turn_id].append(event)
    for told in turns.values():
        wrong += _turn(told)
    wrong += _model_calls(events)
    wrong += _tool_calls(events)
    wrong += _asks(events)
    wrong += _unknown_transitions(events)
    return wrong


def _turn(told: Sequence[Event]) -> Iterable[str]:
    if not isinstance(told[0], SessionEvent):
        yield f"{told[0].type} came before session"
    count = Counter(event.type for event in told)
    if count["session"] != 1:
        yield f"session was told {count['session']} times in a turn"
    stops = [event.type for event in told if event.type.startswith("loop:")]
    if len(stops) != 1:
        yield f"a turn stopped by {stops}"
    if count["done"] != 1 or not isinstance(told[-1], DoneEvent):
        yield f"done was told {count['done']} times, and last was {told[-1].type}"
    done = told[-1]
    if isinstance(done, DoneEvent) and stops and stops != [_LOOP_EVENT[done.reason]]:
        yield f"{stops} and then done {done.reason}"
    state: LoopState | None = None
    for event in told:
        if isinstance(event, StateEvent):
            if state is not None and event.from_ is not state:
                yield f"went to {state} and left {event.from_}"
            state = event.to
    if state is not LoopState.DONE:
        yield f"a turn ended in {state}"


_LOOP_EVENT = {
    "model_stop": "loop:done",
    "max_turns": "loop:max_turns",
    "user_abort": "loop:aborted",
    "error": "loop:error",
    "budget_exceeded": "loop:budget_exceeded",
    "loop_detected": "loop:detected",
    "denied": "loop:denied",
    "hook_stopped": "loop:hook_stopped",
    "pending_approval": "loop:pending_approval",
    "pending_question": "loop:pending_question",
}


def _model_calls(events: Iterable[Event]) -> Iterable[str]:
    ends: dict[str, int] = {}
    for event in events:
        if isinstance(event, ProviderStarted):
            ends[event.model_call_id] = 0
        elif isinstance(event, ProviderRetry | ProviderComplete):
            if event.model_call_id not in ends:
                yield f"{event.type} of a call that never started"
            ends[event.model_call_id] = ends.get(event.model_call_id, 0) + 1
    for call_id, count in ends.items():
        if count != 1:
            yield f"the model call {call_id} ended {count} times"


def _tool_calls(events: Iterable[Event]) -> Iterable[str]:
    """A call that started has one result, but for a Task whose child waits."""
    told: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    names: dict[tuple[str, str], str] = {}
    for event in events:
        if isinstance(event, ToolStarted | ToolResultEvent):
            key = (event.session_id, event.tool_use_id)
            told[key].append(event.type)
            names[key] = event.tool
    for (session_id, call_id), types in told.items():
        is_task = names[session_id, call_id] in ("Task", "Agent")
        if types.count("tool:result") > 1 or (types[-1] != "tool:result" and not is_task):
            yield f"the call {call_id} was told as {types}"


def _asks(events: Iterable[Event]) -> Iterable[str]:
    """Once a call has its result, its ask is no longer open."""
    is_open: dict[tuple[str, str], str] = {}
    for event in events:
        match event:
            case ApprovalPending() | QuestionPending():
                is_open[event.session_id, event.item.tool_use_id] = event.pending_id
            case ApprovalResolved() | QuestionResolved():
                is_open.pop((event.session_id, event.tool_use_id), None)
            case ToolResultEvent():
                if (event.session_id, event.tool_use_id) in is_open:
                    yield f"the ask of {event.tool_use_id} was never told as resolved"
            case _:
                pass


def _unknown_transitions(events: Iterable[Event]) -> Iterable[str]:
    for event in events:
        if isinstance(event, StateEvent) and event.to not in TRANSITIONS[event.from_]:
            yield f"the transition {event.from_} → {event.to} is in no table"


def phases(events: Iterable[Event]) -> list[str]:
    """The phases told, each change once."""
    told: list[str] = []
    for event in events:
        if isinstance(event, SessionPhase) and (not told or told[-1] != event.phase):
            told.append(event.phase)
    return told


__all__ = ["PATIENCE", "brief", "dishonesties", "phases", "words"]
