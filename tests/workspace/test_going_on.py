"""A reply that was cut short can be gone on with by one key, without a new prompt."""

from __future__ import annotations

import pytest

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Hold, Reply, Say
from tests.workspace.kit import Place
from tui_agent.vocabulary.blocks import text_of
from tui_agent.vocabulary.errors import ConflictError
from tui_agent.vocabulary.events import TextDelta
from tui_agent.vocabulary.messages import Origin


async def test_a_reply_that_was_interrupted_goes_on(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted([Reply([Say("One, two,"), Hold("two")]), Reply([Say("three.")])])
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("count")
        await desk.trace.next(TextDelta, lambda delta: "two" in delta.text)
        await desk.workspace.interrupt(session)
        await desk.rest(session)
        await desk.workspace.resume(session)
        assert (await desk.rest(session, 2)).text == "three."
        messages = await desk.messages(session)
        assert [message.origin for message in messages] == [
            Origin.USER,
            Origin.ASSISTANT,
            Origin.NOTIFICATION,
            Origin.ASSISTANT,
        ]
        assert "cut short" in text_of(messages[2].blocks)
        assert server.violations == []


async def test_a_whole_reply_leaves_nothing_to_go_on_with(
    place: Place, scripted: StartScripted
) -> None:
    place.speak(await scripted([Reply([Say("Done.")])]))
    async with place.opened() as desk:
        session = await desk.begin("count")
        await desk.rest(session)
        with pytest.raises(ConflictError, match="type a prompt"):
            await desk.workspace.resume(session)
