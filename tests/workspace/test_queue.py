"""What a person types while a turn runs: it steers, or it waits, and it is delivered once."""

from __future__ import annotations

import asyncio
import sqlite3

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Call, Fail, Hold, Reply, Say, in_order
from tests.workspace.kit import PLAIN_NO, Place, bash
from tui_agent.vocabulary.blocks import text_of
from tui_agent.vocabulary.events import DoneEvent, LoopDone, QueueChanged
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.states import DoneReason, LoopState, Phase, Trigger
from tui_agent.workspace.runner import MOST_TURNS_IN_A_ROW


async def test_steering_comes_with_the_next_results(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted([Reply([Call("Bash", bash("echo hi"))]), Reply([Say("Both seen.")])])
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("run")
        item = await desk.asked()
        await desk.workspace.submit(session, "and be quick")
        assert [m.text for m in (await desk.snapshot(session)).queue] == ["and be quick"]
        await desk.decide(item)
        done = await desk.rest(session)
        assert (done.text, done.queued, done.rounds) == ("Both seen.", 0, 2)
        assert server.requests[1].turns[-1].text == "and be quick"
        assert "hi" in server.requests[1].latest_results[0].text
        assert len(desk.trace.all(DoneEvent)) == 1
        sizes = [len(e.items) for e in desk.trace.all(QueueChanged)]
        assert sizes == [1, 0]


async def test_steering_after_a_final_answer_goes_on_in_the_same_turn(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted([Reply([Say("First."), Hold("first")]), Reply([Say("Second.")])])
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("one")
        await server.reached("first")
        await desk.workspace.submit(session, "two")
        server.release("first")
        assert (await desk.rest(session)).text == "Second."
        assert len(desk.trace.all(LoopDone)) == len(desk.trace.all(DoneEvent)) == 1
        assert desk.trace.states(session) == [
            LoopState.STREAMING,
            LoopState.THINKING,
            LoopState.STREAMING,
            LoopState.DONE,
        ]


async def test_the_steering_message_comes_before_what_waits_for_the_turn(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted([Reply([Hold("a"), Say("A.")]), Reply([Say("B.")]), Reply([Say("C.")])])
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("start")
        await server.reached("a")
        await desk.workspace.submit(session, "later", after_turn=True)
        await desk.workspace.submit(session, "now")
        server.release("a")
        assert (await desk.rest(session, 2)).text == "C."
        assert server.requests[1].last_user_text == "now"
        assert server.requests[2].last_user_text == "later"
        turns = (await desk.snapshot(session)).turns
        assert [turn.trigger for turn in turns] == [Trigger.PROMPT, Trigger.QUEUE]
        assert desk.trace.phases(session) == [Phase.RUNNING, Phase.IDLE]


async def test_after_any_other_end_the_queue_waits_for_a_key(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        in_order([Reply([Call("Bash", bash("touch never"))]), Reply([Say("Now then.")])])
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("run")
        item = await desk.asked()
        await desk.workspace.submit(session, "later", after_turn=True)
        await desk.decide(item, PLAIN_NO)
        done = await desk.rest(session)
        assert (done.reason, done.queued) == (DoneReason.DENIED, 1)
        shot = await desk.snapshot(session)
        assert (shot.phase, len(shot.queue)) == (Phase.REQUIRES_ACTION, 1)
        assert "queued" in shot.waiting_for
        assert len(server.requests) == 1
        await desk.workspace.resume(session)
        assert (await desk.rest(session, 2)).text == "Now then."
        assert server.requests[1].last_user_text == "later"
        assert desk.trace.phases(session)[-1] is Phase.IDLE


async def test_a_failed_turn_starts_nothing_by_itself(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted(in_order([Reply([Hold("x"), Say("y")]), Fail(401)]))
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("one")
        await server.reached("x")
        for text in ("two", "three"):
            await desk.workspace.submit(session, text, after_turn=True)
        server.release("x")
        assert (await desk.rest(session, 2)).reason is DoneReason.ERROR
        assert [m.text for m in (await desk.snapshot(session)).queue] == ["three"]
        assert len(server.requests) == 2


async def test_the_queue_can_be_reordered_and_emptied(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted([Reply([Hold("a"), Say("A.")]), Reply([Say("B.")])])
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("start")
        await server.reached("a")
        for text in ("one", "two", "three"):
            await desk.workspace.submit(session, text, after_turn=True)
        one, two, three = (await desk.snapshot(session)).queue
        assert await desk.workspace.edit_queue(session, (three, one), dropped=(two.id,)) == (two,)
        await desk.trace.next(QueueChanged, lambda e: [m.text for m in e.items] == ["three", "one"])
        assert await desk.workspace.edit_queue(session, (), dropped=(one.id, two.id)) == (one,)
        assert [m.text for m in (await desk.snapshot(session)).queue] == ["three"]
        server.release("a")
        await desk.rest(session, 2)
        assert server.requests[1].last_user_text == "three"


async def test_a_queue_runs_ten_turns_and_then_asks_for_a_key(
    place: Place, scripted: StartScripted
) -> None:
    most = MOST_TURNS_IN_A_ROW
    replies = [Reply([Hold("a"), Say("0.")]), *(Reply([Say(f"{n}.")]) for n in range(1, 20))]
    server = await scripted(replies)
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("start")
        await server.reached("a")
        for number in range(1, most + 3):
            await desk.workspace.submit(session, f"number {number}", after_turn=True)
        server.release("a")
        await desk.rest(session, most)
        shot = await desk.snapshot(session)
        assert len(server.requests) == len(shot.turns) == most
        assert shot.phase is Phase.REQUIRES_ACTION
        assert [m.text for m in shot.queue] == [f"number {n}" for n in (most, most + 1, most + 2)]
        await desk.workspace.resume(session)
        await desk.rest(session, most + 3)
        assert (await desk.snapshot(session)).queue == ()


async def test_a_queued_message_is_never_both_queued_and_said(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted([Reply([Hold("a"), Say("A.")]), Reply([Say("B.")]), Reply([Say("C.")])])
    place.speak(server)
    database = place.config().loaded.paths.database
    async with place.opened() as desk:
        session = await desk.begin("start")
        await server.reached("a")
        await desk.workspace.submit(session, "steer")
        await desk.workspace.submit(session, "after", after_turn=True)
        server.release("a")
        await desk.rest(session, 2)
        said = [text_of(m.blocks) for m in await desk.messages(session) if m.origin is Origin.USER]
        assert said == ["start", "steer", "after"]
    # Every commit moved a message as a whole: what was said and what is queued add up to all.
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        assert connection.execute("SELECT count(*) FROM queue").fetchone() == (0,)


async def test_a_prompt_in_the_moment_a_turn_ends_is_never_left_behind(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted(lambda request: Reply([Say("ok")]))
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("0")
        for number in range(1, 25):
            await desk.done(session, 1)
            await desk.workspace.submit(session, str(number))
        await desk.trace.until(lambda e: "24" in server.requests[-1].last_user_text)
        await desk.trace.until(
            lambda e: e.type == "session:phase" and e.phase is Phase.IDLE,
            after=len(desk.trace.events) - 1,
        )
        said = [text_of(m.blocks) for m in await desk.messages(session) if m.origin is Origin.USER]
        assert said == [str(number) for number in range(25)]
        assert (await desk.snapshot(session)).queue == ()


async def test_prompts_of_one_burst_arrive_in_the_order_in_which_they_were_sent(
    place: Place, scripted: StartScripted
) -> None:
    """The first one still opens the session while the others come."""
    server = await scripted(lambda request: Reply([Say("ok")]))
    place.speak(server)
    async with place.opened() as desk:
        for _ in range(5):
            session = (await desk.workspace.create_session()).id
            sent = [str(number) for number in range(6)]
            await asyncio.gather(*(desk.workspace.submit(session, text) for text in sent))
            runner = desk.workspace.runner(session)
            assert runner is not None
            await runner.finished()
            messages = await desk.messages(session)
            said = [text_of(m.blocks) for m in messages if m.origin is Origin.USER]
            assert said == sent
