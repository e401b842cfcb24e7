"""What is loaded when the first screen is painted: nothing that it can do without."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import asyncio, sys
from tui_agent.cli import compose
from tui_agent.ui.app import TuiAgentApp
from tui_agent.ui.startup import Behaviour, Start
from tui_agent.vocabulary.errors import UserError

HEAVY = ("anthropic", "openai", "pydantic", "aiosqlite", "sqlite3", "markdown_it", "pygments")
HEAVY += ("tui_agent.vocabulary.events", "tui_agent.ui.live", "tui_agent.ui.desk.pages")

async def open_engine():
    print(*sorted(name for name in HEAVY if name in sys.modules))
    raise UserError("enough seen")

async def main():
    app = TuiAgentApp(open_engine, start=Start(), behaviour=Behaviour())
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.workspace.is_mounted

asyncio.run(main())
"""


def test_the_first_screen_is_painted_before_anything_heavy_is_loaded() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
