"""How each turn goes, event by event, written by hand from the table of states and the rules of the
turn, one trace for each way in which a turn can end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loop.kit import (
    APPROVE,
    NO_BECAUSE,
    PLAIN_NO,
    Engine,
    Hold,
    Reply,
    Said,
    answer,
    call,
    calls,
    end,
    fail,
    nothing,
    question,
    say,
)
from tests.loop.told import words
from tui_agent.loop import machine
from tui_agent.providers.base import TextPiece, ThinkingPiece
from tui_agent.vocabulary.agents import Limits
from tui_agent.vocabulary.blocks import TextBlock, ToolUseBlock
from tui_agent.vocabulary.errors import ErrorClass
from tui_agent.vocabulary.events import DoneEvent, LoopMaxTurns, ProviderStarted
from tui_agent.vocabulary.messages import StopReason
from tui_agent.vocabulary.states import DoneReason, LoopState

BEGIN = ["session prompt", "stored user"]
ASKED_MODEL = ["budget:check", "thinking → streaming", "provider:started round"]
ANSWERED = ["provider:complete end_turn", "stored assistant"]
CALLED = ["provider:complete tool_use", "stored assistant", "streaming → executing"]
FINAL = [*ASKED_MODEL, *ANSWERED, "streaming → done", "loop:done", "done model_stop"]


def ran(call_id: str) -> list[str]:
    return [f"actauth allow {call_id}", f"tool:started {call_id}", f"tool:result {call_id} ok"]


NEXT = ["stored tool_results", "executing → thinking"]
ABORTED = ["loop:aborted", "done user_abort"]
FAILED = ["loop:error", "done error"]


def glob(call_id: str, pattern: str = "*.py") -> Reply:
    return calls(call(call_id, "Glob", pattern=pattern))


async def test_an_answer_ends_the_turn(tmp_path: Path) -> None:
    async with Engine.opened(tmp_path, [say("hello")]) as engine:
        await engine.run()
    assert words(engine.events) == [*BEGIN, *FINAL]


async def test_a_round_of_tools_leads_to_the_next_call(tmp_path: Path) -> None:
    replies = [calls(call("c1", "Glob", pattern="*"), text="I look."), say("done")]
    async with Engine.opened(tmp_path, replies) as engine:
        await engine.run()
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        "provider:complete tool_use",
        "stored assistant",
        "assistant:text",
        "streaming → executing",
        *ran("c1"),
        *NEXT,
        *FINAL,
    ]


async def test_a_text_cut_by_the_output_limit_is_an_end_and_marked(tmp_path: Path) -> None:
    async with Engine.opened(tmp_path, [say("half a", StopReason.MAX_TOKENS)]) as engine:
        await engine.run()
    assert engine.reasons() == [DoneReason.MODEL_STOP]
    assert [event.cut for event in engine.events if event.type == "loop:done"] == [True]


async def test_at_the_limit_the_provider_is_not_called(tmp_path: Path) -> None:
    replies = [glob("c1"), say("never")]
    async with Engine.opened(tmp_path, replies) as engine:
        await engine.run(limits=Limits(max_turns=1))
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        *CALLED,
        *ran("c1"),
        *NEXT,
        "thinking → done",
        "loop:max_turns",
        "done max_turns",
    ]


@pytest.mark.parametrize("limit", [1, 25])
async def test_the_limit_is_the_exact_number_of_responses(tmp_path: Path, limit: int) -> None:
    replies = [glob(f"c{n}", f"*{n}") for n in range(limit + 5)]
    async with Engine.opened(tmp_path, replies) as engine:
        await engine.run(limits=Limits(max_turns=limit))
    assert len(engine.all(ProviderStarted)) == len(engine.model.requests) == limit
    assert [event.limit for event in engine.all(LoopMaxTurns)] == [limit]
    assert engine.all(DoneEvent)[-1].rounds == limit


async def test_the_token_limit_stops_before_the_next_call(tmp_path: Path) -> None:
    async with Engine.opened(tmp_path, [glob("c1"), say("never")]) as engine:
        await engine.run(limits=Limits(max_session_tokens=15))
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        *CALLED,
        *ran("c1"),
        *NEXT,
        "thinking → done",
        "loop:budget_exceeded",
        "done budget_exceeded",
    ]


async def test_an_empty_answer_counts_towards_the_token_limit(tmp_path: Path) -> None:
    async with Engine.opened(tmp_path, [nothing(), say("never")]) as engine:
        await engine.run(limits=Limits(max_session_tokens=15))
    assert engine.reasons() == [DoneReason.BUDGET_EXCEEDED]
    assert len(engine.model.requests) == 1


async def test_the_same_call_with_the_same_result_stops_at_the_repeat_limit(
    tmp_path: Path,
) -> None:
    replies = [glob(f"c{n}") for n in range(5)]
    async with Engine.opened(tmp_path, replies) as engine:
        await engine.run(limits=Limits(repeat_limit=3))
    rounds = [[*ASKED_MODEL, *CALLED, *ran(f"c{n}"), "stored tool_results"] for n in range(3)]
    assert words(engine.events) == [
        *BEGIN,
        *rounds[0],
        "executing → thinking",
        *rounds[1],
        "executing → thinking",
        *rounds[2],
        "executing → done",
        "loop:detected",
        "done loop_detected",
    ]


async def test_paging_is_no_loop(tmp_path: Path) -> None:
    replies = [calls(call(f"c{n}", "Read", file_path="big", offset=n + 1)) for n in range(4)]
    async with Engine.opened(tmp_path, [*replies, say("read it")]) as engine:
        Path(engine.workspace.folder, "big").write_text("same\n" * 9)
        await engine.run(limits=Limits(repeat_limit=2))
    assert engine.reasons() == [DoneReason.MODEL_STOP]


# --- asking --------------------------------------------------------------------------------------

ASK_A = ["actauth ask a", "approval:pending a", "executing → confirming"]


async def test_an_approved_call_runs_and_the_model_hears_of_it(tmp_path: Path) -> None:
    replies = [calls(call("a", "Append", line="x")), say("done")]
    async with Engine.opened(tmp_path, replies) as engine:
        session = await engine.begin()
        item = await engine.asked()
        await engine.state(session, LoopState.CONFIRMING)
        await engine.decide(item)
        await engine.rest(session)
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        *CALLED,
        *ASK_A,
        "approval:resolved a approve",
        "confirming → executing",
        "tool:started a",
        "tool:result a ok",
        *NEXT,
        *FINAL,
    ]
    assert engine.marks() == ["a x"]


async def test_a_no_with_a_comment_goes_back_to_the_model(tmp_path: Path) -> None:
    replies = [calls(call("a", "Append", line="x")), say("I see")]
    async with Engine.opened(tmp_path, replies) as engine:
        session = await engine.begin()
        item = await engine.asked()
        await engine.state(session, LoopState.CONFIRMING)
        await engine.decide(item, NO_BECAUSE)
        await engine.rest(session)
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        *CALLED,
        *ASK_A,
        "approval:resolved a deny",
        "tool:result a denied",
        "stored tool_results",
        "confirming → thinking",
        *FINAL,
    ]
    assert engine.marks() == []


async def test_a_plain_no_settles_what_is_undecided_and_stops(tmp_path: Path) -> None:
    replies = [calls(call("a", "Append", line="x"), call("b", "Append", line="y"))]
    async with Engine.opened(tmp_path, replies) as engine:
        session = await engine.begin()
        item = await engine.asked()
        await engine.state(session, LoopState.CONFIRMING)
        await engine.decide(item, PLAIN_NO)
        await engine.rest(session)
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        *CALLED,
        "actauth ask a",
        "approval:pending a",
        "actauth ask b",
        "approval:pending b",
        "executing → confirming",
        "approval:resolved a deny",
        "tool:result a denied",
        "approval:resolved b None",
        "tool:result b not_run",
        "stored tool_results",
        "confirming → done",
        "loop:denied",
        "done denied",
    ]
    assert engine.marks() == []


async def test_with_nobody_there_an_ask_is_pending(tmp_path: Path) -> None:
    replies = [calls(call("r", "Glob", pattern="*"), call("a", "Append", line="x"))]
    async with Engine.opened(tmp_path, replies, attended=False) as engine:
        session = await engine.run()
        await engine.rest(session)
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        *CALLED,
        "actauth allow r",
        "actauth pending a",
        "approval:pending a",
        "tool:started r",
        "tool:result r ok",
        "executing → confirming",
        "confirming → done",
        "loop:pending_approval",
        "done pending_approval",
    ]
    assert engine.all(DoneEvent)[-1].pending_approvals == 1


@pytest.mark.parametrize(
    ("also", "reason"),
    [
        ([], DoneReason.PENDING_QUESTION),
        ([call("a", "Append", line="x")], DoneReason.PENDING_APPROVAL),
    ],
)
async def test_only_questions_open_is_a_reason_of_its_own(
    tmp_path: Path, also: list[ToolUseBlock], reason: DoneReason
) -> None:
    replies = [calls(question("q"), *also)]
    async with Engine.opened(tmp_path, replies, attended=False) as engine:
        await engine.run()
    assert engine.reasons() == [reason]
    assert words(engine.events)[-2:] == [f"loop:{reason}", f"done {reason}"]


async def test_the_last_decision_resumes_the_same_loop_in_executing(tmp_path: Path) -> None:
    replies = [calls(call("a", "Append", line="x")), say("done")]
    async with Engine.opened(tmp_path, replies, attended=False) as engine:
        session = await engine.run()
        before = len(engine.events)
        await engine.decide(await engine.asked())
        await engine.rest(session)
    assert words(engine.events[before:]) == [
        "approval:resolved a approve",
        "session decision",
        "tool:started a",
        "tool:result a ok",
        *NEXT,
        *FINAL,
    ]
    assert engine.marks() == ["a x"]


async def test_a_denial_that_comes_later_is_told_outside_of_any_turn(tmp_path: Path) -> None:
    replies = [calls(call("a", "Append", line="x")), say("done")]
    async with Engine.opened(tmp_path, replies, attended=False) as engine:
        session = await engine.run()
        before = len(engine.events)
        await engine.decide(await engine.asked(), NO_BECAUSE)
        await engine.rest(session)
    assert words(engine.events[before:]) == [
        "approval:resolved a deny",
        "tool:result a denied",
        "session decision",
        *NEXT,
        *FINAL,
    ]


async def test_a_policy_answers_where_nobody_will_come(tmp_path: Path) -> None:
    replies = [calls(call("a", "Append", line="x"), question("q")), say("alone then")]
    async with Engine.opened(tmp_path, replies, attended=False, denies=True) as engine:
        await engine.run()
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        *CALLED,
        "actauth deny a",
        "tool:result a denied",
        "actauth deny q",
        "tool:result q denied",
        *NEXT,
        *FINAL,
    ]


async def test_a_mixed_batch_waits_for_each_and_answers_all_in_order(tmp_path: Path) -> None:
    batch = calls(
        call("r", "Glob", pattern="*"),
        call("a", "Append", line="x"),
        call("b", "Append", line="y"),
        question("q"),
    )
    async with Engine.opened(tmp_path, [batch, say("done")]) as engine:
        session = await engine.begin()
        first, second, third = [await engine.asked() for _ in range(3)]
        await engine.state(session, LoopState.CONFIRMING)
        await engine.decide(first, APPROVE)
        await engine.until(lambda e: "tool:result a ok" in words([e]))
        await engine.state(session, LoopState.CONFIRMING)
        await engine.decide(second, NO_BECAUSE)
        await engine.decide(third, answer())
        await engine.rest(session)
        history = await engine.workspace.store.messages(session)
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        *CALLED,
        "actauth allow r",
        "actauth ask a",
        "approval:pending a",
        "actauth ask b",
        "approval:pending b",
        "actauth ask q",
        "question:pending q",
        "tool:started r",
        "tool:result r ok",
        "executing → confirming",
        "approval:resolved a approve",
        "confirming → executing",
        "tool:started a",
        "tool:result a ok",
        "executing → confirming",
        "approval:resolved b deny",
        "tool:result b denied",
        "question:resolved q answer",
        "confirming → executing",
        "tool:started q",
        "tool:result q ok",
        *NEXT,
        *FINAL,
    ]
    answers = history[2].blocks
    assert [block.tool_use_id for block in answers] == ["r", "a", "b", "q"]  # type: ignore[union-attr]
    assert engine.marks() == ["a x"]


# --- interrupted in each state --------------------------------------------------------------------


async def test_interrupted_while_thinking(tmp_path: Path) -> None:
    async with Engine.opened(tmp_path, [say("never")]) as engine:
        engine.hold_access = "access"
        session = await engine.begin()
        await engine.reached("access")
        await engine.workspace.interrupt(session)
    assert words(engine.events) == [*BEGIN, "thinking → done", *ABORTED]
    assert engine.model.requests == []


async def test_interrupted_while_streaming_the_text_is_kept_and_marked(tmp_path: Path) -> None:
    reply: list[Said] = [ThinkingPiece("hm"), TextPiece("half of it"), Hold("middle")]
    async with Engine.opened(tmp_path, [reply]) as engine:
        session = await engine.begin()
        await engine.reached("middle")
        await engine.workspace.interrupt(session)
        history = await engine.workspace.store.messages(session)
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        "provider:complete aborted",
        "stored assistant cut",
        "streaming → done",
        *ABORTED,
    ]
    assert history[-1].blocks == (TextBlock("half of it"),)


async def test_interrupted_while_a_call_runs(tmp_path: Path) -> None:
    replies = [calls(call("a", "Append", line="x", hold="tool"), call("b", "Append", line="y"))]
    async with Engine.opened(tmp_path, replies) as engine:
        session = await engine.begin()
        await engine.decide(await engine.asked())
        await engine.reached("tool")
        await engine.workspace.interrupt(session)
    told = words(engine.events)
    assert told[told.index("tool:started a") :] == [
        "tool:started a",
        "tool:result a interrupted",
        "approval:resolved b None",
        "tool:result b not_run",
        "stored tool_results",
        "executing → done",
        *ABORTED,
    ]


async def test_interrupted_while_asked(tmp_path: Path) -> None:
    replies = [calls(call("a", "Append", line="x"))]
    async with Engine.opened(tmp_path, replies) as engine:
        session = await engine.begin()
        await engine.asked()
        await engine.state(session, LoopState.CONFIRMING)
        await engine.workspace.interrupt(session)
        assert await engine.workspace.pending() == ()
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        *CALLED,
        *ASK_A,
        "approval:resolved a None",
        "tool:result a not_run",
        "stored tool_results",
        "confirming → done",
        *ABORTED,
    ]


# --- failures -------------------------------------------------------------------------------------


async def test_a_provider_that_fails_for_good_ends_the_turn(tmp_path: Path) -> None:
    async with Engine.opened(tmp_path, [fail()]) as engine:
        await engine.run()
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        "provider:complete error",
        "error",
        "streaming → done",
        *FAILED,
    ]


async def test_a_provider_that_fails_for_now_is_tried_again(tmp_path: Path) -> None:
    replies = [[TextPiece("half"), *fail(ErrorClass.SERVER)], say("whole")]
    async with Engine.opened(tmp_path, replies) as engine:
        await engine.run()
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        "provider:retry",
        "provider:started round",
        *ANSWERED,
        "streaming → done",
        "loop:done",
        "done model_stop",
    ]


async def test_text_of_a_call_that_cannot_be_saved_is_kept(tmp_path: Path) -> None:
    replies = [[TextPiece("half of it"), *fail()]]
    async with Engine.opened(tmp_path, replies) as engine:
        await engine.run()
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        "provider:complete error",
        "error",
        "stored assistant cut",
        "streaming → done",
        *FAILED,
    ]


async def test_a_refusal_is_an_error_with_its_words_kept(tmp_path: Path) -> None:
    async with Engine.opened(tmp_path, [say("I will not", StopReason.REFUSAL)]) as engine:
        await engine.run()
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        "provider:complete refusal",
        "stored assistant",
        "error",
        "streaming → done",
        *FAILED,
    ]


async def test_a_refused_call_never_runs(tmp_path: Path) -> None:
    refused = [end(call("a", "Append", line="x"), stop=StopReason.CONTENT_FILTER)]
    async with Engine.opened(tmp_path, [refused]) as engine:
        session = await engine.run()
        assert await engine.workspace.store.tool_runs(session) == ()
    assert engine.reasons() == [DoneReason.ERROR]


async def test_an_empty_answer_is_asked_for_once_more_and_then_an_error(tmp_path: Path) -> None:
    async with Engine.opened(tmp_path, [nothing(), nothing(), say("never")]) as engine:
        await engine.run()
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        "provider:complete end_turn",
        "streaming → thinking",
        *ASKED_MODEL,
        "provider:complete end_turn",
        "error",
        "streaming → done",
        *FAILED,
    ]
    assert len(engine.model.requests) == 2


HANDLERS = {
    LoopState.THINKING: "think",
    LoopState.STREAMING: "stream",
    LoopState.EXECUTING: "execute",
    LoopState.CONFIRMING: "confirm",
    LoopState.COMPACTING: "compact",
}


@pytest.mark.parametrize("state", [s for s in HANDLERS if s is not LoopState.COMPACTING])
async def test_a_handler_that_raises_ends_the_turn_with_its_batch_answered(
    tmp_path: Path, state: LoopState, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_turn: object) -> LoopState:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(machine, HANDLERS[state], broken)
    replies = [calls(call("a", "Append", line="x"))]
    async with Engine.opened(tmp_path, replies) as engine:
        session = await engine.run()
        assert await engine.workspace.store.open_batch(session) is None
    assert words(engine.events)[-3:] == [f"{state} → done", *FAILED]
    assert engine.marks() == []
