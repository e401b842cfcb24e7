"""A compaction that a person asks for while no turn runs: an operation of the session, not a turn.

Its events carry no turn. An interrupt ends the summary and never what follows it: whatever was
queued meanwhile starts then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from tui_agent.loop.compacting import Compacted, Compaction, run_compaction
from tui_agent.loop.turn import TurnServices
from tui_agent.loop.waiting import RetryWait
from tui_agent.vocabulary.errors import UserError
from tui_agent.vocabulary.events import ErrorEvent, Event

log = logging.getLogger(__name__)


class IdleCompaction:
    """The compactions of one session outside of its turns; at most one runs."""

    def __init__(
        self,
        session_id: str,
        publish: Callable[[Event], None],
        then: Callable[[], Awaitable[None]],
    ) -> None:
        self.retry_wait = RetryWait()
        self._session_id = session_id
        self._publish = publish
        self._then = then
        self._task: asyncio.Task[None] | None = None
        self._summary: asyncio.Task[Compacted] | None = None

    @property
    def is_running(self) -> bool:
        """Whether one runs, or what follows it."""
        return self._task is not None

    def start(self, services: TurnServices, focus: str, overhead: int) -> None:
        """Begin; `then` is awaited at its end, however that came. `overhead`: tokens that every
        request carries besides its history."""
        name = self._session_id
        self._summary = asyncio.create_task(
            self._summarise(services, focus, overhead), name=f"summary of {name}"
        )
        self._task = asyncio.create_task(self._follow(self._summary), name=f"compaction of {name}")

    def ended(self) -> None:
        """Nothing of it is left to wait for; `then` says so when it has looked at the queue."""
        self._task = None

    async def stop(self) -> None:
        """End the summary and wait for what follows."""
        if self._summary is not None:
            self._summary.cancel()
        if self._task is not None:
            await asyncio.shield(asyncio.gather(self._task, return_exceptions=True))

    async def _summarise(self, services: TurnServices, focus: str, overhead: int) -> Compacted:
        session = await services.store.session(self._session_id)
        return await run_compaction(
            Compaction(
                session=session,
                store=services.store,
                access=await services.models.access(session),
                retry=services.retry,
                wait=self.retry_wait,
                clock=services.clock,
                emit=self._publish,
                trigger="manual",
                focus=focus,
                overhead=overhead,
            )
        )

    async def _follow(self, summary: asyncio.Task[Compacted]) -> None:
        try:
            await asyncio.wait({summary})
            if not summary.cancelled():
                summary.result()
        except UserError as error:
            self._publish(ErrorEvent(message=str(error)))
        except Exception as error:  # the session must come to rest and say why, whatever failed
            log.exception("the compaction of %s failed", self._session_id)
            self._publish(ErrorEvent(message=f"the compaction failed: {error}"))
        finally:
            self._summary = None
            await self._then()
