"""The queue above the composer and its list: edit, move, remove, sooner or later."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from tests.ui import scenes
from tests.ui.driving import running, settle, until
from tests.ui.fake_workspace import FakeWorkspace
from tui_agent.ui.app import TuiAgentApp
from tui_agent.ui.composer.queue_screen import QueueScreen
from tui_agent.ui.startup import Start
from tui_agent.vocabulary.events import QueueChanged, QueuedMessage

SHOP = Start(session_id=scenes.SHOP)
ONE, TWO, THREE = (QueuedMessage(f"q{n}", text) for n, text in enumerate(("one", "two", "three")))


def queue_is(workspace: FakeWorkspace, *messages: QueuedMessage) -> None:
    """The engine has this queue and tells so."""
    workspace.queued = messages
    workspace.publish(*scenes.in_shop(QueueChanged(items=messages)))


@asynccontextmanager
async def queued(
    *, opened: bool = True
) -> AsyncIterator[tuple[TuiAgentApp, Pilot[int], FakeWorkspace]]:
    """A session with three queued messages, and their list open."""
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        queue_is(workspace, ONE, TWO, THREE)
        view = app.state.shown
        assert view is not None
        await until(pilot, lambda: len(view.queue) == 3)
        if opened:
            await pilot.press("ctrl+q")
            await until(pilot, lambda: isinstance(app.screen, QueueScreen))
        yield app, pilot, workspace


def listed(app: TuiAgentApp) -> list[str]:
    assert isinstance(app.screen, QueueScreen)
    return [row.key for row in app.screen.rows.rows]


async def test_enter_takes_a_message_back_into_the_composer() -> None:
    async with queued() as (app, pilot, workspace):
        await pilot.press("down", "enter")
        await until(pilot, lambda: bool(workspace.asked("edit_queue")))
        assert workspace.asked("edit_queue") == [("edit_queue", scenes.SHOP, (), ("q1",))]
        await until(pilot, lambda: app.workspace.composer.text == "two")


async def test_a_message_that_was_delivered_meanwhile_is_not_given_back() -> None:
    async with queued() as (app, pilot, workspace):
        workspace.queued = (ONE, THREE)
        await pilot.press("down", "enter")
        await until(pilot, lambda: "delivered meanwhile" in app.workspace.status.plain)
        assert app.workspace.composer.text == ""


async def test_messages_move_at_once_and_every_key_builds_on_the_one_before() -> None:
    async with queued() as (app, pilot, workspace):
        await pilot.press("shift+down", "shift+down")
        assert listed(app) == ["q1", "q2", "q0"]
        await pilot.press("shift+up", "home", "shift+up")
        assert listed(app) == ["q1", "q0", "q2"]
        await until(pilot, lambda: len(workspace.asked("edit_queue")) == 3)
        assert workspace.asked("edit_queue")[-1][2] == ("q1", "q0", "q2")


async def test_a_message_is_removed_and_one_is_put_off() -> None:
    async with queued() as (app, pilot, workspace):
        await pilot.press("delete", "space")
        assert listed(app) == ["q1", "q2"]
        assert isinstance(app.screen, QueueScreen)
        assert "after the turn" in app.screen.rows.plain.splitlines()[0]
        await until(pilot, lambda: len(workspace.asked("edit_queue")) == 2)
        assert [call[2:] for call in workspace.asked("edit_queue")] == [
            (("q1", "q2"), ("q0",)),
            (("q1", "q2"), ()),
        ]


async def test_the_list_follows_the_engine_and_shrinks_under_the_cursor() -> None:
    async with queued() as (app, pilot, workspace):
        await pilot.press("end")
        queue_is(workspace, ONE)
        await until(pilot, lambda: listed(app) == ["q0"])
        queue_is(workspace)
        await until(pilot, lambda: listed(app) == [])
        await pilot.press("enter", "delete", "space", "shift+up", "x", "escape")
        await settle(pilot)
        assert not isinstance(app.screen, QueueScreen)
        assert workspace.asked("edit_queue") == []


async def test_what_cannot_be_changed_is_told_and_shown_as_it_is() -> None:
    async with queued() as (app, pilot, workspace):
        workspace.refuse_queue = "the session is open in another window"
        await pilot.press("delete")
        await until(pilot, lambda: bool(app._notifications))
        assert listed(app) == ["q0", "q1", "q2"]


async def test_up_in_an_empty_composer_takes_back_what_was_queued_last() -> None:
    async with queued(opened=False) as (app, pilot, workspace):
        await pilot.press("up")
        await until(pilot, lambda: app.workspace.composer.text == "three")
        assert workspace.asked("edit_queue") == [("edit_queue", scenes.SHOP, (), ("q2",))]


async def test_prompts_of_earlier_sessions_of_the_folder_are_recalled() -> None:
    workspace = FakeWorkspace()
    workspace.prompts = ("fix the build", "explain it")
    async with running(workspace) as (app, pilot):
        await until(pilot, lambda: bool(app.workspace.composer.sent_elsewhere))
        await pilot.press(*"fix", "up")
        assert app.workspace.composer.text == "fix the build"
