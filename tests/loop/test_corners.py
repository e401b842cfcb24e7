"""Corners of a turn: what falls between two steps, and what a No leaves of a batch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.loop.kit import (
    NO_BECAUSE,
    PLAIN_NO,
    Engine,
    Hold,
    Reply,
    ScriptedModel,
    call,
    calls,
    end,
    fail,
    nothing,
    say,
)
from tests.loop.told import words
from tui_agent.providers.base import ModelRequest, StreamItem, TextPiece
from tui_agent.store import Store
from tui_agent.vocabulary.agents import Limits, ModelFacts
from tui_agent.vocabulary.blocks import Outcome, TextBlock, ToolResultBlock
from tui_agent.vocabulary.decisions import Choice, Decision, Scope
from tui_agent.vocabulary.errors import ErrorClass, ProviderError
from tui_agent.vocabulary.events import DoneEvent, ProviderComplete, ProviderRetry, ToolResultEvent
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.rules import Rules
from tui_agent.vocabulary.states import DoneReason, LoopState, Mode
from tui_agent.vocabulary.usage import Usage


class SlowToClose(ScriptedModel):
    """A connection that takes its time to close."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        try:
            async for item in super().stream(request):
                yield item
        finally:
            await self.hold("closing")


async def test_a_response_ends_once_though_it_is_interrupted_while_it_closes(
    tmp_path: Path,
) -> None:
    async with Engine.opened(tmp_path, []) as engine:
        engine.model = SlowToClose([say("whole")])
        session = await engine.begin()
        await engine.reached("closing")
        await engine.workspace.interrupt(session)
    assert [event.stop_reason for event in engine.all(ProviderComplete)] == ["end_turn"]
    assert engine.reasons() == [DoneReason.USER_ABORT]


async def test_nothing_is_left_of_text_that_was_withdrawn(tmp_path: Path) -> None:
    replies: list[Reply] = [
        [TextPiece("half"), *fail(ErrorClass.SERVER)],
        [Hold("again"), *say("whole")],
    ]
    async with Engine.opened(tmp_path, replies) as engine:
        session = await engine.begin()
        await engine.reached("again")
        assert await engine.workspace.store.partial(session) is None
        await engine.workspace.interrupt(session)
        history = await engine.workspace.store.messages(session)
    assert [message.role for message in history] == ["user"]


async def test_nothing_is_left_of_an_answer_that_was_empty(tmp_path: Path) -> None:
    blank: Reply = [TextPiece(" \n"), end(TextBlock(" \n"))]
    async with Engine.opened(tmp_path, [blank, blank]) as engine:
        session = await engine.run()
        assert await engine.workspace.store.partial(session) is None
        await engine.workspace.submit(session, "again")
        await engine.rest(session)
    assert engine.reasons() == [DoneReason.ERROR, DoneReason.MODEL_STOP]


async def test_an_empty_answer_is_a_round(tmp_path: Path) -> None:
    async with Engine.opened(tmp_path, [nothing(), say("never")]) as engine:
        await engine.run(limits=Limits(max_turns=1))
    assert engine.reasons() == [DoneReason.MAX_TURNS]


async def test_a_message_typed_during_a_call_is_delivered_behind_its_results(
    tmp_path: Path,
) -> None:
    replies = [calls(call("a", "Append", line="x", hold="tool")), say("done")]
    async with Engine.opened(tmp_path, replies) as engine:
        session = await engine.begin()
        await engine.decide(await engine.asked())
        await engine.reached("tool")
        await engine.workspace.submit(session, "and hurry")
        engine.release("tool")
        await engine.rest(session)
    assert engine.reasons() == [DoneReason.MODEL_STOP]
    last = engine.model.requests[-1].messages[-1].blocks
    assert isinstance(last[0], ToolResultBlock)
    assert last[1] == TextBlock("and hurry")


async def test_a_message_typed_during_the_final_answer_goes_on_in_the_same_turn(
    tmp_path: Path,
) -> None:
    replies: list[Reply] = [
        [TextPiece("an"), Hold("middle"), end(TextBlock("answer"))],
        say("done"),
    ]
    async with Engine.opened(tmp_path, replies) as engine:
        session = await engine.begin()
        await engine.reached("middle")
        await engine.workspace.submit(session, "and hurry")
        engine.release("middle")
        await engine.rest(session)
    assert engine.reasons() == [DoneReason.MODEL_STOP]
    told = words(engine.events)
    assert "streaming → thinking" in told
    assert told.count("loop:done") == 1


async def test_an_edited_call_is_what_always_allows(tmp_path: Path) -> None:
    """The rule that is stored is that of the call as it will run, never of the one that the model
    had asked for."""
    replies = [calls(call("a", "Bash", command="echo wide")), say("done")]
    async with Engine.opened(tmp_path, replies) as engine:
        session = await engine.begin()
        edited = Decision(
            Choice.APPROVE, edited_input={"command": "echo narrow"}, scope=Scope.SESSION
        )
        await engine.decide(await engine.asked(), edited)
        await engine.rest(session)
        grants = await engine.workspace.store.grants(session, engine.workspace.folder)
    assert [grant.rule for grant in grants] == ["Bash(echo narrow)"]


