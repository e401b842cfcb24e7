"""What a person leaves on the desk, as coroutines. See `store.py`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tui_agent.store import (
    desk,
)
from tui_agent.store.part import StorePart
from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.decisions import Grant, Scope
from tui_agent.vocabulary.events import QueuedMessage


class DeskPart(StorePart):
    """Queue, drafts, views and standing permissions."""

    async def enqueue(self, session_id: str, message: QueuedMessage) -> None:
        """Put a message at the end of the queue."""
        await self._db.write(lambda c: desk.enqueue(c, session_id, message))

    async def queue(self, session_id: str) -> tuple[QueuedMessage, ...]:
        """The queued messages, in order."""
        return await self._db.read(lambda c: desk.queue(c, session_id))

    async def edit_queue(
        self,
        session_id: str,
        messages: Sequence[QueuedMessage],
        *,
        dropped: Collection[str] = (),
    ) -> tuple[QueuedMessage, ...]:
        """Put these queued messages into this order, each with its `after_turn`, and drop those
        whose ids are `dropped`; returns the ones that were still there to be dropped. What came
        meanwhile stands after them."""
        wanted, unwanted = tuple(messages), frozenset(dropped)
        return await self._db.write(lambda c: desk.edit_queue(c, session_id, wanted, unwanted))

    async def save_draft(self, session_id: str, text: str) -> None:
        """Keep what is typed, also for a session that is not stored yet; empty forgets it."""
        now = self._clock.wall()
        await self._db.write(lambda c: desk.save_draft(c, session_id, text, now))

    async def draft(self, session_id: str) -> str:
        """What was typed and not sent; empty when nothing was."""
        return await self._db.read(lambda c: desk.draft(c, session_id))

    async def save_view(self, session_id: str, view: JsonObject) -> None:
        """Keep where the person was."""
        now = self._clock.wall()
        await self._db.write(lambda c: desk.save_view(c, session_id, view, now))

    async def view(self, session_id: str) -> JsonObject:
        """Where the person was; empty when unknown."""
        return await self._db.read(lambda c: desk.view(c, session_id))

    async def add_grant(
        self, session_id: str | None, folder: str, rule: str, scope: Scope, at: float
    ) -> None:
        """Keep a standing permission, for one session or (`None`) for every one of the folder."""
        grant = Grant(session_id, folder, rule, scope, at)
        await self._db.write(lambda c: desk.add_grant(c, grant))

    async def grants(self, session_id: str, folder: str) -> tuple[Grant, ...]:
        """What holds for a session in a folder, oldest first."""
        return await self._db.read(lambda c: desk.grants(c, session_id, folder))

    async def all_grants(self, folder: str | None = None) -> tuple[Grant, ...]:
        """Every standing permission, oldest first; with `folder` those that hold there."""
        return await self._db.read(lambda c: desk.all_grants(c, folder))

    async def remove_grant(self, number: int) -> Grant:
        """Take a standing permission back; returns what it was. Raises `NotFoundError`."""
        return await self._db.write(lambda c: desk.remove_grant(c, number))
