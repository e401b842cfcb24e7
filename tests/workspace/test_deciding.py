"""What an answer does: to its call, to those beside it, to the turn, and to the next one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Call, Hold, Reply, Say, by_prompt
from tests.workspace.kit import (
    APPROVE,
    PLAIN_NO,
    Place,
    Scope,
    answers,
    bash,
    eventually,
    no_because,
)
from tests.workspace.processes import program
from tui_agent.vocabulary.blocks import Outcome
from tui_agent.vocabulary.decisions import Choice, Decision
from tui_agent.vocabulary.errors import NotFoundError, UserError
from tui_agent.vocabulary.events import (
    ActAuthDecision,
    ApprovalPending,
    ApprovalResolved,
    DoneEvent,
    LoopDenied,
    QuestionResolved,
    SessionPhase,
    ToolResultEvent,
    ToolStarted,
)
from tui_agent.vocabulary.rules import Rules
from tui_agent.vocabulary.states import DoneReason, Phase, Trigger

TWO = {
    "questions": [
        {"question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}]},
        {
            "question": "Which sizes?",
            "options": [{"label": "S"}, {"label": "M"}],
            "multiSelect": True,
        },
    ]
}


async def test_a_plain_no_stops_the_turn_and_what_runs_may_finish(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [
            Reply(
                [
                    Call("Write", {"file_path": "a.txt", "content": "a"}),
                    Call("Write", {"file_path": "b.txt", "content": "b"}),
                    Call("Write", {"file_path": "c.txt", "content": "c"}),
                ]
            ),
            Reply([Say("What then?")]),
        ]
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("write three")
        first, second, third = [await desk.asked() for _ in range(3)]
        assert (await desk.decide(first)).outstanding == (second, third)
        result = await desk.decide(second, PLAIN_NO)
        assert result.outstanding == ()
        done = await desk.rest(session)
        assert (done.reason, done.pending_approvals) == (DoneReason.DENIED, 0)
        assert len(server.requests) == 1
        assert [outcome for outcome, _ in await desk.results(session)] == [
            Outcome.OK,
            Outcome.DENIED,
            Outcome.NOT_RUN,
        ]
        assert desk.trace.all(LoopDenied)[0].tools == ("Write",)
        assert desk.trace.phases(session)[-1] is Phase.IDLE
        dead = await desk.decide(third)
        assert not dead.applied
        await desk.workspace.submit(session, "something else")
        assert (await desk.rest(session, 2)).text == "What then?"
    assert (place.folder / "a.txt").exists()
    assert not (place.folder / "b.txt").exists()
    assert not (place.folder / "c.txt").exists()


async def test_a_command_that_runs_is_not_cut_by_a_no_beside_it(
    place: Place, scripted: StartScripted
) -> None:
    place.speak(
        await scripted(
            [
                Reply(
                    [
                        Call("Bash", bash("touch began; sleep 1; echo whole > ended")),
                        Call("Bash", bash("touch never")),
                    ]
                )
            ]
        )
    )
    async with place.opened() as desk:
        session = await desk.begin("run both")
        first, second = await desk.asked(), await desk.asked()
        await desk.decide(first)
        await eventually((place.folder / "began").exists)
        await desk.decide(second, PLAIN_NO)
        assert (await desk.rest(session)).reason is DoneReason.DENIED
        assert [o for o, _ in await desk.results(session)] == [Outcome.OK, Outcome.DENIED]
    assert (place.folder / "ended").read_text() == "whole\n"
    assert not (place.folder / "never").exists()


async def test_a_no_with_a_comment_goes_back_to_the_model(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [
            Reply([Call("Bash", bash("touch a")), Call("Bash", bash("touch b"))]),
            Reply([Say("I see.")]),
        ]
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("touch")
        first, second = await desk.asked(), await desk.asked()
        await desk.decide(first, no_because("use printf instead"))
        await desk.decide(second)
        assert (await desk.rest(session)).reason is DoneReason.MODEL_STOP
        denied, ran = server.requests[1].latest_results
        assert "use printf instead" in denied.text
        assert denied.is_error
        assert not ran.is_error
    assert not (place.folder / "a").exists()
    assert (place.folder / "b").exists()


async def test_what_a_person_edited_is_what_runs(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted([Reply([Call("Bash", bash("touch a"))]), Reply([Say("Fine.")])])
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("touch", rules=Rules(deny=("Bash(touch evil)",)))
        item = await desk.asked()
        for wrong, words in (
            ({"command": ""}, "command"),
            ({"no_such_field": 1}, "command"),
            (bash("touch evil"), "not allowed"),
        ):
            edited = Decision(Choice.APPROVE, edited_input=wrong)
            with pytest.raises(UserError, match=words):
                await desk.decide(item, edited)
            assert [i.pending_id for i in await desk.workspace.pending()] == [item.pending_id]
        await desk.decide(item, Decision(Choice.APPROVE, edited_input=bash("touch b")))
        await desk.rest(session)
        (run,) = await desk.runs(session)
        assert run.input == bash("touch b")
        assert run.digest != item.digest
        assert desk.trace.all(ToolStarted)[0].input == bash("touch b")
        assert not server.requests[1].latest_results[0].is_error
    assert {path.name for path in place.folder.iterdir()} == {"b"}


async def test_answers_may_be_labels_or_words_of_ones_own(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted([Reply([Call("AskUserQuestion", TWO)]), Reply([Say("Noted.")])])
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("ask me")
        item = await desk.asked()
        with pytest.raises(UserError):
            await desk.decide(item, APPROVE)
        given = answers(Which_colour="rather green", Which_sizes=["S", "M"])
        await desk.decide(item, given)
        await desk.rest(session)
        text = server.requests[1].latest_results[0].text
        assert "rather green" in text
        assert "S; M" in text
        assert desk.trace.all(QuestionResolved)[0].choice == "answer"


@pytest.mark.parametrize("scope", [Scope.SESSION, Scope.ALWAYS])
async def test_a_grant_holds_for_the_same_call_only(
    place: Place, scripted: StartScripted, scope: Scope
) -> None:
    same, other = "echo x >> same.txt", "echo x >> other.txt"
    place.speak(
        await scripted(
            [
                Reply([Call("Bash", bash(same))]),
                Reply([Call("Bash", bash(same))]),
                Reply([Call("Bash", bash(other))]),
                Reply([Say("Done.")]),
            ]
        )
    )
    async with place.opened() as desk:
        session = await desk.begin("run")
        item = await desk.asked()
        assert item.rule == f"Bash({same})"
        await desk.decide(item, Decision(Choice.APPROVE, scope=scope))
        again = await desk.asked()
        assert again.input == bash(other)
        await desk.decide(again)
        await desk.rest(session)
        assert [e.action.value for e in desk.trace.all(ActAuthDecision)] == ["ask", "allow", "ask"]
        assert len(desk.trace.all(ApprovalPending)) == 2
    assert (place.folder / "same.txt").read_text() == "x\nx\n"


@pytest.mark.parametrize(("scope", "asks"), [(Scope.SESSION, 1), (Scope.ALWAYS, 0)])
async def test_a_session_grant_ends_with_its_session(
    place: Place, scripted: StartScripted, scope: Scope, asks: int
) -> None:
    command = "echo x >> same.txt"
    place.speak(await scripted([Reply([Call("Bash", bash(command))]), Reply([Say("Done.")])]))
    async with place.opened() as desk:
        session = await desk.begin("run")
        await desk.decide(await desk.asked(), Decision(Choice.APPROVE, scope=scope))
        await desk.rest(session)
    place.speak(await scripted([Reply([Call("Bash", bash(command))]), Reply([Say("Done.")])]))
    async with place.opened() as desk:
        session = await desk.begin("run in another session")
        if asks:
            await desk.decide(await desk.asked())
        await desk.rest(session)
        assert len(desk.trace.all(ApprovalPending)) == asks


async def test_the_second_answer_changes_nothing_and_says_so(
    place: Place, scripted: StartScripted
) -> None:
    place.speak(await scripted([Reply([Call("Bash", bash("touch a"))]), Reply([Say("Done.")])]))
    async with place.opened() as desk:
        session = await desk.begin("touch")
        item = await desk.asked()
        both = await asyncio.gather(desk.decide(item), desk.decide(item, PLAIN_NO))
        assert [result.applied for result in both] == [True, False]
        assert "already" in both[1].message
        assert (await desk.rest(session)).reason is DoneReason.MODEL_STOP
        late = await desk.decide(item, PLAIN_NO)
        assert (late.applied, "already" in late.message) == (False, True)
        with pytest.raises(NotFoundError):
            await desk.decide("ask_nobody")
    assert (place.folder / "a").exists()


async def test_an_answer_that_comes_while_the_turn_ends_is_taken_up(
    place: Place, scripted: StartScripted
) -> None:
    place.speak(await scripted([Reply([Call("Bash", bash("touch a"))]), Reply([Say("Done.")])]))
    async with place.opened(attended=False) as desk:
        session = await desk.begin("touch")
        item = await desk.asked()
        result = await desk.decide(item)
        assert result.applied
        assert result.goes_on
        done = await desk.trace.next(DoneEvent, lambda e: e.reason is DoneReason.MODEL_STOP)
        assert done.text == "Done."
        reasons = [turn.reason for turn in (await desk.snapshot(session)).turns]
        assert reasons[-1] is DoneReason.MODEL_STOP
    assert (place.folder / "a").exists()


async def test_the_turn_that_goes_on_continues_the_one_that_paused(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    place.speak(
        await scripted(
            [
                Reply([Call("Bash", bash("touch a")), Call("Bash", bash("touch b"))]),
                Reply([Say("Done.")]),
            ]
        ),
        wire,
    )
    async with place.opened(attended=False) as desk:
        session = await desk.begin("touch")
        first, second = await desk.asked(), await desk.asked()
        paused = await desk.rest(session)
        assert (paused.reason, paused.pending_approvals) == (DoneReason.PENDING_APPROVAL, 2)
        assert desk.trace.phases(session) == [Phase.RUNNING, Phase.REQUIRES_ACTION]
        half = await desk.decide(second)
        assert (half.goes_on, half.outstanding) == (False, (first,))
        assert (await desk.snapshot(session)).phase is Phase.REQUIRES_ACTION
        whole = await desk.decide(first)
        assert (whole.goes_on, whole.outstanding) == (True, ())
        assert (await desk.rest(session, 2)).text == "Done."
        turns = (await desk.snapshot(session)).turns
        assert [turn.trigger for turn in turns] == [Trigger.PROMPT, Trigger.DECISION]
        assert turns[1].resumes == turns[0].id
        assert desk.trace.phases(session)[-1] is Phase.IDLE


@pytest.mark.parametrize("decision", [APPROVE, PLAIN_NO, no_because("not now")])
async def test_a_live_turn_hears_what_another_process_decided(
    place: Place, scripted: StartScripted, decision: Decision
) -> None:
    place.speak(await scripted([Reply([Call("Bash", bash("touch a"))]), Reply([Say("Heard.")])]))
    async with place.opened() as desk, place.opened() as other:
        session = await desk.begin("touch")
        item = await desk.asked()
        result = await other.decide(item.pending_id, decision)
        assert result.applied
        assert not result.goes_on
        await desk.rest(session)
        resolved = await desk.trace.next(ApprovalResolved)
        assert resolved.pending_id == item.pending_id
        told = await desk.trace.next(ToolResultEvent)
        assert (told.outcome is Outcome.OK) == (decision is APPROVE)
    assert (place.folder / "a").exists() == (decision is APPROVE)


async def test_a_session_at_rest_hears_it_too(place: Place, scripted: StartScripted) -> None:
    place.speak(await scripted([Reply([Call("Bash", bash("touch a"))]), Reply([Say("Heard.")])]))
    async with program(place) as first:
        session = await first.do("begin", text="touch")
        item = (await first.told("approval:pending"))["pending_id"]
        await first.quit()
    async with place.opened() as desk:
        assert (await desk.snapshot(session)).phase is Phase.REQUIRES_ACTION
        async with place.opened() as other:
            result = await other.decide(item)
            assert (result.applied, result.goes_on) == (True, False)
            assert (await desk.rest(session)).text == "Heard."
        assert desk.trace.all(ApprovalResolved)[0].choice == "approve"
    assert (place.folder / "a").exists()


async def test_a_reading_window_shows_what_the_rows_say(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted([Reply([Say("Hm. "), Hold("thinking"), Call("Bash", bash("true"))])])
    place.speak(server)
    async with place.opened() as desk, place.opened() as other:
        session = await desk.begin("touch")
        await server.reached("thinking")
        assert (await other.snapshot(session)).phase is Phase.RUNNING
        server.release("thinking")
        item = await desk.asked()
        await desk.trace.next(SessionPhase, lambda e: e.phase is Phase.REQUIRES_ACTION)
        shot = await other.snapshot(session)
        assert shot.phase is Phase.REQUIRES_ACTION
        with pytest.raises(UserError):
            await other.decide(item, Decision(Choice.APPROVE, edited_input={"x": 1}))
        assert (await other.snapshot(session)).phase is Phase.REQUIRES_ACTION


async def test_two_children_answers_while_one_still_runs(
    place: Place, scripted: StartScripted
) -> None:
    task: dict[str, Any] = {"description": "x", "subagent_type": "general-purpose"}
    server = await scripted(
        by_prompt(
            {
                "two helpers": [
                    Reply(
                        [
                            Call("Task", {**task, "prompt": "child one"}),
                            Call("Task", {**task, "prompt": "child two"}),
                        ]
                    ),
                    Reply([Say("Both back.")]),
                ],
                "child one": [Reply([Call("Bash", bash("touch a"))]), Reply([Say("one done")])],
                "child two": [Reply([Hold("two"), Say("two done")])],
            }
        )
    )
    place.speak(server)
    async with place.opened(attended=False) as desk:
        session = await desk.begin("two helpers")
        item = await desk.asked()
        child = item.agent_path[-1]
        await desk.done(child)
        await server.reached("two")
        result = await desk.decide(item)
        assert (result.applied, result.goes_on) == (True, True)
        server.release("two")
        done = await desk.trace.next(
            DoneEvent, lambda e: e.session_id == session and e.reason is DoneReason.MODEL_STOP
        )
        assert done.text == "Both back."
