"""Nothing is decided by accident: what opens a dialog, what it takes, what it leaves open."""

from __future__ import annotations

import pytest

from tests.ui import scenes
from tests.ui.driving import running, settle, until
from tests.ui.fake_workspace import START, FakeWorkspace
from tui_agent.ui.app import TuiAgentApp
from tui_agent.ui.dialogs.approval import ApprovalDialog
from tui_agent.ui.dialogs.editing import editable_text, edited_input, text_field
from tui_agent.ui.dialogs.question import QuestionDialog
from tui_agent.ui.screens.contents import PaneContents
from tui_agent.ui.startup import Start
from tui_agent.ui.widgets.pager import Pager
from tui_agent.vocabulary.decisions import Choice, Decision, PendingItem, Scope
from tui_agent.vocabulary.events import ApprovalResolved, SessionPhase
from tui_agent.vocabulary.ids import Clock
from tui_agent.vocabulary.states import Phase, PhaseLabel

SHOP = Start(session_id=scenes.SHOP)


def dialog_of(app: TuiAgentApp) -> ApprovalDialog:
    assert isinstance(app.screen, ApprovalDialog)
    return app.screen


async def decided_by(*keys: str, item: PendingItem | None = None) -> list[Decision]:
    """What the workspace was told after these keys in the dialog."""
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(item or scenes.item())
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*keys)
        await until(pilot, lambda: bool(workspace.asked("decide")))
        await until(pilot, lambda: len(app.screen_stack) == 1)
        decisions = [call[2] for call in workspace.asked("decide")]
        assert all(isinstance(decision, Decision) for decision in decisions)
        return decisions  # type: ignore[return-value]


async def test_the_clock_of_the_waiting_line_goes_on_beneath_a_dialog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui_agent.ui.app.COUNT_EVERY", 0.02)
    wall = START + 100
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        clock = Clock(wall=lambda: wall, monotonic=lambda: 100.0)
        app.workspace.contents = PaneContents(app.state, clock)
        workspace.publish(
            *scenes.in_shop(SessionPhase(phase=Phase.REQUIRES_ACTION, label=PhaseLabel.CONFIRMING))
        )
        workspace.ask(scenes.item())
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await settle(pilot)
        before = app.workspace.status.plain
        wall += 50
        await until(pilot, lambda: app.workspace.status.plain != before)


async def test_y_allows_once() -> None:
    assert await decided_by("y") == [Decision(Choice.APPROVE, scope=Scope.ONCE)]


async def test_s_allows_for_the_session() -> None:
    assert await decided_by("s") == [Decision(Choice.APPROVE, scope=Scope.SESSION)]


async def test_a_shows_the_rule_and_stores_it_as_edited() -> None:
    (decision,) = await decided_by("a", "end", *"!", "enter")
    assert decision == Decision(Choice.APPROVE, scope=Scope.ALWAYS, rule="Edit(cart.py)!")


async def test_n_denies_and_stops_the_turn() -> None:
    (decision,) = await decided_by("n")
    assert decision == Decision(Choice.DENY)
    assert decision.stops_turn


async def test_c_denies_with_words_and_the_turn_goes_on() -> None:
    (decision,) = await decided_by("c", *"use tests", "enter")
    assert decision == Decision(Choice.DENY, comment="use tests")
    assert not decision.stops_turn


async def test_e_edits_the_command_before_it_is_allowed() -> None:
    (decision,) = await decided_by("e", "end", *" -x", "ctrl+s", item=scenes.command_item("pytest"))
    assert decision.edited_input == {"command": "pytest -x"}


async def test_escape_leaves_the_item_in_the_inbox_and_it_does_not_come_up_again() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(scenes.item())
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("escape")
        await settle(pilot)
        await settle(pilot)
        assert len(app.screen_stack) == 1
        assert workspace.asked("decide") == []
        assert len(app.state.inbox) == 1
        await pilot.press("f2")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ApprovalDialog))


async def test_keys_typed_before_it_can_be_read_answer_nothing() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, guard=3600) as (app, pilot):
        workspace.ask(scenes.item())
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("y", "n", "s", "escape", "c", "enter")
        await settle(pilot)
        assert workspace.asked("decide") == []
        assert isinstance(app.screen, ApprovalDialog)


async def test_a_question_takes_no_early_key_either() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, guard=3600) as (app, pilot):
        workspace.ask(scenes.question_item())
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("1", "enter", "1", "enter")
        await settle(pilot)
        assert workspace.asked("decide") == []


async def test_no_dialog_opens_while_somebody_types() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, typing_pause=3600) as (app, pilot):
        await pilot.press("y")
        workspace.ask(scenes.item())
        await until(pilot, lambda: len(app.state.inbox) == 1)
        await pilot.press("e", "s")
        await settle(pilot)
        assert len(app.screen_stack) == 1
        assert app.workspace.composer.text == "yes"
        assert "waiting for you: Edit cart.py" in app.workspace.status.plain


