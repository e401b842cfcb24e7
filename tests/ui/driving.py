"""Running the application in a test: with a fake workspace on a real engine thread."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from tests.ui.fake_workspace import START, FakeWorkspace
from tui_agent.ui.app import TuiAgentApp
from tui_agent.ui.bridge import EngineThread
from tui_agent.ui.startup import Behaviour, Start
from tui_agent.ui.ticker import Ticker
from tui_agent.vocabulary.ids import Clock


def make_app(
    workspace: FakeWorkspace,
    *,
    start: Start | None = None,
    theme: str = "tui-agent-dark",
    guard: float = 0.0,
    typing_pause: float = 0.0,
    ascii_only: bool = False,
) -> TuiAgentApp:
    """An application whose time stands still and whose ticks are made by hand."""
    engine = EngineThread(workspace.open)
    engine.start()
    behaviour = Behaviour(
        theme=theme,
        ascii_only=ascii_only,
        guard=guard,
        typing_pause=typing_pause,
        alone=0,
        clock=Clock(wall=lambda: START + 100, monotonic=lambda: 100.0),
        ticker=Ticker(),
        blinks=False,
    )
    return TuiAgentApp(engine.open, start=start, behaviour=behaviour)


async def until(pilot: Pilot[int], condition: Callable[[], bool]) -> None:
    """Let the application work, tick by tick, until the condition holds."""
    for _ in range(400):
        pilot.app.ticker.tick()  # type: ignore[attr-defined]
        await pilot.pause(0.005)
        if condition():
            await settle(pilot)
            return
    raise AssertionError("it never came to that")


async def settle(pilot: Pilot[int]) -> None:
    """Let everything that is under way be drawn."""
    app = pilot.app
    assert isinstance(app, TuiAgentApp)
    await pilot.pause()
    for _ in range(4):
        app.ticker.tick()
    app.draw()
    await pilot.pause()


@asynccontextmanager
async def running(
    workspace: FakeWorkspace,
    *,
    size: tuple[int, int] = (140, 40),
    start: Start | None = None,
    guard: float = 0.0,
    typing_pause: float = 0.0,
) -> AsyncIterator[tuple[TuiAgentApp, Pilot[int]]]:
    """The application with its first session on screen."""
    app = make_app(workspace, start=start, guard=guard, typing_pause=typing_pause)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.state.shown is not None)
        yield app, pilot
        if app._draft_timer is not None:
            app._draft_timer.stop()  # or it could find the engine gone
        if app._bridge is not None:
            await app._bridge.close()
