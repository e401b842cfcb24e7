"""Activity, agents, inbox and sessions, as rows of text."""

from __future__ import annotations

from dataclasses import replace

from tests.ui import scenes
from tests.ui.fake_workspace import FOLDER, START, empty_snapshot
from tui_agent.ui.lines import Row, text_of
from tui_agent.ui.marks import Mark, Marks
from tui_agent.ui.projection.activity import ActivityRows, activity_rows
from tui_agent.ui.projection.agents import AgentTree, agent_rows
from tui_agent.ui.projection.inbox import Inbox, inbox_rows
from tui_agent.ui.projection.session import SessionView
from tui_agent.ui.projection.sessions import SessionList, matching, session_rows
from tui_agent.ui.state import WorkspaceState
from tui_agent.vocabulary.blocks import TextBlock
from tui_agent.vocabulary.events import (
    AgentFinished,
    AgentProgress,
    ApprovalResolved,
    MessageStored,
    SessionPhase,
    TextDelta,
)
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.records import SessionSummary
from tui_agent.vocabulary.states import DoneReason, Phase, PhaseLabel
from tui_agent.vocabulary.usage import Usage


def said(rows: tuple[Row, ...]) -> list[str]:
    return [" ".join(text_of(row.lines).split()) for row in rows]


def test_activity_has_one_row_a_call_with_its_state_and_time() -> None:
    rows = activity_rows(SessionView(scenes.worked_in()).calls.all(), Marks(), START)
    assert said(rows) == [
        "✓ Read cart.py0.02s",
        "✓ Grep round( 14 hits0.10s",
        "✗ Bash ruff check . exit 11.4s",
        "▸ Edit cart.pyneeds you",
    ]


def test_rows_of_calls_that_are_over_are_made_once() -> None:
    calls = SessionView(scenes.worked_in()).calls.all()
    rows = ActivityRows()
    first = rows.rows(calls, Marks(), START)
    again = rows.rows(calls, Marks(frame=3), START + 9)
    assert [one is other for one, other in zip(first, again, strict=True)] == [True] * 3 + [False]
    assert again == activity_rows(calls, Marks(frame=3), START + 9)


def test_every_mark_has_a_twin_in_ascii() -> None:
    for mark in Mark:
        assert Marks(ascii_only=True).glyph(mark).isascii()
        assert len(Marks().glyph(mark)) == 1


def tree() -> AgentTree:
    agents = AgentTree(scenes.SHOP)
    (started,) = scenes.in_shop(scenes.agent_started(1, "reviewer", "check tax.py", 10))
    agents.apply(replace(started, time=START))
    return agents


def test_an_agent_shows_its_work_while_it_goes_on() -> None:
    agents = tree()
    child = {"session_id": "ses_child1", "agent_path": (scenes.SHOP, "ses_child1")}
    agents.apply(
        AgentProgress(
            session_id=scenes.SHOP,
            child_id="ses_child1",
            rounds=1,
            tool_calls=4,
            usage=Usage(12_000, 0),
        )
    )
    agents.apply(replace(TextDelta(model_call_id="m", text="first\nsecond li"), **child))  # type: ignore[arg-type]
    agents.apply(replace(TextDelta(model_call_id="m", text="ne"), **child))  # type: ignore[arg-type]
    (row,) = said(agent_rows(agents.all(), Marks(), START + 42))
    assert row == "⠋ reviewer check tax.py42s 4 tools 12k second line"


def test_an_agent_that_needs_a_person_says_so_and_one_that_ended_is_still() -> None:
    agents = tree()
    agents.apply(
        SessionPhase(
            session_id="ses_child1", phase=Phase.REQUIRES_ACTION, label=PhaseLabel.CONFIRMING
        )
    )
    assert agents.all()[0].mark is Mark.WAITING
    agents.apply(
        AgentFinished(
            session_id=scenes.SHOP,
            child_id="ses_child1",
            tool_use_id="c",
            reason=DoneReason.MODEL_STOP,
            usage=Usage(),
            time=START + 5,
        )
    )
    (row,) = said(agent_rows(agents.all(), Marks(), START + 500))
    assert row == "✓ reviewer check tax.py5.0s"
    assert not agents.is_any_running()


