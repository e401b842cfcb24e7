"""Each call of a batch stands in one place, moves forward only, and is answered once."""

from dataclasses import replace

import pytest

from tests.store.kit import (
    FOLDER,
    approved,
    ask,
    asked,
    ended,
    reply,
    results,
    with_batch,
)
from tui_agent.store import Store, TurnEnd
from tui_agent.vocabulary.blocks import Outcome, TextBlock
from tui_agent.vocabulary.decisions import (
    Action,
    Choice,
    Decision,
    Grant,
    PendingKind,
    Scope,
    Source,
    Verdict,
)
from tui_agent.vocabulary.errors import ConflictError, NotFoundError, StoreError, UsageError
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.states import CallState, DoneReason
from tui_agent.vocabulary.usage import Usage


async def states(store: Store) -> list[CallState]:
    """Where the calls of the session stand."""
    return [run.state for run in await store.tool_runs("ses_a")]


async def finish(store: Store, call: str, state: CallState = CallState.DONE) -> bool:
    """The call ends well."""
    return await store.record_outcome(
        "ses_a",
        call,
        state=state,
        outcome=Outcome.OK,
        content=(TextBlock(f"result of {call}"),),
        details={"kind": "shell"},
        at=8.0,
    )


async def test_a_reply_opens_a_batch_and_its_results_close_it(store: Store) -> None:
    runs = await with_batch(store, "c1", "c2")
    opened = await store.open_batch("ses_a")
    assert opened is not None
    assert (opened[0].id, opened[1]) == ("msg_reply", runs)
    await approved(store, runs)
    for run in runs:
        await store.mark_started("ses_a", run.tool_use_id, at=6.0, turn_id="turn_ses_a")
        assert await finish(store, run.tool_use_id)
    assert await store.open_batch("ses_a") is not None  # settled is not yet answered
    await store.close_batch("ses_a", results("m2", "c1", "c2"))
    assert await store.open_batch("ses_a") is None
    assert (await store.tool_runs("ses_a", message_ids=["msg_reply"]))[1].content == (
        TextBlock("result of c2"),
    )
    assert await store.tool_runs("ses_a", message_ids=[]) == ()


async def test_a_review_is_kept_with_its_asks(store: Store) -> None:
    first, second, third = await with_batch(store, "c1", "c2", "c3")
    verdict = Verdict(Action.DENY, Source.RULE, "on the list", "Bash(echo c1)", False)
    after = await store.record_review(
        "ses_a",
        [
            replace(
                first,
                state=CallState.DENIED,
                verdict=verdict,
                outcome=Outcome.DENIED,
                content=(TextBlock("no"),),
                ended=5.0,
            ),
            replace(second, state=CallState.ASKED, digest="d2"),
            replace(third, state=CallState.APPROVED, input={"command": "rewritten"}),
        ],
        [ask("c2")],
    )
    assert after == await store.tool_runs("ses_a")
    assert [run.state for run in after] == [CallState.DENIED, CallState.ASKED, CallState.APPROVED]
    assert (after[0].verdict, after[1].digest, after[2].input) == (
        verdict,
        "d2",
        {"command": "rewritten"},
    )
    assert await store.pending() == (ask("c2"),)


async def test_an_ask_without_an_item_is_refused_whole(store: Store) -> None:
    first, second = await with_batch(store, "c1", "c2")
    reviewed = [replace(run, state=CallState.ASKED) for run in (first, second)]
    with pytest.raises(StoreError, match="c2"):
        await store.record_review("ses_a", reviewed, [ask("c1")])
    with pytest.raises(StoreError, match="c2"):
        await store.record_review("ses_a", reviewed[:1], [ask("c1"), ask("c2")])
    assert await states(store) == [CallState.PLANNED] * 2
    assert await store.pending() == ()


async def test_a_review_leaves_alone_what_has_moved_on(store: Store) -> None:
    runs = await with_batch(store, "c1", "c2")
    await asked(store, runs)
    await store.decide("ask_c1", Decision(Choice.DENY, comment="not so"), at=6.0)
    after = await store.record_review(
        "ses_a", [replace(run, state=CallState.APPROVED) for run in runs]
    )
    assert [run.state for run in after] == [CallState.DENIED, CallState.APPROVED]
    assert await store.pending() == ()  # c2 is satisfied without an answer
    assert (await store.pending_item("ask_c2")).decision is None


