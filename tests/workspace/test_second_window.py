"""A second window hears of what the first one commits, and owns the session once that is gone."""

from __future__ import annotations

import asyncio

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Reply, Say
from tests.workspace.kit import Place


async def test_a_second_window_follows_and_takes_over_when_the_first_is_gone(
    place: Place, scripted: StartScripted
) -> None:
    place.speak(await scripted(lambda request: Reply([Say(f"{request.last_user_text}?")])))
    async with place.opened() as second:
        async with place.opened() as first:
            session_id = await first.begin("one")
            await first.rest(session_id)
            assert (await first.snapshot(session_id)).is_ours
            seen = await second.workspace.commits_elsewhere()
            assert not (await second.snapshot(session_id)).is_ours
            waits = asyncio.create_task(second.workspace.commits_elsewhere(seen))
            await first.workspace.submit(session_id, "two")
            await first.rest(session_id, 2)
            assert await waits != seen
            followed = await second.snapshot(session_id)
            assert (len(followed.messages), followed.is_ours) == (4, False)
        taken = await second.snapshot(session_id)
        assert (len(taken.messages), taken.is_ours) == (4, True)
