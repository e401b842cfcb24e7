"""The history is append-only, numbered without gaps, and always answerable."""

import sqlite3
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.kit import asked, ended, reply, results, said, session, turn, with_batch
from tui_agent.store import Store, TurnEnd
from tui_agent.store.rows import dump, insert
from tui_agent.vocabulary.blocks import (
    ImageBlock,
    Outcome,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from tui_agent.vocabulary.errors import ConflictError, NotFoundError, StoreError
from tui_agent.vocabulary.events import QueuedMessage
from tui_agent.vocabulary.messages import Message, Origin, StopReason
from tui_agent.vocabulary.records import Partial
from tui_agent.vocabulary.states import DoneReason
from tui_agent.vocabulary.usage import Usage

NUMBERS = {"trigger": "auto", "tokens_before": 90, "tokens_after": 20}


async def test_messages_come_back_as_they_were(store: Store) -> None:
    await store.create_session(session())
    await store.begin_turn(turn())
    message = Message(
        id="m1",
        role="assistant",
        blocks=(
            ThinkingBlock("hm", signature="sig", provider_data={"a": [1, None]}),
            ThinkingBlock("", redacted="xyz"),
            TextBlock("text \0 \x1b[0m"),
            ToolUseBlock("c1", "Edit", {"n": 1.5, "deep": {"list": ["ü"]}}, provider_data={"s": 1}),
            ToolUseBlock("c2", "Edit", {}, problem="cut by the output limit"),
        ),
        origin=Origin.ASSISTANT,
        created=3.25,
        turn_id="turn_1",
        provider="anthropic",
        model="some-model",
        usage=Usage(1, 2, 3, None, 0),
        stop_reason=StopReason.TOOL_USE,
    )
    stored = await store.append_reply(
        "ses_a", message, turn_id="turn_1", usage=Usage(1, 2), rounds=1
    )
    assert stored == replace(message, seq=1)
    assert await store.messages("ses_a") == (stored,)
    runs = await store.tool_runs("ses_a")
    assert [r.problem for r in runs] == [None, "cut by the output limit"]
    answer = Message(
        "m2",
        "user",
        (
            ToolResultBlock("c1", (TextBlock("x"), ImageBlock("image/png", "AAAA"))),
            ToolResultBlock("c2", (), True, Outcome.ERROR),
        ),
        Origin.TOOL_RESULTS,
        4.0,
    )
    closed = await store.close_batch("ses_a", answer, settled=[ended(run) for run in runs])
    assert await store.messages("ses_a") == (stored, replace(answer, seq=2)) == (stored, closed)


async def test_a_part_of_the_history_is_read_from_either_end(store: Store) -> None:
    await store.create_session(session())
    for n in range(1, 11):
        stored = await store.append_message("ses_a", said(f"m{n}", f"text {n}"))
        assert stored.seq == n

    async def numbers(**which: int) -> list[int]:
        return [m.seq for m in await store.messages("ses_a", **which)]

    assert await numbers() == list(range(1, 11))
    assert await numbers(last=3) == [8, 9, 10]
    assert await numbers(before=5, limit=2) == [3, 4]
    assert await numbers(before=2, limit=5) == [1]
    assert await numbers(before=1, limit=5) == []
    assert await numbers(from_seq=9) == [9, 10]
    assert await numbers(from_seq=2, limit=2) == [2, 3]
    assert await numbers(last=0) == []


async def test_a_stored_message_cannot_be_edited(store: Store) -> None:
    await store.create_session(session())
    await store.append_message("ses_a", said("m1", "hello"))
    with pytest.raises(StoreError, match="append-only"):
        await store._db.write(lambda c: c.execute("UPDATE messages SET text = 'x'").rowcount)


async def test_message_ids_are_unique_within_a_session(store: Store) -> None:
    await store.create_session(session())
    await store.append_message("ses_a", said("m1", "hello"))
    with pytest.raises(StoreError):
        await store.append_message("ses_a", said("m1", "again"))
    assert len(await store.messages("ses_a")) == 1


async def test_a_queued_message_is_taken_and_appended_together(store: Store) -> None:
    await store.create_session(session())
    await store.enqueue("ses_a", QueuedMessage("q1", "do this"))
    await store.append_message("ses_a", said("m1", "do this"), dequeue="q1")
    assert await store.queue("ses_a") == ()
    with pytest.raises(ConflictError, match="q1"):
        await store.append_message("ses_a", said("m2", "do this"), dequeue="q1")
    assert [m.id for m in await store.messages("ses_a")] == ["m1"]


async def test_a_message_that_is_refused_stays_in_the_queue(store: Store) -> None:
    await with_batch(store, "c1")
    await store.enqueue("ses_a", QueuedMessage("q1", "do this"))
    with pytest.raises(ConflictError, match="open"):
        await store.append_message("ses_a", said("m9", "do this"), dequeue="q1")
    assert [q.id for q in await store.queue("ses_a")] == ["q1"]


async def test_a_reply_brings_its_calls_and_totals_and_drops_the_partial(store: Store) -> None:
    await store.create_session(session())
    await store.begin_turn(turn())
    await store.save_partials([Partial("ses_a", "turn_1", "call_1", "let me", "hm", 2.0)])
    await store.append_reply(
        "ses_a", reply("m1", "c1", "c2"), turn_id="turn_1", usage=Usage(7, 3), rounds=1
    )
    assert await store.partial("ses_a") is None
    assert [(r.tool_use_id, r.position) for r in await store.tool_runs("ses_a")] == [
        ("c1", 0),
        ("c2", 1),
    ]
    last = await store.last_turn("ses_a")
    assert last is not None
    assert (last.usage, last.rounds, last.reason) == (Usage(7, 3), 1, None)


async def test_nothing_of_a_reply_is_stored_when_a_call_id_was_used_before(store: Store) -> None:
    runs = await with_batch(store, "c1")
    await store.close_batch("ses_a", results("m2", "c1"), settled=[ended(runs[0])])
    with pytest.raises(ConflictError, match="c1"):
        await store.append_reply(
            "ses_a", reply("m3", "c2", "c1"), turn_id="turn_ses_a", usage=Usage(99), rounds=2
        )
    assert len(await store.messages("ses_a")) == 3
    assert len(await store.tool_runs("ses_a")) == 1
    assert await store.tree_usage("ses_a") == Usage(10, 5)


async def test_nothing_comes_between_a_batch_and_its_results(store: Store) -> None:
    runs = await with_batch(store, "c1")
    with pytest.raises(ConflictError):
        await store.append_message("ses_a", said("m8", "hello"))
    with pytest.raises(ConflictError):
        await store.append_reply(
            "ses_a", reply("m8"), turn_id="turn_ses_a", usage=Usage(), rounds=2
        )
    with pytest.raises(ConflictError):
        await store.end_cut_stream("ses_a", said("m8", "half", Origin.ASSISTANT))
    with pytest.raises(StoreError):
        await store.append_message("ses_a", results("m8", "c1"))
    await store.close_batch("ses_a", results("m8", "c1"), settled=[ended(runs[0])])
    await store.append_message("ses_a", said("m9", "hello"))


async def test_half_streamed_text_is_kept_and_marked(store: Store) -> None:
    await store.create_session(session())
    await store.begin_turn(turn())
    await store.save_partials([Partial("ses_a", "turn_1", "call_1", "half a", "", 2.0)])
    with pytest.raises(StoreError, match="without its calls"):
        await store.end_cut_stream("ses_a", reply("m1", "c1"))
    assert await store.partial("ses_a") is not None
    stored = await store.end_cut_stream(
        "ses_a",
        said("m1", "half a", Origin.ASSISTANT),
        ends=TurnEnd("turn_1", DoneReason.USER_ABORT, 5.0, Usage(4), 1),
    )
    assert stored is not None
    assert stored.cut
    assert await store.messages("ses_a") == (stored,)
    assert await store.partial("ses_a") is None
    last = await store.last_turn("ses_a")
    assert last is not None
    assert (last.reason, last.ended, last.usage) == (DoneReason.USER_ABORT, 5.0, Usage(4))


async def test_partials_of_all_sessions_are_saved_together_and_replaced(store: Store) -> None:
    for name in ("ses_a", "ses_b"):
        await store.create_session(session(name))
    first = [Partial(name, "t", "call", "a", "b", 1.0) for name in ("ses_a", "ses_b")]
    await store.save_partials(first)
    await store.save_partials([replace(first[0], text="more")])
    assert await store.partial("ses_a") == replace(first[0], text="more")
    assert await store.partial("ses_b") == first[1]
    with pytest.raises(StoreError):
        await store.save_partials(
            [replace(first[0], text="lost"), replace(first[0], session_id="?")]
        )
    assert await store.partial("ses_a") == replace(first[0], text="more")
    await store.drop_partial("ses_a")
    assert await store.partial("ses_a") is None


async def test_turns_end_once_and_add_up_over_a_chain(store: Store) -> None:
    await store.create_session(session())
    await store.begin_turn(turn("t1"))
    await store.end_turn(
        "t1",
        reason=DoneReason.PENDING_APPROVAL,
        cause="ask",
        usage=Usage(5, 1),
        rounds=3,
        ended=2.0,
    )
    await store.begin_turn(turn("t2", resumes="t1"))
    await store.save_turn_usage("t2", Usage(6, None, 2), 4)
    await store.begin_turn(turn("t3"))
    assert await store.chain_rounds("t2") == 7
    assert await store.chain_rounds("t1") == 3
    assert await store.chain_rounds("t3") == 0
    assert [t.id for t in await store.turns("ses_a")] == ["t1", "t2", "t3"]
    assert (await store.turns("ses_a"))[0].cause == "ask"
    assert await store.tree_usage("ses_a") == Usage(11, 1, 2)
    with pytest.raises(NotFoundError, match="t9"):
        await store.save_turn_usage("t9", Usage(), 0)


async def test_after_a_summary_a_request_starts_with_it(store: Store) -> None:
    await store.create_session(session())
    for n in range(1, 7):
        await store.append_message("ses_a", said(f"m{n}", f"text {n}"))
    assert (await store.history("ses_a"))[0] is None
    assert len((await store.history("ses_a"))[1]) == 6
    summary = said("s1", "in short", Origin.SUMMARY)
    stored = await store.store_summary(
        "ses_a",
        summary,
        kept_from=5,
        usage=Usage(90, 9),
        **NUMBERS,  # type: ignore[arg-type]
    )
    assert stored.seq == 7
    await store.append_message("ses_a", said("m7", "text 7"))
    boundary, history = await store.history("ses_a")
    assert boundary is not None
    assert (boundary.kept_from, boundary.tokens_before, boundary.trigger) == (5, 90, "auto")
    assert [m.id for m in history] == ["s1", "m5", "m6", "m7"]
    # a second one that keeps from before the first leaves the first out
    await store.store_summary(
        "ses_a",
        replace(summary, id="s2"),
        kept_from=6,
        **NUMBERS,  # type: ignore[arg-type]
    )
    boundary, history = await store.history("ses_a")
    assert [m.id for m in history] == ["s2", "m6", "m7"]
    assert len(await store.boundaries("ses_a")) == 2
    assert await store.tree_usage("ses_a") == Usage(90, 9)
    assert len(await store.messages("ses_a")) == 9  # nothing was removed


async def test_a_summary_never_parts_a_call_from_its_result(store: Store) -> None:
    runs = await with_batch(store, "c1")
    summary = said("s1", "in short", Origin.SUMMARY)
    with pytest.raises(StoreError, match="part"):
        await store.store_summary("ses_a", summary, kept_from=3, **NUMBERS)  # type: ignore[arg-type]
    await store.store_summary("ses_a", summary, kept_from=2, **NUMBERS)  # type: ignore[arg-type]
    await store.close_batch("ses_a", results("m3", "c1"), settled=[ended(runs[0])])
    assert [m.id for m in (await store.history("ses_a"))[1]] == ["s1", "msg_reply", "m3"]
    with pytest.raises(StoreError, match="part"):
        await store.store_summary(
            "ses_a",
            replace(summary, id="s2"),
            kept_from=4,
            **NUMBERS,  # type: ignore[arg-type]
        )


async def test_search_finds_words_of_people_and_models_only(store: Store) -> None:
    await asked(store, await with_batch(store, "c1"))
    await store.create_session(session("ses_b"))
    await store.append_message("ses_b", said("m1", 'Where is the Café? "quoted" -x NEAR(a'))
    await store.append_message("ses_b", said("m2", "a hidden note", Origin.RECOVERY))
    (hit,) = await store.search("cafe")
    assert (hit.session_id, hit.message_id, hit.seq, "Café" in hit.snippet) == (
        "ses_b",
        "m1",
        1,
        True,
    )
    assert [h.message_id for h in await store.search("whe")] == ["m1"]
    assert await store.search("hidden") == ()
    assert await store.search("let me see", folder="/nowhere") == ()
    assert len(await store.search("let me see")) == 1
    for odd in ('"', "NEAR(", "a OR", "-", "*", "", "\0", "\udc80", "text:x", 'quoted" AND'):
        await store.search(odd)  # what is typed is never syntax


async def test_lone_surrogates_are_stored_as_visible_escapes(store: Store) -> None:
    await store.create_session(session())
    await store.begin_turn(turn())
    blocks = (
        TextBlock("a\udc80b \ud83d\ude00 \\udc80"),
        ToolUseBlock("c1", "Read", {"na\ud800me": ["\udfff", "ok"]}),
    )
    message = Message("m1", "assistant", blocks, Origin.ASSISTANT, 1.0)
    stored = await store.append_reply("ses_a", message, turn_id="turn_1", usage=Usage(), rounds=1)
    assert stored.blocks == (
        TextBlock("a\\udc80b 😀 \\udc80"),
        ToolUseBlock("c1", "Read", {"na\\ud800me": ["\\udfff", "ok"]}),
    )
    assert await store.messages("ses_a") == (stored,)
    await store.save_draft("ses_a", "\udc80")
    await store.save_view("ses_a", {"\ud800": "\ud800"})
    await store.update_session("ses_a", title="t\udc80")
    assert await store.draft("ses_a") == "\\udc80"
    assert await store.view("ses_a") == {"\\ud800": "\\ud800"}
    assert (await store.session("ses_a")).title == "t\\udc80"


_ANY_TEXT = st.text(st.characters(), max_size=20)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | _ANY_TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_ANY_TEXT, inner, max_size=3),
        max_leaves=8,
    )
)
def test_any_json_can_be_stored_and_read_back_as_valid_text(value: object) -> None:
    import json

    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x TEXT)")
    insert(connection, "t", {"x": dump(value)})
    (text,) = connection.execute("SELECT x FROM t").fetchone()
    connection.close()
    read = json.loads(text)
    json.dumps(read, ensure_ascii=False).encode()
    assert dump(read) == text
    if "\\ud" not in json.dumps(value):
        assert read == value
