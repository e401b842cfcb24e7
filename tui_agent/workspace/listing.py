"""What can be asked about sessions without opening one: listings, search, tokens, permissions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from tui_agent.vocabulary.decisions import Grant
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import SearchHit, SessionSummary
from tui_agent.vocabulary.states import Phase
from tui_agent.vocabulary.usage import Usage
from tui_agent.workspace.api import (
    Match,
    SessionUsage,
)
from tui_agent.workspace.shared import Shared
from tui_agent.workspace.watching import LOOK_SECONDS

LOOKS = 12
"""How often one question looks for commits of other processes."""
HITS_OF_EACH = 3
"""Messages that a search shows of one session."""


class Listing(Shared):
    """Reads rows; what lives here is laid over them."""

    async def sessions(
        self, *, everywhere: bool = False, search: str = "", limit: int = 200
    ) -> tuple[SessionSummary, ...]:
        """Root sessions, newest first, with their live state."""
        folder = None if everywhere else self.folder
        rows = await self.store.summaries(folder=folder, search=search, limit=limit)
        return tuple([await self._with_live_phase(row) for row in rows])

    async def search(
        self, text: str, *, everywhere: bool = False, limit: int = 200
    ) -> tuple[Match, ...]:
        """Sessions that hold `text`, newest first, each with its best messages."""
        found = await self.sessions(everywhere=everywhere, search=text, limit=limit)
        hits = await self.store.search(
            text,
            root_ids=tuple(session.id for session in found),
            each=HITS_OF_EACH,
            limit=limit * HITS_OF_EACH,
        )
        of_root: dict[str, list[SearchHit]] = {}
        for hit in hits:
            of_root.setdefault(hit.root_id, []).append(hit)
        return tuple(Match(session, tuple(of_root.get(session.id, ()))) for session in found)

    async def commits_elsewhere(self, since: int | None = None) -> int:
        """The number of the database's newest commit of others, once it is not `since`, or after
        a few seconds: who asks and goes away is not waited for long."""
        for _ in range(LOOKS):
            newest = await self.store.data_version()
            if newest != since:
                return newest
            await asyncio.sleep(LOOK_SECONDS)
        return await self.store.data_version()

    async def titles(self, session_ids: Iterable[str]) -> dict[str, str]:
        """The titles of stored sessions by id."""
        wanted = tuple(dict.fromkeys(session_ids))
        rows = await self.store.summaries(ids=wanted, limit=len(wanted))
        return {row.id: row.title for row in rows}

    async def usage(self, session_id: str) -> SessionUsage:
        """Tokens of a session and of what works for it."""
        if session_id in self._unsaved:
            return SessionUsage(Usage(), Usage())
        return SessionUsage(*await self.store.usage_below(session_id))

    async def latest_session(self) -> str | None:
        """The session of this folder that was used last."""
        return await self.store.latest_session(self.folder)

    async def resolve_id(self, prefix_or_id: str) -> str:
        """The whole id for a unique beginning of one. Raises `NotFoundError`."""
        if prefix_or_id in self._unsaved:
            return prefix_or_id
        return await self.store.resolve_id(prefix_or_id)

    async def messages_before(
        self, session_id: str, seq: int, limit: int = 200
    ) -> tuple[Message, ...]:
        """Older messages, oldest first."""
        if session_id in self._unsaved:
            return ()
        return await self.store.messages(session_id, before=seq, limit=limit)

    async def sent_prompts(self, limit: int = 500) -> tuple[str, ...]:
        """What people sent in this folder, oldest first."""
        return await self.store.sent_prompts(self.folder, limit)

    async def list_grants(self, *, everywhere: bool = False) -> tuple[Grant, ...]:
        """What a person allowed from then on."""
        return await self.store.all_grants(None if everywhere else self.folder)

    async def remove_grant(self, grant_id: int) -> Grant:
        """Take a standing permission back."""
        return await self.store.remove_grant(grant_id)

    async def _with_live_phase(self, row: SessionSummary) -> SessionSummary:
        """A turn without an end is cut, unless somebody has the session's lock: then it runs."""
        runner = self._runners.get(row.id)
        if runner is not None and (runner.is_busy or runner.phase is Phase.REQUIRES_ACTION):
            return replace(row, phase=runner.phase)
        if row.is_cut and not row.pending and row.id not in self._opened:
            is_run = await self.store.is_owned(row.id)
            return replace(row, phase=Phase.RUNNING) if is_run else row
        return row
