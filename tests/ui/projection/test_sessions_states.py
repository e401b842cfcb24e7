"""A session whose last turn failed does not pass for one that is through."""

from __future__ import annotations

from dataclasses import replace

from tests.ui import scenes
from tests.ui.fake_workspace import START
from tui_agent.ui.lines import text_of
from tui_agent.ui.marks import Marks
from tui_agent.ui.projection.calls import CallBook
from tui_agent.ui.projection.conversation import Conversation
from tui_agent.ui.projection.endings import end_notice
from tui_agent.ui.projection.sessions import SessionList, session_rows, switcher_rows
from tui_agent.vocabulary.blocks import TextBlock
from tui_agent.vocabulary.events import DoneEvent, MessageStored, SessionEvent, ToolInputDelta
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.states import DoneReason, Trigger
from tui_agent.vocabulary.usage import Usage

MARKS = Marks(ascii_only=True)


def done(reason: DoneReason) -> DoneEvent:
    return DoneEvent(
        reason=reason, session_id=scenes.SHOP, agent_path=(scenes.SHOP,), usage=Usage(), rounds=1
    )


def shown(sessions: SessionList) -> str:
    rows = switcher_rows(sessions.all(), None, MARKS, START)
    return text_of(rows[0].lines)


def test_a_failed_turn_is_seen_in_both_lists_until_the_next_one_begins() -> None:
    sessions = SessionList()
    sessions.add(replace(scenes.record(scenes.SHOP), title="Shop"))
    assert "idle" in shown(sessions)
    sessions.apply(done(DoneReason.ERROR))
    assert "x Shop" in shown(sessions)
    assert "error" in shown(sessions)
    assert "x Shop" in text_of(session_rows(sessions.all(), None, MARKS, START)[0].lines)
    begun = SessionEvent(trigger=Trigger.PROMPT, session_id=scenes.SHOP, agent_path=(scenes.SHOP,))
    sessions.apply(begun)
    assert "x Shop" not in shown(sessions)
    sessions.apply(done(DoneReason.MODEL_STOP))
    assert "idle" in shown(sessions)


def test_an_interrupted_turn_says_so_once() -> None:
    notice = end_notice(DoneReason.USER_ABORT, "interrupt")
    assert notice is not None
    assert notice[1] == "Interrupted."


def test_a_call_that_was_cut_while_it_was_written_is_not_planned_any_more() -> None:
    calls = CallBook()
    conversation = Conversation(calls)
    call = calls.apply(
        ToolInputDelta(model_call_id="m", tool_use_id="t", name="Bash", text="{", session_id="s")
    )
    assert call is not None
    conversation.show_call(call)
    stored = Message("msg_1", "assistant", (TextBlock("I will"),), Origin.ASSISTANT, 1.0)
    conversation.apply(MessageStored(message=stored, session_id="s"))
    assert calls.all() == ()
    assert [item.key for item in conversation.items] == ["msg_1:0"]
