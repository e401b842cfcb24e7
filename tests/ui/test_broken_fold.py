"""One event that cannot be shown keeps no other from the screen, and the session heals."""

from __future__ import annotations

import pytest

from tests.ui import scenes
from tests.ui.driving import running, until
from tests.ui.fake_workspace import FakeWorkspace
from tui_agent.ui.projection.lamps import Lamps
from tui_agent.ui.startup import Start
from tui_agent.vocabulary.events import ModeChanged, ToolProgress
from tui_agent.vocabulary.states import Mode


async def test_the_events_after_a_broken_one_are_shown_and_the_session_is_loaded_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace = FakeWorkspace()
    workspace.add(scenes.worked_in())
    async with running(workspace, start=Start(session_id=scenes.SHOP)) as (app, pilot):
        before = app.state.shown
        took = Lamps.apply

        def fails(lamps: Lamps, event: object) -> None:
            if isinstance(event, ToolProgress):
                raise RuntimeError("no such lamp")
            took(lamps, event)  # type: ignore[arg-type]

        monkeypatch.setattr(Lamps, "apply", fails)
        workspace.publish(
            ToolProgress(tool_use_id="t", text="x", total_bytes=1, session_id=scenes.SHOP),
            ModeChanged(mode=Mode.PLAN, session_id=scenes.SHOP),
        )
        await until(pilot, lambda: app.state.shown is not before)
        assert before is not None
        assert before.mode is Mode.PLAN
        assert app.workspace.conversation.session is app.state.shown
        assert "loaded anew" in app.workspace.status.plain
