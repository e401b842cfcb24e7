"""Reads that begin while the reply still streams: which may, what is told of them, and that nothing
is left of one whose reply was not kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.loop.kit import (
    APPROVE,
    PLAIN_NO,
    Engine,
    Hold,
    Reply,
    Said,
    call,
    end,
    fail,
    say,
)
from tests.loop.told import words
from tui_agent.providers.base import TextPiece, ToolInputPiece
from tui_agent.tools.base import ToolContext
from tui_agent.tools.read import Read
from tui_agent.vocabulary.blocks import Outcome, TextBlock, ToolResult, ToolUseBlock, text_of
from tui_agent.vocabulary.errors import ErrorClass
from tui_agent.vocabulary.events import ToolResultEvent, ToolStarted
from tui_agent.vocabulary.messages import Origin, StopReason
from tui_agent.vocabulary.rules import Rules
from tui_agent.vocabulary.states import CallState, DoneReason

BEGIN = ["session prompt", "stored user"]
ASKED_MODEL = ["budget:check", "thinking → streaming", "provider:started round"]
CALLED = ["provider:complete tool_use", "stored assistant", "streaming → executing"]
NEXT = ["stored tool_results", "executing → thinking"]
FINAL = [
    *ASKED_MODEL,
    "provider:complete end_turn",
    "stored assistant",
    "streaming → done",
    "loop:done",
    "done model_stop",
]
CUT_OFF = "The response reached its output limit."


def begun(call_id: str) -> list[str]:
    return [f"actauth allow {call_id}", f"tool:started {call_id}"]


def typed(use: ToolUseBlock, pieces: int = 3) -> list[Said]:
    """The call as it streams: its arguments in so many pieces."""
    text = json.dumps(dict(use.input))
    size = -(-len(text) // pieces)
    cut = [text[at : at + size] for at in range(0, len(text), size)]
    return [ToolInputPiece(use.id, use.name, piece) for piece in ("", *cut)]


def calling(*made: ToolUseBlock, hold: str = "middle") -> Reply:
    """A reply whose calls have streamed in whole before it holds and ends."""
    pieces = [piece for use in made for piece in typed(use)]
    return [*pieces, Hold(hold), end(*made, stop=StopReason.TOOL_USE)]


def read(call_id: str, name: str = "notes", **more: Any) -> ToolUseBlock:
    return call(call_id, "Read", file_path=name, **more)


@asynccontextmanager
async def opened(root: Path, *replies: Reply, **options: Any) -> AsyncIterator[Engine]:
    async with Engine.opened(root, [*replies, say("done")], **options) as engine:
        for name in ("notes", "more", "secret"):
            Path(engine.workspace.folder, name).write_text(f"{name} say milk\n")
        yield engine


async def started_early(engine: Engine) -> list[str]:
    """What has begun by the time the reply holds; then it goes on to the end."""
    await engine.reached("middle")
    begun = [event.tool_use_id for event in engine.all(ToolStarted)]
    engine.release("middle")
    return begun


async def test_a_read_runs_while_its_reply_streams_and_its_result_waits(tmp_path: Path) -> None:
    async with opened(tmp_path, calling(read("a"))) as engine:
        session = await engine.begin()
        await engine.reached("middle")
        assert words(engine.events) == [*BEGIN, *ASKED_MODEL, *begun("a")]
        # no row knows of it yet: a process that dies here reads again, and nothing else
        assert await engine.workspace.store.tool_runs(session) == ()
        engine.release("middle")
        await engine.rest(session)
        (run,) = await engine.workspace.store.tool_runs(session)
    assert (run.state, run.outcome) == (CallState.DONE, Outcome.OK)
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        *begun("a"),
        *CALLED,
        "tool:result a ok",
        *NEXT,
        *FINAL,
    ]
    (told,) = engine.all(ToolResultEvent)
    assert "notes say milk" in told.content
    assert told.duration is not None


async def test_several_reads_begin_and_are_answered_in_call_order(tmp_path: Path) -> None:
    made = [read("a"), call("b", "Grep", pattern="milk"), call("c", "Glob", pattern="*")]
    async with opened(tmp_path, calling(*made)) as engine:
        session = await engine.begin()
        assert await started_early(engine) == ["a", "b", "c"]
        await engine.rest(session)
        history = await engine.workspace.store.messages(session)
    (results,) = [message for message in history if message.origin is Origin.TOOL_RESULTS]
    assert [block.tool_use_id for block in results.blocks] == ["a", "b", "c"]  # type: ignore[union-attr]
    assert engine.reasons() == [DoneReason.MODEL_STOP]


@pytest.mark.parametrize(
    "first",
    [
        call("w", "Append", line="x"),
        call("w", "Bash", command="true"),
        call("w", "Nothing", x=1),
        call("w", "Read", file_path="/etc/hostname"),
        call("w", "Read", file_path="secret"),
        call("w", "Read", file_path="more"),
        call("w", "Read", file=1),
    ],
    ids=["side effect", "command", "unknown", "outside", "denied", "asked", "invalid"],
)
async def test_nothing_behind_a_call_that_may_not_begin_begins_either(
    tmp_path: Path, first: ToolUseBlock
) -> None:
    rules = Rules(deny=("Read(secret)",), ask=("Read(more)",))
    reply = calling(first, read("a"))
    async with opened(tmp_path, reply, attended=False, denies=True) as engine:
        session = await engine.begin(rules=rules)
        assert await started_early(engine) == []
        await engine.rest(session)
    outcomes = {event.tool_use_id: event.outcome for event in engine.all(ToolResultEvent)}
    assert outcomes["a"] is Outcome.OK
    assert outcomes["w"] in (Outcome.DENIED, Outcome.ERROR)


async def test_an_earlier_call_that_is_not_whole_holds_the_next_one_back(tmp_path: Path) -> None:
    first, second = read("a"), read("b", "more")
    pieces = [typed(first)[1], *typed(second), *typed(first)[2:]]
    reply: Reply = [*pieces, Hold("middle"), end(first, second, stop=StopReason.TOOL_USE)]
    async with opened(tmp_path, reply) as engine:
        session = await engine.begin()
        assert await started_early(engine) == []
        await engine.rest(session)
    assert [event.outcome for event in engine.all(ToolResultEvent)] == [Outcome.OK] * 2


async def test_what_a_withdrawn_attempt_had_begun_is_discarded(tmp_path: Path) -> None:
    broken: Reply = [*typed(read("a")), Hold("middle"), *fail(ErrorClass.SERVER)]
    async with opened(tmp_path, broken) as engine:
        session = await engine.begin()
        assert await started_early(engine) == ["a"]
        await engine.rest(session)
        assert await engine.workspace.store.tool_runs(session) == ()
        history = await engine.workspace.store.messages(session)
    assert [message.origin for message in history] == [Origin.USER, Origin.ASSISTANT]
    assert words(engine.events) == [
        *BEGIN,
        *ASKED_MODEL,
        *begun("a"),
        "tool:result a discarded",
        "provider:retry",
        "provider:started round",
        *FINAL[3:],
    ]


async def test_a_call_that_comes_again_under_a_spent_id_is_another_call(tmp_path: Path) -> None:
    broken: Reply = [*typed(read("a")), *fail(ErrorClass.SERVER)]
    async with opened(tmp_path, broken, calling(read("a"))) as engine:
        session = await engine.begin()
        await started_early(engine)
        await engine.rest(session)
        (run,) = await engine.workspace.store.tool_runs(session)
    assert run.tool_use_id != "a"
    told = [(event.tool_use_id, event.outcome) for event in engine.all(ToolResultEvent)]
    assert told == [("a", Outcome.DISCARDED), (run.tool_use_id, Outcome.OK)]


@pytest.mark.parametrize("kind", [ErrorClass.AUTH, ErrorClass.TOO_LONG])
async def test_a_reply_that_fails_for_good_keeps_its_text_and_no_call(
    tmp_path: Path, kind: ErrorClass
) -> None:
    broken: Reply = [TextPiece("I look."), *typed(read("a")), Hold("middle"), *fail(kind)]
    async with opened(tmp_path, broken) as engine:
        session = await engine.begin()
        await started_early(engine)
        await engine.rest(session)
        assert await engine.workspace.store.tool_runs(session) == ()
    assert [event.outcome for event in engine.all(ToolResultEvent)] == [Outcome.DISCARDED]


async def test_interrupted_in_the_stream_it_is_discarded(tmp_path: Path) -> None:
    reply: Reply = [TextPiece("I look."), *calling(read("a"))]
    async with opened(tmp_path, reply) as engine:
        session = await engine.begin()
        await engine.reached("middle")
        await engine.workspace.interrupt(session)
        assert await engine.workspace.store.tool_runs(session) == ()
        history = await engine.workspace.store.messages(session)
    assert words(engine.events)[-6:] == [
        "provider:complete aborted",
        "tool:result a discarded",
        "stored assistant cut",
        "streaming → done",
        "loop:aborted",
        "done user_abort",
    ]
    assert text_of(history[-1].blocks) == "I look."


async def test_a_call_that_was_cut_after_all_does_not_run_under_its_id(tmp_path: Path) -> None:
    """Nobody can tell which of the calls of a cut reply were whole, so none of them runs."""
    cut = call("a", "Read", problem=CUT_OFF)
    reply: Reply = [*typed(read("a")), Hold("middle"), end(cut, stop=StopReason.MAX_TOKENS)]
    async with opened(tmp_path, reply) as engine:
        session = await engine.begin()
        await started_early(engine)
        await engine.rest(session)
        (run,) = await engine.workspace.store.tool_runs(session)
    told = [(event.tool_use_id, event.outcome) for event in engine.all(ToolResultEvent)]
    assert told == [("a", Outcome.DISCARDED), (run.tool_use_id, Outcome.ERROR)]
    assert CUT_OFF in text_of(run.content)


async def test_a_refused_reply_takes_its_reads_with_it(tmp_path: Path) -> None:
    reply: Reply = [*typed(read("a")), Hold("middle"), end(read("a"), stop=StopReason.REFUSAL)]
    async with opened(tmp_path, reply) as engine:
        session = await engine.begin()
        await started_early(engine)
        await engine.rest(session)
        assert await engine.workspace.store.tool_runs(session) == ()
    assert [event.outcome for event in engine.all(ToolResultEvent)] == [Outcome.DISCARDED]
    assert engine.reasons() == [DoneReason.ERROR]


async def test_what_was_read_for_nothing_is_not_known_to_the_model(tmp_path: Path) -> None:
    edit = call("e", "Edit", file_path="notes", old_string="milk", new_string="tea")
    broken: Reply = [*typed(read("a")), Hold("middle"), *fail(ErrorClass.SERVER)]
    async with opened(tmp_path, broken, [*typed(edit), end(edit)]) as engine:
        session = await engine.begin()
        await started_early(engine)
        if engine.turn(session) is not None:
            await engine.until(lambda e: e.type in ("approval:pending", "done"))
        for item in await engine.workspace.pending():
            await engine.decide(item, APPROVE)
        await engine.rest(session)
        assert "milk" in Path(engine.workspace.folder, "notes").read_text()
    assert engine.all(ToolResultEvent)[-1].outcome is Outcome.ERROR


async def test_what_was_read_early_may_be_edited(tmp_path: Path) -> None:
    edit = call("e", "Edit", file_path="notes", old_string="milk", new_string="tea")
    async with opened(tmp_path, calling(read("a")), [end(edit)]) as engine:
        session = await engine.begin()
        await started_early(engine)
        await engine.decide(await engine.asked(), APPROVE)
        await engine.rest(session)
        assert "tea" in Path(engine.workspace.folder, "notes").read_text()


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """A Read that ends when this is set, or when it is stopped."""
    goes_on = asyncio.Event()

    async def run(self: Read, args: Any, context: ToolContext) -> ToolResult:
        await goes_on.wait()
        return ToolResult((TextBlock("read"),))

    monkeypatch.setattr(Read, "run", run)
    return goes_on


@pytest.mark.usefixtures("reading")
async def test_interrupted_after_its_reply_it_is_answered_as_interrupted(tmp_path: Path) -> None:
    async with opened(tmp_path, calling(read("a"))) as engine:
        session = await engine.begin()
        await started_early(engine)
        await engine.until(lambda e: "streaming → executing" in words([e]))
        await engine.workspace.interrupt(session)
        assert await engine.workspace.store.open_batch(session) is None
    assert [event.outcome for event in engine.all(ToolResultEvent)] == [Outcome.INTERRUPTED]
    assert engine.reasons() == [DoneReason.USER_ABORT]


async def test_a_no_beside_it_lets_it_finish(tmp_path: Path, reading: asyncio.Event) -> None:
    reply = calling(read("a"), call("w", "Append", line="x"))
    async with opened(tmp_path, reply) as engine:
        session = await engine.begin()
        assert await started_early(engine) == ["a"]
        await engine.decide(await engine.asked(), PLAIN_NO)
        reading.set()
        await engine.rest(session)
    outcomes = {event.tool_use_id: event.outcome for event in engine.all(ToolResultEvent)}
    assert outcomes == {"a": Outcome.OK, "w": Outcome.DENIED}
    assert engine.reasons() == [DoneReason.DENIED]
