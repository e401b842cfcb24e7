"""The one face of this room: everything that is kept, as coroutines.

Each method is one unit on the database's own thread (see `connection.py`): a cancelled caller loses
the answer, never half of the work. Ids come from the caller. Times are seconds since the epoch,
from the caller or from the injected clock. What SQLite refuses is raised as `StoreError`, an
unknown id as `NotFoundError`, what is no longer possible as `ConflictError`.

The calls are grouped in parts, a module each, of which the store is composed.
"""

from __future__ import annotations

from pathlib import Path

from tui_agent.store import schema
from tui_agent.store.batch_part import BatchPart
from tui_agent.store.connection import Database
from tui_agent.store.desk_part import DeskPart
from tui_agent.store.history_part import HistoryPart
from tui_agent.store.owner_part import OwnerPart
from tui_agent.store.session_part import SessionPart
from tui_agent.vocabulary.ids import SYSTEM_CLOCK, Clock


class Store(SessionPart, HistoryPart, BatchPart, DeskPart, OwnerPart):
    """An open database. Made by `open`, ended by `close`."""

    @classmethod
    async def open(cls, path: Path, *, clock: Clock = SYSTEM_CLOCK) -> Store:
        """Open the database at `path`; it and its folder are made when missing. Raises
        `StoreError` in one line when it is unusable; then nothing about it has changed."""
        return cls(await Database.open(path, schema.prepare), clock)

    @property
    def path(self) -> Path:
        """The database file. Nothing but SQLite may open it."""
        return self._db.path

    async def close(self) -> None:
        """Finish what was begun, let go of owned sessions and disconnect."""
        try:
            await self._release_all()
        finally:
            await self._db.close()
