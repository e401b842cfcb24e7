"""Take the picture of the README: the real program on the demo tour, two subagents at work.

`python -m tests.picture docs/workspace.svg` drives the real engine and the real screen, answers
what the tour asks, and saves the screen while both subagents run.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from tui_agent.settings.load import load_settings
from tui_agent.ui.app import TuiAgentApp
from tui_agent.ui.bridge import EngineThread
from tui_agent.ui.startup import Behaviour, Start
from tui_agent.workspace.api import WorkspaceApi
from tui_agent.workspace.config import WorkspaceConfig
from tui_agent.workspace.workspace import Workspace

SIZE = (150, 42)
FILES = {
    "README.md": "# shop\n\nA small shop. Prices are in cents.\n",
    "cart.py": "def total(items):\n    return round(sum(i.price * i.quantity for i in items), 2)\n",
    "tests/test_cart.py": "# TODO: three times 0.335\n",
}
PATIENCE = 300
"""Tenths of a second until the tour must have got there."""


def sample_project(folder: Path) -> None:
    """The project that is shown."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


async def take(target: Path, home: Path) -> None:
    """Drive the tour to its subagents and save the screen."""
    folder = home / "code" / "shop"
    sample_project(folder)
    os.environ["HOME"] = str(home)  # so that the header shows ~/code/shop
    environ = {"TUI_AGENT_HOME": str(home / "data"), "PATH": os.environ["PATH"]}

    async def open_workspace() -> WorkspaceApi:
        loaded = load_settings(folder, environ)
        config = WorkspaceConfig(folder.resolve(), loaded, environ, attended=True)
        return await Workspace.open(config)

    engine = EngineThread(open_workspace)
    engine.start()
    app = TuiAgentApp(engine.open, start=Start(None, None, None), behaviour=Behaviour())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(1)
        await pilot.press(*"show me around", "enter")
        for _ in range(PATIENCE):
            await pilot.pause(0.1)
            if type(app.screen).__name__ == "QuestionDialog":
                await pilot.pause(0.6)
                await pilot.press("enter")
            elif type(app.screen).__name__ == "ApprovalDialog":
                await pilot.pause(0.6)
                await pilot.press("y")
            elif "Survey" in app.export_screenshot():
                break
        await pilot.pause(1.6)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(app.export_screenshot(title="tui-agent"))
    await engine.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(take(Path(sys.argv[1]), Path(scratch)))
