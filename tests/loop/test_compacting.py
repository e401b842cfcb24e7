"""Compaction within a turn and outside of one: three triggers, and failures that lose nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.loop.kit import Engine, Hold, Reply, call, calls, fail, say
from tests.loop.stories import unsendable
from tests.loop.told import words
from tui_agent.loop import machine
from tui_agent.loop.turn import MOST_FAILED_COMPACTIONS
from tui_agent.providers.base import TextPiece
from tui_agent.store import Store
from tui_agent.vocabulary.agents import ModelFacts
from tui_agent.vocabulary.blocks import text_of
from tui_agent.vocabulary.errors import ErrorClass, StoreError
from tui_agent.vocabulary.events import DoneEvent, PromptCompaction
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.states import DoneReason, LoopState
from tui_agent.vocabulary.usage import Usage

FACTS = ModelFacts(window=20_000, max_output=1_000)
FULL = Usage(16_000, 10)
LONG = "please look at all of it " * 1_200
TOO_LONG = fail(ErrorClass.TOO_LONG, "the prompt is too long")

SUMMARISED = [
    "provider:started compaction",
    "provider:complete end_turn",
    "stored summary",
]
ASKED_MODEL = ["budget:check", "thinking → streaming", "provider:started round"]
FINAL = [
    *ASKED_MODEL,
    "provider:complete end_turn",
    "stored assistant",
    "streaming → done",
    "loop:done",
    "done model_stop",
]


def compacted(trigger: str) -> list[str]:
    return [
        f"compaction started {trigger}",
        *SUMMARISED,
        f"compaction completed {trigger}",
        "compacting → thinking",
    ]


def not_compacted(trigger: str) -> list[str]:
    return [
        f"compaction started {trigger}",
        "provider:started compaction",
        "provider:complete end_turn",
        f"compaction failed {trigger}",
    ]


async def whole_history(engine: Engine, session: str) -> tuple[Message, ...]:
    return await engine.workspace.store.messages(session)


async def is_sendable(engine: Engine, session: str) -> bool:
    boundary, history = await engine.workspace.store.history(session)
    assert unsendable(history, history[0].seq if boundary else 0) == []
    return True


async def test_over_the_threshold_older_messages_are_summarised_first(tmp_path: Path) -> None:
    replies = [say("a long answer", usage=FULL), say("done")]
    opened = Engine.opened(tmp_path, replies, summaries=[say("the gist")], facts=FACTS)
    async with opened as engine:
        session = await engine.run(LONG)
        before = len(engine.events)
        await engine.workspace.submit(session, "and now")
        await engine.rest(session)
        history = await whole_history(engine, session)
        assert await is_sendable(engine, session)
    assert words(engine.events[before:]) == [
        "session prompt",
        "stored user",
        "budget:check",
        "thinking → compacting",
        *compacted("auto"),
        *FINAL,
    ]
    # older messages stay stored; the request begins with the summary and the kept prompt
    assert [message.origin for message in history] == [
        Origin.USER, Origin.ASSISTANT, Origin.USER, Origin.SUMMARY, Origin.ASSISTANT,
    ]  # fmt: skip
    sent = engine.model.requests[-1].messages
    assert len(sent) == 1
    assert "the gist" in text_of(sent[0].blocks)
    assert "and now" in text_of(sent[0].blocks)
    assert "First request" not in text_of(sent[0].blocks)
    assert "please look at all of it" in text_of(sent[0].blocks)


async def test_pairs_stay_together_when_it_happens_between_rounds(tmp_path: Path) -> None:
    made = [calls(call(f"c{n}", "Glob", pattern="*"), text="so far " * 100) for n in range(3)]
    replies = [*made, calls(call("last", "Glob", pattern="*"), usage=FULL), say("done")]
    opened = Engine.opened(tmp_path, replies, summaries=[say("the gist")], facts=FACTS)
    async with opened as engine:
        session = await engine.run(LONG)
        assert await is_sendable(engine, session)
    told = words(engine.events)
    place = told.index("thinking → compacting")
    assert told[place - 2 : place] == ["executing → thinking", "budget:check"]
    assert told[place + 1 :] == [*compacted("auto"), *FINAL]


async def test_a_rejected_prompt_is_compacted_and_sent_again(tmp_path: Path) -> None:
    opened = Engine.opened(
        tmp_path,
        [say("first"), TOO_LONG, say("done")],
        summaries=[say("the gist")],
        facts=FACTS,
    )
    async with opened as engine:
        session = await engine.run(LONG)
        before = len(engine.events)
        await engine.workspace.submit(session, "more")
        await engine.rest(session)
        assert await is_sendable(engine, session)
    assert words(engine.events[before:]) == [
        "session prompt",
        "stored user",
        *ASKED_MODEL,
        "provider:complete error",
        "streaming → compacting",
        *compacted("overflow"),
        *FINAL,
    ]


async def test_a_rejection_says_more_about_the_window_than_what_is_believed_of_it(
    tmp_path: Path,
) -> None:
    """A local server's window is often far smaller than what is taken for an unknown model."""
    opened = Engine.opened(
        tmp_path,
        [say("one"), say("two"), say("three"), TOO_LONG, say("done")],
        summaries=[say("the gist")],
        facts=ModelFacts(window=1_000_000, max_output=1_000),
    )
    async with opened as engine:
        session = await engine.run(LONG)
        for prompt in (LONG, LONG, "more"):
            await engine.workspace.submit(session, prompt)
            await engine.rest(session)
        (boundary,) = await engine.workspace.store.boundaries(session)
    assert boundary.tokens_after < boundary.tokens_before / 2


