"""Between the loop of the screen and the loop of the engine.

The engine runs on an event loop in a thread of its own, so that neither a terminal that is not read
nor a big layout can hold it up. Calls cross as coroutines: the screen's task may go away, the work
goes on and only its answer is dropped. Events come back in batches, the next one asked for only
after the screen took the last and a frame has passed, so that a busy engine wakes the screen at
most once a frame and everything in between is merged by the subscription. Only frozen values cross.

Nothing else in this package knows that there are two loops.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from tui_agent.vocabulary.errors import UserError

if TYPE_CHECKING:
    from tui_agent.vocabulary.agents import ModelChoice
    from tui_agent.vocabulary.blocks import JsonObject
    from tui_agent.vocabulary.decisions import Decision, Grant, PendingItem
    from tui_agent.vocabulary.events import Event, QueuedMessage
    from tui_agent.vocabulary.inspection import InspectedRequest
    from tui_agent.vocabulary.messages import Message
    from tui_agent.vocabulary.records import SessionRecord, SessionSnapshot, SessionSummary
    from tui_agent.vocabulary.states import Mode
    from tui_agent.workspace.api import (
        Check,
        DecideResult,
        Match,
        OfferedModel,
        SessionOptions,
        SessionUsage,
        Subscription,
        WorkspaceApi,
    )

T = TypeVar("T")

FRAME = 1 / 60
"""Seconds between two batches of events."""

STOP_DEADLINE = 3.0
"""Seconds that the engine gets to close."""

_log = logging.getLogger(__name__)


class EngineThread:
    """A thread with an event loop on which a workspace lives.

    `factory` runs on that loop and makes the workspace. `start` returns at once.
    """

    def __init__(self, factory: Callable[[], Awaitable[WorkspaceApi]]) -> None:
        self._factory = factory
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._api: WorkspaceApi | None = None

    def start(self) -> None:
        """Start the thread and its loop."""
        self._thread.start()

    async def open(self) -> Bridge:
        """The workspace, once it is made. Raises what the factory raised."""
        self._api = await self.call(self._factory())
        return Bridge(self, self._api)

    async def call(self, work: Awaitable[T]) -> T:
        """Do `work` on the engine's loop. Cancelling the caller drops the answer, not the work."""
        future = asyncio.run_coroutine_threadsafe(_as_coroutine(work), self._loop)
        return await asyncio.shield(asyncio.wrap_future(future))

    def spawn(self, work: Coroutine[Any, Any, None]) -> Callable[[], None]:
        """Start `work` on the engine's loop; the returned function cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        return lambda: _ignore(future.cancel())

    def soon(self, callback: Callable[[], object]) -> None:
        """Call `callback` on the engine's loop, if it still runs."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(callback)

    async def stop(self, deadline: float = STOP_DEADLINE) -> bool:
        """Close the workspace and end the thread. `False`: the deadline passed; the thread is a
        daemon and does not outlive the process."""
        if not self._thread.is_alive():
            return True
        closed = True
        if self._api is not None:
            try:
                async with asyncio.timeout(deadline):
                    await self.call(self._api.close())
            except TimeoutError:
                _log.warning("the engine did not close within %.1f s", deadline)
                closed = False
            except Exception:  # noqa: BLE001 - the program ends; the log keeps why closing failed
                _log.exception("the engine failed while it closed")
                closed = False
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join, deadline)
        return closed and not self._thread.is_alive()

    def stop_now(self, deadline: float = STOP_DEADLINE) -> bool:
        """As `stop`, for a caller whose own loop is gone; does nothing after it."""
        if not self._thread.is_alive():
            return True
        return asyncio.run(self.stop(deadline))

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            _cancel_rest(self._loop)
            self._loop.close()


