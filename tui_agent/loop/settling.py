"""Closing an open batch: every call gets an outcome, one message answers them all.

One way for everyone who closes: a batch whose calls have run, the end of a turn, a person who
discards, recovery. A Task call that waits for a paused child closes the child's batch with it, in
the same unit, so that no ask outlives the call that it belongs to. A call that was started and has
no outcome may have run: it becomes unknown, never "not run".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from tui_agent.loop.told import resolved_event, result_event
from tui_agent.store import Store
from tui_agent.store.values import Closing, TurnEnd
from tui_agent.vocabulary.blocks import Outcome, TextBlock, ToolResultBlock
from tui_agent.vocabulary.decisions import PendingItem
from tui_agent.vocabulary.events import Event, MessageStored
from tui_agent.vocabulary.ids import new_id
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.states import CallState

RECOVERY_NOTE = (
    "[Recovery] Calls marked as unknown were running when the program ended or could no longer "
    "store their results. They may have run in part or in whole: look at the state of things "
    "before you repeat any of them."
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a batch is: its session, the path to it, the turn that closes it (if one does)."""

    session_id: str
    agent_path: tuple[str, ...]
    folder: str
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    place: Place
    closing: Closing
    asks: tuple[PendingItem, ...]


async def close_batch(
    store: Store,
    place: Place,
    runs: tuple[ToolRun, ...],
    *,
    why: str,
    now: float,
    tell: Callable[[Event], None],
    ends: TurnEnd | None = None,
) -> tuple[ToolRun, ...]:
    """Close the batch of `runs` and, below its waiting calls, those of their children; then tell
    it. Returns the runs as they are now, all settled."""
    plans = await _plan(store, place, runs, why, now)
    appended = iter(await store.close_batches([plan.closing for plan in plans], ends=ends))
    for plan in plans:
        messages = [next(appended)]
        if plan.closing.note is not None:
            messages.append(next(appended))
        for event in _events(plan, messages):
            tell(
                replace(
                    event,
                    session_id=plan.place.session_id,
                    agent_path=plan.place.agent_path,
                    turn_id=plan.place.turn_id,
                )
            )
    return _merged(runs, plans[-1].closing.settled)


async def _plan(
    store: Store, place: Place, runs: tuple[ToolRun, ...], why: str, now: float
) -> list[_Plan]:
    """What has to be closed, the deepest first and this batch last."""
    plans: list[_Plan] = []
    for run in runs:
        if run.state.is_settled or run.child_id is None:
            continue
        child = await store.open_batch(run.child_id)
        if child is not None:
            path = (*place.agent_path, run.child_id)
            below = Place(run.child_id, path, place.folder)
            plans += await _plan(store, below, child[1], why, now)
    settled = settled_leftovers(runs, place.folder, why, now)
    answered = _merged(runs, settled)
    note = None
    if any(run.outcome is Outcome.UNKNOWN for run in answered):
        note = _message((TextBlock(RECOVERY_NOTE),), Origin.RECOVERY, place.turn_id, now)
    blocks = tuple(map(result_block, answered))
    results = _message(blocks, Origin.TOOL_RESULTS, place.turn_id, now)
    closing = Closing(place.session_id, results, settled, note)
    asks = await store.pending(session_id=place.session_id)
    return [*plans, _Plan(place, closing, asks)]


def settled_leftovers(
    runs: tuple[ToolRun, ...], folder: str, why: str, now: float
) -> tuple[ToolRun, ...]:
    """The calls without an outcome, with the one that fits: unknown for those that had started,
    interrupted for those whose child is ended with them, not run for the others."""
    settled = []
    for run in runs:
        if run.state.is_settled:
            continue
        if run.state is CallState.STARTED and run.child_id is None:
            settled.append(unknown(run, folder, now))
            continue
        had_begun = run.child_id is not None
        outcome = Outcome.INTERRUPTED if had_begun else Outcome.NOT_RUN
        word = "Interrupted" if had_begun else "Not run"
        settled.append(
            replace(
                run,
                state=CallState.CANCELLED,
                outcome=outcome,
                content=(TextBlock(f"{word}: {why}"),),
                ended=now,
            )
        )
    return tuple(settled)


def unknown(run: ToolRun, folder: str, now: float) -> ToolRun:
    """A call that was started and whose end nobody knows."""
    started = "at an unknown time"
    if run.started is not None:
        moment = datetime.fromtimestamp(run.started).astimezone()
        started = moment.strftime("at %Y-%m-%d %H:%M:%S")
    text = (
        f"Outcome unknown: this call started {started} in {folder} and its end was not recorded. "
        "It may have run in part or in whole. Check before repeating it."
    )
    return replace(
        run,
        state=CallState.UNKNOWN,
        outcome=Outcome.UNKNOWN,
        content=(TextBlock(text),),
        ended=now,
    )


def result_block(run: ToolRun) -> ToolResultBlock:
    """One call's answer, as its row says."""
    outcome = run.outcome or Outcome.UNKNOWN
    content = run.content or (TextBlock("(no output)"),)
    return ToolResultBlock(run.tool_use_id, content, outcome is not Outcome.OK, outcome)


def _merged(runs: tuple[ToolRun, ...], settled: tuple[ToolRun, ...]) -> tuple[ToolRun, ...]:
    by_id = {run.tool_use_id: run for run in settled}
    return tuple(by_id.get(run.tool_use_id, run) for run in runs)


def _message(
    blocks: tuple[TextBlock | ToolResultBlock, ...],
    origin: Origin,
    turn_id: str | None,
    now: float,
) -> Message:
    return Message(new_id("msg"), "user", blocks, origin, now, turn_id=turn_id)


def _events(plan: _Plan, messages: list[Message]) -> list[Event]:
    """What happened, without an address: asks that closed, outcomes, what was appended."""
    return [
        *(resolved_event(item, None, None) for item in plan.asks),
        *(result_event(run) for run in plan.closing.settled),
        *(MessageStored(message=message) for message in messages),
    ]
