"""Whole ways of a prompt through the real program, on both wires, before a model that is strict."""

from __future__ import annotations

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Call, Reply, Say, Think
from tests.workspace.kit import APPROVE, Place, answers, bash
from tui_agent.vocabulary.events import (
    DoneEvent,
    LoopDone,
    ProviderComplete,
    SessionPhase,
)
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.states import DoneReason, LoopState, Phase, PhaseLabel

QUESTION = {
    "question": "Which colour?",
    "header": "colour",
    "options": [{"label": "red"}, {"label": "blue"}],
}


async def test_a_prompt_goes_through_tools_ask_and_decision_to_its_end(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [
            Reply(
                [
                    Think("First I look."),
                    Say("I look and write."),
                    Call("Read", {"file_path": "notes.txt"}),
                    Call("Bash", bash("echo once >> ran.txt; cat ran.txt")),
                ]
            ),
            Reply([Say("All done.")]),
            Reply([Say("You are welcome.")]),
        ]
    )
    place.speak(server, wire).put("notes.txt", "remember the milk\n")
    async with place.opened() as desk:
        session = await desk.begin("please look and write")
        item = await desk.asked("Bash")
        assert item.input == bash("echo once >> ran.txt; cat ran.txt")
        assert (await desk.decide(item, APPROVE)).applied
        done = await desk.rest(session)
        assert (done.reason, done.text, done.rounds) == (DoneReason.MODEL_STOP, "All done.", 2)
        await desk.workspace.submit(session, "thanks")
        assert (await desk.rest(session, 2)).text == "You are welcome."

        read, ran = server.requests[1].latest_results
        assert "remember the milk" in read.text
        assert "once" in ran.text
        assert not (read.is_error)
        assert not (ran.is_error)
        assert [m.origin for m in await desk.messages(session)] == [
            Origin.USER,
            Origin.ASSISTANT,
            Origin.TOOL_RESULTS,
            Origin.ASSISTANT,
            Origin.USER,
            Origin.ASSISTANT,
        ]
    assert (place.folder / "ran.txt").read_text() == "once\n"


async def test_three_completions_are_three_events_and_idle_comes_last(
    place: Place, scripted: StartScripted
) -> None:
    place.speak(await scripted([Reply([Say("Hello.")])]))
    async with place.opened() as desk:
        session = await desk.begin("hi")
        await desk.rest(session)
        names = desk.trace.names(session)
        kinds = [ProviderComplete, LoopDone, DoneEvent]
        places = [names.index(desk.trace.all(kind)[0].type) for kind in kinds]
        assert places == sorted(places)
        assert names[-1] == "session:phase"
        last = desk.trace.all(SessionPhase, session)[-1]
        assert (last.phase, last.label) == (Phase.IDLE, PhaseLabel.IDLE)
        assert desk.trace.phases(session) == [Phase.RUNNING, Phase.IDLE]
        assert desk.trace.states(session) == [LoopState.STREAMING, LoopState.DONE]


async def test_a_session_that_waits_for_a_person_is_not_idle(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [
            Reply([Call("AskUserQuestion", {"questions": [QUESTION]})]),
            Reply([Say("Blue it is.")]),
        ]
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("paint it")
        item = await desk.asked()
        await desk.trace.next(SessionPhase, lambda e: e.phase is Phase.REQUIRES_ACTION)
        shot = await desk.snapshot(session)
        assert (shot.phase, shot.waiting_for) == (Phase.REQUIRES_ACTION, "your decision")
        assert [open_item.pending_id for open_item in shot.pending] == [item.pending_id]
        await desk.decide(item, answers(Which_colour="blue"))
        await desk.rest(session)
        assert "blue" in server.requests[1].latest_results[0].text
        assert desk.trace.phases(session) == [
            Phase.RUNNING,
            Phase.REQUIRES_ACTION,
            Phase.RUNNING,
            Phase.IDLE,
        ]


async def test_closing_while_asked_pauses_and_another_opening_goes_on_where_it_was(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [
            Reply([Say("I write."), Call("Bash", bash("echo once >> ran.txt"))]),
            Reply([Say("Written.")]),
        ]
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("write")
        item = await desk.asked()
    done = desk.trace.all(DoneEvent)[-1]
    assert (done.reason, done.pending_approvals) == (DoneReason.PENDING_APPROVAL, 1)

    async with place.opened() as later:
        shot = await later.snapshot(session)
        assert (shot.phase, shot.waiting_for) == (Phase.REQUIRES_ACTION, "your decision")
        assert [again.pending_id for again in shot.pending] == [item.pending_id]
        result = await later.decide(item.pending_id)
        assert result.applied
        assert result.goes_on
        assert (await later.rest(session)).text == "Written."
        turns = (await later.snapshot(session)).turns
        assert [turn.reason for turn in turns] == [
            DoneReason.PENDING_APPROVAL,
            DoneReason.MODEL_STOP,
        ]
        assert turns[1].resumes == turns[0].id
        assert Origin.RECOVERY not in [m.origin for m in await later.messages(session)]
    assert (place.folder / "ran.txt").read_text() == "once\n"
