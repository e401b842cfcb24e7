"""The end of a turn: the batch answered or left open, the record stored, `loop:*` and `done` told.

Runs outside the task that an interrupt cancels. Whatever ended the turn, an open batch is answered
in the transaction that ends it, unless the turn ends as pending.
"""

from __future__ import annotations

import logging

from tui_agent.loop.batch import load_batch
from tui_agent.loop.calls import cancel_calls
from tui_agent.loop.confirming import pause
from tui_agent.loop.early import discard_all
from tui_agent.loop.settling import close_batch
from tui_agent.loop.streaming import cut_text
from tui_agent.loop.turn import StopKind, Turn
from tui_agent.store.values import TurnEnd
from tui_agent.vocabulary.decisions import PendingKind
from tui_agent.vocabulary.errors import UserError
from tui_agent.vocabulary.events import (
    DoneEvent,
    ErrorEvent,
    Event,
    LoopAborted,
    LoopDone,
    LoopError,
    StateEvent,
)
from tui_agent.vocabulary.ids import new_id
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.states import DoneReason, LoopState

log = logging.getLogger(__name__)


async def end_turn(turn: Turn) -> None:
    """Store and tell how the turn ended; never raises for what could not be stored."""
    if turn.reason is None:
        turn.reason = DoneReason.ERROR
    try:
        await _store_end(turn)
    except Exception as error:  # whatever failed, whoever waits for the end is told of it
        log.exception("the end of turn %s was not stored", turn.id)
        said = str(error) if isinstance(error, UserError) else f"internal error: {error!r}"
        turn.emit(ErrorEvent(message=f"the end of the turn was not stored: {said}"))
        turn.reason = DoneReason.ERROR
        turn.cause = turn.cause or said
        turn.ended_by = None
    if turn.state is not LoopState.DONE:
        turn.emit(StateEvent(from_=turn.state, to=LoopState.DONE))
        turn.state = LoopState.DONE
    turn.emit(_loop_event(turn))
    turn.emit(await _done_event(turn))


async def _store_end(turn: Turn) -> None:
    await cancel_calls(turn)
    await turn.services.decisions.catch_up()
    if turn.reply is not None:
        await _store_cut_reply(turn)
    batch = await load_batch(turn)
    if batch is not None and turn.stop is StopKind.CLOSING and batch.open_asks:
        await pause(turn, batch)
    if batch is None or (turn.reason is not None and turn.reason.is_pause):
        await turn.store.end_turn(
            turn.id,
            reason=turn.reason or DoneReason.ERROR,
            cause=turn.cause,
            usage=turn.usage,
            rounds=turn.rounds,
            ended=turn.now(),
        )
        return
    await close_batch(
        turn.store,
        turn.place,
        batch.runs,
        why=_why(turn),
        now=turn.now(),
        tell=turn.outbox,
        ends=_record(turn),
    )


async def _store_cut_reply(turn: Turn) -> None:
    """Half-streamed text stays, marked cut; its calls are dropped."""
    await discard_all(turn)
    blocks = () if turn.reply is None else cut_text(turn.reply)
    turn.reply = None
    message = None
    if blocks:
        message = Message(
            id=new_id("msg"),
            role="assistant",
            blocks=blocks,
            origin=Origin.ASSISTANT,
            created=turn.now(),
            turn_id=turn.id,
            provider=turn.session.model.provider,
            model=turn.session.model.model,
            cut=True,
        )
    stored = await turn.store.end_cut_stream(turn.session.id, message)
    if stored is not None:
        await turn.announce(stored)


def _record(turn: Turn) -> TurnEnd:
    return TurnEnd(
        turn.id,
        turn.reason or DoneReason.ERROR,
        turn.now(),
        turn.usage,
        turn.rounds,
        turn.cause,
    )


def _why(turn: Turn) -> str:
    if turn.stop is StopKind.CLOSING:
        return "the program was closed."
    return "the turn was interrupted." if turn.stop else "the turn ended before it."


def _loop_event(turn: Turn) -> Event:
    """The one `loop:*` event of the turn."""
    if turn.ended_by is not None:
        return turn.ended_by
    match turn.reason:
        case DoneReason.USER_ABORT:
            return LoopAborted(cause=turn.stop.value if turn.stop else "")
        case DoneReason.MODEL_STOP:
            return LoopDone(cut=turn.is_cut)
        case _:
            return LoopError(message=turn.cause or "the turn ended without a reason")


async def _done_event(turn: Turn) -> DoneEvent:
    approvals = questions = queued = 0
    try:
        for item in await turn.store.pending(root_id=turn.session.root_id):
            if item.is_below(turn.session.id):
                approvals += item.kind is PendingKind.APPROVAL
                questions += item.kind is PendingKind.QUESTION
        queued = len(await turn.store.queue(turn.session.id))
    except Exception:  # an end without its counts is better than none
        log.exception("the counts at the end of turn %s could not be read", turn.id)
    return DoneEvent(
        reason=turn.reason or DoneReason.ERROR,
        cause=turn.cause,
        text=turn.final_text,
        usage=turn.usage,
        rounds=turn.rounds,
        pending_approvals=approvals,
        pending_questions=questions,
        queued=queued,
    )
