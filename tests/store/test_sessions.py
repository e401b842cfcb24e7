"""Sessions are found, listed, forked and deleted as a whole."""

from dataclasses import replace

import pytest

from tests.store.kit import (
    FOLDER,
    approved,
    asked,
    ended,
    reply,
    results,
    said,
    session,
    turn,
    with_batch,
)
from tui_agent.store import Store
from tui_agent.vocabulary.agents import Limits, ModelChoice
from tui_agent.vocabulary.errors import ConflictError, NotFoundError, StoreError
from tui_agent.vocabulary.events import QueuedMessage
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.records import PROCESS_ENDED
from tui_agent.vocabulary.rules import Rules
from tui_agent.vocabulary.states import CallState, DoneReason, Mode, Phase
from tui_agent.vocabulary.usage import Usage


async def test_a_session_comes_back_as_it_was(store: Store) -> None:
    full = replace(
        session(),
        title="a title",
        model=ModelChoice("compatible", "local", "http://127.0.0.1:1/v1"),
        mode=Mode.PLAN,
        extra_folders=("/one", "/two"),
        system_prompt="be brief",
        append_system_prompt="and kind",
        limits=Limits(3, 1000, 4),
        rules=Rules(("Bash(ls)",), ("Edit",), ("Bash(rm:*)", "WebFetch")),
    )
    await store.create_session(full)
    assert await store.session("ses_a") == full


async def test_an_unknown_session_is_named(store: Store) -> None:
    with pytest.raises(NotFoundError, match="ses_none"):
        await store.session("ses_none")
    with pytest.raises(NotFoundError, match="ses_none"):
        await store.append_message("ses_none", said("m", "hello"))


async def test_the_same_id_twice_is_refused(store: Store) -> None:
    await store.create_session(session())
    with pytest.raises(StoreError):
        await store.create_session(session())


async def test_changes_are_kept_and_count_as_use(store: Store) -> None:
    await store.create_session(session())
    changed = await store.update_session(
        "ses_a", title="new", mode=Mode.ACCEPT_EDITS, model=ModelChoice("openai", "m")
    )
    assert changed == await store.session("ses_a")
    assert (changed.title, changed.mode, changed.model.provider) == (
        "new",
        Mode.ACCEPT_EDITS,
        "openai",
    )
    assert changed.updated > 1.0


async def test_what_a_session_is_cannot_be_changed(store: Store) -> None:
    await store.create_session(session())
    with pytest.raises(TypeError, match="root_id"):
        await store.update_session("ses_a", root_id="other")


async def test_the_first_prompt_names_the_session(store: Store) -> None:
    await store.create_session(session())
    await store.append_message("ses_a", said("m1", "\n  fix   the " + "漢" * 60 + "\nsecond"))
    title = (await store.session("ses_a")).title
    assert title.startswith("fix the 漢")
    assert title.endswith("…")
    assert len(title) < 40
    await store.append_message("ses_a", said("m2", "another"))
    assert (await store.session("ses_a")).title == title


async def test_a_child_and_its_started_call_are_one(store: Store) -> None:
    (run,) = await approved(store, await with_batch(store, "call_task"))
    child = session("ses_child", parent=session())
    await store.create_child(
        child, parent_run=("ses_a", run.tool_use_id), started=6.0, turn_id="turn_ses_a"
    )
    (run,) = await store.tool_runs("ses_a")
    assert (run.state, run.child_id, run.started, run.attempt) == (
        CallState.STARTED,
        "ses_child",
        6.0,
        1,
    )
    assert await store.children("ses_a") == (child,)
    assert [s.id for s in await store.tree("ses_a")] == ["ses_a", "ses_child"]


async def test_no_child_without_a_call_that_may_start(store: Store) -> None:
    await with_batch(store, "call_task")
    with pytest.raises(ConflictError, match="planned"):
        await store.create_child(
            session("ses_child", parent=session()),
            parent_run=("ses_a", "call_task"),
            started=6.0,
            turn_id=None,
        )
    with pytest.raises(NotFoundError):
        await store.session("ses_child")


async def test_a_running_call_gets_its_child_but_never_two(store: Store) -> None:
    await approved(store, await with_batch(store, "call_task"))
    await store.mark_started("ses_a", "call_task", at=6.0, turn_id="turn_ses_a")
    key = ("ses_a", "call_task")
    first, second = (session(f"ses_{n}", parent=session()) for n in "xy")
    await store.create_child(first, parent_run=key, started=7.0, turn_id=None)
    (run,) = await store.tool_runs("ses_a")
    assert (run.child_id, run.attempt, run.started) == ("ses_x", 1, 6.0)
    with pytest.raises(ConflictError, match="ses_x"):
        await store.create_child(second, parent_run=key, started=7.0, turn_id=None)


