"""Removing what was kept for a while only: files with long tool output."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from tui_agent.store import Store
from tui_agent.tools.spill import clean_spill, spilling_sessions
from tui_agent.vocabulary.errors import NotFoundError, StoreError
from tui_agent.workspace.resting import agent_path

log = logging.getLogger(__name__)


async def tidy_spill(store: Store, folder: Path, now: float) -> None:
    """Clean the spill folder, sparing every session that any process has open. A failure is
    logged: the next start tries again."""
    try:
        exist: set[str] = set()
        is_open: set[str] = set()
        for session_id in await asyncio.to_thread(spilling_sessions, folder):
            root_id = await _root_of(store, session_id)
            if root_id is None:
                continue
            exist.add(session_id)
            if await store.is_owned(root_id):
                is_open.add(session_id)
        removed = await asyncio.to_thread(
            clean_spill, folder, is_open=is_open, exist=exist, now=now
        )
    except (OSError, StoreError) as error:
        log.warning("long tool output was not tidied up: %s", error)
        return
    if removed:
        log.info("removed %d bytes of old tool output", removed)


async def _root_of(store: Store, session_id: str) -> str | None:
    try:
        return (await agent_path(store, await store.session(session_id)))[0]
    except NotFoundError:
        return None
