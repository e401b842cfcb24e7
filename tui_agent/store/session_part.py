"""Sessions and what is found in them, as coroutines. See `store.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tui_agent.store import (
    search,
    sessions,
)
from tui_agent.store.part import StorePart
from tui_agent.vocabulary.records import (
    SearchHit,
    SessionRecord,
    SessionSummary,
)


class SessionPart(StorePart):
    """Making, finding, changing and deleting sessions."""

    async def create_session(self, record: SessionRecord) -> None:
        """Store a new session."""
        await self._db.write(lambda c: sessions.create(c, record))

    async def create_child(
        self,
        record: SessionRecord,
        *,
        parent_run: tuple[str, str],
        started: float,
        turn_id: str | None,
    ) -> None:
        """Store a subagent's session and mark the call that starts it, (session id, tool use id),
        as started with the child's id, in one unit. The call must be approved, or started without
        a child; else `ConflictError`."""
        await self._db.write(
            lambda c: sessions.create_child(c, record, parent_run, started, turn_id)
        )

    async def session(self, session_id: str) -> SessionRecord:
        """One session. Raises `NotFoundError`."""
        return await self._db.read(lambda c: sessions.get(c, session_id))

    async def update_session(self, session_id: str, **changes: Any) -> SessionRecord:
        """Change fields of a session (`sessions.CHANGEABLE`) and return it as it is now."""
        now = self._clock.wall()
        return await self._db.write(lambda c: sessions.change(c, session_id, changes, now))

    async def summaries(
        self,
        *,
        folder: str | None = None,
        search: str = "",
        ids: Sequence[str] | None = None,
        parent_id: str | None = None,
        limit: int = 200,
    ) -> tuple[SessionSummary, ...]:
        """Listings, the last used first; only roots, unless `parent_id` or `ids` is given. A root's
        usage and pending count cover its tree. `phase` is what the rows tell: never running."""
        chosen = None if ids is None else tuple(ids)
        return await self._db.read(
            lambda c: sessions.summaries(
                c, folder=folder, search=search, ids=chosen, parent_id=parent_id, limit=limit
            )
        )

    async def latest_session(self, folder: str) -> str | None:
        """The root session of `folder` that was used last."""
        return await self._db.read(lambda c: sessions.latest(c, folder))

    async def children(self, session_id: str) -> tuple[SessionRecord, ...]:
        """The direct subagents of a session, oldest first."""
        return await self._db.read(lambda c: sessions.children(c, session_id))

    async def tree(self, root_id: str) -> tuple[SessionRecord, ...]:
        """A root session, then all its descendants, oldest first."""
        return await self._db.read(lambda c: sessions.tree(c, root_id))

    async def fork(self, session_id: str, new_record: SessionRecord) -> SessionRecord:
        """Store `new_record` as a root with the history of `session_id` up to the last closed
        batch. Message ids are unique within a session only: the copies keep theirs."""
        now = self._clock.wall()
        return await self._db.write(lambda c: sessions.fork(c, session_id, new_record, now))

    async def delete_session(self, session_id: str) -> None:
        """Delete a session, its descendants and everything of theirs."""
        await self._db.write(lambda c: sessions.delete(c, session_id))

    async def resolve_id(self, prefix_or_id: str) -> str:
        """The id that `prefix_or_id` stands for. Raises `NotFoundError` unless it is just one."""
        return await self._db.read(lambda c: sessions.resolve_id(c, prefix_or_id))

    async def search(
        self,
        text: str,
        *,
        folder: str | None = None,
        limit: int = 50,
        root_ids: Sequence[str] | None = None,
        each: int | None = None,
    ) -> tuple[SearchHit, ...]:
        """Messages that hold every word of `text`, best first: in every session, in those of
        `folder`, or in the trees of `root_ids`, and then at most `each` of one tree."""
        roots = None if root_ids is None else tuple(root_ids)
        return await self._db.read(
            lambda c: search.search(c, text, folder=folder, limit=limit, root_ids=roots, each=each)
        )
