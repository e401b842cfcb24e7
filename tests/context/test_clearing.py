"""Clearing: when older results become markers, which ones, and that requests keep their prefix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.context.history import model, numbered, result, results, use, user
from tui_agent.context.budget import block_tokens
from tui_agent.context.clearing import (
    KEPT_LARGE,
    LARGE_TOKENS,
    MARKER,
    MOST_LARGE,
    TRIM_KEEPS,
    choose_clearing,
    choose_trimming,
    edited_spans,
    with_markers,
)
from tui_agent.context.projection import project
from tui_agent.providers import anthropic_request, chat_request
from tui_agent.providers.base import ModelRequest
from tui_agent.providers.presets import PRESETS
from tui_agent.store import Store
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.blocks import TextBlock, ThinkingBlock, ToolResultBlock
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import Clearing, SessionRecord

LARGE = "a line of a file\n" * 300
SMALL = "a few words"


def reads(count: int, text: str = LARGE, start: int = 0) -> list[Message]:
    """So many rounds of one read each."""
    made: list[Message] = []
    for place in range(start, start + count):
        thought = ThinkingBlock(f"thought {place}", f"signed {place}")
        made += [model(thought, use(f"c{place}")), results(result(f"c{place}", text))]
    return made


def history(*messages: Message) -> tuple[Message, ...]:
    return numbered(user("please"), *messages)


def marked(messages: tuple[Message, ...]) -> list[str]:
    return [
        block.tool_use_id
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolResultBlock) and block.content == (TextBlock(MARKER),)
    ]


def ids(first: int, end: int) -> tuple[str, ...]:
    return tuple(f"c{place}" for place in range(first, end))


def test_so_many_large_results_may_stand() -> None:
    assert choose_clearing(history(*reads(MOST_LARGE))) is None
    clearing = choose_clearing(history(*reads(MOST_LARGE + 1)))
    assert clearing is not None
    assert clearing.tool_use_ids == ids(0, MOST_LARGE + 1 - KEPT_LARGE)


def test_small_results_neither_count_nor_go() -> None:
    told = history(*reads(4, SMALL), *reads(MOST_LARGE, start=4))
    assert choose_clearing(told) is None
    told = history(*reads(4, SMALL), *reads(MOST_LARGE + 1, start=4), *reads(4, SMALL, start=90))
    clearing = choose_clearing(told)
    assert clearing is not None
    assert clearing.tool_use_ids == ids(4, 4 + MOST_LARGE + 1 - KEPT_LARGE)


def test_the_bound_is_in_tokens() -> None:
    at = "x" * round(3.6 * LARGE_TOKENS)
    assert block_tokens((result("c", at),)) == LARGE_TOKENS
    assert choose_clearing(history(*reads(40, at))) is None
    assert choose_clearing(history(*reads(40, at + "xxxx"))) is not None


def test_it_holds_until_there_are_so_many_again() -> None:
    told = history(*reads(MOST_LARGE + 1))
    clearing = choose_clearing(told)
    assert clearing is not None
    shown = with_markers(history(*reads(MOST_LARGE + 1), *reads(10, start=16)), [clearing])
    assert marked(shown) == list(clearing.tool_use_ids)
    assert choose_clearing(shown) is None  # 5 that were kept and 10 new ones
    shown = with_markers(history(*reads(MOST_LARGE + 1), *reads(11, start=16)), [clearing])
    second = choose_clearing(shown)
    assert second is not None
    assert second.tool_use_ids == ids(11, 22)


def test_a_batch_may_be_cleared_in_part_and_keeps_every_id() -> None:
    made = [f"c{n}" for n in range(MOST_LARGE + 3)]
    batch = [model(*map(use, made)), results(*(result(call_id, LARGE) for call_id in made))]
    told = history(*batch)
    clearing = choose_clearing(told)
    assert clearing is not None
    shown = with_markers(told, [clearing])
    answers = [b.tool_use_id for b in shown[-1].blocks if isinstance(b, ToolResultBlock)]
    assert answers == made
    assert marked(shown) == made[:-KEPT_LARGE]


def test_thinking_is_void_only_where_the_conversation_before_it_changed() -> None:
    told = history(*reads(MOST_LARGE + 1))
    clearing = choose_clearing(told)
    assert clearing is not None
    later = history(*reads(MOST_LARGE + 1), *reads(1, start=16))
    sent = project(with_markers(later, [clearing]), edited=edited_spans([clearing])).messages
    changed = [message.prefix_changed for message in sent if message.role == "assistant"]
    # the first call came before the first cleared result, the last one after the clearing
    assert changed == [False, *[True] * MOST_LARGE, False]


def test_trimming_keeps_the_newest_results_that_fit() -> None:
    window = 20_000
    told = history(*reads(6))
    size = block_tokens((result("c", LARGE),))
    kept = int(TRIM_KEEPS * window / size)
    trimmed = choose_trimming(told, window)
    assert trimmed is not None
    assert trimmed.tool_use_ids == ids(0, 6 - kept)
    # nothing is left to trim: whoever tries again does not go in circles
    assert choose_trimming(with_markers(told, [trimmed]), window) is None
    assert choose_trimming(history(*reads(6, SMALL)), 100) is None


def body(messages: tuple[Message, ...], clearings: list[Clearing], wire: str) -> bytes:
    """The messages of a request as they cross the wire, without the marks for the cache."""
    projected = project(with_markers(messages, clearings), edited=edited_spans(clearings)).messages
    request = ModelRequest("m", ("Be an agent.",), projected, ())
    if wire == "chat":
        made: Any = chat_request.build_body(request, PRESETS["openai"])["messages"]
    else:
        made = anthropic_request.build_body(request, "anthropic")["messages"]
        for message in made:
            for block in message["content"]:
                block.pop("cache_control", None)
    return json.dumps(made).encode()[:-1]


@pytest.mark.parametrize("wire", ["anthropic", "chat"])
def test_between_two_clearings_a_request_begins_with_the_bytes_of_the_one_before(
    wire: str,
) -> None:
    clearings: list[Clearing] = []
    before = b""
    breaks = []
    for rounds in range(1, 40):
        told = history(*reads(rounds))
        clearing = choose_clearing(with_markers(told, clearings))
        if clearing is not None:
            clearings.append(clearing)
            breaks.append(rounds)
        now = body(told, clearings, wire)
        assert body(told, clearings, wire) == now
        assert now.startswith(before) or clearing is not None, rounds
        before = now
    assert breaks == [16, 27, 38]


async def test_a_clearing_is_kept_and_goes_with_a_fork(tmp_path: Path) -> None:
    path = tmp_path / "data" / "sessions.db"
    record = SessionRecord("ses_a", "/w", ModelChoice("p", "m"), "ses_a", 0.0, 0.0)
    store = await Store.open(path)
    await store.create_session(record)
    await store.append_message("ses_a", user("please"))
    first, later = Clearing(("c1", "c2"), 1, 1), Clearing(("c3",), 1, 7)
    await store.clear_results("ses_a", first)
    await store.clear_results("ses_a", later)
    await store.close()
    store = await Store.open(path)
    assert await store.clearings("ses_a") == (first, later)
    fork = SessionRecord("ses_f", "/w", ModelChoice("p", "m"), "ses_f", 0.0, 0.0)
    await store.fork("ses_a", fork)
    assert await store.clearings("ses_f") == (first,)
    await store.delete_session("ses_a")
    assert await store.clearings("ses_a") == ()
    await store.close()
