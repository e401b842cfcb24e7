"""An answer is given once and apart from the keys, and only by who can see what is asked."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field

import pytest

from tests.ui import scenes
from tests.ui.driving import running, settle, until
from tests.ui.fake_workspace import FakeWorkspace
from tui_agent.ui.dialogs.approval import ApprovalDialog
from tui_agent.ui.dialogs.question import QuestionDialog
from tui_agent.ui.startup import Start
from tui_agent.ui.widgets.pager import Pager
from tui_agent.vocabulary.decisions import Decision
from tui_agent.workspace.api import DecideResult

SHOP = Start(session_id=scenes.SHOP)


@dataclass
class SlowAnswers:
    """Lets the workspace of a test answer only once it may; then perhaps with an error."""

    workspace: FakeWorkspace
    error: Exception | None = None
    may: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        decide = self.workspace.decide

        async def slowly(pending_id: str, decision: Decision) -> DecideResult:
            self.workspace.calls.append(("asked to decide", pending_id, decision))
            while not self.may.is_set():
                await asyncio.sleep(0.005)
            if self.error is not None:
                raise self.error
            return await decide(pending_id, decision)

        self.workspace.decide = slowly  # type: ignore[method-assign]


async def test_while_an_answer_is_taken_no_second_one_is_and_the_screen_lives() -> None:
    workspace = scenes.busy_workspace()
    slow = SlowAnswers(workspace)
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(scenes.item())
        await until(pilot, lambda: isinstance(app.screen, ApprovalDialog))
        dialog = app.screen
        assert isinstance(dialog, ApprovalDialog)
        await pilot.press("y")
        await until(pilot, lambda: bool(workspace.asked("asked to decide")))
        assert "Allowing once" in dialog.choices.plain
        await pilot.press("n", "y", "s")
        await settle(pilot)
        assert len(workspace.asked("asked to decide")) == 1
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.workspace)
        slow.may.set()
        await until(pilot, lambda: len(app.state.inbox) == 0)
        assert len(workspace.asked("decide")) == 1


async def test_an_answer_that_fails_after_the_dialog_closed_is_told() -> None:
    workspace = scenes.busy_workspace()
    workspace.refuse_decision = "the file is gone \x1b[31m"
    slow = SlowAnswers(workspace)
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(scenes.item())
        await until(pilot, lambda: isinstance(app.screen, ApprovalDialog))
        await pilot.press("y")
        await until(pilot, lambda: bool(workspace.asked("asked to decide")))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.workspace)
        slow.may.set()
        await until(pilot, lambda: len(app._notifications) == 1)
        (told,) = app._notifications
        assert told.message.startswith("the file is gone")
        assert "\x1b" not in told.message


async def test_an_engine_that_breaks_is_told_and_the_person_can_answer_again() -> None:
    workspace = scenes.busy_workspace()
    slow = SlowAnswers(workspace, RuntimeError("disk on fire"))
    slow.may.set()
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(scenes.item())
        await until(pilot, lambda: isinstance(app.screen, ApprovalDialog))
        dialog = app.screen
        assert isinstance(dialog, ApprovalDialog)
        await pilot.press("y")
        await until(pilot, lambda: "disk on fire" in dialog.choices.plain)
        assert "allow once" in dialog.choices.plain
        slow.error = None
        await pilot.press("y")
        await until(pilot, lambda: bool(workspace.asked("decide")))


@pytest.mark.parametrize("size", [(20, 5), (24, 6), (30, 5), (12, 20), (3, 3), (120, 5)])
async def test_what_cannot_be_shown_cannot_be_decided(size: tuple[int, int]) -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, size=size) as (app, pilot):
        workspace.ask(scenes.command_item("rm -rf / && echo this is longer than a line of it"))
        await until(pilot, lambda: isinstance(app.screen, ApprovalDialog))
        dialog = app.screen
        assert isinstance(dialog, ApprovalDialog)
        if size[0] >= 20:
            words = " ".join(dialog.head.plain.split())
            assert "oo small to" in words
            assert words.endswith("Esc closes.")
            assert dialog.head.region.bottom <= app.size.height
        await pilot.press("y", "s", "n", "a", "enter", "e", "ctrl+s", "c", *"no", "enter")
        await settle(pilot)
        assert workspace.asked("decide") == []
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: "allow once" in dialog.choices.plain)
        assert "rm -rf /" in dialog.query_one(Pager).plain
        await pilot.press("y")
        await until(pilot, lambda: bool(workspace.asked("decide")))


@pytest.mark.parametrize("step", ["a", "c", "e"])
async def test_a_field_is_no_way_around_a_small_terminal(step: str) -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(scenes.command_item("make"))
        await until(pilot, lambda: isinstance(app.screen, ApprovalDialog))
        await pilot.press(step, *"x")
        await pilot.resize_terminal(20, 5)
        await settle(pilot)
        await pilot.press("enter", "ctrl+s")
        await settle(pilot)
        assert workspace.asked("decide") == []
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.workspace)
        assert len(app.state.inbox) == 1


async def test_a_question_that_cannot_be_shown_cannot_be_answered() -> None:
    workspace = scenes.busy_workspace()
    questions = {"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]}
    async with running(workspace, start=SHOP, size=(20, 5)) as (app, pilot):
        workspace.ask(scenes.question_item(questions))
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        dialog = app.screen
        assert isinstance(dialog, QuestionDialog)
        assert "oo small" in " ".join(dialog.head.plain.split())
        await pilot.press("1", "enter", "tab", "x", "enter")
        await settle(pilot)
        assert workspace.asked("decide") == []
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        await pilot.press("1")
        await until(pilot, lambda: bool(workspace.asked("decide")))


async def test_a_question_without_text_only_closes() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(scenes.question_item({"questions": []}))
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        await pilot.press("1", "enter", "space", "²", "tab")
        await settle(pilot)
        assert workspace.asked("decide") == []
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.workspace)
