"""Esc, wherever the turn stands: what ran is gone, what was said is kept, every call has its
answer, and the session takes the next prompt."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Call, Fail, Hold, Reply, Say, by_prompt, in_order
from tests.workspace.kit import Desk, Place, bash, eventually
from tui_agent.vocabulary.blocks import Outcome, text_of
from tui_agent.vocabulary.events import (
    ApprovalResolved,
    LoopAborted,
    PromptCompaction,
    ProviderComplete,
    ProviderRetry,
    SessionPhase,
    TextDelta,
    ToolProgress,
    ToolStarted,
)
from tui_agent.vocabulary.messages import StopReason
from tui_agent.vocabulary.states import DoneReason, Phase

STUBBORN = "trap '' TERM; (sleep 600 & echo $! > inner.pid); echo $$ > outer.pid; echo before; "


async def aborted(desk: Desk, session: str) -> None:
    """The turn ended as aborted, once, and the session is at rest."""
    done = await desk.rest(session)
    assert done.reason is DoneReason.USER_ABORT
    assert len(desk.trace.all(LoopAborted, session)) == 1
    assert desk.trace.phases(session)[-1] is Phase.IDLE


async def takes_the_next_prompt(desk: Desk, session: str) -> None:
    await desk.workspace.submit(session, "go on")
    assert (await desk.rest(session, 2)).text == "As you wish."


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except OSError:
        return False


async def test_in_the_stream(place: Place, scripted: StartScripted, wire: str) -> None:
    server = await scripted(
        in_order(
            [
                Reply([Say("Half of it."), Hold("half"), Say("The rest.")]),
                Reply([Say("As you wish.")]),
            ]
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("tell me")
        await desk.trace.next(TextDelta)
        await server.reached("half")
        await desk.workspace.interrupt(session)
        await aborted(desk, session)
        assert desk.trace.all(ProviderComplete)[0].stop_reason is StopReason.ABORTED
        await server.until(lambda: server.requests[0].aborted)
        kept = (await desk.messages(session))[-1]
        assert kept.cut
        assert text_of(kept.blocks).startswith("Half of")
        await takes_the_next_prompt(desk, session)


async def test_in_a_command_that_does_not_want_to_end(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        in_order(
            [
                Reply(
                    [
                        Call("Bash", bash(STUBBORN + "while :; do sleep 600; done")),
                        Call("Bash", bash("touch never")),
                    ]
                ),
                Reply([Say("As you wish.")]),
            ]
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("run it")
        first, second = await desk.asked(), await desk.asked()
        await desk.decide(first)
        await desk.decide(second)
        await desk.trace.next(ToolProgress, lambda e: "before" in e.text)
        await eventually((place.folder / "outer.pid").exists)
        pids = [int((place.folder / f"{n}.pid").read_text()) for n in ("outer", "inner")]
        assert all(map(is_alive, pids))
        await desk.workspace.interrupt(session)
        await aborted(desk, session)
        assert not any(map(is_alive, pids))
        told = await desk.results(session)
        assert [outcome for outcome, _ in told] == [Outcome.INTERRUPTED, Outcome.NOT_RUN]
        assert "before" in told[0][1]
        await takes_the_next_prompt(desk, session)
    assert not (place.folder / "never").exists()


async def test_while_asked(place: Place, scripted: StartScripted, wire: str) -> None:
    server = await scripted(
        in_order(
            [
                Reply([Call("Bash", bash("touch a")), Call("Bash", bash("touch b"))]),
                Reply([Say("As you wish.")]),
            ]
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("run it")
        items = [await desk.asked(), await desk.asked()]
        await desk.workspace.interrupt(session)
        await aborted(desk, session)
        assert await desk.workspace.pending() == ()
        closed = desk.trace.all(ApprovalResolved)
        assert [e.pending_id for e in closed] == [item.pending_id for item in items]
        assert not (await desk.decide(items[0])).applied
        await takes_the_next_prompt(desk, session)
    assert list(place.folder.iterdir()) == []


async def test_while_waiting_to_try_again(place: Place, scripted: StartScripted, wire: str) -> None:
    server = await scripted(
        in_order([Fail(529, headers={"retry-after": "50"}), Reply([Say("As you wish.")])])
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("hello")
        await desk.trace.next(ProviderRetry)
        await desk.workspace.interrupt(session)
        await aborted(desk, session)
        await takes_the_next_prompt(desk, session)


async def test_a_wait_before_the_next_attempt_can_be_cut_short(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    fails = [Fail(529, headers={"retry-after": "50"})] * 2
    server = await scripted(in_order([*fails, Reply([Say("As you wish.")])]))
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("hello")
        seen = 0
        told: list[tuple[int, int, float]] = []
        for _ in range(2):
            event = await desk.trace.next(ProviderRetry, after=seen)
            seen = desk.trace.events.index(event) + 1
            told.append((event.attempt, event.attempts, event.delay))
            await desk.workspace.retry_now(session)
        assert (await desk.rest(session)).text == "As you wish."
        assert told == [(1, 10, 50.0), (2, 10, 50.0)]
        await desk.workspace.retry_now(session)  # nothing waits: nothing happens


async def test_in_a_compaction_the_history_is_kept(place: Place, scripted: StartScripted) -> None:
    server = await scripted(
        in_order(
            [
                Reply([Say("A long story. " * 20)]),
                Reply([Say("Another one. " * 20)]),
                Reply([Say("Summary: "), Hold("summary"), Say("never")]),
                Reply([Say("As you wish.")]),
            ]
        )
    )
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("tell me")
        await desk.rest(session)
        await desk.workspace.submit(session, "and another")
        await desk.rest(session, 2)
        before = await desk.messages(session)
        await desk.workspace.compact(session)
        await server.reached("summary")
        assert (await desk.snapshot(session)).phase is Phase.RUNNING
        await desk.workspace.submit(session, "go on")
        mark = len(desk.trace.events)
        await desk.workspace.interrupt(session)
        assert (await desk.rest(session, 3)).text == "As you wish."
        assert (await desk.messages(session))[: len(before)] == before
        assert (await desk.snapshot(session)).boundaries == ()
        phases = [e.phase for e in desk.trace.events[mark:] if isinstance(e, SessionPhase)]
        assert Phase.REQUIRES_ACTION not in phases
        told = [e.phase for e in desk.trace.all(PromptCompaction)]
        assert told[0] == "started"
        assert told[-1] == "failed"


async def test_with_children_everything_ends(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    task = {"description": "x", "subagent_type": "general-purpose"}
    server = await scripted(
        by_prompt(
            {
                "two helpers": [
                    Reply(
                        [
                            Call("Task", {**task, "prompt": "child one"}),
                            Call("Task", {**task, "prompt": "child two"}),
                            Call("Task", {**task, "prompt": "child three"}),
                        ]
                    ),
                ],
                "child one": [Reply([Call("Bash", bash(STUBBORN + "sleep 600"))])],
                "child two": [Reply([Say("Half of it."), Hold("two")])],
                "child three": [Reply([Call("Bash", bash("touch never"))])],
                "go on": [Reply([Say("As you wish.")])],
            }
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("two helpers")
        items = [await desk.asked("Bash"), await desk.asked("Bash")]
        await server.reached("two")
        (runs,) = [item for item in items if "sleep" in item.input["command"]]
        await desk.decide(runs)
        await desk.trace.next(ToolStarted, lambda e: e.tool == "Bash")
        await eventually((place.folder / "outer.pid").exists)
        await eventually(lambda: (place.folder / "outer.pid").read_text() != "")
        await desk.workspace.interrupt(session)
        await aborted(desk, session)
        children = (await desk.snapshot(session)).children
        assert [child.phase for child in children] == [Phase.IDLE] * 3
        told = await desk.results(session)
        assert [outcome for outcome, _ in told] == [Outcome.INTERRUPTED] * 3
        assert "Half" in told[1][1]
        assert not is_alive(int((place.folder / "outer.pid").read_text()))
        assert await desk.workspace.pending() == ()
        await takes_the_next_prompt(desk, session)
    assert not (place.folder / "never").exists()


async def test_a_child_alone_can_be_interrupted(place: Place, scripted: StartScripted) -> None:
    task = {"description": "x", "subagent_type": "general-purpose"}
    server = await scripted(
        by_prompt(
            {
                "one helper": [
                    Reply([Call("Task", {**task, "prompt": "the child"})]),
                    Reply([Say("So it was.")]),
                ],
                "the child": [Reply([Say("Half of it."), Hold("child")])],
            }
        )
    )
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("one helper")
        await server.reached("child")
        (child,) = (await desk.snapshot(session)).children
        await desk.trace.next(TextDelta, lambda e: e.session_id == child.id)
        await desk.workspace.interrupt(child.id)
        assert (await desk.rest(session)).text == "So it was."
        ((outcome, text),) = await desk.results(session)
        assert outcome == Outcome.INTERRUPTED
        assert "Half" in text


async def test_twice_is_like_once(place: Place, scripted: StartScripted) -> None:
    server = await scripted(
        in_order([Reply([Say("x"), Hold("half")]), Reply([Say("As you wish.")])])
    )
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("tell me")
        await server.reached("half")
        await asyncio.gather(*(desk.workspace.interrupt(session) for _ in range(3)))
        await aborted(desk, session)
        await desk.workspace.interrupt(session)
        await takes_the_next_prompt(desk, session)