async def test_a_listing_shows_roots_the_last_used_first(store: Store) -> None:
    for name in ("ses_a", "ses_b"):
        await store.create_session(session(name))
    await store.create_session(session("ses_child", parent=session()))
    await store.create_session(replace(session("ses_c"), folder="/elsewhere"))
    await store.append_message("ses_b", said("m1", "hello"))
    await store.append_message("ses_a", said("m1", "hello"))
    listed = await store.summaries(folder=FOLDER)
    assert [(s.id, s.messages) for s in listed] == [("ses_a", 1), ("ses_b", 1)]
    assert await store.latest_session(FOLDER) == "ses_a"
    assert await store.latest_session("/nowhere") is None
    assert [s.id for s in await store.summaries(parent_id="ses_a")] == ["ses_child"]
    assert [s.id for s in await store.summaries(ids=["ses_child"])] == ["ses_child"]
    assert len(await store.summaries(limit=2)) == 2


async def test_a_listing_is_searched_by_title_and_by_content_of_children_too(store: Store) -> None:
    await store.create_session(replace(session("ses_a"), title="50% done_"))
    await store.create_session(replace(session("ses_b"), title="other"))
    await store.create_session(session("ses_child", parent=session("ses_b")))
    await store.append_message("ses_child", said("m1", "a needle in hay"))
    assert [s.id for s in await store.summaries(search="0% DONE_")] == ["ses_a"]
    assert [s.id for s in await store.summaries(search="needle")] == ["ses_b"]
    assert await store.summaries(search="ne%le") == ()


async def test_a_summary_tells_what_waits_for_a_person(store: Store) -> None:
    async def phase() -> Phase:
        (summary,) = await store.summaries()
        return summary.phase

    await store.create_session(session())
    assert await phase() is Phase.IDLE
    await store.begin_turn(turn())
    assert await phase() is Phase.REQUIRES_ACTION  # a turn that nobody runs was cut
    await store.append_reply("ses_a", reply("m1", "c1"), turn_id="turn_1", usage=Usage(), rounds=1)
    await store.end_turn(
        "turn_1", reason=DoneReason.PENDING_APPROVAL, usage=Usage(), rounds=1, ended=3.0
    )
    assert await phase() is Phase.REQUIRES_ACTION  # an open batch
    runs = await store.tool_runs("ses_a")
    await store.close_batch("ses_a", results("m2", "c1"), settled=[ended(runs[0])])
    assert await phase() is Phase.IDLE


async def test_a_root_counts_what_is_open_and_spent_in_its_tree(store: Store) -> None:
    await with_batch(store, "call_root")
    child = session("ses_child", parent=session())
    await store.create_session(child)
    await store.begin_turn(turn("turn_child", "ses_child"))
    await store.append_reply(
        "ses_child", reply("m1", "c1"), turn_id="turn_child", usage=Usage(1, 2, 3), rounds=1
    )
    await asked(store, await store.tool_runs("ses_child"))
    (root,) = await store.summaries()
    (below,) = await store.summaries(parent_id="ses_a")
    assert (root.pending, root.usage) == (1, Usage(11, 7, 3))
    assert (below.pending, below.usage) == (1, Usage(1, 2, 3))


async def test_an_id_may_be_shortened_while_it_is_clear(store: Store) -> None:
    for name in ("ses_ab", "ses_abc", "ses_x"):
        await store.create_session(session(name))
    assert await store.resolve_id("ses_x") == "ses_x"
    assert await store.resolve_id("ses_abc") == "ses_abc"
    assert await store.resolve_id("ses_ab") == "ses_ab"  # whole ids win over longer ones
    for wrong in ("ses_a", "ses_q", "%"):
        with pytest.raises(NotFoundError, match=wrong):
            await store.resolve_id(wrong)


async def test_a_fork_takes_the_history_to_the_last_closed_batch(store: Store) -> None:
    runs = await with_batch(store, "c1")
    await store.close_batch("ses_a", results("m2", "c1"), settled=[ended(runs[0])])
    await store.append_reply(
        "ses_a", reply("m3", "c2"), turn_id="turn_ses_a", usage=Usage(30, 6), rounds=2
    )
    await asked(store, (await store.tool_runs("ses_a"))[1:])
    fork = await store.fork("ses_a", session("ses_f"))
    assert fork == await store.session("ses_f")
    assert (fork.forked_from, fork.parent_id, fork.root_id) == ("ses_a", None, "ses_f")
    assert fork.title == "please look around"
    copied = await store.messages("ses_f")
    original = await store.messages("ses_a")
    assert copied == tuple(replace(m, turn_id=None) for m in original[:3])
    assert [r.tool_use_id for r in await store.tool_runs("ses_f")] == ["c1"]
    assert await store.open_batch("ses_f") is None
    assert await store.pending(session_id="ses_f") == ()
    assert await store.tree_usage("ses_f") == Usage()
    # and both go on for themselves
    assert (await store.append_message("ses_f", said("m9", "elsewhere"))).seq == 4
    assert len(await store.messages("ses_a")) == 4
    assert {hit.session_id for hit in await store.search("please")} == {"ses_a", "ses_f"}


