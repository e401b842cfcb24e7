"""What is typed for something else decides nothing: prose, a held key, a paste, a key too soon."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from tests.ui import scenes
from tests.ui.driving import running, settle, until
from tests.ui.fake_workspace import FakeWorkspace
from tui_agent.ui.app import TuiAgentApp
from tui_agent.ui.dialogs.approval import ApprovalDialog
from tui_agent.ui.dialogs.guarded import GUARD_SECONDS
from tui_agent.ui.dialogs.question import QuestionDialog
from tui_agent.ui.startup import Start
from tui_agent.ui.widgets.row_list import RowList
from tui_agent.vocabulary.decisions import Choice, Decision, PendingItem, Scope
from tui_agent.vocabulary.events import ApprovalResolved

SHOP = Start(session_id=scenes.SHOP)
NAMED = {"\n": "enter", " ": "space"}


def type_all(app: TuiAgentApp, text: str, *, gap: float = 0.05, after: float = 10.0) -> None:
    """Type `text` in one burst, one key every `gap` seconds of the keyboard's own time, beginning
    `after` seconds from now: how long the test takes to handle them changes nothing."""
    began = monotonic() + after
    for at, character in enumerate(text):
        key = events.Key(NAMED.get(character, character), "\r" if character == "\n" else character)
        key.time = began + at * gap
        app.post_message(key)


def three_commands(workspace: FakeWorkspace) -> None:
    for number in range(3):
        workspace.ask(scenes.command_item(f"rm -rf build{number}", f"pen_{number}"))


async def opened(pilot: Pilot[int], kind: type) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, kind))


def top_item(app: TuiAgentApp) -> PendingItem:
    assert isinstance(app.screen, ApprovalDialog | QuestionDialog)
    return app.screen.item


async def test_prose_typed_across_three_dialogs_decides_nothing_and_becomes_the_draft() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, guard=GUARD_SECONDS) as (app, pilot):
        three_commands(workspace)
        for number, words in enumerate(("yes and ", "no, say so\n", "ask again")):
            await until(pilot, lambda: isinstance(app.screen, ApprovalDialog))
            assert top_item(app).pending_id == f"pen_{number}"
            type_all(app, words)
            await until(pilot, lambda words=words: words.strip() in app.workspace.composer.text)  # type: ignore[misc]
            assert workspace.asked("decide") == []
            assert top_item(app).pending_id == f"pen_{number}"
            app.screen.leave()  # type: ignore[attr-defined]
        await until(pilot, lambda: app.screen is app.workspace)
        assert workspace.asked("decide") == []
        assert len(app.state.inbox) == 3
        assert app.workspace.composer.text == "yes and no, say so\nask again"


async def test_a_held_key_decides_nothing() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, guard=GUARD_SECONDS) as (app, pilot):
        three_commands(workspace)
        await opened(pilot, ApprovalDialog)
        type_all(app, "y" * 60, gap=0.03)
        await pilot.pause(0.5)
        await settle(pilot)
        assert workspace.asked("decide") == []
        assert app.workspace.composer.text == ""


@pytest.mark.parametrize(
    ("key", "decision"),
    [
        ("y", Decision(Choice.APPROVE, scope=Scope.ONCE)),
        ("s", Decision(Choice.APPROVE, scope=Scope.SESSION)),
        ("n", Decision(Choice.DENY)),
    ],
)
async def test_one_key_after_a_pause_decides_exactly_one_item(key: str, decision: Decision) -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, guard=GUARD_SECONDS) as (app, pilot):
        three_commands(workspace)
        await opened(pilot, ApprovalDialog)
        type_all(app, key)
        await until(pilot, lambda: bool(workspace.asked("decide")))
        await until(pilot, lambda: top_item(app).pending_id == "pen_1")
        assert workspace.asked("decide") == [("decide", "pen_0", decision)]


async def test_a_decision_is_shown_while_it_can_still_be_taken_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui_agent.ui.dialogs.guarded.SETTLE_SECONDS", 3600)
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, guard=GUARD_SECONDS) as (app, pilot):
        workspace.ask(scenes.item())
        await opened(pilot, ApprovalDialog)
        dialog = app.screen
        assert isinstance(dialog, ApprovalDialog)
        rows = len(dialog.choices.lines)
        type_all(app, "y")
        await until(pilot, lambda: "Allowing once" in dialog.choices.plain)
        assert len(dialog.choices.lines) == rows
        escape = events.Key("escape", None)
        escape.time = monotonic() + 20
        app.post_message(escape)
        await until(pilot, lambda: app.screen is app.workspace)
        assert workspace.asked("decide") == []
        assert len(app.state.inbox) == 1


async def test_a_key_right_after_another_is_refused_in_words() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, guard=GUARD_SECONDS) as (app, pilot):
        workspace.ask(scenes.item())
        await opened(pilot, ApprovalDialog)
        dialog = app.screen
        assert isinstance(dialog, ApprovalDialog)
        type_all(app, "xy", gap=0.2)
        await until(pilot, lambda: "nothing was decided" in dialog.choices.plain)
        await pilot.pause(0.4)
        assert workspace.asked("decide") == []
        type_all(app, "y", after=60)
        await until(pilot, lambda: bool(workspace.asked("decide")))


@pytest.mark.parametrize("text", ["y", "yes\ny\n", "1"])
async def test_a_paste_decides_nothing_and_becomes_the_draft(text: str) -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, guard=GUARD_SECONDS) as (app, pilot):
        workspace.ask(scenes.item())
        await opened(pilot, ApprovalDialog)
        app.post_message(events.Paste(text))
        await until(pilot, lambda: app.workspace.composer.text == text)
        assert workspace.asked("decide") == []


async def test_a_paste_right_before_a_key_keeps_the_key_from_deciding() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, guard=GUARD_SECONDS) as (app, pilot):
        workspace.ask(scenes.item())
        await opened(pilot, ApprovalDialog)
        paste = events.Paste("a word")
        paste.time = monotonic() + 9.9
        app.post_message(paste)
        type_all(app, "y", after=10)
        await until(pilot, lambda: app.workspace.composer.text.startswith("a word"))
        await pilot.pause(0.4)
        assert workspace.asked("decide") == []


@pytest.mark.parametrize("words", ["1 option is fine\n", "ok\n", "2nd\n1\n"])
async def test_prose_answers_no_question(words: str) -> None:
    workspace = scenes.busy_workspace()
    questions = {"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]}
    async with running(workspace, start=SHOP, guard=GUARD_SECONDS) as (app, pilot):
        workspace.ask(scenes.question_item(questions))
        await opened(pilot, QuestionDialog)
        type_all(app, words)
        await until(pilot, lambda: words.strip() in app.workspace.composer.text)
        await pilot.pause(0.4)
        assert workspace.asked("decide") == []
        assert isinstance(app.screen, QuestionDialog)


@pytest.mark.parametrize("key", ["1", "\n"])
async def test_a_question_takes_one_key_after_a_pause(key: str) -> None:
    workspace = scenes.busy_workspace()
    questions = {"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]}
    async with running(workspace, start=SHOP, guard=GUARD_SECONDS) as (app, pilot):
        workspace.ask(scenes.question_item(questions))
        await opened(pilot, QuestionDialog)
        type_all(app, key)
        await until(pilot, lambda: bool(workspace.asked("decide")))
        assert workspace.asked("decide")[0][2] == Decision(Choice.ANSWER, answers={"Which?": "A"})


async def test_a_click_on_an_option_before_it_can_be_read_answers_nothing() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, guard=3600) as (app, pilot):
        workspace.ask(scenes.question_item())
        await opened(pilot, QuestionDialog)
        await pilot.click(RowList)
        await settle(pilot)
        dialog = app.screen
        assert isinstance(dialog, QuestionDialog)
        assert "1 of 2" in dialog.query_one("#dialog-head").plain  # type: ignore[attr-defined]


async def test_keys_that_a_dialog_ignores_keep_the_next_one_away() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(scenes.item())
        await opened(pilot, ApprovalDialog)
        app._asker._typing_pause = 3600
        await pilot.press("x")
        workspace.ask(scenes.command_item("make"))
        workspace.publish(
            *scenes.in_shop(
                ApprovalResolved(pending_id="pen_edit", tool_use_id="x", choice="approve")
            )
        )
        await until(pilot, lambda: app.screen is app.workspace)
        await settle(pilot)
        assert len(app.state.inbox) == 1
        assert app.screen is app.workspace


async def test_what_is_begun_in_the_composer_is_gone_on_with_from_the_dialog() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, guard=GUARD_SECONDS) as (app, pilot):
        await pilot.press(*"please ")
        workspace.ask(replace(scenes.item()))
        await opened(pilot, ApprovalDialog)
        type_all(app, "stop it")
        await until(pilot, lambda: app.workspace.composer.text == "please stop it")
        await until(pilot, lambda: ("save_draft", scenes.SHOP, "please stop it") in workspace.calls)


async def test_keys_that_scroll_leave_no_trace_in_the_draft() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, guard=GUARD_SECONDS) as (app, pilot):
        workspace.ask(scenes.item())
        await opened(pilot, ApprovalDialog)
        type_all(app, "jjkkGg", gap=0.1)
        await pilot.pause(0.6)
        await settle(pilot)
        assert app.workspace.composer.text == ""


async def test_writing_on_after_enter_takes_the_answer_back() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, guard=GUARD_SECONDS) as (app, pilot):
        workspace.ask(scenes.item())
        await opened(pilot, ApprovalDialog)
        type_all(app, "c")
        field = app.screen.query_one(Input)
        await until(pilot, lambda: field.has_focus)
        type_all(app, "use tests\nand more", after=20)
        await until(pilot, lambda: field.value == "use testsand more")
        await pilot.pause(0.4)
        assert workspace.asked("decide") == []
        field.value = ""
        type_all(app, "use tests\n", after=30)
        await until(pilot, lambda: bool(workspace.asked("decide")))
        assert workspace.asked("decide")[0][2] == Decision(Choice.DENY, comment="use tests")
