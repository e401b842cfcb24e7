"""Answering a batch: one message with every call's result, in call order, and what comes next."""

from __future__ import annotations

import hashlib
import json

from tui_agent.loop.batch import Batch
from tui_agent.loop.calls import leftovers
from tui_agent.loop.review import announce_result
from tui_agent.loop.steering import deliver_steering
from tui_agent.loop.turn import Turn, to_its_end
from tui_agent.vocabulary.blocks import Outcome, TextBlock, ToolResultBlock
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.events import LoopDenied, LoopDetected, LoopDone
from tui_agent.vocabulary.ids import new_id
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.states import DoneReason, LoopState

RECOVERY_NOTE = (
    "[Recovery] The program ended while tools were running. Calls marked as unknown may have run "
    "in part or in whole: look at the state of things before you repeat any of them."
)


async def observe(turn: Turn, batch: Batch) -> LoopState:
    """Close `batch` and decide where the turn goes."""
    rest = leftovers(turn, batch, "another call of the same reply was denied.")
    runs = _merged(batch.runs, rest)
    await to_its_end(_close(turn, runs, rest))
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


async def _close(turn: Turn, runs: tuple[ToolRun, ...], rest: tuple[ToolRun, ...]) -> None:
    message = await turn.store.close_batch(
        turn.session.id, results_message(turn, runs), settled=rest
    )
    for run in rest:
        announce_result(turn, run)
    await turn.announce(message)
    if any(run.outcome is Outcome.UNKNOWN for run in runs):
        await _add_recovery_note(turn)


def results_message(turn: Turn, runs: tuple[ToolRun, ...]) -> Message:
    """The message that answers the calls, which all have their outcome."""
    return Message(
        id=new_id("msg"),
        role="user",
        blocks=tuple(result_block(run) for run in runs),
        origin=Origin.TOOL_RESULTS,
        created=turn.now(),
        turn_id=turn.id,
    )


def result_block(run: ToolRun) -> ToolResultBlock:
    """One call's answer, as its row says."""
    outcome = run.outcome or Outcome.UNKNOWN
    content = run.content or (TextBlock("(no output)"),)
    return ToolResultBlock(run.tool_use_id, content, outcome is not Outcome.OK, outcome)


def _merged(runs: tuple[ToolRun, ...], rest: tuple[ToolRun, ...]) -> tuple[ToolRun, ...]:
    settled = {run.tool_use_id: run for run in rest}
    return tuple(settled.get(run.tool_use_id, run) for run in runs)


async def _add_recovery_note(turn: Turn) -> None:
    note = Message(
        id=new_id("msg"),
        role="user",
        blocks=(TextBlock(RECOVERY_NOTE),),
        origin=Origin.RECOVERY,
        created=turn.now(),
        turn_id=turn.id,
    )
    await turn.announce(await turn.store.append_message(turn.session.id, note))


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
