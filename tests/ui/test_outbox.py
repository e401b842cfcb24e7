"""Prompts reach the engine once, in order, whenever they are typed, or come back whole."""

from __future__ import annotations

import asyncio

from tests.ui import scenes
from tests.ui.driving import make_app, running, until
from tests.ui.fake_workspace import FakeWorkspace
from tui_agent.ui.bridge import Bridge
from tui_agent.ui.startup import Start
from tui_agent.vocabulary.errors import UserError

SHOP = Start(session_id=scenes.SHOP)


class SlowFirst(FakeWorkspace):
    """Takes longest for the first prompt; answers the others at once."""

    async def submit(self, session_id: str, text: str, *, after_turn: bool = False) -> None:
        if not self.asked("submit"):
            await asyncio.sleep(0.1)
        await super().submit(session_id, text, after_turn=after_turn)


class RefusesSecond(FakeWorkspace):
    """Takes the first prompt and no other, once it may."""

    may_answer = False

    async def submit(self, session_id: str, text: str, *, after_turn: bool = False) -> None:
        while not self.may_answer:
            await asyncio.sleep(0.005)
        if self.asked("submit"):
            raise UserError("Not now.")
        await super().submit(session_id, text, after_turn=after_turn)


def sent(workspace: FakeWorkspace) -> list[object]:
    return [call[2] for call in workspace.asked("submit")]


async def test_prompts_sent_in_a_burst_arrive_in_order() -> None:
    workspace = SlowFirst()
    workspace.add(scenes.worked_in())
    async with running(workspace, start=SHOP) as (app, pilot):
        for text in ("one", "two", "three"):
            app.workspace.composer.set_text(text)
            await pilot.press("enter")
        await until(pilot, lambda: len(sent(workspace)) == 3)
        assert sent(workspace) == ["one", "two", "three"]
        assert app.workspace.composer.text == ""


async def test_what_follows_a_refused_prompt_comes_back_with_it_and_is_not_sent() -> None:
    workspace = RefusesSecond()
    workspace.add(scenes.worked_in())
    async with running(workspace, start=SHOP) as (app, pilot):
        for text in ("one", "two", "three"):
            app.workspace.composer.set_text(text)
            await pilot.press("enter")
        workspace.may_answer = True
        await until(pilot, lambda: app.workspace.composer.text != "")
        assert sent(workspace) == ["one"]
        assert app.workspace.composer.text == "two\nthree"


async def test_prompts_typed_before_the_session_is_open_are_sent_when_it_is() -> None:
    workspace = FakeWorkspace()
    app = make_app(workspace, start=Start(prompt="from the command line"))
    may_open, factory = asyncio.Event(), app._bridge_factory

    async def opened_later() -> Bridge:
        await may_open.wait()
        return await factory()

    app._bridge_factory = opened_later
    async with app.run_test() as pilot:
        for text in ("one", "two"):
            await pilot.press(*text, "enter")
        await pilot.pause()
        assert app.workspace.composer.text == ""
        assert "then what you sent goes" in app.workspace.status.plain
        may_open.set()
        await until(pilot, lambda: len(sent(workspace)) == 3)
        assert sent(workspace) == ["from the command line", "one", "two"]
        assert app._bridge is not None
        await app._bridge.close()


async def test_prompts_come_back_when_no_session_can_be_opened() -> None:
    app = make_app(FakeWorkspace())
    may_fail = asyncio.Event()

    async def fails() -> Bridge:
        await may_fail.wait()
        raise UserError("The database is broken.")

    app._bridge_factory = fails
    async with app.run_test() as pilot:
        await pilot.press(*"one", "enter", *"two", "enter")
        may_fail.set()
        await until(pilot, lambda: app.workspace.composer.text == "one\ntwo")
