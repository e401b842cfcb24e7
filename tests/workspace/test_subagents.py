"""Subagents: sessions of their own with the rights of their parent, whose end is its result."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scripted.plugin import StartScripted
from tests.scripted.request import ParsedRequest
from tests.scripted.script import Answer, Call, Fail, Hold, Reply, Say, Usage, by_prompt
from tests.workspace.kit import PLAIN_NO, Place, bash, no_because
from tui_agent.vocabulary.agents import Limits
from tui_agent.vocabulary.blocks import Outcome
from tui_agent.vocabulary.events import (
    AgentFinished,
    AgentStarted,
    ApprovalPending,
    DoneEvent,
    LoopBudgetExceeded,
    LoopPendingApproval,
    ModeChanged,
    ProviderComplete,
    ProviderStarted,
    SessionPhase,
)
from tui_agent.vocabulary.rules import Rules
from tui_agent.vocabulary.states import DoneReason, Mode, Phase
from tui_agent.workspace.subagents import MOST_AT_ONCE


def task(prompt: str, agent: str = "general-purpose") -> Call:
    given = {"description": prompt, "prompt": prompt, "subagent_type": agent}
    return Call("Task", given)


async def test_two_run_side_by_side_under_their_own_paths(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        by_prompt(
            {
                "two helpers": [
                    Reply([task("child one"), task("child two")]),
                    Reply([Say("Both back.")]),
                ],
                "child one": [Reply([Say("o"), Hold("one"), Say("ne done")])],
                "child two": [Reply([Say("t"), Hold("two"), Say("wo done")])],
            }
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("two helpers")
        await server.reached("one")
        await server.reached("two")
        children = (await desk.snapshot(session)).children
        assert [child.phase for child in children] == [Phase.RUNNING, Phase.RUNNING]
        server.release("two")
        server.release("one")
        assert (await desk.rest(session)).text == "Both back."
        assert [text for _, text in await desk.results(session)] == ["one done", "two done"]

        ids = [event.child_id for event in desk.trace.all(AgentStarted, session)]
        assert ids == [child.id for child in children]
        for child in ids:
            told = [event for event in desk.trace.events if event.session_id == child]
            assert {event.agent_path for event in told} == {(session, child)}
            assert desk.trace.phases(child) == [Phase.RUNNING, Phase.IDLE]
        starts = [
            i
            for i, event in enumerate(desk.trace.events)
            if isinstance(event, ProviderStarted) and event.session_id in ids
        ]
        ends = [
            i
            for i, event in enumerate(desk.trace.events)
            if isinstance(event, ProviderComplete) and event.session_id in ids
        ]
        assert max(starts) < min(ends)
        assert {e.reason for e in desk.trace.all(AgentFinished)} == {DoneReason.MODEL_STOP}
        history = await desk.messages(ids[0])
        assert [m.role for m in history] == ["user", "assistant"]


async def test_no_more_than_eight_run_at_once(place: Place, scripted: StartScripted) -> None:
    names = [f"child {letter}" for letter in "abcdefghij"]
    server = await scripted(
        by_prompt(
            {
                "ten helpers": [Reply([task(name) for name in names]), Reply([Say("All back.")])],
                **{name: [Reply([Hold(name), Say("done")])] for name in names},
            }
        )
    )
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("ten helpers")
        for name in names[:MOST_AT_ONCE]:
            await server.reached(name)
        assert len(server.requests) == 1 + MOST_AT_ONCE
        server.release(names[0])
        await server.reached(names[MOST_AT_ONCE])
        assert len(server.requests) == 2 + MOST_AT_ONCE
        for name in names:
            server.release(name)
        done = await desk.rest(session)
        assert (done.text, done.cause) == ("All back.", None)
        assert len(await desk.results(session)) == len(names)


async def test_a_plain_no_to_a_child_ends_the_child_and_its_parent_hears_denied(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        by_prompt(
            {
                "one helper": [Reply([task("the child")]), Reply([Say("Denied, I see.")])],
                "the child": [Reply([Say("I want this."), Call("Bash", bash("touch a"))])],
            }
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("one helper")
        item = await desk.asked()
        assert item.agent_path[0] == session
        assert len(item.agent_path) == 2
        assert item.agent == "general-purpose"
        await desk.trace.next(
            SessionPhase, lambda e: e.session_id == session and e.phase is Phase.REQUIRES_ACTION
        )
        await desk.decide(item, PLAIN_NO)
        done = await desk.rest(session)
        assert (done.reason, done.text) == (DoneReason.MODEL_STOP, "Denied, I see.")
        ((outcome, text),) = await desk.results(session)
        assert outcome == Outcome.DENIED
        assert "I want this." in text
        child_done = desk.trace.all(DoneEvent, item.session_id)[0]
        assert child_done.reason is DoneReason.DENIED
        assert desk.trace.phases(session) == [
            Phase.RUNNING,
            Phase.REQUIRES_ACTION,
            Phase.RUNNING,
            Phase.IDLE,
        ]
    assert not (place.folder / "a").exists()


async def test_a_no_with_a_comment_goes_to_the_child(place: Place, scripted: StartScripted) -> None:
    server = await scripted(
        by_prompt(
            {
                "one helper": [Reply([task("the child")]), Reply([Say("Good.")])],
                "the child": [
                    Reply([Call("Bash", bash("touch a"))]),
                    Reply([Say("then without")]),
                ],
            }
        )
    )
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("one helper")
        await desk.decide(await desk.asked(), no_because("not needed"))
        await desk.rest(session)
        assert await desk.results(session) == [("ok", "then without")]


async def test_a_child_that_fails_returns_what_it_had(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        by_prompt(
            {
                "one helper": [Reply([task("the child")]), Reply([Say("Half is fine.")])],
                "the child": [
                    Reply([Say("Found half of it."), Call("Glob", {"pattern": "*"})]),
                    Fail(401),
                ],
            }
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("one helper")
        assert (await desk.rest(session)).text == "Half is fine."
        ((outcome, text),) = await desk.results(session)
        assert outcome == Outcome.ERROR
        assert "Found half of it." in text
        assert "failed" in text
        assert desk.trace.all(AgentFinished)[0].reason is DoneReason.ERROR


async def test_children_go_three_deep_and_no_deeper(place: Place, scripted: StartScripted) -> None:
    server = await scripted(
        by_prompt(
            {
                "level zero": [Reply([task("level one")]), Reply([Say("0")])],
                "level one": [Reply([task("level two")]), Reply([Say("1")])],
                "level two": [Reply([task("level three")]), Reply([Say("2")])],
                "level three": [Reply([task("level four")]), Reply([Say("3")])],
            }
        )
    )
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("level zero")
        assert (await desk.rest(session)).text == "0"
        offered = {r.first_user_text: "Task" in r.tool_names for r in server.requests}
        assert offered == {
            "level zero": True,
            "level one": True,
            "level two": True,
            "level three": False,
        }
        refused = next(
            r.latest_results[0]
            for r in server.requests
            if r.first_user_text == "level three" and r.latest_results
        )
        assert refused.is_error
        assert max(len(e.agent_path) for e in desk.trace.events) == 4


async def test_a_child_has_only_the_tools_of_its_agent(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        by_prompt(
            {
                "one helper": [Reply([task("look", "explore")]), Reply([Say("Good.")])],
                "look": [Reply([Call("Bash", bash("touch a"))]), Reply([Say("I only look")])],
            }
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("one helper")
        await desk.rest(session)
        parent, child, child_again, _ = server.requests
        assert {"Bash", "Task", "AskUserQuestion"} <= set(parent.tool_names)
        assert sorted(child.tool_names) == ["Glob", "Grep", "Read"]
        assert child_again.latest_results[0].is_error
        assert desk.trace.all(ApprovalPending) == []
    assert not (place.folder / "a").exists()


async def test_a_child_has_the_rules_and_the_mode_of_its_parent(
    place: Place, scripted: StartScripted
) -> None:
    write = Call("Write", {"file_path": "a.txt", "content": "a"})
    server = await scripted(
        by_prompt(
            {
                "one helper": [
                    Reply([Hold("mode"), task("the child")]),
                    Reply([Say("Good.")]),
                ],
                "the child": [
                    Reply([Call("Bash", bash("touch evil")), write]),
                    Reply([Hold("child"), write]),
                    Reply([Say("as planned")]),
                ],
            }
        )
    )
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin(
            "one helper", mode=Mode.PLAN, rules=Rules(deny=("Bash(touch evil)",))
        )
        await server.reached("mode")
        await desk.workspace.set_mode(session, Mode.ACCEPT_EDITS)
        server.release("mode")
        await server.reached("child")
        (place.folder / "a.txt").unlink()  # allowed by the mode that the parent had got meanwhile
        await desk.workspace.set_mode(session, Mode.PLAN)
        changed = await desk.trace.next(ModeChanged, lambda e: e.session_id != session)
        assert changed.mode is Mode.PLAN
        server.release("child")
        await desk.rest(session)
        denied = [r for request in server.requests for r in request.latest_results]
        assert "forbids it" in denied[0].text
        assert not denied[1].is_error
        assert "plan mode" in denied[2].text
    assert list(place.folder.iterdir()) == []


def editor(letter: str, request: ParsedRequest) -> Answer:
    """A child that makes three edits and, where the file had changed, reads it and tries again."""
    wanted = [f"{letter}{number}" for number in range(3)]
    made = {
        str((use.input or {})["old_string"])
        for turn in request.turns
        for use in turn.tool_uses
        if use.name == "Edit"
        and (result := request.result_of(use.id)) is not None
        and not result.is_error
    }
    left = [name for name in wanted if f"{name}=0" not in made]
    if not left:
        return Reply([Say(f"{letter} is done")])
    latest = request.latest_results
    if not latest or latest[-1].is_error:
        return Reply([Call("Read", {"file_path": "shared.txt"})])
    return Reply(
        [
            Call(
                "Edit",
                {
                    "file_path": "shared.txt",
                    "old_string": f"{name}=0",
                    "new_string": f"{name}=1",
                },
            )
            for name in left
        ]
    )


async def test_edits_of_two_children_to_one_file_all_stay(
    place: Place, scripted: StartScripted
) -> None:
    def respond(request: ParsedRequest) -> Answer:
        for letter in "xy":
            if request.first_user_text.startswith(f"edit {letter}"):
                return editor(letter, request)
        if request.latest_results:
            return Reply([Say("Both back.")])
        return Reply([task("edit x"), task("edit y")])

    place.put("shared.txt", "".join(f"{letter}{n}=0\n" for n in range(3) for letter in "xy"))
    place.speak(await scripted(respond))
    async with place.opened() as desk:
        session = await desk.begin("go", mode=Mode.ACCEPT_EDITS)
        assert (await desk.rest(session)).text == "Both back."
    expected = "".join(f"{letter}{n}=1\n" for n in range(3) for letter in "xy")
    assert (place.folder / "shared.txt").read_text() == expected


async def test_with_nobody_there_a_childs_ask_is_its_parents_pause(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    server = await scripted(
        by_prompt(
            {
                "one helper": [
                    Reply([task("level one"), Call("Glob", {"pattern": "*"})]),
                    Reply([Say("All back.")]),
                ],
                "level one": [Reply([task("level two")]), Reply([Say("one done")])],
                "level two": [
                    Reply([Call("Bash", bash("echo once >> ran.txt"))]),
                    Reply([Say("two done")]),
                ],
            }
        )
    )
    place.speak(server, wire)
    async with place.opened(attended=False) as desk:
        session = await desk.begin("one helper")
        item = await desk.asked()
        paused = await desk.rest(session)
        assert (paused.reason, paused.pending_approvals) == (DoneReason.PENDING_APPROVAL, 1)
        (told,) = desk.trace.all(LoopPendingApproval, session)
        assert told.pending_ids == (item.pending_id,)
        assert (await desk.snapshot(session)).phase is Phase.REQUIRES_ACTION
        for _ in range(2):
            assert len(server.requests) == 3
        result = await desk.decide(item)
        assert (result.goes_on, result.outstanding) == (True, ())
        done = await desk.rest(session, 2)
        assert (done.reason, done.text) == (DoneReason.MODEL_STOP, "All back.")
        assert next(text for _, text in await desk.results(session)) == "one done"
        assert [e.reason for e in desk.trace.all(DoneEvent, item.session_id)] == [
            DoneReason.PENDING_APPROVAL,
            DoneReason.MODEL_STOP,
        ]
        assert desk.trace.phases(session)[-1] is Phase.IDLE
    assert (place.folder / "ran.txt").read_text() == "once\n"


async def test_with_nobody_who_will_come_a_child_is_denied_by_policy(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted(
        by_prompt(
            {
                "one helper": [Reply([task("the child")]), Reply([Say("Good.")])],
                "the child": [Reply([Call("Bash", bash("touch a"))]), Reply([Say("without then")])],
            }
        )
    )
    place.speak(server)
    async with place.opened(attended=False, unattended_denies=True) as desk:
        session = await desk.begin("one helper")
        assert (await desk.rest(session)).reason is DoneReason.MODEL_STOP
        assert await desk.results(session) == [("ok", "without then")]
    assert not (place.folder / "a").exists()


@pytest.mark.parametrize("agent", ["nobody", "main", ""])
async def test_an_agent_nobody_knows_is_an_error_that_names_the_agents(
    place: Place, scripted: StartScripted, agent: str
) -> None:
    given: dict[str, Any] = {"description": "x", "prompt": "x", "subagent_type": agent}
    server = await scripted([Reply([Call("Task", given)]), Reply([Say("Oh.")])])
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("one helper")
        await desk.rest(session)
        assert server.requests[1].latest_results[0].is_error
        assert (await desk.snapshot(session)).children == ()


async def test_the_token_limit_counts_the_tree_and_stops_both_in_it(
    place: Place, scripted: StartScripted, wire: str
) -> None:
    """A subagent draws on what its parent has left; neither is more than one response over."""
    server = await scripted(
        by_prompt(
            {
                "one helper": [
                    Reply([task("the child"), Usage(400, 100)]),
                    Reply([Say("never")]),
                ],
                "the child": [
                    Reply([Say("Half."), Call("Glob", {"pattern": "*"}), Usage(400, 100)]),
                    Reply([Say("never")]),
                ],
            }
        )
    )
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await desk.begin("one helper", limits=Limits(max_session_tokens=900))
        done = await desk.rest(session)
        assert done.reason is DoneReason.BUDGET_EXCEEDED
        assert len(server.requests) == 2
        (child,) = desk.trace.all(AgentFinished)
        assert child.reason is DoneReason.BUDGET_EXCEEDED
        ((_, text),) = await desk.results(session)
        assert "Half." in text
        told = [(e.spent, e.limit) for e in desk.trace.all(LoopBudgetExceeded)]
        assert told == [(1_000, 900)] * 2


async def test_the_end_of_an_interrupted_child_is_told(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted(
        by_prompt(
            {
                "one helper": [Reply([task("the child")])],
                "the child": [Reply([Say("Half of"), Hold("half"), Say(" it")])],
            }
        )
    )
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("one helper")
        await server.reached("half")
        await desk.workspace.interrupt(session)
        done = await desk.rest(session)
        (finished,) = desk.trace.all(AgentFinished, session)
        assert finished.child_id == desk.trace.all(AgentStarted, session)[0].child_id
        assert finished.reason is DoneReason.USER_ABORT
        assert desk.trace.events.index(finished) < desk.trace.events.index(done)
