"""State executing: judge the batch, run what may run, answer it when every call has its outcome.

Allowed calls that conflict with no earlier undecided one run at once, also while a dialog is open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tui_agent.loop.batch import Batch, load_batch, standing
from tui_agent.loop.calls import cancel_calls, start_call
from tui_agent.loop.observing import observe
from tui_agent.loop.review import effects_of, review, review_again
from tui_agent.loop.turn import Turn
from tui_agent.tools.lane import LaneCall, startable
from tui_agent.vocabulary.decisions import Source
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.states import CallState, LoopState


async def execute(turn: Turn) -> LoopState:
    """Work on the open batch until it is answered, or only asks are left."""
    try:
        batch = await load_batch(turn)
        just_judged = frozenset[str]() if batch is None else await review(turn, batch)
        while True:
            turn.wake.clear()  # before the look, so that no decision falls between the two
            batch = await load_batch(turn)
            if batch is None:
                return LoopState.THINKING
            ready = ready_calls(turn, batch)
            if await _some_changed(turn, ready, just_judged):
                continue
            just_judged = frozenset()
            for run in ready:
                start_call(turn, run)
            if turn.running:
                await _something_happens(turn)
            elif batch.is_settled or batch.denied_for_good:
                return await observe(turn, batch)
            else:
                return LoopState.CONFIRMING
    except asyncio.CancelledError:
        await asyncio.shield(cancel_calls(turn))
        raise


async def _some_changed(turn: Turn, ready: Sequence[ToolRun], just_judged: frozenset[str]) -> bool:
    """Whether a call that was approved a while ago may not run as it was approved."""
    earlier = [
        run
        for run in ready
        if run.state is CallState.APPROVED
        and run.tool_use_id not in just_judged
        and run.tool_use_id not in turn.early
    ]
    return bool(earlier) and await review_again(turn, earlier)


def ready_calls(turn: Turn, batch: Batch) -> tuple[ToolRun, ...]:
    """The calls that may start now. After a plain No only those do that a person approved or that
    run already in a child; the others hold nobody up."""
    chosen = [run for run in batch.runs if not batch.denied_for_good or _may_finish(turn, run)]
    runs = {run.tool_use_id: run for run in chosen}
    lane = [LaneCall(run.tool_use_id, standing(turn, run)) for run in chosen]
    effects = {run.tool_use_id: effects_of(turn, run) for run in chosen if not run.state.is_settled}
    return tuple(runs[call_id] for call_id in startable(lane, effects))


def _may_finish(turn: Turn, run: ToolRun) -> bool:
    is_approved = run.verdict is not None and run.verdict.source is Source.PERSON
    has_begun = run.tool_use_id in turn.running or run.tool_use_id in turn.early
    return is_approved or has_begun or run.state is CallState.WAITING


async def _something_happens(turn: Turn) -> None:
    """Wait until a call has ended or a decision has come. A call that failed in the store rather
    than in its tool ends the turn."""
    woken = asyncio.create_task(turn.wake.wait())
    try:
        await asyncio.wait({*turn.running.values(), woken}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        woken.cancel()
    for call_id, task in list(turn.running.items()):
        if task.done():
            del turn.running[call_id]
            task.result()