async def test_an_approved_call_can_be_asked_again(store: Store) -> None:
    runs = await with_batch(store, "c1")
    await asked(store, runs)
    await store.decide("ask_c1", Decision(Choice.APPROVE), at=6.0)
    again = replace(ask("c1"), pending_id="ask_again")
    await store.record_review("ses_a", [replace(runs[0], state=CallState.ASKED)], [again])
    assert await store.pending() == (again,)


@pytest.mark.parametrize("state", [s for s in CallState if s is not CallState.APPROVED])
async def test_only_an_approved_call_starts(store: Store, state: CallState) -> None:
    runs = await with_batch(store, "c1")
    await bring_to(store, runs[0], state)
    with pytest.raises(ConflictError, match=state.value):
        await store.mark_started("ses_a", "c1", at=6.0, turn_id="turn_ses_a")
    assert await states(store) == [state]


async def bring_to(store: Store, run: ToolRun, state: CallState) -> None:
    """The one call of a batch, brought to `state` by the ways that lead there."""
    match state:
        case CallState.PLANNED:
            pass
        case CallState.ASKED:
            await asked(store, [run])
        case CallState.STARTED | CallState.WAITING | CallState.APPROVED:
            await approved(store, [run])
            if state is not CallState.APPROVED:
                await store.mark_started("ses_a", run.tool_use_id, at=6.0, turn_id="turn_ses_a")
            if state is CallState.WAITING:
                assert await store.note_waiting("ses_a", run.tool_use_id, "ses_child")
        case _:
            await finish(store, run.tool_use_id, state)


async def test_a_started_call_starts_again_only_when_that_is_meant(store: Store) -> None:
    await approved(store, await with_batch(store, "c1"))
    first = await store.mark_started("ses_a", "c1", at=6.0, turn_id="turn_ses_a")
    second = await store.mark_started("ses_a", "c1", at=7.0, turn_id="turn_ses_a", again=True)
    assert (first.attempt, second.attempt, second.started) == (1, 2, 7.0)


async def test_a_call_waits_for_its_child_only_while_it_runs(store: Store) -> None:
    await approved(store, await with_batch(store, "c1"))
    assert not await store.note_waiting("ses_a", "c1", "ses_child")
    await store.mark_started("ses_a", "c1", at=6.0, turn_id="turn_ses_a")
    assert await store.note_waiting("ses_a", "c1", "ses_child")
    (run,) = await store.tool_runs("ses_a")
    assert (run.state, run.child_id) == (CallState.WAITING, "ses_child")
    assert await finish(store, "c1")


async def test_an_outcome_is_recorded_once(store: Store) -> None:
    await approved(store, await with_batch(store, "c1"))
    await store.mark_started("ses_a", "c1", at=6.0, turn_id="turn_ses_a")
    assert await finish(store, "c1")
    before = await store.tool_runs("ses_a")
    assert not await finish(store, "c1", CallState.UNKNOWN)
    assert await store.tool_runs("ses_a") == before
    with pytest.raises(NotFoundError, match="c9"):
        await finish(store, "c9")


@pytest.mark.parametrize("state", [s for s in CallState if not s.is_settled])
async def test_an_unsettled_state_is_no_outcome(store: Store, state: CallState) -> None:
    await with_batch(store, "c1")
    with pytest.raises(StoreError):
        await finish(store, "c1", state)
    assert await states(store) == [CallState.PLANNED]


async def test_closing_settles_what_is_left_and_ends_the_turn(store: Store) -> None:
    runs = await with_batch(store, "c1", "c2")
    await asked(store, runs)
    await store.decide("ask_c1", Decision(Choice.APPROVE), at=6.0)
    await store.mark_started("ses_a", "c1", at=6.0, turn_id="turn_ses_a")
    await finish(store, "c1")
    await store.close_batch(
        "ses_a",
        results("m2", "c1", "c2"),
        settled=[ended(run) for run in runs],
        ends=TurnEnd("turn_ses_a", DoneReason.USER_ABORT, 9.0, Usage(10, 5), 1, "esc"),
    )
    first, second = await store.tool_runs("ses_a")
    assert first.outcome is Outcome.OK  # it had ended: its outcome stands
    assert second.outcome is Outcome.INTERRUPTED
    assert await store.pending() == ()
    last = await store.last_turn("ses_a")
    assert last is not None
    assert (last.reason, last.cause) == (DoneReason.USER_ABORT, "esc")