async def test_a_refused_answer_keeps_the_dialog_and_says_why() -> None:
    workspace = scenes.busy_workspace()
    workspace.refuse_decision = "old_string is not in the file."
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(scenes.item())
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("y")
        await until(pilot, lambda: bool(workspace.asked("decide")))
        await settle(pilot)
        assert "old_string is not in the file." in dialog_of(app).choices.plain
        assert len(app.state.inbox) == 1


async def test_an_item_that_is_answered_elsewhere_closes_its_dialog() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(scenes.item())
        await until(pilot, lambda: len(app.screen_stack) == 2)
        workspace.publish(
            *scenes.in_shop(
                ApprovalResolved(pending_id="pen_edit", tool_use_id="x", choice="approve")
            )
        )
        await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_an_ask_of_another_session_only_counts_in_the_inbox() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(scenes.item(session_id="ses_other0", agent_path=("ses_other0",)))
        await until(pilot, lambda: len(app.state.inbox) == 1)
        await settle(pilot)
        assert len(app.screen_stack) == 1
        assert "1 inbox" in app.workspace.header.plain


async def test_several_questions_are_answered_one_after_the_other() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(scenes.question_item())
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        await pilot.press("2")
        await settle(pilot)
        await pilot.press("1", "3", "enter")
        await until(pilot, lambda: bool(workspace.asked("decide")))
        decision = workspace.asked("decide")[0][2]
        assert isinstance(decision, Decision)
        assert decision.answers == {
            "Where should the rounding happen?": "Per line",
            "Which currencies must be right?": ["EUR", "KWD"],
        }


async def test_a_question_takes_an_own_answer() -> None:
    workspace = FakeWorkspace()
    questions = {"questions": [{"question": "Which port?", "options": [{"label": "80"}]}]}
    async with running(workspace) as (app, pilot):
        item = scenes.question_item(questions)
        workspace.ask(
            scenes.moved(item, "ses_new1"),
        )
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        await pilot.press("tab", *"8080", "enter")
        await until(pilot, lambda: bool(workspace.asked("decide")))
        decision = workspace.asked("decide")[0][2]
        assert isinstance(decision, Decision)
        assert decision.answers == {"Which port?": "8080"}


async def test_keys_of_the_workspace_do_nothing_under_a_dialog() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(scenes.item())
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("shift+tab", "ctrl+n", "f6", "f3")
        await settle(pilot)
        assert workspace.asked("set_mode") == []
        assert app.state.shown_id == scenes.SHOP
        assert len(app.screen_stack) == 2
        await pilot.press("ctrl+c")
        await settle(pilot)
        assert len(app.screen_stack) == 1
        assert workspace.asked("decide") == []


def test_an_odd_command_is_edited_in_a_form_that_shows_and_keeps_everything() -> None:
    odd = {"command": "echo \u202egnp\x1b[31m", "description": "é"}
    assert text_field(odd) is None
    text = editable_text(odd, None)
    assert text.isascii()
    assert "\\u202e" in text
    assert edited_input(odd, None, text) == odd


@pytest.mark.parametrize("height", [7, 8, 9, 10, 11, 12, 13, 16])
async def test_a_change_is_only_allowed_where_some_of_it_is_in_view(height: int) -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, size=(40, height)) as (app, pilot):
        workspace.ask(scenes.item())
        await until(pilot, lambda: len(app.screen_stack) == 2)
        dialog = dialog_of(app)
        assert dialog.is_readable is (height >= 10)
        if dialog.is_readable:
            body = dialog.query_one(Pager)
            rows = [body.render_line(y).text for y in range(body.size.height)]
            assert any("def total(items)" in row for row in rows)
            assert "edits ask in this mode" in f"{dialog.head.plain}{body.plain}"


@pytest.mark.parametrize("size", [(40, 12), (44, 10), (80, 24), (160, 45)])
async def test_all_of_a_command_and_all_keys_are_in_reach_at_every_size(
    size: tuple[int, int],
) -> None:
    command = " && ".join(f"step-{number} --flag" for number in range(40))
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, size=size) as (app, pilot):
        workspace.ask(scenes.command_item(command))
        await until(pilot, lambda: len(app.screen_stack) == 2)
        body = dialog_of(app).query_one(Pager)
        seen: dict[int, str] = {}
        for _ in range(200):
            top = body.scroll_offset.y
            for y in range(body.size.height):
                seen[top + y] = body.render_line(y).text.rstrip()
            if body.is_at_end:
                break
            await pilot.press("down")
        shown = "".join(seen[y] for y in sorted(seen)).replace(" ", "")
        assert command.replace(" ", "") in shown
        keys = dialog_of(app).choices
        assert keys.region.bottom < app.size.height
        assert keys.size.height == len(keys.lines)
        assert all(key in keys.plain for key in ("allow once", "stops the turn", "Esc later"))
