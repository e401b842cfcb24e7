"""State compacting: older messages become one stored summary, recent ones stay as they are.

A summary that is empty or longer than what it stands for is a failure: the history is kept. Nothing
compacts twice without an answer in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal

from tui_agent.context.budget import compaction_threshold, message_tokens, text_tokens
from tui_agent.context.compaction import Cut, choose_cut, is_shorter, summary_request, summary_text
from tui_agent.context.history import load_history
from tui_agent.loop.clearing import trim_results
from tui_agent.loop.turn import ModelAccess, Turn, TurnFailed, to_its_end
from tui_agent.loop.waiting import RetryWait
from tui_agent.providers.base import ModelRequest, StreamEnd
from tui_agent.providers.retry import Attempt, Retrying, RetryPolicy, call
from tui_agent.store import Store
from tui_agent.vocabulary.agents import ModelFacts
from tui_agent.vocabulary.blocks import TextBlock, text_of
from tui_agent.vocabulary.errors import ErrorClass, ProviderError, UserError
from tui_agent.vocabulary.events import (
    Event,
    MessageStored,
    PromptCompaction,
    ProviderComplete,
    ProviderStarted,
)
from tui_agent.vocabulary.ids import Clock, new_id
from tui_agent.vocabulary.messages import Message, Origin, StopReason
from tui_agent.vocabulary.records import SessionRecord
from tui_agent.vocabulary.states import LoopState
from tui_agent.vocabulary.usage import Usage

CompactionTrigger = Literal["auto", "manual", "overflow"]


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a compaction needs, inside a turn and outside of one alike."""

    session: SessionRecord
    store: Store
    access: ModelAccess
    retry: RetryPolicy
    wait: RetryWait
    clock: Clock
    emit: Callable[[Event], None]
    trigger: CompactionTrigger
    focus: str = ""
    turn_id: str | None = None
    overhead: int = 0
    """Tokens that every request carries besides its history."""
    spent: Callable[[Usage], None] = lambda _usage: None
    """Takes what attempts cost that were withdrawn."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """How it went. `problem` is empty when a boundary was stored; `left` is what its history takes
    from then on, in tokens."""

    usage: Usage
    problem: str = ""
    left: int = 0


async def compact(turn: Turn) -> LoopState:
    """Run a compaction within the turn."""
    trigger = turn.compaction_trigger
    focus, turn.compact_focus = turn.compact_focus or "", None
    turn.compactions_in_a_row += 1
    access = turn.access or await turn.services.models.access(turn.session)
    done = await run_compaction(
        Compaction(
            session=turn.session,
            store=turn.store,
            access=access,
            retry=turn.services.retry,
            wait=turn.retry_wait,
            clock=turn.services.clock,
            emit=turn.emit,
            trigger=trigger,
            focus=focus,
            turn_id=turn.id,
            overhead=turn.overhead,
            spent=turn.spend,
        )
    )
    if not done.problem:
        # one that leaves the history over the threshold would be wanted again after every answer
        is_enough = done.left + turn.overhead < compaction_threshold(access.facts)
        turn.failed_compactions = 0 if is_enough else turn.failed_compactions + 1
        return LoopState.THINKING
    turn.failed_compactions += 1
    turn.spend(done.usage)
    refused = trigger == "overflow"
    if not await trim_results(turn, access.facts, refused=refused) and refused:
        raise TurnFailed(
            f"the conversation does not fit into the model's window and {done.problem}",
            "Start a new session, or pick a model with a larger window.",
        )
    return LoopState.THINKING


async def run_compaction(work: Compaction) -> Compacted:
    """Summarise and store the boundary. A failed model call is a problem like an empty summary,
    told as the phase `failed`; nothing is raised for it. What else goes wrong is told so too, and
    raised."""
    history = (await load_history(work.store, work.session.id)).messages
    before = sum(map(message_tokens, history))
    work.emit(PromptCompaction(phase="started", trigger=work.trigger, tokens_before=before))
    try:
        return await _replace_older(work, history, before)
    except ProviderError as error:
        return _failed(work, error.usage or Usage(), f"the summary failed: {error.message}")
    except Exception as error:
        said = str(error) if isinstance(error, UserError) else f"internal error: {error!r}"
        _failed(work, Usage(), said)
        raise


async def _replace_older(work: Compaction, history: Sequence[Message], before: int) -> Compacted:
    facts = _credible_facts(work, before)
    cut = choose_cut(history, facts, work.overhead)
    if cut is None:
        return _failed(work, Usage(), "there is nothing older to summarise")
    request = summary_request(cut, work.access.model, facts, work.focus)
    try:
        end = await _summarise(work, request)
    except asyncio.CancelledError:  # one that comes later finds the boundary stored, and told
        _failed(work, Usage(), "it was interrupted")
        raise
    summary = text_of(end.blocks)
    text = summary_text(cut, summary)
    if not summary.strip():
        return _failed(work, end.usage, "the summary came back empty")
    if not is_shorter(cut, text):
        return _failed(work, end.usage, "the summary was no shorter than what it stands for")
    left = text_tokens(text) + sum(map(message_tokens, cut.kept))
    await to_its_end(_store(work, cut, text, end, before=before, after=left))
    return Compacted(end.usage, left=left)


def _credible_facts(work: Compaction, refused: int) -> ModelFacts:
    """The model's facts, corrected by a refusal: of a window that did not hold `refused` tokens it
    does not matter how large it is said to be. What is believed of an unknown local server's is
    often many times too much."""
    facts = work.access.facts
    if work.trigger != "overflow":
        return facts
    return replace(facts, window=min(facts.window, refused))


async def _store(
    work: Compaction, cut: Cut, text: str, end: StreamEnd, *, before: int, after: int
) -> None:
    message = Message(
        id=new_id("msg"),
        role="user",
        blocks=(TextBlock(text),),
        origin=Origin.SUMMARY,
        created=work.clock.wall(),
        turn_id=work.turn_id,
        provider=work.session.model.provider,
        model=work.access.model,
    )
    stored = await work.store.store_summary(
        work.session.id,
        message,
        kept_from=cut.kept_from,
        trigger=work.trigger,
        tokens_before=before,
        tokens_after=after,
        usage=end.usage,
    )
    work.emit(MessageStored(message=stored))
    work.emit(
        PromptCompaction(
            phase="completed", trigger=work.trigger, tokens_before=before, tokens_after=after
        )
    )


def _failed(work: Compaction, usage: Usage, problem: str) -> Compacted:
    work.emit(PromptCompaction(phase="failed", trigger=work.trigger, message=problem))
    return Compacted(usage, problem)


async def _summarise(work: Compaction, request: ModelRequest) -> StreamEnd:
    """Run the model call of a compaction; its text is not shown while it streams."""
    model_call_id = ""
    items = call(work.access.client, request, policy=work.retry, wait=work.wait)
    stop, usage = StopReason.ABORTED, Usage()
    try:
        async with aclosing(items):
            async for item in items:
                if isinstance(item, Attempt):
                    model_call_id = new_id("call")
                    work.emit(_started(work, model_call_id, item.number))
                elif isinstance(item, Retrying):
                    work.spent(item.error.usage or Usage())
                    work.emit(work.wait.announce(model_call_id, item))
                    model_call_id = ""
                elif isinstance(item, StreamEnd):
                    stop, usage = item.stop_reason, item.usage
                    return item
    except ProviderError:
        stop = StopReason.ERROR
        raise
    finally:
        if model_call_id:
            work.emit(ProviderComplete(model_call_id=model_call_id, stop_reason=stop, usage=usage))
    raise ProviderError(ErrorClass.PROTOCOL, "the summary ended without an end", "Try again.")


def _started(work: Compaction, model_call_id: str, attempt: int) -> ProviderStarted:
    return ProviderStarted(
        model_call_id=model_call_id,
        provider=work.session.model.provider,
        model=work.access.model,
        attempt=attempt,
        purpose="compaction",
    )
