"""The loop with real clients against a strict server, on both wires: what it sends is accepted,
whatever has happened before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scripted.plugin import StartScripted, scripted
from tests.scripted.request import ParsedRequest
from tests.scripted.script import Answer, Call, Fail, Hold, Reply, Say, Think, Usage
from tests.workspace.kit import APPROVE, Place, no_because
from tui_agent.vocabulary.blocks import Outcome
from tui_agent.vocabulary.events import PromptCompaction, ToolResultEvent
from tui_agent.vocabulary.states import DoneReason

__all__ = ["scripted"]

TOO_LONG = Fail(
    400,
    {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
            "message": "prompt is too long: 210000 tokens > 200000 maximum",
        },
    },
)
ASK = {"questions": [{"question": "Which?", "options": [{"label": "red"}, {"label": "blue"}]}]}


@pytest.fixture(params=["anthropic", "chat"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_everything_at_once_is_still_a_request_that_is_accepted(
    tmp_path: Path, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [
            Reply(
                [
                    Think("All of it."),
                    Say("I do it all."),
                    Call("Read", {"file_path": "notes"}),
                    Call("Nothing", {"x": 1}),
                    Call("Bash", {"cmd": "ls"}),
                    Call("Bash", '{"command": "ech'),
                    Call("Bash", {"command": "echo yes"}),
                    Call("Bash", {"command": "echo no"}),
                ]
            ),
            Reply([Call("Read", {"file_path": "notes"}), Call("Read", {})]),
            Reply([Say("half of the answer"), Hold("middle")]),
            Reply([Say("done")]),
        ]
    )
    place = Place.under(tmp_path).speak(server, wire)
    place.put("notes", "milk\n")
    async with place.opened() as desk:
        session = await desk.begin("please")
        first, second = [await desk.asked("Bash") for _ in range(2)]
        await desk.decide(first, APPROVE)
        await desk.decide(second, no_because("not that one"))
        await server.reached("middle")
        await desk.workspace.interrupt(session)
        await desk.workspace.submit(session, "go on")
        assert (await desk.rest(session, 2)).reason is DoneReason.MODEL_STOP
        outcomes = [event.outcome for event in desk.trace.all(ToolResultEvent)]
        stored = [run.tool_use_id for run in await desk.runs(session)]
    assert sorted(outcomes) == sorted(
        [Outcome.OK, Outcome.OK, Outcome.OK, Outcome.DENIED, *[Outcome.ERROR] * 4]
    )
    assert len(stored) == len(set(stored)) == 8
    assert len(server.requests) == 4


async def test_a_prompt_that_is_too_long_is_summarised_and_sent_again(
    tmp_path: Path, scripted: StartScripted, wire: str
) -> None:
    rounds: Iterator[Answer] = iter(
        [
            Reply([Think("hm"), Call("Read", {"file_path": "notes"}), Usage(100, 10)]),
            Reply([Say("read it " * 400), Usage(100, 10)]),
            TOO_LONG,
            Reply([Say("done")]),
        ]
    )

    def respond(request: ParsedRequest) -> Answer:
        return next(rounds) if request.body.get("tools") else Reply([Say("the gist")])

    server = await scripted(respond)
    place = Place.under(tmp_path).speak(server, wire)
    place.put("notes", "milk\n" * 400)
    async with place.opened() as desk:
        session = await desk.begin("please " * 200)
        await desk.rest(session)
        await desk.workspace.submit(session, "and now")
        done = await desk.rest(session, 2)
        assert done.reason is DoneReason.MODEL_STOP, done.cause
        told = [(e.phase, e.trigger) for e in desk.trace.all(PromptCompaction)]
    assert told == [("started", "overflow"), ("completed", "overflow")]
    assert len(server.requests) == 5
