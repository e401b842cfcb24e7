"""What a session works with can be looked at: todo list, requests, standing permissions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from tests.ui import scenes
from tests.ui.driving import make_app, until
from tests.ui.fake_workspace import FOLDER, START, FakeWorkspace
from tests.ui.projection.test_inspection import REQUEST
from tui_agent.ui.app import TuiAgentApp
from tui_agent.ui.commands import BY_ID
from tui_agent.ui.panes.conversation_pane import ConversationPane
from tui_agent.ui.screens.agent import AgentScreen
from tui_agent.ui.startup import Start
from tui_agent.ui.widgets.line_bar import LineBar
from tui_agent.ui.widgets.pager import Pager
from tui_agent.vocabulary.decisions import Grant, Scope
from tui_agent.vocabulary.events import ModeChanged, TodoChanged
from tui_agent.vocabulary.states import Mode


@asynccontextmanager
async def at_work() -> AsyncIterator[tuple[FakeWorkspace, TuiAgentApp, Pilot[int]]]:
    workspace = scenes.busy_workspace()
    app = make_app(workspace, start=Start(session_id=scenes.SHOP))
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.state.shown is not None)
        yield workspace, app, pilot


def command(app: TuiAgentApp, name: str) -> None:
    BY_ID[name].handler(app.desk, "")


async def test_the_todo_list_stands_above_the_composer_and_opens_whole() -> None:
    async with at_work() as (workspace, app, pilot):
        items = (
            {"content": "Read", "status": "completed", "activeForm": "Reading"},
            {"content": "Write", "status": "in_progress", "activeForm": "Writing it"},
        )
        workspace.publish(
            TodoChanged(items=items, session_id=scenes.SHOP, agent_path=(scenes.SHOP,))
        )
        await until(pilot, lambda: "1 of 2 done" in app.workspace.above.plain)
        assert "Writing it" in app.workspace.above.plain
        command(app, "todo")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        assert "✓ Read" in app.screen.query_one(Pager).plain


async def test_an_open_todo_list_goes_on_when_the_session_was_loaded_anew() -> None:
    async with at_work() as (workspace, app, pilot):
        command(app, "todo")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        before = app.state.shown
        app.start(app.desk.sessions.load_anew(scenes.SHOP))
        await until(pilot, lambda: app.state.shown is not before)
        items = ({"content": "Write", "status": "pending", "activeForm": "Writing it"},)
        workspace.publish(
            TodoChanged(items=items, session_id=scenes.SHOP, agent_path=(scenes.SHOP,))
        )
        await until(pilot, lambda: "Write" in app.screen.query_one(Pager).plain)


async def test_an_open_agent_goes_on_when_its_session_was_loaded_anew() -> None:
    async with at_work() as (workspace, app, pilot):
        workspace.add(scenes.child_session())
        app.desk.pages.show_agent("ses_child1")
        await until(pilot, lambda: isinstance(app.screen, AgentScreen))
        before = app.state.view("ses_child1")
        app.start(app.desk.sessions.load_anew("ses_child1"))
        await until(pilot, lambda: app.state.view("ses_child1") is not before)
        workspace.publish(ModeChanged(mode=Mode.PLAN, session_id="ses_child1"))
        pane = app.screen.query_one(ConversationPane)
        await until(pilot, lambda: pane.session is app.state.view("ses_child1"))


async def test_the_inspector_shows_parts_and_body_of_each_request() -> None:
    async with at_work() as (workspace, app, pilot):
        workspace.inspected = (REQUEST, REQUEST)
        command(app, "request")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        head, pager = app.screen.query_one("#dialog-head", LineBar), app.screen.query_one(Pager)
        assert "1 of 2" in head.plain
        assert "5 older tool results were cleared" in pager.plain
        await pilot.press("right", "right", "tab")
        assert "2 of 2" in head.plain
        assert '"model": "deepseek-flash"' in pager.plain
        await pilot.press("escape")
        assert len(app.screen_stack) == 1


async def test_a_standing_permission_is_taken_back() -> None:
    async with at_work() as (workspace, app, pilot):
        workspace.granted = [Grant(None, FOLDER, "Bash(git status)", Scope.ALWAYS, START, 7)]
        command(app, "permissions")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("enter")
        await until(pilot, lambda: workspace.granted == [])


async def test_a_refused_message_to_an_agent_is_in_the_composer_again() -> None:
    async with at_work() as (workspace, app, pilot):
        workspace.refuse_submit = "it has just ended"
        app.desk.pages.message_agent("ses_child1", "look at the tests too")
        await until(pilot, lambda: app.workspace.composer.text == "look at the tests too")