@pytest.mark.parametrize(
    "answered", [("c1",), ("c2", "c1"), ("c1", "c2", "c2"), ("c1", "c2", "c3"), ()]
)
async def test_a_batch_is_closed_only_by_each_answer_once_in_order(
    store: Store, answered: tuple[str, ...]
) -> None:
    runs = await with_batch(store, "c1", "c2")
    with pytest.raises(StoreError, match="order"):
        await store.close_batch(
            "ses_a", results("m2", *answered), settled=[ended(run) for run in runs]
        )
    assert await states(store) == [CallState.PLANNED] * 2
    assert len(await store.messages("ses_a")) == 2


async def test_a_batch_is_not_closed_while_a_call_has_no_outcome(store: Store) -> None:
    runs = await with_batch(store, "c1", "c2")
    with pytest.raises(StoreError, match="c2"):
        await store.close_batch("ses_a", results("m2", "c1", "c2"), settled=[ended(runs[0])])
    assert await states(store) == [CallState.PLANNED] * 2


async def test_there_is_nothing_to_close_twice(store: Store) -> None:
    runs = await with_batch(store, "c1")
    await store.close_batch("ses_a", results("m2", "c1"), settled=[ended(runs[0])])
    with pytest.raises(ConflictError):
        await store.close_batch("ses_a", results("m3", "c1"))


# --- decisions -----------------------------------------------------------------------------------


async def test_an_approval_may_change_the_input(store: Store) -> None:
    await asked(store, await with_batch(store, "c1"))
    decision = Decision(
        Choice.APPROVE, comment="shorter", scope=Scope.SESSION, edited_input={"command": "true"}
    )
    grant = Grant("ses_a", FOLDER, "Bash(true)", Scope.SESSION, 6.0)
    decided = await store.decide("ask_c1", decision, at=6.0, digest="new", grants=[grant])
    assert decided.applied
    assert decided.run == (await store.tool_runs("ses_a"))[0]
    assert decided.run is not None
    assert (decided.run.state, decided.run.input, decided.run.digest, decided.run.comment) == (
        CallState.APPROVED,
        {"command": "true"},
        "new",
        "shorter",
    )
    assert decided.run.verdict == Verdict(Action.ALLOW, Source.PERSON, "shorter")
    entry = await store.pending_item("ask_c1")
    assert (entry.resolved, entry.decision, entry.item) == (6.0, decision, ask("c1"))
    assert await store.grants("ses_a", FOLDER) == (replace(grant, id=1),)


async def test_a_plain_no_settles_every_undecided_sibling(store: Store) -> None:
    runs = await with_batch(store, "c1", "c2", "c3", "c4", "c5")
    await asked(store, runs[:3])
    await approved(store, runs[3:4])
    await store.decide("ask_c1", Decision(Choice.APPROVE), at=6.0)
    decided = await store.decide(
        "ask_c2", Decision(Choice.DENY), at=7.0, content=(TextBlock("The person said no."),)
    )
    assert decided.run is not None
    assert (decided.run.outcome, decided.run.content) == (
        Outcome.DENIED,
        (TextBlock("The person said no."),),
    )
    assert [run.tool_use_id for run in decided.settled] == ["c3", "c5"]
    assert {run.outcome for run in decided.settled} == {Outcome.NOT_RUN}
    assert await states(store) == [
        CallState.APPROVED,
        CallState.DENIED,
        CallState.CANCELLED,
        CallState.APPROVED,
        CallState.CANCELLED,
    ]
    assert await store.pending() == ()
    again = await store.decide("ask_c3", Decision(Choice.APPROVE), at=8.0)
    assert not again.applied
    assert "denied" in again.why


@pytest.mark.parametrize(
    "decision",
    [Decision(Choice.DENY, comment="use rg"), Decision(Choice.DENY, source=Source.POLICY)],
)
async def test_any_other_no_leaves_the_siblings_open(store: Store, decision: Decision) -> None:
    await asked(store, await with_batch(store, "c1", "c2"))
    decided = await store.decide("ask_c1", decision, at=6.0)
    assert (decided.applied, decided.settled) == (True, ())
    assert [item.pending_id for item in await store.pending()] == ["ask_c2"]


