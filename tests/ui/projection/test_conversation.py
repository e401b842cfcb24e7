"""A conversation reads the same whether it was loaded or followed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ui import scenes
from tests.ui.fake_workspace import START, empty_snapshot
from tui_agent.ui.projection.items import (
    AnswerItem,
    CallItem,
    Changed,
    Gone,
    Grew,
    NoticeItem,
    NoticeKind,
    StreamItem,
    ThinkingItem,
    UserItem,
)
from tui_agent.ui.projection.session import SessionView
from tui_agent.vocabulary.blocks import Outcome, TextBlock, ThinkingBlock, ToolResultBlock
from tui_agent.vocabulary.events import (
    DoneEvent,
    ErrorEvent,
    Event,
    LoopAborted,
    LoopBudgetExceeded,
    LoopDenied,
    LoopDetected,
    LoopDone,
    LoopError,
    LoopHookStopped,
    LoopMaxTurns,
    LoopPendingApproval,
    LoopPendingQuestion,
    MessageStored,
    PromptCompaction,
    ProviderRetry,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolProgress,
    ToolResultEvent,
    ToolStarted,
)
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.records import Boundary, Partial, TurnRecord
from tui_agent.vocabulary.states import CallState, DoneReason, Trigger


def fresh() -> SessionView:
    view = SessionView(empty_snapshot(scenes.record()))
    view.conversation.take_changes()
    return view


def feed(view: SessionView, *events: Event) -> None:
    for event in scenes.in_shop(*events):
        view.apply(replace(event, seq=view.seq + 1, time=START))


def stored(*numbers_and_blocks: object) -> MessageStored:
    number, origin, *blocks = numbers_and_blocks
    return MessageStored(message=scenes.message(number, origin, *blocks))  # type: ignore[arg-type]


def items_of(view: SessionView) -> tuple[object, ...]:
    return view.conversation.items


def shape(view: SessionView) -> list[tuple[str, object]]:
    """What the items say, without times and outputs that only one side knows."""
    said: list[tuple[str, object]] = []
    for item in view.conversation.items:
        match item:
            case CallItem():
                said.append((item.key, (item.tool, item.subject, item.state)))
            case _:
                said.append((item.key, type(item).__name__))
    return said


def test_loading_a_session_and_following_it_end_in_the_same_items() -> None:
    snapshot = scenes.worked_in()
    loaded = SessionView(snapshot)
    followed = fresh()
    for message in snapshot.messages:
        feed(followed, MessageStored(message=message))
        for run in snapshot.tool_runs:
            is_here = any(getattr(block, "id", None) == run.tool_use_id for block in message.blocks)
            if is_here and run.outcome is None and run.state.is_settled:
                outcome = Outcome.OK if run.state is CallState.DONE else Outcome.ERROR
                feed(
                    followed,
                    ToolStarted(tool_use_id=run.tool_use_id, tool=run.name, input=run.input),
                    ToolResultEvent(
                        tool_use_id=run.tool_use_id,
                        tool=run.name,
                        outcome=outcome,
                        content="",
                        details=run.details,
                    ),
                )
    feed(followed, scenes.ask_event(scenes.item()))
    assert shape(followed) == shape(loaded)


def test_streamed_text_becomes_its_message_in_place() -> None:
    view = fresh()
    feed(
        view,
        ThinkingDelta(model_call_id="m1", text="hm"),
        TextDelta(model_call_id="m1", text="Hel"),
        TextDelta(model_call_id="m1", text="lo"),
    )
    streams = (StreamItem("thinking:m1", "hm", is_thinking=True), StreamItem("text:m1", "Hello"))
    assert items_of(view) == streams
    view.conversation.take_changes()
    feed(view, stored(1, Origin.ASSISTANT, ThinkingBlock("hm"), TextBlock("Hello")))
    assert items_of(view) == (ThinkingItem("msg_1:0", "hm"), AnswerItem("msg_1:1", "Hello"))
    assert view.conversation.take_changes() == (
        Changed("thinking:m1", ThinkingItem("msg_1:0", "hm")),
        Changed("text:m1", AnswerItem("msg_1:1", "Hello")),
    )


def test_more_text_is_told_as_growth_not_as_a_new_item() -> None:
    view = fresh()
    feed(view, TextDelta(model_call_id="m1", text="a"))
    view.conversation.take_changes()
    feed(view, TextDelta(model_call_id="m1", text="b"))
    assert view.conversation.take_changes() == (Grew("text:m1", "b"),)


def test_a_retry_withdraws_what_streamed_and_says_why() -> None:
    view = fresh()
    feed(
        view,
        TextDelta(model_call_id="m1", text="half an ans"),
        ToolInputDelta(model_call_id="m1", tool_use_id="c1", name="Read", text="{"),
    )
    view.conversation.take_changes()
    feed(
        view,
        ProviderRetry(
            model_call_id="m1", attempt=1, delay=2, message="Overloaded.", error_class="overloaded"
        ),
    )
    (notice,) = view.conversation.items
    assert isinstance(notice, NoticeItem)
    assert notice.text == "Overloaded. Trying again in 2 s."
    assert view.calls.get("c1") is None
    gone = {each.key for each in view.conversation.take_changes() if isinstance(each, Gone)}
    assert gone == {"text:m1", "c1"}


def test_a_partial_reply_of_a_snapshot_goes_on_streaming() -> None:
    partial = Partial(scenes.SHOP, "turn_1", "m1", "Hel", "", START)
    view = SessionView(replace(empty_snapshot(scenes.record()), partial=partial))
    feed(view, TextDelta(model_call_id="m1", text="lo"))
    assert view.conversation.items == (StreamItem("text:m1", "Hello"),)


def test_done_takes_back_text_that_was_never_stored() -> None:
    view = fresh()
    feed(view, TextDelta(model_call_id="m1", text="x"), DoneEvent(reason=DoneReason.ERROR))
    assert view.conversation.items == ()


def test_a_running_call_shows_its_newest_output_then_its_result() -> None:
    view = fresh()
    feed(
        view,
        stored(1, Origin.ASSISTANT, scenes.TEST),
        ToolStarted(tool_use_id=scenes.TEST.id, tool="Bash", input=scenes.TEST.input),
        ToolProgress(tool_use_id=scenes.TEST.id, text="1 passed", total_bytes=8),
    )
    call = view.calls.get(scenes.TEST.id)
    assert call is not None
    assert (call.state, call.output, call.subject) == (
        CallState.STARTED,
        "1 passed",
        "pytest -q tests/test_cart.py",
    )
    feed(
        view,
        ToolResultEvent(
            tool_use_id=scenes.TEST.id,
            tool="Bash",
            outcome=Outcome.INTERRUPTED,
            content="1 passed\n[cancelled]",
            details={},
            duration=3.0,
        ),
    )
    assert view.conversation.items[-1] == view.calls.get(scenes.TEST.id)
    assert view.calls.all()[0].state is CallState.CANCELLED


def test_results_in_the_history_settle_calls_that_no_event_told_of() -> None:
    view = fresh()
    result = ToolResultBlock(scenes.READ.id, (TextBlock("text"),), True, Outcome.UNKNOWN)
    feed(view, stored(1, Origin.ASSISTANT, scenes.READ), stored(2, Origin.TOOL_RESULTS, result))
    assert view.calls.all()[0].state is CallState.UNKNOWN


@pytest.mark.parametrize(
    ("event", "kind", "words"),
    [
        (LoopMaxTurns(limit=25), NoticeKind.WARNING, "round limit: 25"),
        (LoopDenied(tools=("Bash",)), NoticeKind.INFO, "you denied: Bash"),
        (
            LoopPendingApproval(pending_ids=("p",)),
            NoticeKind.WARNING,
            "Paused here for an approval.",
        ),
        (
            LoopPendingQuestion(pending_ids=("p",)),
            NoticeKind.WARNING,
            "Paused here for a question.",
        ),
        (LoopAborted(), NoticeKind.INFO, "Interrupted."),
        (LoopBudgetExceeded(spent=51_000, limit=50_000), NoticeKind.WARNING, "51k of 50k"),
        (LoopDetected(tool="Read", count=3), NoticeKind.WARNING, "Read, 3 times"),
        (LoopHookStopped(reason="no"), NoticeKind.WARNING, "A hook stopped the turn: no"),
        (LoopError(message="No key.", action="Set one."), NoticeKind.ERROR, "No key. Set one."),
        (LoopDone(cut=True), NoticeKind.WARNING, "output limit"),
    ],
)
def test_each_end_of_a_turn_is_said_in_words(event: Event, kind: NoticeKind, words: str) -> None:
    view = fresh()
    feed(view, event)
    (notice,) = view.conversation.items
    assert isinstance(notice, NoticeItem)
    assert notice.kind is kind
    assert words in notice.text


def test_a_genuine_answer_needs_no_word_about_its_end() -> None:
    view = fresh()
    feed(view, LoopDone())
    assert view.conversation.items == ()


def test_a_stored_turn_says_how_it_ended_after_its_last_message() -> None:
    messages = (
        scenes.message(1, Origin.USER, TextBlock("one"), turn="t1"),
        scenes.message(2, Origin.USER, TextBlock("two"), turn="t2"),
    )
    turn = TurnRecord("t1", scenes.SHOP, Trigger.PROMPT, 0, ended=1, reason=DoneReason.USER_ABORT)
    view = SessionView(
        replace(empty_snapshot(scenes.record()), messages=messages, first_seq=1, turns=(turn,))
    )
    assert [item.key for item in view.conversation.items] == ["msg_1", "end:t1", "msg_2"]


def test_a_compaction_is_a_boundary_with_its_figures() -> None:
    view = fresh()
    feed(
        view,
        stored(1, Origin.USER, TextBlock("old")),
        PromptCompaction(phase="started", trigger="auto"),
        stored(2, Origin.SUMMARY, TextBlock("what was said")),
        PromptCompaction(
            phase="completed", trigger="auto", tokens_before=80_000, tokens_after=12_000
        ),
    )
    old, boundary = view.conversation.items
    assert isinstance(old, UserItem)
    assert isinstance(boundary, NoticeItem)
    assert boundary.kind is NoticeKind.BOUNDARY
    assert "80k → 12k tokens" in boundary.text
    loaded = SessionView(
        replace(
            empty_snapshot(scenes.record()),
            messages=(
                scenes.message(1, Origin.USER, TextBlock("old")),
                scenes.message(2, Origin.SUMMARY, TextBlock("what was said")),
            ),
            first_seq=1,
            boundaries=(Boundary(scenes.SHOP, "msg_2", 1, "auto", 80_000, 12_000, 0.0),),
        )
    )
    assert loaded.conversation.items == view.conversation.items


def test_a_failed_compaction_says_that_nothing_was_lost() -> None:
    view = fresh()
    feed(
        view,
        PromptCompaction(phase="started", trigger="manual"),
        PromptCompaction(phase="failed", trigger="manual", message="empty summary"),
    )
    (notice,) = view.conversation.items
    assert isinstance(notice, NoticeItem)
    assert "kept" in notice.text


def test_older_messages_come_before_what_is_shown() -> None:
    late = scenes.message(5, Origin.USER, TextBlock("late"))
    view = SessionView(replace(empty_snapshot(scenes.record()), messages=(late,), first_seq=1))
    assert view.conversation.has_older
    early = scenes.message(1, Origin.USER, TextBlock("early"))
    assert [item.key for item in view.conversation.prepend((early,))] == ["msg_1"]
    assert [item.key for item in view.conversation.items] == ["msg_1", "msg_5"]
    assert not view.conversation.has_older


def test_an_event_that_the_snapshot_holds_counts_once() -> None:
    view = SessionView(replace(scenes.worked_in(), seq=10))
    before = view.conversation.items
    (event,) = scenes.in_shop(stored(4, Origin.USER, TextBlock("again")))
    view.apply(replace(event, seq=10))
    assert view.conversation.items == before


def test_an_error_is_said_once_by_its_turn_and_at_once_outside_of_one() -> None:
    view = fresh()
    error = ErrorEvent(message="Disk full", action="Free some.")
    feed(view, error, LoopError(message="Disk full.", action="Free some."))
    assert len(view.conversation.items) == 1
    (outside,) = scenes.in_shop(error)
    view.apply(replace(outside, turn_id=None, seq=view.seq + 1, time=START))
    assert len(view.conversation.items) == 2
