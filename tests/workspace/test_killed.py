"""After kill -9, wherever the session stood: nothing is lost, nothing runs twice, the model is told
the truth, and the next request is one that a strict provider accepts."""

from __future__ import annotations

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Call, Hold, Reply, Say, Think, by_prompt, in_order
from tests.workspace.kit import PLAIN_NO, Desk, Place, bash, eventually
from tests.workspace.processes import program
from tui_agent.vocabulary.blocks import Outcome, text_of
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.states import CallState, DoneReason, Phase


async def origins(desk: Desk, session: str) -> list[Origin]:
    return [message.origin for message in await desk.messages(session)]


async def test_at_rest_nothing_is_lost(place: Place, scripted: StartScripted, wire: str) -> None:
    place.speak(await scripted([Reply([Say("One.")]), Reply([Say("Two.")])]), wire)
    async with program(place) as first:
        session = await first.do("begin", text="count")
        await first.told("session:phase", phase="idle")
        await first.kill()
    async with place.opened() as desk:
        shot = await desk.snapshot(session)
        assert (shot.phase, shot.waiting_for) == (Phase.IDLE, "")
        await desk.workspace.submit(session, "on")
        assert (await desk.rest(session)).text == "Two."
        texts = [text_of(message.blocks) for message in await desk.messages(session)]
        assert texts == ["count", "One.", "on", "Two."]


async def test_text_that_streamed_is_kept_and_marked(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [
            Reply([Say("The first half. ", chunk=1, delay=0.08), Hold("half"), Say("The rest.")]),
            Reply([Say("I go on.")]),
        ]
    )
    place.speak(server, wire)
    async with program(place) as first:
        session = await first.do("begin", text="tell me")
        await server.reached("half")
        await first.until(lambda e: e["type"] == "text:delta", 5)
        await first.kill()
    server.release("half")
    async with place.opened() as desk:
        shot = await desk.snapshot(session)
        assert [m.origin for m in shot.messages] == [Origin.USER, Origin.ASSISTANT, Origin.RECOVERY]
        kept = shot.messages[1]
        assert kept.cut
        assert "The first half. ".startswith(text_of(kept.blocks)[:-1])
        assert len(text_of(kept.blocks)) > 1
        assert shot.partial is None
        assert (shot.turns[-1].reason, shot.turns[-1].cause) == (
            DoneReason.ERROR,
            "process ended",
        )
        assert shot.phase is Phase.REQUIRES_ACTION
        await desk.workspace.resume(session)
        assert (await desk.rest(session)).text == "I go on."
        assert "[Recovery]" in server.requests[1].last_user_text


async def test_a_new_prompt_may_follow_a_cut_turn(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        in_order([Reply([Hold("never")]), Reply([Say("Something else then.")])])
    )
    place.speak(server, wire)
    async with program(place) as first:
        session = await first.do("begin", text="tell me")
        await server.reached("never")
        await first.kill()
    async with place.opened() as desk:
        assert (await desk.snapshot(session)).phase is Phase.REQUIRES_ACTION
        await desk.workspace.submit(session, "something else")
        assert (await desk.rest(session)).text == "Something else then."
        assert desk.trace.phases(session)[-1] is Phase.IDLE