async def test_a_waiting_subagent_finishes_though_a_call_beside_it_is_denied(
    tmp_path: Path,
) -> None:
    """A subagent that waits for a person runs, as far as a No to another call is concerned."""
    task = call("t", "Task", description="d", prompt="p", subagent_type="general-purpose")
    replies = [
        calls(task, call("b", "Append", line="y")),
        calls(call("a", "Append", line="x")),
        say("the child is done"),
    ]
    async with Engine.opened(tmp_path, replies, attended=False) as engine:
        session = await engine.run()
        items = {item.tool_use_id: item for item in await engine.workspace.pending()}
        assert items.keys() == {"a", "b"}
        await engine.decide(items["b"], PLAIN_NO)
        await engine.decide(items["a"])
        await engine.rest(session)
        assert await engine.workspace.pending() == ()
    outcomes = {e.tool_use_id: str(e.outcome) for e in engine.all(ToolResultEvent)}
    assert outcomes == {"b": "denied", "a": "ok", "t": "ok"}
    assert engine.reasons()[-1] is DoneReason.DENIED
    assert engine.marks_kept == ["a x"]


async def test_plan_mode_refuses_without_a_question_and_the_model_goes_on(tmp_path: Path) -> None:
    replies = [calls(call("a", "Append", line="x")), say("a plan")]
    async with Engine.opened(tmp_path, replies) as engine:
        await engine.run(mode=Mode.PLAN)
    assert engine.reasons() == [DoneReason.MODEL_STOP]
    assert engine.marks_kept == []


async def test_an_id_that_was_used_before_gets_a_new_name(tmp_path: Path) -> None:
    replies = [calls(call("same", "Glob", pattern="*")), calls(call("same", "Glob", pattern="*"))]
    async with Engine.opened(tmp_path, [*replies, say("done")]) as engine:
        session = await engine.run()
        ids = [run.tool_use_id for run in await engine.workspace.store.tool_runs(session)]
    assert ids[0] == "same"
    assert len(set(ids)) == 2
    assert engine.reasons() == [DoneReason.MODEL_STOP]


async def test_a_reply_that_uses_one_id_twice_fails_and_leaves_a_history_that_goes_on(
    tmp_path: Path,
) -> None:
    """Adapters never hand out such a reply; a history is safe from one that did."""
    twice = calls(call("same", "Glob", pattern="*"), call("same", "Glob", pattern="*"))
    async with Engine.opened(tmp_path, [twice, say("done")]) as engine:
        session = await engine.run()
        assert await engine.workspace.store.open_batch(session) is None
        await engine.workspace.submit(session, "again")
        await engine.rest(session)
    assert engine.reasons() == [DoneReason.ERROR, DoneReason.MODEL_STOP]


async def test_a_decision_on_what_is_settled_changes_nothing(tmp_path: Path) -> None:
    replies = [calls(call("a", "Append", line="x")), say("done")]
    async with Engine.opened(tmp_path, replies) as engine:
        session = await engine.begin()
        item = await engine.asked()
        await engine.state(session, LoopState.CONFIRMING)
        assert (await engine.decide(item, NO_BECAUSE)).applied
        again = await engine.decide(item)
        assert not again.applied
        assert "already" in again.message
        await engine.rest(session)
    assert engine.marks_kept == []


async def test_no_search_shows_what_may_not_be_read(tmp_path: Path) -> None:
    replies = [
        calls(
            call("all", "Grep", pattern="key", output_mode="content"),
            call("src", "Grep", pattern="key", path="src", output_mode="content"),
        ),
        say("done"),
    ]
    async with Engine.opened(tmp_path, replies) as engine:
        folder = Path(engine.workspace.folder)
        (folder / "src").mkdir()
        (folder / "src" / "a.py").write_text("key of a dict\n")
        (folder / "secret").write_text("key 123\n")
        await engine.run(rules=Rules(deny=("Read(secret)",)))
    told = {e.tool_use_id: (str(e.outcome), e.content) for e in engine.all(ToolResultEvent)}
    assert told["all"] == ("ok", "src/a.py:1:key of a dict")
    assert told["src"][0] == "ok"
    assert "123" not in str(engine.model.requests[-1].messages)


async def test_an_interrupt_while_the_mark_of_a_call_is_stored_leaves_nothing_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark is committed and its answer on the way: nothing ran, and that is known."""
    mark_started = Store.mark_started
    is_stored = asyncio.Event()

    async def slow(store: Store, session_id: str, tool_use_id: str, **given: Any) -> ToolRun:
        run = await mark_started(store, session_id, tool_use_id, **given)
        is_stored.set()
        while (turn := engine.turn(session_id)) is not None and turn.stop is None:
            await asyncio.sleep(0)
        for _ in range(20):  # the interrupt reaches the call
            await asyncio.sleep(0)
        return run

    monkeypatch.setattr(Store, "mark_started", slow)
    async with Engine.opened(tmp_path, [calls(call("a", "Append", line="x"))]) as engine:
        session = await engine.begin()
        await engine.decide(await engine.asked())
        await is_stored.wait()
        await engine.workspace.interrupt(session)
        history = await engine.workspace.store.messages(session)
    assert [message.origin for message in history] == [
        Origin.USER, Origin.ASSISTANT, Origin.TOOL_RESULTS,
    ]  # fmt: skip
    assert [event.outcome for event in engine.all(ToolResultEvent)] == [Outcome.INTERRUPTED]
    assert engine.marks_kept == []


async def test_what_withdrawn_attempts_took_counts(tmp_path: Path) -> None:
    """Of an answer, and of the summary before it."""
    broken = ProviderError(ErrorClass.SERVER, "it broke", "Wait.", usage=Usage(1_000, 100))
    opened = Engine.opened(
        tmp_path,
        [say("first", usage=Usage(16_000, 10)), [TextPiece("half"), broken], say("whole")],
        summaries=[[broken], say("the gist")],
        facts=ModelFacts(window=20_000, max_output=1_000),
    )
    async with opened as engine:
        session = await engine.run("please look at all of it " * 1_200)
        await engine.workspace.submit(session, "and now")
        await engine.rest(session)
    assert len(engine.all(ProviderRetry)) == 2
    assert engine.all(DoneEvent)[-1].usage == Usage(10 + 2_000, 5 + 200)
