"""Long output is kept for a while, and never taken from a session that is open anywhere."""

from __future__ import annotations

import os
from pathlib import Path

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Reply, Say
from tests.workspace.kit import Place
from tui_agent.workspace.tidying import tidy_spill

LONG_AFTER = 4_000_000_000.0


def old_file(spill: Path, session_id: str) -> Path:
    path = spill / session_id / "call.txt"
    path.parent.mkdir(parents=True)
    path.write_text("x")
    os.utime(path, (1, 1))
    return path


async def test_only_what_belongs_to_no_open_session_goes(
    place: Place, scripted: StartScripted
) -> None:
    place.speak(await scripted([Reply([Say("Hi.")]), Reply([Say("Hi.")])]))
    spill = place.config().loaded.paths.spill
    async with place.opened() as desk:
        first = await desk.begin("hello")
        await desk.rest(first)
        kept = old_file(spill, first)
        gone = old_file(spill, "ses_gone")
        await desk.workspace.store.acquire(first)
        await tidy_spill(desk.workspace.store, spill, LONG_AFTER)
        assert kept.exists()
        assert not gone.exists()
        await desk.workspace.store.release(first)
        await tidy_spill(desk.workspace.store, spill, LONG_AFTER)
        assert not kept.exists()
