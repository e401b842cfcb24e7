"""Who runs a tree, and how the database is, as coroutines. See `store.py`."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from collections.abc import Sequence
from pathlib import Path

from tui_agent.store import (
    ownership,
)
from tui_agent.store.ownership import Ownership
from tui_agent.store.part import StorePart


class OwnerPart(StorePart):
    """Ownership of sessions, and health."""

    async def acquire(self, root_id: str) -> Ownership | None:
        """Become the one who runs a session's tree, until `release` or `close`; `None` when
        someone else is. Asking again while it is ours gives the same `Ownership`."""
        for attempt in range(ownership.TRIES):
            if attempt:
                await asyncio.sleep(ownership.PAUSE_SECONDS)
            held = self._owned.get(root_id)
            if held is not None:
                return held
            taken = self._locks.take(root_id)
            if taken is not None:
                return await self._note_owner(taken)
        return None

    async def _note_owner(self, taken: Ownership) -> Ownership:
        root_id = taken.root_id
        self._owned[root_id] = taken
        now = self._clock.wall()
        try:
            taken.epoch = await self._db.write(lambda c: ownership.note_owner(c, root_id, now))
        except BaseException:
            self._owned.pop(root_id, None)
            taken.release()
            raise
        return taken

    async def _release_all(self) -> None:
        owned = list(self._owned.values())
        try:
            if owned:
                await self._db.write(lambda c: _note_releases(c, owned, self._clock.wall()))
        finally:
            for held in owned:
                held.release()
            self._owned.clear()

    async def release(self, root_id: str) -> None:
        """Let others run the tree. Nothing happens when it is not ours."""
        held = self._owned.pop(root_id, None)
        if held is None:
            return
        now = self._clock.wall()
        try:
            await self._db.write(lambda c: _note_releases(c, [held], now))
        finally:
            held.release()

    async def is_owned(self, root_id: str) -> bool:
        """Whether any process, this one included, runs the tree."""
        return root_id in self._owned or self._locks.is_taken(root_id)

    async def data_version(self) -> int:
        """A number that changes when another process has committed something."""
        return await self._db.data_version()

    async def quick_check(self) -> tuple[str, ...]:
        """What is wrong with the database, in words; empty when nothing is. Reads all of it."""
        return await self._db.read(lambda c: _problems(c, self._db.path))


def _note_releases(connection: sqlite3.Connection, owned: Sequence[Ownership], now: float) -> None:
    for held in owned:
        ownership.note_release(connection, held.root_id, held.epoch, now)


def _problems(connection: sqlite3.Connection, path: Path) -> tuple[str, ...]:
    found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(20)")]
    problems = [] if found == ["ok"] else found
    for row in connection.execute("PRAGMA foreign_key_check").fetchmany(20):
        problems.append(f"a row of {row['table']} refers to a missing row of {row['parent']}")
    for place in (path, path.parent):
        mode = stat.S_IMODE(place.stat().st_mode)
        if mode & 0o077:
            problems.append(f"{place} is open to other users (mode {mode:04o})")
    return tuple(problems)