def test_children_stand_below_their_parent() -> None:
    agents = tree()
    (second,) = scenes.in_shop(scenes.agent_started(2, "docs", "", 0))
    agents.apply(second)
    nested = replace(scenes.agent_started(3, "helper", "", 0), session_id="ses_child1")
    agents.apply(nested)
    assert [(each.agent, each.depth) for each in agents.all()] == [
        ("reviewer", 0),
        ("helper", 1),
        ("docs", 0),
    ]


def test_the_inbox_holds_every_open_item_oldest_first() -> None:
    inbox = Inbox()
    late = scenes.item("pen_b", created=START + 5)
    early = scenes.item(
        "pen_a",
        created=START,
        session_id="ses_child1",
        agent_path=(scenes.SHOP, "ses_child1"),
        agent="reviewer",
    )
    inbox.load((late, early))
    assert [item.pending_id for item in inbox.all()] == ["pen_a", "pen_b"]
    assert len(inbox.of_tree(scenes.SHOP)) == 2
    assert said(inbox_rows(inbox.all(), {scenes.SHOP: "Fix"}, Marks(), START + 65))[0] == (
        "▸ Edit cart.pyapproval 1m Fix › reviewer"
    )
    inbox.apply(ApprovalResolved(pending_id="pen_a", tool_use_id="x", choice="approve"))
    assert [item.pending_id for item in inbox.all()] == ["pen_b"]


def summary(session_id: str, title: str, phase: Phase, updated: float) -> SessionSummary:
    return SessionSummary(session_id, title, FOLDER, phase, START, updated, 1, Usage(), 0)


def test_sessions_that_are_alive_come_first_and_follow_their_phase() -> None:
    sessions = SessionList()
    sessions.load(
        (
            summary("a", "Docs pass", Phase.IDLE, START),
            summary("b", "Migrate", Phase.IDLE, START - 90),
        )
    )
    assert said(session_rows(sessions.all(), "a", Marks(), START)) == [
        "▪ Docs passnow",
        "▪ Migrate1m",
    ]
    sessions.apply(
        SessionPhase(session_id="b", phase=Phase.RUNNING, label=PhaseLabel.REQUESTING, time=START)
    )
    assert [each.id for each in sessions.all()] == ["b", "a"]
    assert [each.id for each in matching(sessions.all(), "PASS docs")] == ["a"]


def test_events_that_come_while_a_session_is_fetched_are_not_lost() -> None:
    state = WorkspaceState()
    state.expect(scenes.SHOP)
    held, later = (
        replace(
            MessageStored(message=scenes.message(n, Origin.USER, TextBlock(f"m{n}"))),
            session_id=scenes.SHOP,
            agent_path=(scenes.SHOP,),
            seq=n,
        )
        for n in (5, 6)
    )
    state.apply((held, later))
    message = scenes.message(5, Origin.USER, TextBlock("m5"))
    snapshot = replace(empty_snapshot(scenes.record()), seq=5, messages=(message,), first_seq=5)
    view = state.open(snapshot)
    assert view is not None
    assert [item.key for item in view.conversation.items] == ["msg_5", "msg_6"]


def test_a_merged_event_that_crosses_the_snapshot_asks_for_a_newer_one() -> None:
    state = WorkspaceState()
    state.expect(scenes.SHOP)
    crossing = TextDelta(
        session_id=scenes.SHOP,
        agent_path=(scenes.SHOP,),
        model_call_id="m",
        text="abc",
        seq_from=4,
        seq=7,
    )
    state.apply((crossing,))
    assert state.open(replace(empty_snapshot(scenes.record()), seq=5)) is None
    assert state.open(replace(empty_snapshot(scenes.record()), seq=7)) is not None