async def test_a_fork_keeps_the_boundaries_that_fit(store: Store) -> None:
    await store.create_session(session())
    await store.begin_turn(turn())
    for n in range(1, 5):
        await store.append_message("ses_a", said(f"m{n}", f"text {n}"))
    summary = said("s1", "summed up", Origin.SUMMARY)
    numbers = {"trigger": "manual", "tokens_before": 9, "tokens_after": 2}
    await store.store_summary("ses_a", summary, kept_from=4, **numbers)  # type: ignore[arg-type]
    await store.append_reply("ses_a", reply("m5", "c1"), turn_id="turn_1", usage=Usage(), rounds=1)
    later = said("s2", "again", Origin.SUMMARY)
    await store.store_summary("ses_a", later, kept_from=6, **numbers)  # type: ignore[arg-type]
    await store.fork("ses_a", session("ses_f"))
    boundary, history = await store.history("ses_f")
    assert boundary is not None
    assert [m.id for m in history] == ["s1", "m4"]


async def test_a_deleted_session_leaves_nothing_behind(store: Store, path: object) -> None:
    await asked(store, await with_batch(store, "c1"))
    await store.create_session(session("ses_child", parent=session()))
    await store.append_message("ses_child", said("m1", "needle"))
    await store.save_draft("ses_a", "draft")
    await store.save_view("ses_a", {"top": 3})
    await with_batch(store, "c1", session_id="ses_other")
    await store.delete_session("ses_a")
    assert [s.id for s in await store.summaries()] == ["ses_other"]
    assert await store.search("needle") == ()
    assert await store.pending() == ()
    assert await store.draft("ses_a") == ""
    assert await store.view("ses_a") == {}
    assert await store.quick_check() == ()
    for gone in ("ses_a", "ses_child"):
        with pytest.raises(NotFoundError):
            await store.delete_session(gone)


async def test_a_listing_knows_every_reason_to_wait_for_a_person(store: Store) -> None:
    async def phase() -> Phase:
        (summary,) = await store.summaries()
        return summary.phase

    async def end(turn_id: str, reason: DoneReason, cause: str | None = None) -> None:
        await store.end_turn(
            turn_id, reason=reason, cause=cause, usage=Usage(), rounds=1, ended=3.0
        )

    await store.create_session(session())
    await store.begin_turn(turn(), prompt=said("m1", "hello"))
    await end("turn_1", DoneReason.MAX_TURNS)
    assert await phase() is Phase.REQUIRES_ACTION
    await store.begin_turn(turn("turn_2"))
    await end("turn_2", DoneReason.ERROR, PROCESS_ENDED)
    assert await phase() is Phase.REQUIRES_ACTION  # the prompt was never answered
    await store.append_message("ses_a", said("m2", "half", Origin.ASSISTANT))
    assert await phase() is Phase.IDLE
    await store.enqueue("ses_a", QueuedMessage("q1", "next"))
    assert await phase() is Phase.REQUIRES_ACTION
    await store.edit_queue("ses_a", (), dropped=("q1",))
    await store.begin_turn(turn("turn_3"))
    await end("turn_3", DoneReason.ERROR, "no key")
    (summary,) = await store.summaries()
    assert (summary.phase, summary.last_reason) == (Phase.IDLE, DoneReason.ERROR)


async def test_a_title_is_one_bounded_line_that_no_terminal_obeys(store: Store) -> None:
    async def title(text: str, name: str) -> str:
        await store.create_session(session(name))
        await store.append_message(name, said("m1", text))
        return (await store.session(name)).title

    assert await title("\x1b]0;evil\x07\x1b[31mred\u202e text\x00", "ses_a") == "red<U+202E> text"
    assert await title("\x1b[2J\n \u200b\nsecond", "ses_b") == "second"
    assert len(await title("x" * 100_000, "ses_c")) == 60
    assert await title("\x07", "ses_d") == ""


async def test_what_a_subagent_did_goes_with_its_root_only(store: Store) -> None:
    await store.create_session(session())
    await store.create_session(session("ses_child", parent=session()))
    with pytest.raises(ConflictError, match="ses_a"):
        await store.delete_session("ses_child")
    await store.delete_session("ses_a")
    with pytest.raises(NotFoundError):
        await store.session("ses_child")