async def test_a_prompt_that_is_rejected_again_is_an_error(tmp_path: Path) -> None:
    opened = Engine.opened(
        tmp_path,
        [say("first"), TOO_LONG, TOO_LONG, say("never")],
        summaries=[say("the gist"), say("again")],
        facts=FACTS,
    )
    async with opened as engine:
        session = await engine.run(LONG)
        before = len(engine.events)
        await engine.workspace.submit(session, "more")
        await engine.rest(session)
    assert words(engine.events[before:])[-6:] == [
        *ASKED_MODEL[-1:],
        "provider:complete error",
        "error",
        "streaming → done",
        "loop:error",
        "done error",
    ]
    assert len(engine.model.summaries) == 1


async def test_when_even_that_fails_an_overflow_is_an_error_and_the_history_is_kept(
    tmp_path: Path,
) -> None:
    opened = Engine.opened(
        tmp_path, [say("first"), TOO_LONG, say("never")], summaries=[say("")], facts=FACTS
    )
    async with opened as engine:
        session = await engine.run(LONG)
        before = len(engine.events)
        await engine.workspace.submit(session, "more")
        await engine.rest(session)
        assert await engine.workspace.store.boundaries(session) == ()
    assert words(engine.events[before:])[-9:] == [
        "streaming → compacting",
        *not_compacted("overflow"),
        "error",
        "compacting → done",
        "loop:error",
        "done error",
    ]


@pytest.mark.parametrize("summary", ["", " \n", "far too long " * 2_000])
async def test_a_poor_summary_is_a_failure_and_the_history_is_kept(
    tmp_path: Path, summary: str
) -> None:
    replies = [say("a long answer", usage=FULL), say("done")]
    opened = Engine.opened(tmp_path, replies, summaries=[say(summary)], facts=FACTS)
    async with opened as engine:
        session = await engine.run(LONG)
        before = len(engine.events)
        await engine.workspace.submit(session, "and now")
        await engine.rest(session)
        assert await engine.workspace.store.boundaries(session) == ()
    assert words(engine.events[before:]) == [
        "session prompt",
        "stored user",
        "budget:check",
        "thinking → compacting",
        *not_compacted("auto"),
        "compacting → thinking",
        *FINAL,
    ]
    assert len(engine.model.requests[-1].messages) == 3
    # what it cost counts all the same
    assert engine.all(DoneEvent)[-1].usage.total == 30
    assert engine.all(DoneEvent)[-1].rounds == 1


async def test_after_three_failures_it_is_not_tried_any_more(tmp_path: Path) -> None:
    replies = [calls(call(f"c{n}", "Glob", pattern="*"), usage=FULL) for n in range(6)]
    opened = Engine.opened(tmp_path, [*replies, say("done")], summaries=[say("")] * 9, facts=FACTS)
    async with opened as engine:
        await engine.run(LONG)
    phases = [event.phase for event in engine.all(PromptCompaction)]
    assert phases == ["started", "failed"] * MOST_FAILED_COMPACTIONS
    assert engine.reasons() == [DoneReason.MODEL_STOP]


