"""One order of events for every surface, however slowly one of them reads."""

from __future__ import annotations

import asyncio

import pytest

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Call, Hold, Reply, Say
from tests.workspace.kit import Place, bash
from tests.workspace.trace import Trace
from tui_agent.vocabulary.blocks import text_of
from tui_agent.vocabulary.events import (
    Event,
    MessageStored,
    ModeChanged,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
)
from tui_agent.vocabulary.states import Mode
from tui_agent.workspace.bus import REMEMBERED, BusSubscription, EventBus


def text(piece: str, call: str = "call_1", session: str = "ses_1") -> TextDelta:
    return TextDelta(model_call_id=call, text=piece, session_id=session)


def arguments(piece: str, tool_use: str) -> ToolInputDelta:
    return ToolInputDelta(model_call_id="call_1", tool_use_id=tool_use, name="Bash", text=piece)


async def read(subscription: BusSubscription) -> list[Event]:
    subscription.close()
    return [event async for batch in subscription for event in batch]


async def test_events_are_numbered_in_the_order_they_were_published() -> None:
    bus = EventBus()
    subscription = bus.subscribe()
    for _ in range(3):
        bus.publish(ModeChanged(mode=Mode.ASK))
    assert [event.seq for event in await read(subscription)] == [1, 2, 3]
    assert bus.seq == 3


async def test_pieces_of_one_block_are_merged_while_nobody_reads() -> None:
    bus = EventBus()
    subscription = bus.subscribe()
    for piece in "abc":
        bus.publish(text(piece))
    bus.publish(text("x", call="call_2"))
    bus.publish(text("y", call="call_2", session="ses_2"))
    bus.publish(ThinkingDelta(model_call_id="call_2", text="z", session_id="ses_2"))
    for piece, tool_use in (("{", "one"), ("}", "one"), ("{", "two")):
        bus.publish(arguments(piece, tool_use))
    told = [(e.text, e.seq_from, e.seq) for e in await read(subscription)]  # type: ignore[union-attr]
    assert told == [
        ("abc", 1, 3),
        ("x", None, 4),
        ("y", None, 5),
        ("z", None, 6),
        ("{}", 7, 8),
        ("{", None, 9),
    ]


async def test_a_slow_reader_misses_no_control_event() -> None:
    bus = EventBus()
    slow, fast = bus.subscribe(), Trace(bus.subscribe())
    for round_ in range(50):
        for _ in range(200):
            bus.publish(text("x", call=f"call_{round_}"))
        bus.publish(ModeChanged(mode=Mode.ASK))
        await asyncio.sleep(0)
    await fast.close()
    merged = await read(slow)
    assert len(merged) == 100
    for told in (merged, fast.events):
        assert sum(isinstance(event, ModeChanged) for event in told) == 50
        assert "".join(e.text for e in told if isinstance(e, TextDelta)) == "x" * 10_000
        assert is_without_gap(told, since=0)


def is_without_gap(events: list[Event], since: int) -> bool:
    """Whether the numbers go on from `since`, each covered once."""
    for event in events:
        first = getattr(event, "seq_from", None) or event.seq
        if first != since + 1:
            return False
        since = event.seq
    return True


async def test_a_late_reader_gets_what_came_since_and_nothing_before() -> None:
    bus = EventBus()
    for piece in "abcdef":
        bus.publish(text(piece))
    later = bus.subscribe(after=3)
    bus.publish(text("g"))
    (event,) = await read(later)
    assert isinstance(event, TextDelta)
    assert (event.text, event.seq_from, event.seq) == ("defg", 4, 7)


async def test_what_is_no_longer_remembered_is_refused_not_skipped() -> None:
    bus = EventBus()
    for _ in range(REMEMBERED + 10):
        bus.publish(ModeChanged(mode=Mode.ASK))
    with pytest.raises(LookupError):
        bus.subscribe(after=9)
    assert len(await read(bus.subscribe(after=10))) == REMEMBERED


async def test_a_closed_reader_ends_after_what_was_queued() -> None:
    bus = EventBus()
    subscription = bus.subscribe()
    bus.publish(text("a"))
    subscription.close()
    bus.publish(text("b"))
    assert [event.seq async for batch in subscription for event in batch] == [1]


async def test_a_snapshot_and_what_follows_it_are_the_whole_story(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted(
        [
            Reply([Call("Glob", {"pattern": "*"})]),
            Reply([Say("One two three four. ", chunk=1), Hold("half"), Say("Five six.", chunk=1)]),
        ]
    )
    place.speak(server)
    async with place.opened() as desk:
        session = await desk.begin("count")
        await server.reached("half")
        await desk.trace.until(
            lambda _: "four. " in "".join(e.text for e in desk.trace.all(TextDelta, session))
        )
        shot = await desk.snapshot(session)
        follower = Trace(desk.workspace.subscribe(after=shot.seq))
        assert shot.partial is not None
        assert shot.partial.text == "One two three four. "
        server.release("half")
        await desk.rest(session)
        await follower.close()
        streamed = shot.partial.text + "".join(e.text for e in follower.all(TextDelta, session))
        assert streamed == "One two three four. Five six."
        assert is_without_gap(follower.events, since=shot.seq)
        known = [m.id for m in shot.messages]
        known += [e.message.id for e in follower.all(MessageStored, session)]
        assert known == [m.id for m in await desk.messages(session)]


async def test_snapshots_at_any_moment_lose_and_double_nothing(
    place: Place, scripted: StartScripted
) -> None:
    server = await scripted(
        [
            Reply([Say("Let me see. ", chunk=1, delay=0.002), Call("Bash", bash("echo hi"))]),
            Reply([Say("That is all there is to say.", chunk=1, delay=0.002)]),
        ]
    )
    place.speak(server)
    async with place.opened() as desk:
        record = await desk.session()
        await desk.workspace.submit(record.id, "talk")
        shots = []
        working = asyncio.create_task(desk.rest(record.id))
        deciding = asyncio.create_task(desk.asked())
        while not working.done():
            shot = await desk.snapshot(record.id)
            shots.append((shot, Trace(desk.workspace.subscribe(after=shot.seq))))
            if deciding.done() and len(shots) % 5 == 0:
                await desk.decide(deciding.result())
            await asyncio.sleep(0.01)
        final = await desk.messages(record.id)
        assert len(shots) > 5
        for shot, follower in shots:
            await follower.close()
            ids = [m.id for m in shot.messages]
            ids += [
                e.message.id
                for e in follower.all(MessageStored, record.id)
                if e.message.id not in ids
            ]
            assert ids == [m.id for m in final]
            if shot.partial is not None:
                call = shot.partial.model_call_id
                rest = "".join(
                    e.text for e in follower.all(TextDelta, record.id) if e.model_call_id == call
                )
                whole = shot.partial.text + rest
                assert whole in [text_of(m.blocks) for m in final]
