"""The driver of a turn: dispatch, the transition table, and the reader's side of it.

`run_turn` is an async generator of the turn's events. The handlers run in a task that it owns; an
interrupt cancels that task and never the generator, so the end of the turn is always stored and
always told. A commit comes before the event that tells of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import assert_never

from tui_agent.loop.compacting import compact
from tui_agent.loop.confirming import confirm
from tui_agent.loop.ending import end_turn
from tui_agent.loop.executing import execute
from tui_agent.loop.streaming import stream
from tui_agent.loop.thinking import think
from tui_agent.loop.turn import StopKind, Turn, TurnFailed
from tui_agent.vocabulary.errors import ErrorClass, ProviderError, UserError
from tui_agent.vocabulary.events import ErrorEvent, Event, SessionEvent, StateEvent
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import TurnRecord
from tui_agent.vocabulary.states import TRANSITIONS, DoneReason, LoopState

log = logging.getLogger(__name__)

TRY_LATER = "Try again later. If it lasts, check the network or pick another model."
"""What can be done about a passing failure that outlasted every try."""


class IllegalTransition(RuntimeError):  # noqa: N818 - the name of the event, not of a failure
    """A handler chose a state that the table does not allow from where it was."""


async def run_turn(turn: Turn) -> AsyncGenerator[Event, None]:
    """Run `turn` to its end and yield its events, the last of them `done`.

    Closing the generator early closes the turn as the program's end does: asks stay open.
    """
    events: asyncio.Queue[Event | None] = asyncio.Queue()
    turn.outbox = events.put_nowait
    driver = asyncio.create_task(_drive(turn), name=f"turn {turn.id}")
    driver.add_done_callback(lambda _task: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
    finally:
        if not driver.done():
            turn.request_stop(StopKind.CLOSING)
        await asyncio.shield(driver)


async def begin_turn(turn: Turn, prompt: Message | None = None, dequeue: str | None = None) -> None:
    """Store that the turn starts, in one unit with the message that starts it and the queue's row
    that it was. Whoever has a prompt does this before `run_turn`; it is told there."""
    record = TurnRecord(turn.id, turn.session.id, turn.trigger, turn.now(), turn.resumes)
    turn.opening = await turn.store.begin_turn(record, prompt=prompt, dequeue=dequeue)
    turn.has_begun = True


async def _drive(turn: Turn) -> None:
    if not turn.has_begun:
        await begin_turn(turn)
    turn.emit(
        SessionEvent(
            trigger=turn.trigger,
            resumes=turn.resumes,
            agent=turn.agent.name,
            provider=turn.session.model.provider,
            model=turn.session.model.model,
        )
    )
    if turn.opening is not None:
        await turn.announce(turn.opening)
    turn.state = turn.entry
    turn.work = asyncio.create_task(_walk(turn), name=f"states of {turn.id}")
    if turn.stop is not None:
        turn.work.cancel()
    try:
        await turn.work
    except asyncio.CancelledError:
        if turn.stop is None:
            turn.stop = StopKind.CLOSING
            turn.work.cancel()
            await asyncio.gather(turn.work, return_exceptions=True)
        if turn.state is not LoopState.DONE:  # else it had ended before it could be stopped
            turn.ended_by = None
            turn.end(DoneReason.USER_ABORT)
    await end_turn(turn)


async def _walk(turn: Turn) -> None:
    """From state to state until done; a failure of any handler is an end like another."""
    try:
        while turn.state is not LoopState.DONE:
            following = await _dispatch(turn)
            _enter(turn, following)
            await asyncio.sleep(0)  # an interrupt that came meanwhile takes effect here
    except TurnFailed as failure:
        _fail(turn, failure.message, failure.action)
    except ProviderError as error:
        action = TRY_LATER if _promises_a_try(turn, error) else error.action
        _fail(turn, error.message, action, error.error_class.value)
    except UserError as error:
        _fail(turn, str(error), "")
    except Exception as error:  # any handler's fault ends the turn, never the program
        log.exception("turn %s failed in %s", turn.id, turn.state)
        _fail(turn, f"internal error in {turn.state}: {error!r}", "The log has the details.")


def _promises_a_try(turn: Turn, error: ProviderError) -> bool:
    """Whether the error's own advice says that it is tried again, though all tries are over. One
    that names how long to wait, or where nobody listens, keeps its advice."""
    asked = error.retry_after or 0.0
    is_told_to_wait = asked > turn.services.retry.longest_asked
    return (
        error.is_retryable
        and error.error_class is not ErrorClass.CONNECTION
        and not is_told_to_wait
    )


async def _dispatch(turn: Turn) -> LoopState:
    match turn.state:
        case LoopState.THINKING:
            return await think(turn)
        case LoopState.STREAMING:
            return await stream(turn)
        case LoopState.EXECUTING:
            return await execute(turn)
        case LoopState.CONFIRMING:
            return await confirm(turn)
        case LoopState.COMPACTING:
            return await compact(turn)
        case LoopState.DONE:
            return LoopState.DONE
        case _:
            assert_never(turn.state)


def _enter(turn: Turn, following: LoopState) -> None:
    if following not in TRANSITIONS[turn.state]:
        raise IllegalTransition(f"{turn.state} → {following}")
    if following is not turn.state:
        turn.emit(StateEvent(from_=turn.state, to=following))
    turn.state = following


def _fail(turn: Turn, message: str, action: str, error_class: str = "") -> None:
    turn.emit(ErrorEvent(message=message, action=action, error_class=error_class))
    turn.end(DoneReason.ERROR, f"{message.rstrip('.')}. {action}".strip())