async def test_an_answer_is_taken_once(store: Store) -> None:
    await asked(store, await with_batch(store, "c1"))
    await store.decide("ask_c1", Decision(Choice.APPROVE), at=6.0)
    before = (await store.tool_runs("ses_a"), await store.pending_item("ask_c1"))
    second = await store.decide("ask_c1", Decision(Choice.DENY), at=7.0)
    assert (second.applied, second.why) == (False, "This is already answered: approved.")
    assert (await store.tool_runs("ses_a"), await store.pending_item("ask_c1")) == before


async def test_two_processes_answer_and_one_is_heard(store: Store, path: object) -> None:
    import asyncio

    other = await Store.open(store.path)
    try:
        await asked(store, await with_batch(store, "c1"))
        both = await asyncio.gather(
            store.decide("ask_c1", Decision(Choice.APPROVE), at=6.0),
            other.decide("ask_c1", Decision(Choice.DENY), at=6.0),
        )
        assert sorted(decided.applied for decided in both) == [False, True]
    finally:
        await other.close()


async def test_a_dead_ask_takes_no_answer(store: Store) -> None:
    runs = await asked(store, await with_batch(store, "c1"))
    await store.close_batch("ses_a", results("m2", "c1"), settled=[ended(runs[0])])
    decided = await store.decide("ask_c1", Decision(Choice.APPROVE), at=9.5)
    assert not decided.applied
    assert "the batch was closed" in decided.why
    with pytest.raises(NotFoundError, match="ask_none"):
        await store.decide("ask_none", Decision(Choice.APPROVE), at=9.5)


async def test_a_question_wants_an_answer(store: Store) -> None:
    (run,) = await with_batch(store, "c1")
    question = ask("c1", kind=PendingKind.QUESTION)
    await store.record_review("ses_a", [replace(run, state=CallState.ASKED)], [question])
    with pytest.raises(UsageError, match="answered"):
        await store.decide("ask_c1", Decision(Choice.APPROVE), at=6.0)
    answers = {"Which?": ["one", "two"]}
    decided = await store.decide("ask_c1", Decision(Choice.ANSWER, answers=answers), at=6.0)
    assert decided.run is not None
    assert (decided.run.state, decided.run.answers) == (CallState.APPROVED, answers)


async def test_an_approval_takes_no_answers(store: Store) -> None:
    await asked(store, await with_batch(store, "c1"))
    with pytest.raises(UsageError, match="approved"):
        await store.decide("ask_c1", Decision(Choice.ANSWER, answers={"x": "y"}), at=6.0)
    assert len(await store.pending()) == 1


async def test_the_inbox_is_read_by_session_by_tree_or_whole(store: Store) -> None:
    await asked(store, await with_batch(store, "c1"))
    await asked(store, await with_batch(store, "c2", session_id="ses_b"))
    assert [i.pending_id for i in await store.pending()] == ["ask_c1", "ask_c2"]
    assert [i.pending_id for i in await store.pending(session_id="ses_b")] == ["ask_c2"]
    assert [i.pending_id for i in await store.pending(root_id="ses_a")] == ["ask_c1"]
    await store.decide("ask_c1", Decision(Choice.APPROVE), at=6.0)
    assert await store.pending(session_id="ses_a") == ()
    assert len(await store.pending(session_id="ses_a", open_only=False)) == 1


async def test_a_later_batch_is_the_open_one(store: Store) -> None:
    runs = await with_batch(store, "c1")
    await store.close_batch("ses_a", results("m2", "c1"), settled=[ended(runs[0])])
    await store.append_reply(
        "ses_a", reply("m3", "c2"), turn_id="turn_ses_a", usage=Usage(), rounds=2
    )
    opened = await store.open_batch("ses_a")
    assert opened is not None
    assert [run.tool_use_id for run in opened[1]] == ["c2"]


async def test_a_call_whose_beginning_was_not_written_keeps_it_with_its_outcome(
    store: Store,
) -> None:
    unwritten, written = await with_batch(store, "c1", "c2")
    await approved(store, (unwritten, written))
    await store.mark_started("ses_a", "c2", at=6.0, turn_id="turn_ses_a")
    for call in ("c1", "c2"):
        await store.record_outcome(
            "ses_a",
            call,
            state=CallState.DONE,
            outcome=Outcome.OK,
            content=(TextBlock("read"),),
            started=7.0,
            at=8.0,
        )
    runs = await store.tool_runs("ses_a")
    assert [(run.started, run.ended) for run in runs] == [(7.0, 8.0), (6.0, 8.0)]
