"""Early start: local reads begin while the reply that asks for them still streams.

Only Read, Glob and Grep inside the workspace, only when every earlier call of the reply is one too,
and only when the gate allows the call. Such a call has no row yet: when its reply is stored it is
taken over by the batch, where its result waits for its place; when its reply is withdrawn, cut or
says something else in the end, the call is told as `discarded` and no history knows of it.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tui_agent.gate.judge import judge
from tui_agent.loop.invoking import INTERRUPTED, invoke
from tui_agent.loop.review import CheckedCall, check, digest_of, gate_call, verdict_event
from tui_agent.loop.told import result_event
from tui_agent.loop.turn import EarlyCall, StreamedReply, Turn
from tui_agent.providers.base import ToolInputPiece
from tui_agent.tools.base import ToolError
from tui_agent.tools.ledger import ReadLedger
from tui_agent.tools.names import GLOB, GREP, READ
from tui_agent.vocabulary.blocks import Outcome, TextBlock, ToolResult, ToolUseBlock
from tui_agent.vocabulary.decisions import Action
from tui_agent.vocabulary.events import ToolStarted
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.states import CallState

EARLY_TOOLS = frozenset({READ, GLOB, GREP})
LONGEST_ARGUMENTS = 4_000
"""Characters up to which growing arguments are looked at; they are parsed again as they grow."""
DISCARDED = "Discarded: the reply that asked for this call was not kept."


async def consider(turn: Turn, piece: ToolInputPiece) -> None:
    """Take one more piece of a call's arguments, and start the call if it may start now."""
    reply = turn.reply
    if reply is None or not reply.may_start_early or piece.id in reply.early:
        return
    if piece.id not in reply.inputs and (
        len(reply.early) < len(reply.inputs) or piece.name not in EARLY_TOOLS
    ):
        # an earlier call did not start, or this one will not: nothing behind it starts early
        reply.may_start_early = False
        return
    reply.inputs[piece.id] = reply.inputs.get(piece.id, "") + piece.text
    arguments = _whole(reply.inputs[piece.id])
    if arguments is not None:
        await _start(turn, reply, piece, arguments)


def _whole(text: str) -> dict[str, Any] | None:
    """The arguments, once they are a whole JSON object: nothing that follows can belong to it."""
    if len(text) > LONGEST_ARGUMENTS or not text.rstrip().endswith("}"):
        return None
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


async def _start(
    turn: Turn, reply: StreamedReply, piece: ToolInputPiece, arguments: dict[str, Any]
) -> None:
    run = ToolRun(
        session_id=turn.session.id,
        tool_use_id=piece.id,
        message_id="",
        position=len(reply.early),
        name=piece.name,
        input=arguments,
        state=CallState.APPROVED,
        attempt=1,
        turn_id=turn.id,
    )
    judged = await _allowed(turn, run)
    if judged is None:
        reply.may_start_early = False
        return
    run, checked = judged
    run = replace(run, started=turn.now())
    turn.emit(verdict_event(run))
    turn.emit(
        ToolStarted(
            tool_use_id=run.tool_use_id,
            tool=run.name,
            input=run.input,
            subject=checked.tool.subject(checked.args),
            attempt=run.attempt,
        )
    )
    # what it reads counts as known to the model only once the batch has taken it over
    work = invoke(turn, run, checked, ReadLedger())
    task = asyncio.create_task(work, name=f"{run.name} {run.tool_use_id}, early")
    reply.early[run.tool_use_id] = EarlyCall(run, task)


async def _allowed(turn: Turn, run: ToolRun) -> tuple[ToolRun, CheckedCall] | None:
    """The call with its verdict when it may start. Neither the mode nor what a person granted can
    change the judgement on a read inside the workspace, so neither is looked up anew."""
    if run.tool_use_id in turn.spent_ids:
        return None
    if await turn.store.taken_call_ids(turn.session.id, (run.tool_use_id,)):
        return None
    try:
        checked = check(turn, run)
    except ToolError:
        return None
    folders = (turn.folder, *map(Path, turn.session.extra_folders))
    if not all(any(map(path.is_relative_to, folders)) for path in checked.effects.reads):
        return None
    verdict = judge(gate_call(turn, run, checked), turn.rules)
    if verdict.action is not Action.ALLOW:
        return None
    return replace(run, verdict=verdict, digest=digest_of(turn, run, checked)), checked


async def keep_fitting(turn: Turn, calls: tuple[ToolUseBlock, ...]) -> None:
    """The reply is whole: discard every start that is not, word for word, one of its calls."""
    made = {call.id: call for call in calls}
    for call_id, early in list(turn.reply.early.items() if turn.reply else ()):
        call = made.get(call_id)
        if (
            call is None
            or call.problem is not None
            or (call.name, call.input) != (early.run.name, early.run.input)
        ):
            await _discard(turn, early)


async def discard_all(turn: Turn) -> None:
    """The reply is withdrawn, or ends without its calls."""
    for early in list(turn.reply.early.values() if turn.reply else ()):
        await _discard(turn, early)


async def _discard(turn: Turn, early: EarlyCall) -> None:
    """End it and tell so. Its id is spent: a call that comes under it once more is another."""
    early.task.cancel()
    await asyncio.wait({early.task})
    run = early.run
    turn.spent_ids.add(run.tool_use_id)
    if turn.reply is None or turn.reply.early.pop(run.tool_use_id, None) is None:
        return  # told already, by whoever was cancelled in the middle of it
    turn.emit(
        result_event(
            replace(
                run,
                state=CallState.CANCELLED,
                outcome=Outcome.DISCARDED,
                content=(TextBlock(DISCARDED),),
                ended=turn.now(),
            )
        )
    )


async def result_of(early: EarlyCall, *, stopped: bool = False) -> ToolResult:
    """The result of a call that the batch has taken over; `stopped` ends it first. Cancelling the
    one who waits here ends the call too, and is answered with its result."""
    if stopped:
        early.task.cancel()
    try:
        await asyncio.wait({early.task})
    except asyncio.CancelledError:
        early.task.cancel()
        await asyncio.wait({early.task})
    return INTERRUPTED if early.task.cancelled() else early.task.result()


def note_read(turn: Turn, result: ToolResult) -> None:
    """The model gets to know what an early read has read."""
    path, digest = result.details.get("path"), result.details.get("digest")
    if isinstance(path, str) and isinstance(digest, str):
        turn.ledger.note(turn.folder / path, digest)
