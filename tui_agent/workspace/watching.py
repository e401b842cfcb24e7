"""Noticing what other processes decided about asks that are open here.

A decision needs no ownership, so it may come from anywhere; the owner's surfaces must hear of it
and its turn must go on. The database says whether anyone else wrote to it: that is looked at a few
times a second, only while an ask is open here, and rows are read only when it did. Nothing is
decided here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from tui_agent.store import Store
from tui_agent.store.values import PendingEntry
from tui_agent.vocabulary.decisions import PendingItem
from tui_agent.vocabulary.errors import NotFoundError, UserError
from tui_agent.vocabulary.events import (
    ApprovalPending,
    ApprovalResolved,
    Event,
    QuestionPending,
    QuestionResolved,
)

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Heard:
    """An item that another process decided, and the open items that its answer closed."""

    entry: PendingEntry
    closed: tuple[PendingItem, ...] = ()


class Watch:
    """Keeps the asks that are open here and tells of those that others decided."""

    def __init__(self, store: Store, hear: Callable[[Heard], Awaitable[None]]) -> None:
        self._store = store
        self._hear = hear
        self._open: dict[str, PendingItem] = {}
        self._has_open = asyncio.Event()
        self._looking = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._run(), name="watch for decisions")

    async def close(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def add(self, items: Iterable[PendingItem]) -> None:
        """These are open here."""
        self._open.update((item.pending_id, item) for item in items)
        if self._open:
            self._has_open.set()

    def note(self, event: Event) -> None:
        """Follow what is told here, so that nothing is told twice."""
        match event:
            case ApprovalPending() | QuestionPending():
                self.add((event.item,))
            case ApprovalResolved() | QuestionResolved():
                self._open.pop(event.pending_id, None)
            case _:
                pass

    async def _run(self) -> None:
        version = None
        while True:
            await self._has_open.wait()
            if not self._open:
                self._has_open.clear()
                version = None
                continue
            try:
                newest = await self._store.data_version()
                if newest != version:
                    version = newest
                    await self.look()
            except UserError as error:
                log.warning("decisions of other processes cannot be seen: %s", error)
            except Exception:  # a watch that has died would go unnoticed: the next look is another
                log.exception("looking for decisions of other processes failed")
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Tell now what others decided. Each is told once, however many look."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        if not self._open:
            return
        still_open = {item.pending_id for item in await self._store.pending()}
        gone = [item for key, item in self._open.items() if key not in still_open]
        entries: dict[str, PendingEntry] = {}
        for item in gone:
            try:
                entries[item.pending_id] = await self._store.pending_item(item.pending_id)
            except NotFoundError:  # its session was deleted
                self._open.pop(item.pending_id, None)
        for pending_id, entry in entries.items():
            # what this process decides or closes it tells itself, and then it is no longer here
            if entry.decision is None or pending_id not in self._open:
                continue
            closed: tuple[PendingItem, ...] = ()
            if entry.decision.stops_turn:
                closed = tuple(
                    other.item
                    for other_id, other in entries.items()
                    if other.decision is None
                    and other_id in self._open
                    and other.item.session_id == entry.item.session_id
                )
            try:
                await self._hear(Heard(entry, closed))
            except UserError as error:
                log.warning("what another process decided was not taken up: %s", error)
