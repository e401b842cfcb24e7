"""Replies and failures as real providers send them, on both wires over a real socket: the session
goes on, every request after them is valid, and what happened is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripted.plugin import StartScripted, scripted
from tests.scripted.script import (
    Answer,
    Call,
    Cut,
    Fail,
    Reply,
    Say,
    Stop,
    StreamError,
    Think,
    by_prompt,
    in_order,
)
from tests.workspace.kit import Desk, Place, bash
from tui_agent.loop.call_tokens import written_call
from tui_agent.vocabulary.blocks import Outcome, text_of
from tui_agent.vocabulary.events import ErrorEvent, LoopDone, ProviderRetry
from tui_agent.vocabulary.states import DoneReason

__all__ = ["scripted"]

AT_ONCE = {"retry-after": "0"}


@pytest.fixture(params=["anthropic", "chat"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.under(tmp_path)


async def goes_on(desk: Desk, session: str, turns: int = 2) -> None:
    """The session takes the next prompt."""
    await desk.workspace.submit(session, "go on")
    done = await desk.rest(session, turns)
    assert (done.reason, done.text) == (DoneReason.MODEL_STOP, "As you wish."), done.cause


async def test_a_command_without_output_is_answered_forked_and_summarised(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        lambda request: (
            Reply([Say("the gist")])
            if not request.body.get("tools")
            else Reply([Say("As you wish.")])
            if request.latest_results
            or request.last_user_text == "go on"
            or "gist" in request.last_user_text
            else Reply([Say(""), Say("\n"), Call("Bash", bash("true"))])
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("run it " * 100)
        await desk.decide(await desk.asked())
        await desk.rest(session)
        ((outcome, text),) = await desk.results(session)
        assert outcome == Outcome.OK
        assert text.strip()
        fork = await desk.workspace.fork_session(session)
        await goes_on(desk, fork.id, turns=1)
        await goes_on(desk, session)
        await desk.workspace.compact(session)
        await desk.workspace.submit(session, "go on")
        assert (await desk.rest(session, 3)).reason is DoneReason.MODEL_STOP


async def test_one_id_for_every_call_makes_calls_of_their_own(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    twice = [Call("Glob", {"pattern": "a"}, id="same"), Call("Glob", {"pattern": "b"}, id="same")]
    server = await scripted(
        in_order(
            [Reply(twice), Reply(twice[:1]), Reply([Say("done")]), Reply([Say("As you wish.")])]
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("look")
        assert (await desk.rest(session)).reason is DoneReason.MODEL_STOP
        runs = await desk.runs(session)
        assert len({run.tool_use_id for run in runs}) == len(runs) >= 2
        assert {run.outcome for run in runs} == {Outcome.OK}
        await goes_on(desk, session)


@pytest.mark.parametrize(
    "name", ['bash سرعت:{"command"', "", "x" * 300, "functions.Bash", "\x1b[2J", "a\nb"]
)
async def test_a_name_that_is_no_tool_is_answered_with_those_that_are(
    place: Place, scripted: StartScripted, wire: str, name: str
) -> None:
    server = await scripted(
        in_order(
            [Reply([Call(name, {"x": 1})]), Reply([Say("I see")]), Reply([Say("As you wish.")])]
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("look")
        assert (await desk.rest(session)).text == "I see"
        ((outcome, text),) = await desk.results(session)
        assert outcome == Outcome.ERROR
        assert "The tools are: Read, Write" in text
        await goes_on(desk, session)


@pytest.mark.parametrize(
    ("arguments", "outcome"),
    [
        ('{"pattern": "a\nb"}', Outcome.OK),
        ('{"pattern": "a\x01b"}', Outcome.OK),
        ('{"pattern": ', Outcome.ERROR),
        ("[1]", Outcome.ERROR),
        ('"text"', Outcome.ERROR),
        ("null", Outcome.ERROR),
        ('{"pattern": 7}', Outcome.ERROR),
        ('{"pattern": "\\ud800"}', Outcome.OK),
        ("{" * 3000, Outcome.ERROR),
    ],
)
async def test_odd_arguments_are_taken_or_answered(
    place: Place, scripted: StartScripted, wire: str, arguments: str, outcome: Outcome
) -> None:
    server = await scripted(
        in_order(
            [
                Reply([Call("Glob", arguments)]),
                Reply([Say("I see")]),
                Reply([Say("As you wish.")]),
            ]
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("look")
        assert (await desk.rest(session)).text == "I see"
        ((told, text),) = await desk.results(session)
        assert told == outcome, text
        await goes_on(desk, session)


@pytest.mark.parametrize("empty", [Reply([Stop("end_turn")]), Reply([Think("hm")])])
async def test_an_answer_without_text_is_asked_for_once_more(
    place: Place, scripted: StartScripted, wire: str, empty: Answer
) -> None:
    good = Reply([Say("As you wish.")])
    server = await scripted(in_order([empty, good, empty, empty, good]))
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("hello")
        assert (await desk.rest(session)).text == "As you wish."
        await desk.workspace.submit(session, "again")
        done = await desk.rest(session, 2)
        assert done.reason is DoneReason.ERROR
        assert "with nothing, twice" in (done.cause or "")
        await goes_on(desk, session, 3)


async def test_a_stream_that_ends_after_its_head_is_tried_again(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(in_order([Reply([Cut("clean")])] * 2 + [Reply([Say("As you wish.")])]))
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("hello")
        assert (await desk.rest(session)).text == "As you wish."
        assert len(desk.trace.all(ProviderRetry)) == 2


async def test_a_burst_of_overloads_is_sat_out(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    busy: list[Answer] = [Fail(529, headers=AT_ONCE)] * 8
    inside = Reply([Say("Half"), StreamError("overloaded_error", "Overloaded")])
    server = await scripted(in_order([*busy, inside, Reply([Say("As you wish.")])]))
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("hello")
        for _ in range(9):
            await desk.trace.next(ProviderRetry)
            await desk.workspace.retry_now(session)
        while (await desk.snapshot(session)).turns[-1].reason is None:
            await desk.workspace.retry_now(session)
        done = await desk.rest(session)
        assert (done.reason, done.text) == (DoneReason.MODEL_STOP, "As you wish."), done.cause
        assert [text_of(m.blocks) for m in await desk.messages(session)][1:] == ["As you wish."]


async def test_a_wait_of_days_is_told_and_not_waited_for(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        in_order([Fail(429, headers={"retry-after": "1209600"}), Reply([Say("As you wish.")])])
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("hello")
        done = await desk.rest(session)
        assert done.reason is DoneReason.ERROR
        assert "14 days" in (done.cause or "")
        await goes_on(desk, session)


async def test_what_a_failed_subagent_had_said_goes_to_its_parent(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    task = {"description": "x", "subagent_type": "general-purpose", "prompt": "the child"}
    server = await scripted(
        by_prompt(
            {
                "one helper": [Reply([Call("Task", task)]), Reply([Say("So it was.")])],
                "the child": [
                    Reply([Say("Found it in a.py."), Call("Glob", {"pattern": "*"})]),
                    Fail(400),
                ],
            }
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("one helper")
        assert (await desk.rest(session)).text == "So it was."
        ((outcome, text),) = await desk.results(session)
        assert outcome == Outcome.ERROR
        assert "Found it in a.py." in text


async def test_a_call_written_as_text_is_not_run_and_said(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    text = '<|tool_call_begin|>functions.Bash:0{"command": "touch never"}<|tool_call_end|>'
    server = await scripted(in_order([Reply([Say(text)]), Reply([Say("As you wish.")])]))
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("hello")
        assert (await desk.rest(session)).reason is DoneReason.MODEL_STOP
        (told,) = desk.trace.all(ErrorEvent)
        assert "wrote a call into its text (<|tool_call_begin|>)" in told.message
        await goes_on(desk, session)
    assert not (place.folder / "never").exists()


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("I call:\n<tool_call>\n{}", "<tool_call>"),
        ("<｜tool▁calls▁begin｜>…", "<｜tool▁calls▁begin｜>"),
        ("[TOOL_CALLS] [{}]", "[TOOL_CALLS]"),
        ("The mark `<tool_call>` begins a call.", None),
        ("plain", None),
    ],
)
def test_only_a_line_that_begins_with_a_mark_is_a_written_call(text: str, mark: str | None) -> None:
    assert written_call(text) == mark


async def test_every_kind_of_line_end_in_the_text_stays(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    text = "a\u2028b\u2029c\u0085d\x0be 日本 😀 end"
    server = await scripted(in_order([Reply([Say(text, chunk=1)], body_chunk=1)]))
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("hello")
        assert (await desk.rest(session)).text == text


@pytest.mark.parametrize(
    ("wire", "reason"),
    [("anthropic", "refusal"), ("chat", "refusal"), ("chat", "content_filter")],
)
async def test_a_refusal_is_an_error_with_its_words(
    place: Place, scripted: StartScripted, wire: str, reason: str
) -> None:
    refused = Reply([Say("I will not."), Call("Bash", bash("touch never")), Stop(reason)])
    server = await scripted(in_order([refused, Reply([Say("As you wish.")])]))
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("hello")
        done = await desk.rest(session)
        assert done.reason is DoneReason.ERROR
        assert "declined to answer" in (done.cause or "")
        await goes_on(desk, session)
    assert not (place.folder / "never").exists()


async def test_a_text_cut_by_the_limit_is_marked_and_its_calls_are_answered(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        in_order(
            [
                Reply([Call("Bash", '{"command": "touch nev'), Stop("max_tokens")]),
                Reply([Say("Half an"), Stop("max_tokens")]),
                Reply([Say("As you wish.")]),
            ]
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("hello")
        done = await desk.rest(session)
        assert (done.reason, done.text) == (DoneReason.MODEL_STOP, "Half an")
        assert [event.cut for event in desk.trace.all(LoopDone)] == [True]
        ((outcome, text),) = await desk.results(session)
        assert outcome == Outcome.ERROR
        assert "output limit" in text
        await goes_on(desk, session)
    assert not (place.folder / "never").exists()
