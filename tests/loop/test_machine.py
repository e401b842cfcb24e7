"""The table of states, and that the driver keeps to it."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import cast

import pytest

from tests.loop.kit import PLAIN_NO, Engine, Hold, call, calls, question, say
from tests.loop.told import words
from tui_agent.loop import compacting, confirming, executing, machine, streaming, thinking
from tui_agent.loop.machine import IllegalTransition, run_turn
from tui_agent.loop.turn import StopKind, Turn, to_its_end
from tui_agent.providers.base import TextPiece
from tui_agent.store import Store
from tui_agent.vocabulary.errors import StoreError
from tui_agent.vocabulary.events import DoneEvent, Event, StateEvent, TextDelta, ToolResultEvent
from tui_agent.vocabulary.rules import Rules
from tui_agent.vocabulary.states import TRANSITIONS, DoneReason, LoopState, Trigger

TABLE = {
    "thinking": {"streaming", "compacting", "done"},
    "streaming": {"executing", "thinking", "compacting", "done"},
    "executing": {"confirming", "executing", "compacting", "thinking", "done"},
    "confirming": {"executing", "thinking", "done"},
    "compacting": {"thinking", "done"},
    "done": set(),
}
"""As the design has it."""


def test_the_table_is_that_of_the_design_and_no_other() -> None:
    assert {str(a): {str(b) for b in to} for a, to in TRANSITIONS.items()} == TABLE


def test_every_state_has_a_handler_in_a_module_of_its_own() -> None:
    handlers = {
        LoopState.THINKING: thinking.think,
        LoopState.STREAMING: streaming.stream,
        LoopState.EXECUTING: executing.execute,
        LoopState.CONFIRMING: confirming.confirm,
        LoopState.COMPACTING: compacting.compact,
    }
    assert handlers.keys() | {LoopState.DONE} == set(LoopState)
    dispatch = inspect.getsource(machine._dispatch)
    assert "assert_never(turn.state)" in dispatch
    for state, handler in handlers.items():
        assert f"case LoopState.{state.name}" in dispatch
        assert f"await {handler.__name__}(turn)" in dispatch
        assert inspect.iscoroutinefunction(handler)


@pytest.mark.parametrize("state", list(LoopState))
@pytest.mark.parametrize("following", list(LoopState))
def test_the_driver_lets_nothing_through_that_is_not_in_the_table(
    state: LoopState, following: LoopState
) -> None:
    class FakeTurn:
        def __init__(self) -> None:
            self.state = state
            self.told: list[StateEvent] = []

        def emit(self, event: StateEvent) -> None:
            self.told.append(event)

    turn = FakeTurn()
    if following.value in TABLE[state.value]:
        machine._enter(cast("Turn", turn), following)
        assert turn.state is following
        assert len(turn.told) == (state is not following)
    else:
        with pytest.raises(IllegalTransition):
            machine._enter(cast("Turn", turn), following)
        assert turn.state is state


async def test_an_illegal_transition_is_an_error_like_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def astray(_turn: object) -> LoopState:
        return LoopState.CONFIRMING

    monkeypatch.setattr(machine, "think", astray)
    async with Engine.opened(tmp_path, []) as engine:
        await engine.run()
    assert engine.reasons() == [DoneReason.ERROR]
    assert words(engine.events)[-3:] == ["thinking → done", "loop:error", "done error"]


async def test_a_reader_that_goes_away_closes_the_turn_and_leaves_asks_open(
    tmp_path: Path,
) -> None:
    async with Engine.opened(tmp_path, [calls(call("a", "Append", line="x"))]) as engine:
        session = await engine.session()
        record = engine.workspace._unsaved[session]
        await engine.workspace.store.create_session(record)
        runner = await engine.workspace.adopt(record, (session,))
        turn = runner.make_turn(Trigger.PROMPT, LoopState.THINKING, None, record)
        await runner._begin_with(turn, "please", None)
        events = run_turn(turn)
        async for event in events:
            if event.type == "approval:pending":
                break
        await events.aclose()
        last = await engine.workspace.store.last_turn(session)
        assert last is not None
        assert last.reason is DoneReason.PENDING_APPROVAL
        assert len(await engine.workspace.pending()) == 1
        assert turn.running == {}
        assert turn.work is not None
        assert turn.work.done()


@pytest.mark.parametrize(
    ("kind", "reason", "is_open"),
    [
        (StopKind.INTERRUPT, DoneReason.USER_ABORT, False),
        (StopKind.CLOSING, DoneReason.PENDING_APPROVAL, True),
    ],
)
async def test_closing_keeps_asks_open_where_an_interrupt_answers_them(
    tmp_path: Path, kind: StopKind, reason: DoneReason, is_open: bool
) -> None:
    batch = calls(call("a", "Append", line="x", hold="tool"), call("b", "Append", line="y"))
    async with Engine.opened(tmp_path, [batch]) as engine:
        session = await engine.begin()
        await engine.decide(await engine.asked())
        await engine.reached("tool")
        turn = engine.turn(session)
        assert turn is not None
        turn.request_stop(kind)
        await engine.rest(session)
        assert (await engine.workspace.store.open_batch(session) is not None) is is_open
    assert engine.reasons() == [reason]
    assert "tool:result a interrupted" in words(engine.events)


async def test_closing_with_only_questions_left_is_a_pending_question(tmp_path: Path) -> None:
    async with Engine.opened(tmp_path, [calls(question("q"))]) as engine:
        session = await engine.begin()
        await engine.asked()
        turn = engine.turn(session)
        assert turn is not None
        turn.request_stop(StopKind.CLOSING)
        await engine.rest(session)
    assert engine.reasons() == [DoneReason.PENDING_QUESTION]


async def test_closing_without_asks_is_an_abort(tmp_path: Path) -> None:
    async with Engine.opened(tmp_path, [[TextPiece("half"), Hold("middle")]]) as engine:
        session = await engine.begin()
        await engine.reached("middle")
        turn = engine.turn(session)
        assert turn is not None
        turn.request_stop(StopKind.CLOSING)
        await engine.rest(session)
    assert engine.reasons() == [DoneReason.USER_ABORT]


async def test_a_turn_that_has_ended_cannot_be_stopped_any_more(tmp_path: Path) -> None:
    async with Engine.opened(tmp_path, [say("done")]) as engine:
        session = await engine.session()

        def stop_late(event: object) -> None:
            turn = engine.turn(session)
            if isinstance(event, StateEvent) and event.to is LoopState.DONE and turn is not None:
                turn.request_stop(StopKind.INTERRUPT)

        engine.watchers.append(stop_late)
        await engine.workspace.submit(session, "please")
        await engine.rest(session)
    assert engine.reasons() == [DoneReason.MODEL_STOP]


async def test_what_a_person_approved_finishes_though_another_call_is_denied(
    tmp_path: Path,
) -> None:
    """The second call is allowed by a rule and waits for the first; the third one waits for both,
    and a person said yes to it. The No to the first stops the second, and that holds nobody up."""
    batch = calls(
        call("a", "Bash", command="true"),
        call("b", "Bash", command="echo allowed"),
        call("c", "Append", line="x"),
    )
    async with Engine.opened(tmp_path, [batch, say("never")]) as engine:
        session = await engine.begin(rules=Rules(allow=("Bash(echo allowed)",)))
        first, third = [await engine.asked() for _ in range(2)]
        await engine.state(session, LoopState.CONFIRMING)
        await engine.decide(third)
        await engine.decide(first, PLAIN_NO)
        await engine.rest(session)
    outcomes = {e.tool_use_id: str(e.outcome) for e in engine.all(ToolResultEvent)}
    assert outcomes == {"a": "denied", "b": "not_run", "c": "ok"}
    assert engine.marks_kept == ["c x"]
    assert engine.reasons() == [DoneReason.DENIED]


async def test_a_commit_is_told_though_the_teller_is_cancelled() -> None:
    told = []
    gate = asyncio.Event()

    async def commit_and_tell() -> str:
        await gate.wait()
        told.append("told")
        return "stored"

    task = asyncio.create_task(to_its_end(commit_and_tell()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert told == ["told"]


async def test_a_commit_that_fails_is_heard_of_though_cancelled() -> None:
    gate = asyncio.Event()

    async def fail() -> None:
        await gate.wait()
        raise OSError("no room")

    task = asyncio.create_task(to_its_end(fail()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    gate.set()
    with pytest.raises(OSError, match="no room"):
        await task


async def test_rounds_and_usage_add_up_over_a_chain_of_turns(tmp_path: Path) -> None:
    replies = [calls(call("a", "Append", line="x")), calls(call("b", "Append", line="y"))]
    async with Engine.opened(tmp_path, [*replies, say("done")], attended=False) as engine:
        session = await engine.run()
        await engine.decide(await engine.asked())
        await engine.rest(session)
        await engine.decide(await engine.asked())
        await engine.rest(session)
        turns = await engine.workspace.store.turns(session)
    assert [turn.rounds for turn in turns] == [1, 1, 1]
    assert [turn.resumes for turn in turns] == [None, turns[0].id, turns[1].id]
    assert [event.usage.total for event in engine.all(DoneEvent)] == [15, 15, 15]
    assert engine.marks_kept == ["a x", "b y"]


@pytest.mark.parametrize("fault", [RuntimeError("a fault of ours"), StoreError("the disk is full")])
async def test_an_end_that_cannot_be_stored_is_told_once_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    async def broken(_store: Store, *_: object, **_given: object) -> None:
        await asyncio.sleep(0)
        raise fault

    async with Engine.opened(tmp_path, [say("done")]) as engine:
        monkeypatch.setattr(Store, "end_turn", broken)
        session = await engine.run()
        monkeypatch.undo()
        assert not engine.workspace.runner(session).is_busy  # type: ignore[union-attr]
    assert words(engine.events)[-4:] == ["streaming → done", "error", "loop:error", "done error"]
    assert str(fault) in (engine.all(DoneEvent)[-1].cause or "")


async def test_a_turn_whose_events_cannot_be_taken_ends_before_its_session_rests(
    tmp_path: Path,
) -> None:
    def fail_once(event: Event) -> None:
        if isinstance(event, TextDelta):
            engine.watchers.clear()
            raise RuntimeError("a fault of ours")

    async with Engine.opened(
        tmp_path, [[TextPiece("half"), Hold("never")]], honest=False
    ) as engine:
        engine.watchers.append(fail_once)
        session = await engine.run()
        last = await engine.workspace.store.last_turn(session)
    assert last is not None
    assert last.reason is DoneReason.USER_ABORT


async def test_a_compaction_asked_for_between_two_turns_follows(tmp_path: Path) -> None:
    opened = Engine.opened(
        tmp_path, [say("first"), [Hold("end"), *say("second")]], summaries=[say("the gist")]
    )
    async with opened as engine:
        session = await engine.run("please look at all of it " * 1_200)
        await engine.workspace.submit(session, "short")
        await engine.reached("end")
        runner = engine.workspace.runner(session)
        assert runner is not None
        async with runner._starting:
            asked = asyncio.create_task(runner.compact(""))
            await asyncio.sleep(0)  # it waits here, and the end of the turn behind it
            engine.release("end")
            while runner.turn is not None:
                await asyncio.sleep(0)
            assert runner.is_busy
        await asked
        await engine.until(lambda e: "compaction completed manual" in words([e]))
