"""A session that another window owns is followed, and is whole when this window takes it over."""

from __future__ import annotations

from dataclasses import replace

from tests.ui import scenes
from tests.ui.driving import running, until
from tests.ui.fake_workspace import FakeWorkspace
from tui_agent.ui.dialogs.approval import ApprovalDialog
from tui_agent.ui.projection.items import UserItem
from tui_agent.ui.startup import Start
from tui_agent.vocabulary.blocks import TextBlock
from tui_agent.vocabulary.messages import Origin

SHOP = Start(session_id=scenes.SHOP)


def followed() -> FakeWorkspace:
    workspace = FakeWorkspace()
    workspace.add(replace(scenes.worked_in(), is_ours=False))
    return workspace


def write_elsewhere(workspace: FakeWorkspace, text: str) -> None:
    """The other window commits a prompt."""
    shot = workspace.snapshots[scenes.SHOP]
    last = next(each for each in reversed(shot.messages) if each.origin is Origin.USER)
    seq = shot.messages[-1].seq + 1
    new = replace(last, id=f"msg_{text}", seq=seq, blocks=(TextBlock(text),))
    workspace.add(replace(shot, messages=(*shot.messages, new)))


async def test_what_another_window_commits_is_shown_and_nothing_typed_is_lost() -> None:
    workspace = followed()
    async with running(workspace, start=SHOP) as (app, pilot):
        assert "open in another window" in app.workspace.status.plain
        await pilot.press(*"half a")
        write_elsewhere(workspace, "elsewhere")
        workspace.foreign_commits += 1
        await until(pilot, lambda: "elsewhere" in words(app.state.shown))
        assert app.workspace.conversation.session is app.state.shown
        assert app.workspace.composer.text == "half a"


async def test_a_commit_that_changes_nothing_here_draws_nothing_anew() -> None:
    workspace = followed()
    async with running(workspace, start=SHOP) as (app, pilot):
        before = app.state.shown
        asked = len(workspace.asked("snapshot"))
        workspace.foreign_commits += 1
        await until(pilot, lambda: len(workspace.asked("snapshot")) > asked)
        assert app.state.shown is before


async def test_what_is_decided_in_the_other_window_asks_nothing_here_any_more() -> None:
    workspace = followed()
    item = scenes.command_item("rm -r build")
    shot = workspace.snapshots[scenes.SHOP]
    workspace.add(replace(shot, pending=(*shot.pending, item)))
    async with running(workspace, start=SHOP) as (app, pilot):
        while app.state.inbox.get(item.pending_id) is not None:
            await until(pilot, lambda: isinstance(app.screen, ApprovalDialog))
            workspace.items.clear()
            workspace.add(replace(shot, pending=()))
            workspace.foreign_commits += 1
            await until(pilot, lambda: app.screen is app.workspace)
        assert len(app.state.inbox) == 0


async def test_who_takes_a_session_over_has_all_of_its_turns_first() -> None:
    workspace = followed()
    async with running(workspace, start=SHOP) as (app, pilot):
        write_elsewhere(workspace, "elsewhere")
        workspace.add(replace(workspace.snapshots[scenes.SHOP], is_ours=True))
        await pilot.press(*"on", "enter")
        await until(pilot, lambda: bool(workspace.asked("submit")))
        assert "elsewhere" in words(app.state.shown)
        assert app.state.shown is not None
        assert not app.state.shown.is_followed
        assert "another window" not in app.workspace.status.plain


def words(view: object) -> str:
    items = view.conversation.items  # type: ignore[attr-defined]
    return " ".join(item.text for item in items if isinstance(item, UserItem))
