"""Random stories: a model that says anything, a person who answers anything, and somebody who stops
it at any moment; with what must hold after every single commit."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.loop.kit import (
    APPROVE,
    MODEL,
    NO_BECAUSE,
    PLAIN_NO,
    Engine,
    Reply,
    answer,
    call,
    calls,
    end,
    fail,
    nothing,
    question,
    refusals,
    say,
)
from tui_agent.context.projection import project
from tui_agent.loop.turn import StopKind
from tui_agent.loop.validator import violations
from tui_agent.providers.base import ModelRequest, RequestMessage, TextPiece
from tui_agent.store import batches, messages
from tui_agent.vocabulary.agents import Limits
from tui_agent.vocabulary.blocks import TextBlock, ThinkingBlock, ToolResultBlock, tool_uses
from tui_agent.vocabulary.decisions import Decision, PendingItem, PendingKind
from tui_agent.vocabulary.errors import ErrorClass
from tui_agent.vocabulary.events import (
    ActAuthDecision,
    ApprovalResolved,
    DoneEvent,
    Event,
    ToolStarted,
)
from tui_agent.vocabulary.messages import Message, StopReason
from tui_agent.vocabulary.states import CallState, DoneReason

PAUSES = (DoneReason.PENDING_APPROVAL, DoneReason.PENDING_QUESTION)


@dataclass(frozen=True, slots=True)
class Story:
    """What is said and what is answered; at which events somebody stops the turn, and how; and in
    the middle of which commit."""

    replies: tuple[Reply, ...]
    decisions: tuple[tuple[int, Decision], ...]
    stops: tuple[tuple[int, StopKind], ...]
    cut: tuple[int, StopKind] | None
    attended: bool
    steering: bool
    limits: Limits


# --- what may happen -----------------------------------------------------------------------------


def _call(kind: str, number: int) -> Any:
    call_id = f"c{number}"
    match kind:
        case "append":
            return call(call_id, "Append", line=f"l{number % 2}", steps=number)
        case "glob":
            return call(call_id, "Glob", pattern="*")
        case "missing":
            return call(call_id, "Read", file_path="no such file")
        case "unknown":
            return call(call_id, "Nothing", x=1)
        case "bad":
            return call(call_id, "Append", steps="many")
        case "cut":
            return call(call_id, "Append", problem="The call was cut off by the output limit.")
        case _:
            return question(call_id)


KINDS = st.sampled_from(["append", "append", "append", "glob", "missing", "unknown", "bad", "cut"])
CALLS = st.lists(
    st.tuples(KINDS | st.just("question"), st.integers(0, 5)),
    min_size=1,
    max_size=4,
    unique_by=lambda pair: pair[1],
).map(lambda pairs: [_call(*pair) for pair in pairs])

REPLIES: st.SearchStrategy[Reply] = st.one_of(
    st.builds(
        lambda made, text, thought: calls(*made, text=text, thought=thought),
        CALLS,
        st.sampled_from(["", "I look.", " \n"]),
        st.sampled_from(["", "hm"]),
    ),
    st.builds(
        lambda made, text, thought: calls(*made, text=text, thought=thought),
        CALLS,
        st.sampled_from(["", "Now this."]),
        st.sampled_from(["", "so"]),
    ),
    st.builds(say, st.sampled_from(["done", "fine"]), st.sampled_from(
        [StopReason.END_TURN, StopReason.MAX_TOKENS, StopReason.REFUSAL, StopReason.OTHER,
         StopReason.CONTEXT_WINDOW]
    )),
    st.builds(nothing),
    st.just([end(TextBlock("  \n"))]),
    st.just([end(ThinkingBlock("only thought", "c2lnbmVk"))]),
    st.builds(fail, st.sampled_from([ErrorClass.AUTH, ErrorClass.SERVER, ErrorClass.TOO_LONG])),
    st.builds(
        lambda kind: [TextPiece("half a sentence"), *fail(kind)],
        st.sampled_from([ErrorClass.AUTH, ErrorClass.SERVER]),
    ),
)  # fmt: skip

STORIES = st.builds(
    Story,
    replies=st.lists(REPLIES, min_size=1, max_size=5).map(tuple),
    decisions=st.lists(
        st.tuples(
            st.integers(0, 3), st.sampled_from([APPROVE, APPROVE, APPROVE, PLAIN_NO, NO_BECAUSE])
        ),
        max_size=8,
    ).map(tuple),
    stops=st.lists(st.tuples(st.integers(0, 60), st.sampled_from(list(StopKind))), max_size=2).map(
        tuple
    ),
    cut=st.none() | st.tuples(st.integers(1, 40), st.sampled_from(list(StopKind))),
    attended=st.booleans(),
    steering=st.booleans(),
    limits=st.builds(
        Limits,
        max_turns=st.sampled_from([2, 25]),
        max_session_tokens=st.sampled_from([None, None, 60]),
        repeat_limit=st.sampled_from([None, 2]),
    ),
)


# --- what must hold ------------------------------------------------------------------------------


@dataclass
class Rows:
    """The database as another program sees it: read after every commit."""

    path: Path
    session_id: str
    wrong: list[str] = field(default_factory=list)
    looks: int = 0

    def __post_init__(self) -> None:
        self._connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        self._connection.row_factory = sqlite3.Row
        self._is_closed = False

    def close(self) -> None:
        """Look no more."""
        self._is_closed = True
        self._connection.close()

    def look(self) -> None:
        """Judge what is stored now."""
        if self._is_closed:
            return
        self.looks += 1
        boundary, history = messages.history(self._connection, self.session_id)
        is_open = batches.open_batch(self._connection, self.session_id) is not None
        if is_open is not _has_unanswered(history):
            self.wrong.append(f"an open batch is known as {'open' if is_open else 'closed'}")
        boundary_seq = history[0].seq if boundary is not None and history else 0
        sendable = history[:-1] if is_open else history
        self.wrong += unsendable(sendable, boundary_seq)

    def open_states(self) -> list[CallState] | None:
        """Where the calls of the open batch stand."""
        batch = batches.open_batch(self._connection, self.session_id)
        return None if batch is None else [run.state for run in batch[1]]


def _has_unanswered(history: tuple[Message, ...]) -> bool:
    awaited: tuple[str, ...] = ()
    for message in history:
        if made := tuple(use.id for use in tool_uses(message.blocks)):
            awaited = made
        elif any(isinstance(block, ToolResultBlock) for block in message.blocks):
            awaited = ()
    return bool(awaited)


def unsendable(history: tuple[Message, ...], boundary_seq: int = 0) -> list[str]:
    """What keeps a history from being sent with one more prompt, on either wire."""
    projection = project(history, boundary_seq=boundary_seq)
    sent = projection.messages
    if not sent or sent[-1].role == "assistant":
        sent = (*sent, RequestMessage("user", (TextBlock("go on"),)))
    request = ModelRequest(MODEL, ("Be an agent.",), sent, ())
    return [*projection.repairs, *violations(request), *refusals(request)]


def watch_commits(engine: Engine, before: Callable[[], None], after: Callable[[], None]) -> None:
    """Have these called around every transaction of the store."""
    database = engine.workspace.store._db
    write = database.write

    async def watched(unit: Any) -> Any:
        before()
        try:
            return await write(unit)
        finally:
            after()

    database.write = watched  # type: ignore[method-assign]


# --- telling a story -----------------------------------------------------------------------------


async def tell(story: Story) -> Engine:
    """Play it, judging all the way; returns the engine, closed."""
    with tempfile.TemporaryDirectory() as root:
        opened = Engine.opened(Path(root), story.replies, attended=story.attended)
        async with opened as engine:
            session_id = await engine.session(limits=story.limits)
            with closing(Rows(engine.workspace.store.path, session_id)) as rows:
                await _play(engine, session_id, story, rows)
            assert not rows.wrong, "\n".join(rows.wrong)
            assert rows.looks
        judge_effects(engine)
        return engine


async def _play(engine: Engine, session_id: str, story: Story, rows: Rows) -> None:
    stops = list(story.stops)
    ends: list[str] = []

    def cut() -> None:
        """Stop the turn while this commit is under way."""
        turn = engine.turn(session_id)
        if story.cut is not None and rows.looks + 1 == story.cut[0] and turn is not None:
            asyncio.get_running_loop().call_soon(turn.request_stop, story.cut[1])

    watch_commits(engine, cut, rows.look)

    def watch(event: Event) -> None:
        if isinstance(event, DoneEvent):
            ends.extend(_false_end(event, rows.open_states()))
        turn = engine.turn(session_id)
        if stops and turn is not None and len(engine.events) >= stops[0][0]:
            turn.request_stop(stops.pop(0)[1])

    engine.watchers.append(watch)
    await engine.workspace.submit(session_id, "please")
    if story.steering:
        await engine.workspace.submit(session_id, "and hurry")
    await answer_everything(engine, session_id, story.decisions)
    stops.clear()
    await answer_everything(engine, session_id, ())
    if rows.open_states() is not None:
        await engine.workspace.discard_open(session_id)
    assert rows.open_states() is None
    assert not ends, "\n".join(ends)


def _false_end(event: DoneEvent, open_states: list[CallState] | None) -> list[str]:
    """A pause leaves its batch open (its asks may be decided by now), and nothing else does."""
    is_right = (open_states is not None) is (event.reason in PAUSES)
    return [] if is_right else [f"ended {event.reason} with {open_states}"]


async def answer_everything(
    engine: Engine, session_id: str, decisions: tuple[tuple[int, Decision], ...]
) -> None:
    """Answer what is asked, in any order, until nothing runs or every answer is given."""
    left = list(decisions)
    while True:
        items = await engine.workspace.pending()
        if items and left:
            which, decision = left.pop(0)
            item = items[which % len(items)]
            await engine.decide(item, _fitting(item, decision))
        elif not await _is_busy(engine, session_id):
            return
        elif items and not left:
            await engine.workspace.interrupt(session_id)
        else:
            await asyncio.sleep(0.001)


async def _is_busy(engine: Engine, session_id: str) -> bool:
    runner = engine.workspace.runner(session_id)
    return runner is not None and runner.is_busy


def _fitting(item: PendingItem, decision: Decision) -> Decision:
    is_yes = decision == APPROVE
    return answer() if item.kind is PendingKind.QUESTION and is_yes else decision


def judge_effects(engine: Engine) -> None:
    """Nothing ran twice, nothing ran unasked."""
    ran = [mark.split()[0] for mark in engine.marks_kept]
    approved = [e.tool_use_id for e in engine.all(ApprovalResolved) if e.choice == "approve"]
    assert len(ran) == len(set(ran)), f"ran twice: {ran}"
    assert set(ran) <= set(approved), f"ran unasked: {set(ran) - set(approved)}"
    judged = {e.tool_use_id for e in engine.all(ActAuthDecision)}
    assert {e.tool_use_id for e in engine.all(ToolStarted)} <= judged
