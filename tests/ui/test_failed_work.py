"""Work that fails where nobody expected it is told and logged, and keeps nothing else waiting."""

from __future__ import annotations

import logging

import pytest

from tests.ui import scenes
from tests.ui.driving import running, until
from tests.ui.fake_workspace import FakeWorkspace
from tui_agent.ui.projection.lamps import Lamps
from tui_agent.ui.startup import Start
from tui_agent.ui.state import WorkspaceState
from tui_agent.vocabulary.events import ModeChanged, ToolProgress
from tui_agent.vocabulary.states import Mode

PROGRESS = ToolProgress(tool_use_id="t", text="x", total_bytes=1, session_id=scenes.SHOP, seq=98)
PLAN = ModeChanged(mode=Mode.PLAN, session_id=scenes.SHOP, seq=99)


def break_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    took = Lamps.apply

    def fails(lamps: Lamps, event: object) -> None:
        if isinstance(event, ToolProgress):
            raise KeyError("no such lamp")
        took(lamps, event)  # type: ignore[arg-type]

    monkeypatch.setattr(Lamps, "apply", fails)


async def test_an_unexpected_failure_of_a_command_is_told_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fails() -> None:
        raise KeyError("nowhere")

    async with running(FakeWorkspace(), start=Start()) as (app, pilot):
        with caplog.at_level(logging.ERROR, logger="tui_agent"):
            app.start(fails())
            await until(pilot, lambda: bool(app._notifications))
        told = [each.message for each in app._notifications]
        assert told == ["That failed: KeyError (details are in the log)"]
        assert any(each.exc_info for each in caplog.records)


@pytest.mark.parametrize("is_new", [True, False])
def test_a_bad_event_among_those_that_were_kept_stops_none_of_the_others(
    monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    break_progress(monkeypatch)
    state = WorkspaceState()
    snapshot = scenes.worked_in()
    if not is_new:
        assert state.open(snapshot) is not None
    state.expect(scenes.SHOP)
    state.apply((PROGRESS, PLAN))
    if is_new:
        assert state.open(snapshot) is not None
    else:
        state.keep(scenes.SHOP)
    view = state.view(scenes.SHOP)
    assert view is not None
    assert view.mode is Mode.PLAN
    assert state.broken == {scenes.SHOP}
