"""Older results leave the requests of a running session, by the usual rule and when nothing else
makes them shorter."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from tests.loop.kit import Engine, Reply, call, calls, fail, say
from tests.loop.told import words
from tui_agent.context.clearing import KEPT_LARGE, MARKER, MOST_LARGE
from tui_agent.loop.turn import MOST_FAILED_COMPACTIONS
from tui_agent.vocabulary.agents import ModelFacts
from tui_agent.vocabulary.blocks import TextBlock, ToolResultBlock, tool_uses
from tui_agent.vocabulary.errors import ErrorClass
from tui_agent.vocabulary.events import BudgetCheck, ContextCleared, PromptCompaction
from tui_agent.vocabulary.states import DoneReason
from tui_agent.vocabulary.usage import Usage

LARGE = "a line of a file\n" * 300
ROUNDS = MOST_LARGE + 1
FACTS = ModelFacts(window=20_000, max_output=1_000)
FULL = Usage(16_000, 10)


def reading(first: int, end: int, usage: Usage = Usage(10, 5)) -> list[Reply]:  # noqa: B008 - frozen
    return [
        calls(call(f"c{n}", "Read", file_path="big"), thought=f"thought {n}", usage=usage)
        for n in range(first, end)
    ]


def put_big(engine: Engine) -> None:
    Path(engine.workspace.folder, "big").write_text(LARGE)


def marked(engine: Engine, request: int = -1) -> list[str]:
    """The calls whose results a request shows as markers."""
    return [
        block.tool_use_id
        for message in engine.model.requests[request].messages
        for block in message.blocks
        if isinstance(block, ToolResultBlock) and block.content == (TextBlock(MARKER),)
    ]


def ids(first: int, end: int) -> list[str]:
    return [f"c{n}" for n in range(first, end)]


async def test_with_one_large_result_too_many_all_but_the_last_few_go(tmp_path: Path) -> None:
    replies = [*reading(0, ROUNDS + 1), say("done"), say("again")]
    async with Engine.opened(tmp_path, replies) as engine:
        put_big(engine)
        session = await engine.run()
        await engine.workspace.submit(session, "and now")
        await engine.rest(session)
        stored = await engine.workspace.store.messages(session)
    assert [marked(engine, n) for n in range(ROUNDS)] == [[]] * ROUNDS
    gone = ids(0, ROUNDS - KEPT_LARGE)
    # once cleared they stay so, in every later request
    assert [marked(engine, n) for n in (-3, -2, -1)] == [gone] * 3
    (told,) = engine.all(ContextCleared)
    assert list(told.tool_use_ids) == gone
    assert MARKER not in str(stored)
    sent = engine.model.requests[-1].messages
    assert [use.id for message in sent for use in tool_uses(message.blocks)] == ids(0, ROUNDS + 1)
    changed = [message.prefix_changed for message in sent if message.role == "assistant"]
    assert changed == [False, *[True] * (ROUNDS - 1), False, False]


async def test_the_meter_shows_what_is_sent(tmp_path: Path) -> None:
    async with Engine.opened(tmp_path, [*reading(0, ROUNDS), say("done")]) as engine:
        put_big(engine)
        await engine.run()
    told = words(engine.events)
    cleared = told.index("context:cleared")
    assert told[cleared - 1 : cleared + 3] == [
        "executing → thinking",
        "context:cleared",
        "budget:check",
        "thinking → streaming",
    ]
    used = [event.context_used for event in engine.all(BudgetCheck)]
    # the counts of the scripted model are small: what is measured is the estimate that follows
    assert used[-1] < ROUNDS * 1_400


async def test_a_failed_compaction_trims_results_locally(tmp_path: Path) -> None:
    replies = [*reading(0, 6), *reading(6, 7, FULL), say("done")]
    opened = Engine.opened(tmp_path, replies, summaries=[say("")], facts=FACTS)
    async with opened as engine:
        put_big(engine)
        await engine.run()
    told = words(engine.events)
    place = told.index("compaction failed auto")
    assert told[place + 1 : place + 4] == [
        "context:cleared",
        "compacting → thinking",
        "budget:check",
    ]
    assert marked(engine)
    assert engine.reasons() == [DoneReason.MODEL_STOP]


async def test_a_refused_prompt_whose_summary_fails_is_trimmed_and_sent_again(
    tmp_path: Path,
) -> None:
    too_long = fail(ErrorClass.TOO_LONG, "too long")
    replies = [*reading(0, 7), too_long, say("done")]
    opened = Engine.opened(tmp_path, replies, summaries=[fail(ErrorClass.SERVER)] * 2)
    async with opened as engine:
        put_big(engine)
        await engine.run()
    assert engine.reasons() == [DoneReason.MODEL_STOP]
    assert marked(engine)


async def test_a_prompt_that_stays_too_long_comes_to_an_end(tmp_path: Path) -> None:
    too_long = fail(ErrorClass.TOO_LONG, "too long")
    replies = [*reading(0, 7), *[too_long] * 20]
    opened = Engine.opened(tmp_path, replies, summaries=[say("")] * 20)
    async with opened as engine:
        put_big(engine)
        await engine.run()
    assert engine.reasons() == [DoneReason.ERROR]
    assert len(engine.model.replies) > 10


async def test_failures_are_counted_over_turns_and_a_person_may_try_again(
    tmp_path: Path,
) -> None:
    turns = MOST_FAILED_COMPACTIONS + 2
    replies = [say("a long answer " * 300, usage=FULL)] * (turns + 2)
    opened = Engine.opened(tmp_path, replies, summaries=[say("")] * 9, facts=FACTS)
    async with opened as engine:
        session = await engine.run("please look at all of it " * 400)
        for _ in range(turns):
            await engine.workspace.submit(session, "and now")
            await engine.rest(session)
        told = [event.phase for event in engine.all(PromptCompaction)]
        assert told == ["started", "failed"] * MOST_FAILED_COMPACTIONS
        engine.model.summaries = [say("the gist")]
        await engine.workspace.compact(session)
        await engine.until(lambda e: "compaction completed manual" in words([e]))


async def test_a_prompt_and_tools_over_the_window_are_named(tmp_path: Path) -> None:
    """No summary would help: none is tried, and the person hears what is too large."""
    async with Engine.opened(tmp_path, [say("never")]) as engine:
        await engine.run(system_prompt="a rule of the house. " * 40_000)
    assert engine.model.requests == []
    assert engine.reasons() == [DoneReason.ERROR]
    (cause,) = [event.message for event in engine.events if event.type == "error"]
    assert "the system prompt and the tools alone take about" in cause


async def test_a_small_window_is_not_compacted_after_every_answer(tmp_path: Path) -> None:
    """What is kept is measured against the room beside prompt and tools."""
    facts = ModelFacts(window=20_000, max_output=1_000)
    replies: list[Reply] = [say("an answer " * 300, usage=Usage()) for _ in range(16)]
    opened = Engine.opened(tmp_path, replies, summaries=[say("the gist")] * 16, facts=facts)
    async with opened as engine:
        session = await engine.run("a rule " * 300, system_prompt="a rule of the house. " * 1_000)
        for _ in range(15):
            await engine.workspace.submit(session, "go on " * 100)
            await engine.rest(session)
    turns = list(dict.fromkeys(event.turn_id for event in engine.all(BudgetCheck)))
    told = engine.all(PromptCompaction)
    compacted = [turns.index(event.turn_id) for event in told if event.phase == "completed"]
    assert len(compacted) >= 2
    assert all(later - earlier > 1 for earlier, later in pairwise(compacted)), compacted
    assert engine.reasons() == [DoneReason.MODEL_STOP] * 16
