"""Locks on real paths, shared by every agent of a workspace: two that write one file take turns.

A batch's own calls are ordered by the lane; this is for agents beside each other.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tui_agent.tools.base import Effects


class PathLocks:
    """One lock a path that is being written."""

    def __init__(self) -> None:
        self._locks: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._users: defaultdict[Path, int] = defaultdict(int)

    @asynccontextmanager
    async def hold(self, effects: Effects) -> AsyncIterator[None]:
        """Hold the locks of every path that `effects` writes; taken in one order by everyone, so
        that no two can wait for each other."""
        paths = sorted(effects.writes)
        for path in paths:
            self._users[path] += 1
        try:
            async with AsyncExitStack() as stack:
                for path in paths:
                    await stack.enter_async_context(self._locks[path])
                yield
        finally:
            for path in paths:
                self._users[path] -= 1
                if not self._users[path]:
                    del self._users[path]
                    self._locks.pop(path, None)  # cancelled before its turn came, it never had one
