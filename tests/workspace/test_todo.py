"""The todo list is told as it changes, and is there again after a restart."""

from __future__ import annotations

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Call, Reply, Say
from tests.workspace.kit import Place
from tui_agent.vocabulary.events import TodoChanged

LIST = [
    {"content": "Read", "status": "completed", "activeForm": "Reading"},
    {"content": "Write", "status": "in_progress", "activeForm": "Writing"},
]


async def test_a_written_list_is_told_without_asking_and_is_kept(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted([Reply([Call("TodoWrite", {"todos": LIST})]), Reply([Say("Noted.")])])
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("plan it")
        await desk.rest(session)
        (told,) = desk.trace.all(TodoChanged)
        assert [dict(item) for item in told.items] == LIST
        assert told.session_id == session
    async with place.opened() as desk:
        (run,) = (await desk.snapshot(session)).tool_runs
        assert run.details["items"] == LIST


async def test_a_list_that_was_refused_changes_nothing(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    broken = [{"content": "Read", "status": "someday"}]
    server = await scripted([Reply([Call("TodoWrite", {"todos": broken})]), Reply([Say("Oh.")])])
    place.speak(server, wire)
    async with place.opened() as desk:
        await desk.rest(await desk.begin("plan it"))
        assert desk.trace.all(TodoChanged) == []
