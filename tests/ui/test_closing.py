"""A key that closes a screen closes that screen, however often it comes."""

from __future__ import annotations

import pytest
from textual import events

from tests.ui import scenes
from tests.ui.driving import running, settle, until
from tui_agent.ui.startup import Start


@pytest.mark.parametrize("opened_by", ["f1", "ctrl+q", "ctrl+o", "f2"])
async def test_a_burst_of_keys_closes_one_screen_and_no_other(opened_by: str) -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=Start(session_id=scenes.SHOP)) as (app, pilot):
        await pilot.press(opened_by)
        await until(pilot, lambda: len(app.screen_stack) == 2)
        for _ in range(3):
            app.post_message(events.Key("escape", None))
        await settle(pilot)
        assert app.screen_stack == [app.workspace]