async def test_a_command_that_ran_is_unknown_and_never_run_again(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    command = "echo began >> ran.txt; sleep 3"
    server = await scripted(
        [
            Reply([Call("Bash", bash(command)), Call("Bash", bash("echo later >> later.txt"))]),
            Reply([Say("I look first.")]),
        ]
    )
    place.speak(server, wire)
    async with program(place) as first:
        session = await first.do("begin", text="run it")
        for count in (1, 2):
            item = (await first.told("approval:pending", count))["pending_id"]
            await first.do("decide", item=item, choice="approve")
        await first.told("tool:started")
        ran = place.folder / "ran.txt"
        await eventually(ran.exists)
        await first.kill()
    async with place.opened() as desk:
        shot = await desk.snapshot(session)
        states = [run.state for run in shot.tool_runs]
        assert states == [CallState.UNKNOWN, CallState.APPROVED]
        assert shot.phase is Phase.REQUIRES_ACTION
        assert shot.waiting_for.startswith("your key")
        assert len(server.requests) == 1
        await desk.workspace.resume(session)
        assert (await desk.rest(session)).text == "I look first."
        unknown, later = server.requests[1].latest_results
        assert unknown.is_error
        assert "may have run" in unknown.text
        assert not later.is_error
        assert "[Recovery]" in server.requests[1].last_user_text
        assert (await desk.results(session))[0][0] == Outcome.UNKNOWN
    assert ran.read_text() == "began\n"
    assert (place.folder / "later.txt").read_text() == "later\n"


async def test_a_batch_that_was_all_cut_is_closed_at_once_with_a_note(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [Reply([Call("Bash", bash("touch began; sleep 3"))]), Reply([Say("I look first.")])]
    )
    place.speak(server, wire)
    async with program(place) as first:
        session = await first.do("begin", text="run it")
        item = (await first.told("approval:pending"))["pending_id"]
        await first.do("decide", item=item, choice="approve")
        await eventually((place.folder / "began").exists)
        await first.kill()
    async with place.opened() as desk:
        assert await origins(desk, session) == [
            Origin.USER,
            Origin.ASSISTANT,
            Origin.TOOL_RESULTS,
            Origin.RECOVERY,
        ]
        await desk.workspace.submit(session, "go on")
        assert (await desk.rest(session)).text == "I look first."


async def test_an_open_ask_comes_up_again_with_the_same_id_and_no_note(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [Reply([Call("Bash", bash("echo once >> ran.txt"))]), Reply([Say("Written.")])]
    )
    place.speak(server, wire)
    async with program(place) as first:
        session = await first.do("begin", text="run it")
        item = (await first.told("approval:pending"))["pending_id"]
        await first.kill()
    async with place.opened() as desk:
        shot = await desk.snapshot(session)
        assert [again.pending_id for again in shot.pending] == [item]
        assert (shot.turns[-1].reason, shot.phase) == (
            DoneReason.PENDING_APPROVAL,
            Phase.REQUIRES_ACTION,
        )
        assert (await desk.decide(item)).goes_on
        assert (await desk.rest(session)).text == "Written."
        assert Origin.RECOVERY not in await origins(desk, session)
    assert (place.folder / "ran.txt").read_text() == "once\n"


async def test_a_plain_no_days_later_stops_as_it_does_live(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [
            Reply([Call("Bash", bash("touch a")), Call("Bash", bash("touch b"))]),
            Reply([Say("What then?")]),
        ]
    )
    place.speak(server, wire)
    async with program(place) as first:
        session = await first.do("begin", text="run it")
        item = (await first.told("approval:pending"))["pending_id"]
        await first.told("approval:pending", 2)
        await first.kill()
    async with place.opened() as desk:
        result = await desk.decide(item, PLAIN_NO)
        assert result.outstanding == ()
        assert (await desk.rest(session)).reason is DoneReason.DENIED
        assert [o for o, _ in await desk.results(session)] == [Outcome.DENIED, Outcome.NOT_RUN]
        await desk.workspace.submit(session, "something else")
        assert (await desk.rest(session, 2)).text == "What then?"
    assert not (place.folder / "a").exists()
    assert not (place.folder / "b").exists()


async def test_an_approved_call_that_had_not_begun_waits_for_a_key(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [
            Reply(
                [
                    Call("Bash", bash("touch began; sleep 2")),
                    Call("Bash", bash("echo once >> ran.txt")),
                ]
            ),
            Reply([Say("Both told.")]),
        ]
    )
    place.speak(server, wire)
    ran = place.folder / "ran.txt"
    async with program(place) as first:
        session = await first.do("begin", text="run both")
        second = (await first.told("approval:pending", 2))["pending_id"]
        await first.do("decide", item=second, choice="approve")
        await first.kill()
    async with place.opened() as desk:
        shot = await desk.snapshot(session)
        assert [run.state for run in shot.tool_runs] == [CallState.ASKED, CallState.APPROVED]
        assert not ran.exists()
        assert len(server.requests) == 1
        (open_item,) = shot.pending
        await desk.decide(open_item)
        assert (await desk.rest(session)).text == "Both told."
        assert [o for o, _ in await desk.results(session)] == [Outcome.OK, Outcome.OK]
    assert ran.read_text() == "once\n"


PARENT = {
    "two helpers": [
        Reply(
            [
                Call(
                    "Task",
                    {
                        "description": "asks",
                        "prompt": "child one",
                        "subagent_type": "general-purpose",
                    },
                ),
                Call(
                    "Task",
                    {
                        "description": "waits",
                        "prompt": "child two",
                        "subagent_type": "general-purpose",
                    },
                ),
            ]
        ),
        Reply([Say("Both are back.")]),
    ],
    "child one": [Reply([Call("Bash", bash("echo once >> ran.txt"))]), Reply([Say("one is done")])],
    "child two": [
        Reply([Say("two "), Hold("two"), Say("is done")]),
        Reply([Say("two is done at last")]),
    ],
}


async def test_subagents_survive_and_their_parent_finishes(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(by_prompt(PARENT))
    place.speak(server, wire)
    async with program(place) as first:
        session = await first.do("begin", text="two helpers please")
        item = (await first.told("approval:pending"))["pending_id"]
        await server.reached("two")
        await first.kill()
    server.release("two")
    async with place.opened() as desk:
        shot = await desk.snapshot(session)
        assert [run.state for run in shot.tool_runs] == [CallState.WAITING, CallState.WAITING]
        assert [again.pending_id for again in shot.pending] == [item]
        assert shot.pending[0].agent_path[0] == session
        assert shot.phase is Phase.REQUIRES_ACTION
        assert (await desk.decide(item)).goes_on
        done = await desk.rest(session)
        assert (done.reason, done.text) == (DoneReason.MODEL_STOP, "Both are back.")
        told = await desk.results(session)
        assert [outcome for outcome, _ in told] == [Outcome.OK, Outcome.OK]
        assert "one is done" in told[0][1]
        assert "two is done" in told[1][1]
    assert (place.folder / "ran.txt").read_text() == "once\n"


async def test_the_second_of_two_processes_goes_on_where_the_first_one_quit(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [Reply([Call("Bash", bash("echo once >> ran.txt"))]), Reply([Say("Written.")])]
    )
    place.speak(server, wire)
    async with program(place) as first:
        session = await first.do("begin", text="run it")
        item = (await first.told("approval:pending"))["pending_id"]
        await first.quit()
    assert first.events[-1]["type"] in ("session:phase", "done")
    async with program(place) as second:
        assert await second.do("phase", session=session) == "requires_action"
        assert await second.do("decide", item=item, choice="approve") == {
            "applied": True,
            "goes_on": True,
        }
        done = await second.told("done")
        assert done["text"] == "Written."
        await second.told("session:phase", phase="idle")
        await second.quit()
    assert (place.folder / "ran.txt").read_text() == "once\n"


async def test_reasoning_goes_back_to_its_maker_as_it_came(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        [
            Reply([Think("  I look,\n as ever. ü "), Call("Bash", bash("echo hi"))]),
            Reply([Say("Hi.")]),
        ]
    )
    place.speak(server, wire)
    async with program(place) as first:
        session = await first.do("begin", text="look")
        await first.told("approval:pending")
        await first.kill()
    async with place.opened() as desk:
        (item,) = (await desk.snapshot(session)).pending
        await desk.decide(item)
        assert (await desk.rest(session)).text == "Hi."
    assert server.violations == []
    (reply,) = [each for each in server.requests[1].messages if each["role"] == "assistant"]
    if wire == "anthropic":
        thought = reply["content"][0]
        assert (thought["type"], thought["thinking"]) == ("thinking", "  I look,\n as ever. ü ")
        assert thought["signature"]
    else:
        assert reply["reasoning_content"] == "  I look,\n as ever. ü "
