"""Running one call: the started mark, the tool, the outcome.

The mark is committed before a side effect can begin and the outcome before anyone is told. Whatever
happens to the call, cancellation included, it ends with exactly one outcome, unless it waits for a
paused child or the store cannot take it.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from tui_agent.loop.early import note_read, result_of
from tui_agent.loop.invoking import INTERRUPTED, error_result, invoke
from tui_agent.loop.review import CheckedCall, check, digest_of
from tui_agent.loop.settling import unknown
from tui_agent.loop.told import result_event, todo_event
from tui_agent.loop.turn import EarlyCall, Turn, to_its_end
from tui_agent.tools.base import ChildPaused, ToolError
from tui_agent.vocabulary.blocks import ContentPart, Outcome, TextBlock, ToolResult
from tui_agent.vocabulary.events import ToolStarted
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.states import CallState

log = logging.getLogger(__name__)

_STATE_OF = {
    Outcome.OK: CallState.DONE,
    Outcome.ERROR: CallState.FAILED,
    Outcome.DENIED: CallState.DENIED,
    Outcome.NOT_RUN: CallState.CANCELLED,
    Outcome.INTERRUPTED: CallState.CANCELLED,
    Outcome.UNKNOWN: CallState.UNKNOWN,
    Outcome.DISCARDED: CallState.CANCELLED,
}


def start_call(turn: Turn, run: ToolRun) -> None:
    """Run an approved call in a task of its own, kept in `turn.running` until it has ended."""
    task = asyncio.create_task(_run(turn, run), name=f"{run.name} {run.tool_use_id}")
    turn.running[run.tool_use_id] = task


async def cancel_calls(turn: Turn) -> None:
    """End every running call and wait until each has ended. One that could not store its outcome
    is logged and stays started: whoever closes the batch settles it as unknown."""
    tasks = list(turn.running.values())
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(ended, Exception):
            log.error("the outcome of a call was not stored", exc_info=ended)
    turn.running.clear()
    while turn.early:
        _, early = turn.early.popitem()
        await _take_over(turn, early, stopped=True)


async def _take_over(turn: Turn, early: EarlyCall, *, stopped: bool = False) -> None:
    """The outcome of a call that began while its reply streamed."""
    result = await result_of(early, stopped=stopped)
    note_read(turn, result)
    await _settle(turn, early.run, result)


async def _run(turn: Turn, run: ToolRun) -> None:
    if (early := turn.early.pop(run.tool_use_id, None)) is not None:
        await _take_over(turn, early)
        return
    if run.state is CallState.STARTED and not _may_repeat(turn, run):
        await _settle_unknown(turn, run)
        return
    try:
        checked = check(turn, run)
        if run.digest != digest_of(turn, run, checked):
            raise ToolError("Not run: the call is no longer the one that was approved.")
    except ToolError as error:
        await _settle(turn, run, error_result(error))
        return
    if not checked.tool.is_read_only or run.state is not CallState.APPROVED:
        try:
            run = await to_its_end(_mark_started(turn, run))
        except asyncio.CancelledError:
            if run.child_id is None:  # one with a child is closed together with that child
                await _settle(turn, run, INTERRUPTED)
            raise
    else:
        run = replace(run, started=turn.now(), attempt=run.attempt + 1)
    turn.emit(
        ToolStarted(
            tool_use_id=run.tool_use_id,
            tool=run.name,
            input=run.input,
            subject=checked.tool.subject(checked.args),
            attempt=run.attempt,
        )
    )
    await _finish(turn, run, checked)


async def _mark_started(turn: Turn, run: ToolRun) -> ToolRun:
    again = run.state is not CallState.APPROVED
    return await turn.store.mark_started(
        turn.session.id, run.tool_use_id, at=turn.now(), turn_id=turn.id, again=again
    )


def _may_repeat(turn: Turn, run: ToolRun) -> bool:
    """Whether a call that was started and has no outcome may start again: a pure read, or a Task
    that goes on with its child."""
    try:
        tool = turn.services.tools.get(run.name)
    except ToolError:
        return False
    return tool.is_read_only or run.child_id is not None


async def _settle_unknown(turn: Turn, run: ToolRun) -> None:
    ended = unknown(run, turn.session.folder, turn.now())
    result = ToolResult(ended.content, run.details, Outcome.UNKNOWN)
    await _settle(turn, run, result)


async def _finish(turn: Turn, run: ToolRun, checked: CheckedCall) -> None:
    try:
        result = await invoke(turn, run, checked)
    except ChildPaused as paused:
        await turn.store.note_waiting(turn.session.id, run.tool_use_id, paused.child_id)
        turn.rejoined.add(run.tool_use_id)
        return
    await _settle(turn, run, _with_comment(run, result))


def _with_comment(run: ToolRun, result: ToolResult) -> ToolResult:
    """What a person added to their Yes stands behind the result."""
    if not (run.comment or "").strip():
        return result
    note: ContentPart = TextBlock(f"The person approved this call and added: {run.comment}")
    return replace(result, content=(*result.content, note))


async def _settle(turn: Turn, run: ToolRun, result: ToolResult) -> None:
    await to_its_end(_record_outcome(turn, run, result))


async def _record_outcome(turn: Turn, run: ToolRun, result: ToolResult) -> None:
    ended = replace(
        run,
        state=_STATE_OF[result.outcome],
        outcome=result.outcome,
        content=result.content,
        details=result.details,
        ended=turn.now(),
    )
    is_first = await turn.store.record_outcome(
        turn.session.id,
        run.tool_use_id,
        state=ended.state,
        outcome=result.outcome,
        content=result.content,
        details=result.details,
        ends_turn=result.ends_turn,
        started=run.started,
        at=turn.now(),
    )
    if is_first:
        turn.emit(result_event(ended))
        if (todo := todo_event(ended)) is not None:
            turn.emit(todo)
