"""How it looks: every pane and dialog, dark and light, from wide to narrow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.ui import scenes
from tests.ui.driving import make_app, settle, until
from tests.ui.fake_workspace import FakeWorkspace
from tui_agent.ui.app import TuiAgentApp
from tui_agent.ui.arrangement import Pane
from tui_agent.ui.startup import Start

SIZES = ((160, 45), (100, 30), (80, 24), (40, 12))
THEMES = ("dark", "light")

Step = Callable[[FakeWorkspace, TuiAgentApp, Pilot[int]], Awaitable[None]]


async def as_it_is(workspace: FakeWorkspace, app: TuiAgentApp, pilot: Pilot[int]) -> None:
    """Nothing more happens."""


async def approval(workspace: FakeWorkspace, app: TuiAgentApp, pilot: Pilot[int]) -> None:
    workspace.ask(scenes.item())
    await until(pilot, lambda: len(app.screen_stack) == 2)


async def command(workspace: FakeWorkspace, app: TuiAgentApp, pilot: Pilot[int]) -> None:
    workspace.ask(scenes.command_item("pytest -q tests && \u202egnp.exe \x1b[31m"))
    await until(pilot, lambda: len(app.screen_stack) == 2)


async def rule(workspace: FakeWorkspace, app: TuiAgentApp, pilot: Pilot[int]) -> None:
    await approval(workspace, app, pilot)
    await pilot.press("a")


async def edit(workspace: FakeWorkspace, app: TuiAgentApp, pilot: Pilot[int]) -> None:
    await approval(workspace, app, pilot)
    await pilot.press("e")


async def question(workspace: FakeWorkspace, app: TuiAgentApp, pilot: Pilot[int]) -> None:
    workspace.ask(scenes.question_item())
    await until(pilot, lambda: len(app.screen_stack) == 2)


async def inbox(workspace: FakeWorkspace, app: TuiAgentApp, pilot: Pilot[int]) -> None:
    app.put_aside(scenes.item())
    app.put_aside(scenes.question_item())
    app.state.inbox.load((scenes.item(), scenes.question_item()))
    await pilot.press("f2")


async def switcher(workspace: FakeWorkspace, app: TuiAgentApp, pilot: Pilot[int]) -> None:
    await pilot.press("ctrl+o")
    await until(pilot, lambda: len(app.screen_stack) == 2)


async def models(workspace: FakeWorkspace, app: TuiAgentApp, pilot: Pilot[int]) -> None:
    app.desk.choices.pick_model("")
    await until(pilot, lambda: len(app.screen_stack) == 2)


async def call(workspace: FakeWorkspace, app: TuiAgentApp, pilot: Pilot[int]) -> None:
    app.desk.pages.show_call("call_lint")
    await until(pilot, lambda: len(app.screen_stack) == 2)


async def help_(workspace: FakeWorkspace, app: TuiAgentApp, pilot: Pilot[int]) -> None:
    await pilot.press("f1")


async def slash(workspace: FakeWorkspace, app: TuiAgentApp, pilot: Pilot[int]) -> None:
    await pilot.press("/")


async def agent(workspace: FakeWorkspace, app: TuiAgentApp, pilot: Pilot[int]) -> None:
    workspace.add(scenes.child_session())
    app.desk.pages.show_agent("ses_child1")
    await until(pilot, lambda: len(app.screen_stack) == 2)


def tab(pane: Pane) -> Step:
    async def step(workspace: FakeWorkspace, app: TuiAgentApp, pilot: Pilot[int]) -> None:
        app.workspace.focus_pane(pane)

    return step


STEPS: dict[str, Step] = {
    "workspace": as_it_is,
    "approval": approval,
    "command": command,
    "rule": rule,
    "edit": edit,
    "question": question,
    "inbox": inbox,
    "switcher": switcher,
    "models": models,
    "call": call,
    "help": help_,
    "slash": slash,
    "agent": agent,
    "activity": tab(Pane.ACTIVITY),
    "agents": tab(Pane.AGENTS),
    "sessions": tab(Pane.SESSIONS),
}


@pytest.fixture(autouse=True)
def _one_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", STEPS)
def test_screen(name: str, size: tuple[int, int], theme: str, snap_compare: Any) -> None:
    workspace = scenes.busy_workspace()
    app = make_app(workspace, start=Start(session_id=scenes.SHOP), theme=f"tui-agent-{theme}")

    async def arrive(pilot: Pilot[int]) -> None:
        await until(pilot, lambda: app.state.shown is not None)
        scenes.live_work(workspace)
        view = app.state.shown
        assert view is not None
        await until(pilot, lambda: view.queue != ())
        await STEPS[name](workspace, app, pilot)
        await still(app, pilot)

    assert snap_compare(app, terminal_size=size, run_before=arrive)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_an_empty_session_shows_how_to_begin(
    size: tuple[int, int], theme: str, snap_compare: Any
) -> None:
    app = make_app(FakeWorkspace(), theme=f"tui-agent-{theme}")

    async def arrive(pilot: Pilot[int]) -> None:
        await until(pilot, lambda: app.state.shown is not None)
        await still(app, pilot)

    assert snap_compare(app, terminal_size=size, run_before=arrive)


def test_without_unicode(snap_compare: Any) -> None:
    workspace = scenes.busy_workspace()
    app = make_app(workspace, start=Start(session_id=scenes.SHOP), ascii_only=True)

    async def arrive(pilot: Pilot[int]) -> None:
        await until(pilot, lambda: app.state.shown is not None)
        await still(app, pilot)

    assert snap_compare(app, terminal_size=(120, 30), run_before=arrive)


async def still(app: TuiAgentApp, pilot: Pilot[int]) -> None:
    """The picture as it stays: every spinner at its first frame, no cursor that blinks."""
    from textual.widgets import Input, TextArea

    for field in app.screen.query("Input, TextArea").results(Input | TextArea):  # type: ignore[arg-type]
        field.cursor_blink = False
    await settle(pilot)
    app.workspace.spin(0)
    app.draw()
    await pilot.pause()
