"""What is shown of requests is what goes over the wire."""

from __future__ import annotations

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Call, Reply, Say
from tests.workspace.kit import Place
from tui_agent.vocabulary.codec import to_json


async def test_the_next_request_is_shown_exactly_as_it_will_be_sent(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    place.put("notes.txt", "milk")
    server = await scripted(
        [
            Reply([Call("Read", {"file_path": "notes.txt"})]),
            Reply([Say("Milk.")]),
            Reply([Say("Yes.")]),
        ]
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("what do I need?")
        await desk.rest(session)
        upcoming = (await desk.workspace.requests(session, "anything else?"))[0]
        await desk.workspace.submit(session, "anything else?")
        await desk.rest(session, 2)
        assert to_json(upcoming.body) == server.requests[-1].body
        assert upcoming.sent is None
        assert {layer.name for layer in upcoming.layers} >= {"base", "tools", "history"}


async def test_what_was_sent_last_is_kept_newest_first(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted([Reply([Say(f"{number}.")]) for number in range(5)])
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("0")
        await desk.rest(session)
        for number in range(1, 5):
            await desk.workspace.submit(session, str(number))
            await desk.rest(session, number + 1)
        _, *sent = await desk.workspace.requests(session)
        assert [to_json(each.body) for each in sent] == [
            request.body for request in server.requests[:-4:-1]
        ]
        assert all(each.sent is not None for each in sent)


async def test_a_session_without_a_prompt_has_a_next_request_too(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    place.speak(await scripted([]), wire)
    async with place.opened() as desk:
        record = await desk.session()
        (upcoming,) = await desk.workspace.requests(record.id, "hello")
        assert "hello" in str(upcoming.body)
        assert upcoming.tokens > 0
