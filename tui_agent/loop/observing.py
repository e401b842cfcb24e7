"""Answering a batch: one message with every call's result, in call order, and what comes next."""

from __future__ import annotations

import hashlib
import json

from tui_agent.loop.batch import Batch
from tui_agent.loop.settling import close_batch
from tui_agent.loop.steering import deliver_steering
from tui_agent.loop.turn import Turn, to_its_end
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.events import LoopDenied, LoopDetected, LoopDone
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.states import DoneReason, LoopState


async def observe(turn: Turn, batch: Batch) -> LoopState:
    """Close `batch` and decide where the turn goes."""
    await turn.services.decisions.catch_up()
    runs = await to_its_end(
        close_batch(
            turn.store,
            turn.place,
            batch.runs,
            why="another call of the same reply was denied.",
            now=turn.now(),
            tell=turn.outbox,
        )
    )
    if stopping := batch.denied_for_good:
        turn.ended_by = LoopDenied(tools=tuple(run.name for run in stopping))
        return turn.end(DoneReason.DENIED)
    if any(run.ends_turn for run in runs):
        turn.ended_by = LoopDone()
        return turn.end(DoneReason.MODEL_STOP)
    if _is_looping(turn, runs):
        turn.ended_by = LoopDetected(tool=runs[-1].name, count=turn.repeats)
        return turn.end(DoneReason.LOOP_DETECTED)
    await deliver_steering(turn)
    if turn.compact_focus is not None:
        turn.compaction_trigger = "manual"
        return LoopState.COMPACTING
    return LoopState.THINKING


def _is_looping(turn: Turn, runs: tuple[ToolRun, ...]) -> bool:
    """Whether the same calls gave the same results as often in a row as the limit allows."""
    limit = turn.session.limits.repeat_limit
    if limit is None:
        return False
    what = json.dumps([[run.name, to_json(run.input), to_json(run.content)] for run in runs])
    print_of_batch = hashlib.sha256(what.encode("utf-8", "surrogatepass")).hexdigest()
    turn.repeats = turn.repeats + 1 if print_of_batch == turn.last_batch else 1
    turn.last_batch = print_of_batch
    return turn.repeats >= limit