async def test_asked_for_in_a_turn_it_waits_for_the_end_of_the_batch(tmp_path: Path) -> None:
    replies = [calls(call("a", "Append", line="x", hold="tool")), say("done")]
    opened = Engine.opened(tmp_path, replies, summaries=[say("the gist")], facts=FACTS)
    async with opened as engine:
        session = await engine.begin(LONG)
        await engine.decide(await engine.asked())
        await engine.reached("tool")
        await engine.workspace.compact(session, "the file names")
        engine.release("tool")
        await engine.rest(session)
        assert await is_sendable(engine, session)
    told = words(engine.events)
    assert told[told.index("tool:result a ok") :] == [
        "tool:result a ok",
        "stored tool_results",
        "executing → compacting",
        *compacted("manual"),
        *FINAL,
    ]
    asked = [request for request in engine.model.requests if not request.tools]
    assert "the file names" in text_of(asked[0].messages[0].blocks)


async def test_asked_for_while_idle_no_turn_is_told_of(tmp_path: Path) -> None:
    opened = Engine.opened(
        tmp_path, [say("first"), say("second")], summaries=[say("the gist")], facts=FACTS
    )
    async with opened as engine:
        session = await engine.run(LONG)
        await engine.workspace.submit(session, "short")
        await engine.rest(session)
        before = len(engine.events)
        await engine.workspace.compact(session)
        await engine.until(lambda e: "compaction completed manual" in words([e]))
        told = [event for event in engine.events[before:] if event.type != "session:phase"]
        assert await is_sendable(engine, session)
    assert words(told) == ["compaction started manual", *SUMMARISED, "compaction completed manual"]
    assert {event.turn_id for event in told} == {None}


async def test_interrupted_while_compacting_the_history_is_kept(tmp_path: Path) -> None:
    summary: Reply = [TextPiece("the g"), Hold("middle"), *say("never")]
    replies = [say("a long answer", usage=FULL), say("never")]
    async with Engine.opened(tmp_path, replies, summaries=[summary], facts=FACTS) as engine:
        session = await engine.run(LONG)
        before = len(engine.events)
        await engine.workspace.submit(session, "and now")
        await engine.reached("middle")
        await engine.workspace.interrupt(session)
        assert await engine.workspace.store.boundaries(session) == ()
    assert words(engine.events[before:]) == [
        "session prompt",
        "stored user",
        "budget:check",
        "thinking → compacting",
        "compaction started auto",
        "provider:started compaction",
        "provider:complete aborted",
        "compaction failed auto",
        "compacting → done",
        "loop:aborted",
        "done user_abort",
    ]


async def test_a_fault_while_compacting_ends_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_turn: object) -> LoopState:
        await asyncio.sleep(0)
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(machine, "compact", broken)
    async with Engine.opened(tmp_path, [say("x", usage=FULL)], facts=FACTS) as engine:
        session = await engine.run(LONG)
        await engine.workspace.submit(session, "and now")
        await engine.rest(session)
    assert words(engine.events)[-3:] == ["compacting → done", "loop:error", "done error"]


async def test_a_boundary_that_cannot_be_stored_is_told_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_store: Store, *_: object, **_given: object) -> Message:
        await asyncio.sleep(0)
        raise StoreError("the disk is full")

    monkeypatch.setattr(Store, "store_summary", broken)
    replies = [say("a long answer", usage=FULL)]
    opened = Engine.opened(tmp_path, replies, summaries=[say("the gist")] * 2, facts=FACTS)
    async with opened as engine:
        session = await engine.run(LONG)
        await engine.workspace.submit(session, "and now")
        await engine.rest(session)
        await engine.workspace.compact(session)
        await engine.until(lambda e: "compaction failed manual" in words([e]))
    told = [(event.trigger, event.phase, event.message) for event in engine.all(PromptCompaction)]
    assert told == [
        ("auto", "started", ""),
        ("auto", "failed", "the disk is full"),
        ("manual", "started", ""),
        ("manual", "failed", "the disk is full"),
    ]
    assert engine.reasons() == [DoneReason.MODEL_STOP, DoneReason.ERROR]
