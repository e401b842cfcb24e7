"""What a workspace told, kept in order, and the promises that hold for every such trace."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, cast

from tui_agent.headless.schema import event_adapter
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.events import (
    ApprovalPending,
    DoneEvent,
    Event,
    ProviderComplete,
    ProviderRetry,
    ProviderStarted,
    QuestionPending,
    SessionEvent,
    SessionPhase,
    StateEvent,
    ToolResultEvent,
    ToolStarted,
)
from tui_agent.vocabulary.states import LoopState, Phase
from tui_agent.workspace.bus import BusSubscription

PATIENCE = 30.0
"""Seconds after which something that was awaited is taken for lost."""

Kind = TypeVar("Kind")


class Trace:
    """Every event of one subscription. Made on the loop of the workspace."""

    def __init__(self, subscription: BusSubscription) -> None:
        self.events: list[Event] = []
        self._subscription = subscription
        self._news = asyncio.Event()
        self._reader = asyncio.create_task(self._read(), name="trace")

    async def _read(self) -> None:
        async for batch in self._subscription:
            self.events.extend(batch)
            news, self._news = self._news, asyncio.Event()
            news.set()

    async def close(self) -> None:
        """Read what is left and stop."""
        self._subscription.close()
        await self._reader

    async def until(self, holds: Callable[[Event], bool], *, after: int = 0) -> Event:
        """The first event from index `after` on for which this holds."""
        place = after
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    news = self._news
                    for event in self.events[place:]:
                        if holds(event):
                            return event
                    place = len(self.events)
                    await news.wait()
        except TimeoutError:
            told = "\n".join(brief(event) for event in self.events[-40:])
            raise AssertionError(f"the awaited event never came; told so far:\n{told}") from None

    async def next(
        self, kind: type[Kind], holds: Callable[[Kind], bool] = lambda _: True, *, after: int = 0
    ) -> Kind:
        """The first event of a type from index `after` on."""
        return cast(
            "Kind", await self.until(lambda e: isinstance(e, kind) and holds(e), after=after)
        )

    def all(self, kind: type[Kind], session_id: str | None = None) -> list[Kind]:
        """The events of a type, of one session if asked."""
        return [
            event
            for event in self.events
            if isinstance(event, kind) and session_id in (None, event.session_id)
        ]

    def names(self, session_id: str, *, deltas: bool = False) -> list[str]:
        """The types told of one session, in order."""
        return [
            event.type
            for event in self.events
            if event.session_id == session_id and (deltas or not event.type.endswith("delta"))
        ]

    def phases(self, session_id: str) -> list[Phase]:
        """The phases of a session, each change once."""
        told = [event.phase for event in self.all(SessionPhase, session_id)]
        return [phase for i, phase in enumerate(told) if i == 0 or told[i - 1] is not phase]

    def states(self, session_id: str) -> list[LoopState]:
        """The states a session's turns went through, each turn's first one left out."""
        return [event.to for event in self.all(StateEvent, session_id)]


def brief(event: Event) -> str:
    """One line about an event, for the text of a failure."""
    shown = {k: v for k, v in vars_of(event).items() if k not in {"time", "agent_path", "message"}}
    return f"{event.type} {str(shown)[:200]}"


def vars_of(event: Event) -> dict[str, object]:
    return {name: getattr(event, name) for name in event.__dataclass_fields__}


def dishonesties(events: Sequence[Event]) -> list[str]:
    """What in a whole trace breaks a promise; empty is good. The trace must cover whole turns."""
    wrong = list(_order(events))
    for event in events:
        event_adapter().validate_json(json.dumps(to_json(event)))
    turns: defaultdict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.turn_id is not None:
            turns[event.turn_id].append(event)
    for turn_id, told in turns.items():
        wrong += [f"{turn_id}: {text}" for text in _turn(told)]
    wrong += _pairs(events)
    wrong += _phases(events)
    return wrong


def _order(events: Iterable[Event]) -> Iterable[str]:
    last = 0
    for event in events:
        since = getattr(event, "seq_from", None) or event.seq
        if since <= last:
            yield f"{event.type} {event.seq} came after {last}"
        last = event.seq


def _turn(told: Sequence[Event]) -> Iterable[str]:
    own = [event for event in told if not _tells_of_row(event)]
    starts = [event for event in own if isinstance(event, SessionEvent)]
    if not starts:
        return  # an event about an older turn, such as the result of a call that was denied later
    if len(starts) != 1 or own[0] is not starts[0]:
        yield "session is not its first event, or not told once"
    ends = [event.type for event in own if event.type.startswith("loop:")]
    if len(ends) != 1:
        yield f"stopped by {ends}"
    dones = [event for event in own if isinstance(event, DoneEvent)]
    if len(dones) != 1 or own[-1] is not dones[0]:
        yield f"done is told {len(dones)} times or not last: {[e.type for e in own[-3:]]}"
    states = [event for event in own if isinstance(event, StateEvent)]
    for first, second in itertools.pairwise(states):
        if first.to is not second.from_:
            yield f"went to {first.to} and left {second.from_}"
    if not states or states[-1].to is not LoopState.DONE:
        yield "never came to done"


def _tells_of_row(event: Event) -> bool:
    """Events that carry the turn of the row they tell of and may come before it or behind it."""
    return event.type in ("message:stored", "tool:result", "agent:started", "agent:finished")


def _pairs(events: Iterable[Event]) -> Iterable[str]:
    calls: dict[str, int] = {}
    tools: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    paused: set[str] = set()
    for event in events:
        match event:
            case ProviderStarted():
                calls[event.model_call_id] = 0
            case ProviderComplete() | ProviderRetry():
                if event.model_call_id not in calls:
                    yield f"{event.type} of a call that never started"
                calls[event.model_call_id] = calls.get(event.model_call_id, 0) + 1
            case ToolStarted() | ToolResultEvent():
                if event.tool == "Task":
                    paused.add(event.tool_use_id)  # its result may come in a later process
                tools[event.session_id, event.tool_use_id].append(event.type)
            case _:
                pass
    for call_id, count in calls.items():
        if count != 1:
            yield f"the model call {call_id} ended {count} times"
    for (_, call_id), told in tools.items():
        if call_id in paused and "tool:result" not in told:
            continue
        if told.count("tool:result") != 1 and "tool:started" in told:
            yield f"the call {call_id} was told as {told}"


def _phases(events: Sequence[Event]) -> Iterable[str]:
    running: dict[str, bool] = {}
    open_asks: defaultdict[str, set[str]] = defaultdict(set)
    for event in events:
        match event:
            case SessionEvent():
                running[event.session_id] = True
            case DoneEvent():
                running[event.session_id] = False
            case ApprovalPending() | QuestionPending():
                open_asks[event.session_id].add(event.pending_id)
            case SessionPhase():
                if event.phase is Phase.IDLE and running.get(event.session_id):
                    yield f"{event.session_id} said idle before done"
                if event.phase is Phase.IDLE and open_asks[event.session_id]:
                    yield f"{event.session_id} said idle with open asks"
            case _:
                if event.type in ("approval:resolved", "question:resolved"):
                    open_asks[event.session_id].discard(getattr(event, "pending_id", ""))
