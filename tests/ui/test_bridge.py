"""Two loops, one seam: answers and events cross, work survives the one who asked for it."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import replace

import pytest

from tests.ui.driving import make_app
from tests.ui.fake_workspace import FakeWorkspace
from tui_agent.ui.bridge import Bridge, EngineThread
from tui_agent.vocabulary.errors import NotFoundError, UserError
from tui_agent.vocabulary.events import Event, TextDelta


async def opened(workspace: FakeWorkspace) -> tuple[EngineThread, Bridge]:
    engine = EngineThread(workspace.open)
    engine.start()
    return engine, await engine.open()


class SlowWorkspace(FakeWorkspace):
    """Waits until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.thread_name = ""

    async def submit(self, session_id: str, text: str, *, after_turn: bool = False) -> None:
        self.thread_name = threading.current_thread().name
        while not self.go.is_set():
            await asyncio.sleep(0.001)
        await super().submit(session_id, text, after_turn=after_turn)


class BrokenWorkspace(FakeWorkspace):
    """Fails as nothing should."""

    async def compact(self, session_id: str, focus: str = "") -> None:
        raise RuntimeError("no such\nthing")

    async def close(self) -> None:
        await asyncio.sleep(3600)


async def test_a_call_runs_in_the_engines_thread() -> None:
    workspace = SlowWorkspace()
    workspace.go.set()
    _, bridge = await opened(workspace)
    await bridge.submit("s", "hello")
    assert workspace.thread_name == "engine"
    assert await bridge.close()
    assert workspace.is_closed


async def test_who_goes_away_drops_the_answer_and_not_the_work() -> None:
    workspace = SlowWorkspace()
    _, bridge = await opened(workspace)
    asking = asyncio.create_task(bridge.submit("s", "hello"))
    while not workspace.thread_name:
        await asyncio.sleep(0.001)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    workspace.go.set()
    while not workspace.asked("submit"):
        await asyncio.sleep(0.001)
    assert await bridge.close()


async def test_an_error_for_a_person_passes_as_it_is() -> None:
    _, bridge = await opened(FakeWorkspace())
    with pytest.raises(NotFoundError, match="There is no session nope"):
        await bridge.snapshot("nope")
    assert await bridge.close()


async def test_any_other_error_becomes_one_line_and_goes_to_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine, bridge = await opened(BrokenWorkspace())
    with caplog.at_level(logging.ERROR), pytest.raises(UserError, match="no such thing"):
        await bridge.compact("s")
    assert "the engine failed" in caplog.text
    await engine.stop(0.01)


async def test_an_engine_that_does_not_close_is_left_behind_at_the_deadline() -> None:
    _, bridge = await opened(BrokenWorkspace())
    assert not await bridge.close(0.01)


async def test_events_arrive_in_order_in_batches_on_the_loop_that_asked() -> None:
    workspace = FakeWorkspace()
    _, bridge = await opened(workspace)
    seen: list[Event] = []
    threads: set[int] = set()

    def deliver(batch: tuple[Event, ...]) -> None:
        threads.add(threading.get_ident())
        seen.extend(batch)

    unfollow = bridge.follow(deliver)
    while not workspace.subscriptions:
        await asyncio.sleep(0.001)
    for number in range(5):
        workspace.publish(TextDelta(session_id="s", model_call_id="m", text=str(number)))
    while len(seen) < 5:
        await asyncio.sleep(0.001)
    assert [event.text for event in seen if isinstance(event, TextDelta)] == list("01234")
    assert threads == {threading.get_ident()}
    unfollow()
    assert await bridge.close()


async def test_a_batch_that_could_not_be_drawn_does_not_stop_the_next() -> None:
    workspace = FakeWorkspace()
    _, bridge = await opened(workspace)
    seen: list[str] = []
    problems: list[object] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: problems.append(context["exception"])
    )

    def deliver(batch: tuple[Event, ...]) -> None:
        seen.append("batch")
        if len(seen) == 1:
            raise RuntimeError("drawing failed")

    bridge.follow(deliver)
    while not workspace.subscriptions:
        await asyncio.sleep(0.001)
    event = TextDelta(session_id="s", model_call_id="m", text="x")
    workspace.publish(event)
    workspace.publish(replace(event, text="y"))
    while len(seen) < 2:
        await asyncio.sleep(0.001)
    assert len(problems) == 1
    assert await bridge.close()


async def test_a_workspace_that_cannot_be_opened_is_said_and_not_thrown() -> None:
    class Closed(FakeWorkspace):
        async def open(self) -> FakeWorkspace:
            raise UserError("The database is locked by another program.")

    app = make_app(Closed())
    async with app.run_test(size=(100, 20)) as pilot:
        for _ in range(50):
            await pilot.pause(0.01)
            if "database is locked" in app.workspace.status.plain:
                break
        assert "database is locked" in app.workspace.status.plain
