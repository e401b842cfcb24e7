"""State streaming: one model response, from the first piece to the stored reply.

What streamed is told at once and saved at most once a second; the reply is stored verbatim with
its calls as planned rows in one transaction. A response that failed for good keeps its text, cut.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace

from tui_agent.loop.call_tokens import written_call
from tui_agent.loop.clearing import trim_results
from tui_agent.loop.early import consider, discard_all, keep_fitting
from tui_agent.loop.steering import deliver_steering
from tui_agent.loop.turn import StreamedReply, Turn, TurnFailed, to_its_end
from tui_agent.providers.base import StreamEnd, TextPiece, ThinkingPiece, ToolInputPiece
from tui_agent.providers.retry import Attempt, Retrying, call
from tui_agent.vocabulary.blocks import TextBlock, ToolUseBlock, text_of, tool_uses
from tui_agent.vocabulary.errors import ErrorClass, ProviderError
from tui_agent.vocabulary.events import (
    AssistantText,
    LoopDone,
    ProviderComplete,
    ProviderStarted,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
)
from tui_agent.vocabulary.ids import new_id
from tui_agent.vocabulary.messages import Message, Origin, StopReason
from tui_agent.vocabulary.records import Partial
from tui_agent.vocabulary.states import DoneReason, LoopState
from tui_agent.vocabulary.usage import Usage

SAVE_SECONDS = 1.0
GO_ON = (
    "Your last answer was cut because the context window was full. Older messages have been "
    "summarised since. Go on where the answer stops."
)


async def stream(turn: Turn) -> LoopState:
    """Run the prepared call and decide what its answer asks for."""
    try:
        end = await _receive(turn)
    except ProviderError as error:
        return await _after_failure(turn, error)
    if end.stop_reason in (StopReason.REFUSAL, StopReason.CONTENT_FILTER):
        await discard_all(turn)
        await to_its_end(_store_reply(turn, _without_calls(end)))
        raise TurnFailed(_refusal(end), "Rephrase the request, or pick another model.")
    if not text_of(end.blocks).strip() and not tool_uses(end.blocks):
        return await _after_empty_answer(turn, end)
    turn.empty_answers = 0
    await keep_fitting(turn, tool_uses(end.blocks))
    reply = await to_its_end(_store_reply(turn, await _with_fresh_ids(turn, end)))
    return await _after_reply(turn, reply)


async def _receive(turn: Turn) -> StreamEnd:
    """Everything the provider sends, told as it comes; attempts that fail are withdrawn."""
    access, request = turn.access, turn.request
    if access is None or request is None:
        raise RuntimeError("streaming without a prepared request")
    clock = turn.services.clock
    started = clock.monotonic()
    items = call(access.client, request, policy=turn.services.retry, wait=turn.retry_wait)
    try:
        async with aclosing(items):
            async for item in items:
                match item:
                    case Attempt():
                        started = clock.monotonic()
                        _begin_reply(turn, item.number)
                    case Retrying():
                        await _withdraw(turn, item)
                    case StreamEnd():
                        _complete(turn, item.stop_reason, item.usage)
                        return item
                    case TextPiece() | ThinkingPiece() | ToolInputPiece():
                        _tell(turn, item, clock.monotonic() - started)
                        if isinstance(item, ToolInputPiece):
                            await consider(turn, item)
                        await _save_partial(turn)
    except ProviderError as error:
        _complete(turn, StopReason.ERROR, error.usage or Usage())
        raise
    except asyncio.CancelledError:
        _complete(turn, StopReason.ABORTED, Usage())
        raise
    raise ProviderError(
        ErrorClass.PROTOCOL, "the response ended without an end", "Try again, or report this."
    )


def _begin_reply(turn: Turn, attempt: int) -> None:
    turn.reply = StreamedReply(new_id("call"))
    turn.emit(
        ProviderStarted(
            model_call_id=turn.reply.model_call_id,
            provider=turn.session.model.provider,
            model=turn.session.model.model,
            attempt=attempt,
        )
    )


async def _withdraw(turn: Turn, item: Retrying) -> None:
    turn.spend(item.error.usage or Usage())
    if turn.reply is None:
        return
    await discard_all(turn)  # told before the withdrawal, which forgets the calls of the attempt
    has_partial = bool(turn.reply.saved)
    turn.emit(turn.retry_wait.announce(turn.reply.model_call_id, item))
    turn.reply = None
    if has_partial:
        await turn.store.drop_partial(turn.session.id)


def _complete(turn: Turn, stop_reason: StopReason, usage: Usage) -> None:
    turn.spend(usage)
    if turn.reply is None or turn.reply.is_complete:
        return  # cancelled while it waits for its next attempt, or closes the connection
    turn.reply.is_complete = True
    turn.emit(
        ProviderComplete(
            model_call_id=turn.reply.model_call_id,
            stop_reason=stop_reason,
            usage=usage,
            first_token=turn.reply.first_token,
            cost=turn.cost_of(usage),
        )
    )


def _tell(turn: Turn, item: TextPiece | ThinkingPiece | ToolInputPiece, elapsed: float) -> None:
    reply = turn.reply
    if reply is None:
        raise RuntimeError("a piece of a response outside an attempt")
    if reply.first_token is None:
        reply.first_token = elapsed
    match item:
        case TextPiece():
            reply.text.append(item.text)
            reply.is_dirty = True
            turn.emit(TextDelta(model_call_id=reply.model_call_id, text=item.text))
        case ThinkingPiece():
            reply.thinking.append(item.text)
            turn.emit(ThinkingDelta(model_call_id=reply.model_call_id, text=item.text))
        case ToolInputPiece():
            turn.emit(
                ToolInputDelta(
                    model_call_id=reply.model_call_id,
                    tool_use_id=item.id,
                    name=item.name,
                    text=item.text,
                )
            )


async def _save_partial(turn: Turn) -> None:
    """Keep what streamed so far, at most once a second: a crash loses no more."""
    reply, now = turn.reply, turn.services.clock.monotonic()
    if reply is None or not reply.is_dirty or now - reply.saved < SAVE_SECONDS:
        return
    reply.saved, reply.is_dirty = now, False
    await turn.store.save_partials(
        [
            Partial(
                turn.session.id,
                turn.id,
                reply.model_call_id,
                "".join(reply.text),
                "".join(reply.thinking),
                turn.now(),
            )
        ]
    )


async def _after_failure(turn: Turn, error: ProviderError) -> LoopState:
    if error.error_class is ErrorClass.TOO_LONG and turn.may_compact():
        await _drop_reply(turn)
        turn.compaction_trigger = "overflow"
        return LoopState.COMPACTING
    if error.error_class is ErrorClass.TOO_LONG and turn.access is not None:
        await _drop_reply(turn)
        if await trim_results(turn, turn.access.facts, refused=True):
            return LoopState.THINKING
    raise error


async def _drop_reply(turn: Turn) -> None:
    """Nothing of the response is kept but what it cost."""
    await discard_all(turn)
    turn.reply = None
    await turn.store.drop_partial(turn.session.id)
    await turn.store.save_turn_usage(turn.id, turn.usage, turn.rounds)


async def _after_empty_answer(turn: Turn, end: StreamEnd) -> LoopState:
    """An answer without text or calls is asked for once more, then it is an error."""
    turn.rounds += 1
    await _drop_reply(turn)
    turn.empty_answers += 1
    if end.stop_reason is StopReason.CONTEXT_WINDOW and turn.may_compact():
        turn.compaction_trigger = "overflow"
        return LoopState.COMPACTING
    if turn.empty_answers > 1:
        raise TurnFailed("the model answered with nothing, twice", "Try again or rephrase.")
    return LoopState.THINKING


def _refusal(end: StreamEnd) -> str:
    words = end.note or text_of(end.blocks).strip()
    return f"the model declined to answer{f': {words}' if words else ''}"


def _without_calls(end: StreamEnd) -> StreamEnd:
    return replace(
        end, blocks=tuple(block for block in end.blocks if not isinstance(block, ToolUseBlock))
    )


async def _with_fresh_ids(turn: Turn, end: StreamEnd) -> StreamEnd:
    """The response with an id of our own for every call whose id the session has seen before, be
    it only as that of a start that was discarded."""
    checked = turn.reply.early if turn.reply is not None else {}
    ids = [use.id for use in tool_uses(end.blocks) if use.id not in checked]
    taken = await turn.store.taken_call_ids(turn.session.id, ids) if ids else frozenset()
    taken |= turn.spent_ids.intersection(ids)
    if not taken:
        return end
    return replace(
        end,
        blocks=tuple(
            replace(block, id=new_id("tool"))
            if isinstance(block, ToolUseBlock) and block.id in taken
            else block
            for block in end.blocks
        ),
    )


async def _store_reply(turn: Turn, end: StreamEnd) -> Message:
    """Commit the reply with its calls planned, then tell of it."""
    turn.rounds += 1
    message = Message(
        id=new_id("msg"),
        role="assistant",
        blocks=end.blocks,
        origin=Origin.ASSISTANT,
        created=turn.now(),
        turn_id=turn.id,
        provider=turn.session.model.provider,
        model=turn.session.model.model,
        usage=end.usage,
        stop_reason=end.stop_reason,
    )
    if not text_of(end.blocks).strip() and not tool_uses(end.blocks):
        await _drop_reply(turn)
        return message
    stored = await turn.store.append_reply(
        turn.session.id, message, turn_id=turn.id, usage=turn.usage, rounds=turn.rounds
    )
    if turn.reply is not None:
        turn.early = turn.reply.early
    turn.reply = None
    await turn.announce(stored)
    return stored


async def _after_reply(turn: Turn, reply: Message) -> LoopState:
    turn.compactions_in_a_row = 0
    text = text_of(reply.blocks)
    if tool_uses(reply.blocks):
        if text.strip():
            turn.emit(AssistantText(text=text))
        return LoopState.EXECUTING
    if reply.stop_reason is StopReason.CONTEXT_WINDOW and turn.may_compact():
        await _ask_to_go_on(turn)
        turn.compaction_trigger = "overflow"
        return LoopState.COMPACTING
    if reply.stop_reason is StopReason.OTHER:
        raise TurnFailed("the provider stopped for a reason that is not known", "Try again.")
    if (mark := written_call(text)) is not None:
        turn.remark(
            f"the model wrote a call into its text ({mark}); nothing was run",
            "Pick a model that supports tools, or turn on its tool parser at the server.",
        )
    if await deliver_steering(turn):
        return LoopState.THINKING
    turn.final_text = text
    turn.is_cut = reply.stop_reason is StopReason.MAX_TOKENS
    turn.ended_by = LoopDone(cut=turn.is_cut)
    return turn.end(DoneReason.MODEL_STOP)


async def _ask_to_go_on(turn: Turn) -> None:
    """The window was full in the middle of an answer: after the compaction the model goes on."""
    note = Message(
        id=new_id("msg"),
        role="user",
        blocks=(TextBlock(GO_ON),),
        origin=Origin.NOTIFICATION,
        created=turn.now(),
        turn_id=turn.id,
    )
    await to_its_end(_append(turn, note))


async def _append(turn: Turn, message: Message) -> None:
    await turn.announce(await turn.store.append_message(turn.session.id, message))


def cut_text(reply: StreamedReply) -> tuple[TextBlock, ...]:
    """What an interrupted response leaves: its text alone, or nothing."""
    text = "".join(reply.text)
    return (TextBlock(text),) if text.strip() else ()