class Bridge:
    """A workspace as seen from the screen's loop: the same methods, safe to await there.

    `UserError` passes. Anything else is logged and comes out as a `UserError` of one line.
    """

    def __init__(self, engine: EngineThread, api: WorkspaceApi) -> None:
        self._engine = engine
        self._api = api

    @property
    def folder(self) -> str:
        """The workspace folder."""
        return self._api.folder

    def follow(
        self, deliver: Callable[[tuple[Event, ...]], None], *, after: int | None = None
    ) -> Callable[[], None]:
        """Hand every batch of events to `deliver`, on the loop that called this; the returned
        function ends it."""
        return self._engine.spawn(
            _pump(self._engine, self._api, asyncio.get_running_loop(), deliver, after)
        )

    async def close(self, deadline: float = STOP_DEADLINE) -> bool:
        """Close the workspace and end its thread; whether both happened in time."""
        return await self._engine.stop(deadline)

    async def create_session(self, options: SessionOptions | None = None) -> SessionRecord:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.create_session(options))

    async def fork_session(self, session_id: str) -> SessionRecord:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.fork_session(session_id))

    async def sessions(
        self, *, everywhere: bool = False, search: str = "", limit: int = 200
    ) -> tuple[SessionSummary, ...]:
        """See `WorkspaceApi`."""
        return await self._ask(
            self._api.sessions(everywhere=everywhere, search=search, limit=limit)
        )

    async def search(
        self, text: str, *, everywhere: bool = False, limit: int = 200
    ) -> tuple[Match, ...]:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.search(text, everywhere=everywhere, limit=limit))

    async def titles(self, session_ids: Iterable[str]) -> dict[str, str]:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.titles(session_ids))

    async def usage(self, session_id: str) -> SessionUsage:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.usage(session_id))

    async def latest_session(self) -> str | None:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.latest_session())

    async def snapshot(self, session_id: str, *, last: int = 200) -> SessionSnapshot:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.snapshot(session_id, last=last))

    async def commits_elsewhere(self, since: int | None = None) -> int:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.commits_elsewhere(since))

    async def messages_before(
        self, session_id: str, seq: int, limit: int = 200
    ) -> tuple[Message, ...]:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.messages_before(session_id, seq, limit))

    async def submit(self, session_id: str, text: str, *, after_turn: bool = False) -> None:
        """See `WorkspaceApi`."""
        await self._ask(self._api.submit(session_id, text, after_turn=after_turn))

    async def resume(self, session_id: str) -> None:
        """See `WorkspaceApi`."""
        await self._ask(self._api.resume(session_id))

    async def discard_open(self, session_id: str) -> None:
        """See `WorkspaceApi`."""
        await self._ask(self._api.discard_open(session_id))

    async def interrupt(self, session_id: str) -> None:
        """See `WorkspaceApi`."""
        await self._ask(self._api.interrupt(session_id))

    async def retry_now(self, session_id: str) -> None:
        """See `WorkspaceApi`."""
        await self._ask(self._api.retry_now(session_id))

    async def decide(self, pending_id: str, decision: Decision) -> DecideResult:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.decide(pending_id, decision))

    async def pending(self, *, everywhere: bool = True) -> tuple[PendingItem, ...]:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.pending(everywhere=everywhere))

    async def compact(self, session_id: str, focus: str = "") -> None:
        """See `WorkspaceApi`."""
        await self._ask(self._api.compact(session_id, focus))

    async def set_mode(self, session_id: str, mode: Mode) -> None:
        """See `WorkspaceApi`."""
        await self._ask(self._api.set_mode(session_id, mode))

    async def set_model(self, session_id: str, model: ModelChoice) -> None:
        """See `WorkspaceApi`."""
        await self._ask(self._api.set_model(session_id, model))

    async def rename(self, session_id: str, title: str) -> None:
        """See `WorkspaceApi`."""
        await self._ask(self._api.rename(session_id, title))

    async def delete(self, session_id: str) -> None:
        """See `WorkspaceApi`."""
        await self._ask(self._api.delete(session_id))

    async def edit_queue(
        self,
        session_id: str,
        messages: tuple[QueuedMessage, ...],
        *,
        dropped: tuple[str, ...] = (),
    ) -> tuple[QueuedMessage, ...]:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.edit_queue(session_id, messages, dropped=dropped))

    async def sent_prompts(self, limit: int = 500) -> tuple[str, ...]:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.sent_prompts(limit))

    async def save_draft(self, session_id: str, text: str) -> None:
        """See `WorkspaceApi`."""
        await self._ask(self._api.save_draft(session_id, text))

    async def save_view(self, session_id: str, view: JsonObject) -> None:
        """See `WorkspaceApi`."""
        await self._ask(self._api.save_view(session_id, view))

    async def list_grants(self, *, everywhere: bool = False) -> tuple[Grant, ...]:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.list_grants(everywhere=everywhere))

    async def remove_grant(self, grant_id: int) -> Grant:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.remove_grant(grant_id))

    async def requests(self, session_id: str, prompt: str = "") -> tuple[InspectedRequest, ...]:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.requests(session_id, prompt))

    async def models(self) -> tuple[OfferedModel, ...]:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.models())

    async def doctor(self) -> tuple[Check, ...]:
        """See `WorkspaceApi`."""
        return await self._ask(self._api.doctor())

    async def _ask(self, work: Awaitable[T]) -> T:
        try:
            return await self._engine.call(work)
        except UserError:
            raise
        except Exception as error:
            _log.exception("the engine failed")
            raise UserError(f"That failed: {_one_line(error)} (details are in the log)") from error


async def _pump(
    engine: EngineThread,
    api: WorkspaceApi,
    screen_loop: asyncio.AbstractEventLoop,
    deliver: Callable[[tuple[Event, ...]], None],
    after: int | None,
) -> None:
    """On the engine's loop: hand over one batch, wait until it was taken and a frame passed."""
    taken = asyncio.Event()

    def take(batch: tuple[Event, ...]) -> None:
        try:
            deliver(batch)
        finally:
            engine.soon(taken.set)

    subscription: Subscription = api.subscribe(after=after)
    try:
        async for batch in subscription:
            taken.clear()
            try:
                screen_loop.call_soon_threadsafe(take, batch)
            except RuntimeError:
                return  # the screen's loop is closed: nobody is left to draw
            await taken.wait()
            await asyncio.sleep(FRAME)
    finally:
        subscription.close()


async def _as_coroutine(work: Awaitable[T]) -> T:
    return await work


def _cancel_rest(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _ignore(_: object) -> None:
    return None
