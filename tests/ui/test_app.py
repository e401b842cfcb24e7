"""The workspace from a person's seat: typing, watching, deciding, switching, leaving."""

from __future__ import annotations

from tests.ui.driving import running, until
from tests.ui.fake_workspace import FakeWorkspace


async def test_a_prompt_that_is_typed_reaches_the_session() -> None:
    workspace = FakeWorkspace()
    async with running(workspace) as (app, pilot):
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: bool(workspace.asked("submit")))
        assert workspace.asked("submit") == [("submit", "ses_new1", "hello", False)]
        assert app.workspace.composer.text == ""
