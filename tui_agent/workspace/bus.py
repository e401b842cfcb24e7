"""The event bus: one order of events for every surface.

Publishing stamps the number and the time and never blocks. A subscription has a queue of its own in
which adjacent deltas of one block are merged while it is not read, so that its length follows what
happened and not how fast text streamed. Nothing but deltas is ever merged and nothing is dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace

from tui_agent.vocabulary.events import (
    Delta,
    Event,
    ToolInputDelta,
)
from tui_agent.vocabulary.ids import SYSTEM_CLOCK, Clock

REMEMBERED = 4_096
"""Events kept for a subscription that begins at a snapshot."""


class EventBus:
    """Stamps events and hands them to every subscription. Used on one event loop only."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._seq = 0
        self._recent: deque[Event] = deque(maxlen=REMEMBERED)
        self._subscriptions: set[BusSubscription] = set()

    @property
    def seq(self) -> int:
        """The number of the newest event."""
        return self._seq

    def publish(self, event: Event) -> None:
        """Number `event` and give it to everyone who listens."""
        self._seq += 1
        stamped = replace(event, seq=self._seq, time=self._clock.wall())
        self._recent.append(stamped)
        for subscription in self._subscriptions:
            subscription.put(stamped)

    def subscribe(self, after: int | None = None) -> BusSubscription:
        """A subscription from event number `after` (exclusive) on; `None`: from now on. Raises
        `LookupError` when events since then are no longer remembered: load a snapshot again."""
        subscription = BusSubscription(self)
        if after is not None and after < self._seq:
            if not self._recent or self._recent[0].seq > after + 1:
                raise LookupError(f"events since {after} are no longer kept")
            for event in self._recent:
                if event.seq > after:
                    subscription.put(event)
        self._subscriptions.add(subscription)
        return subscription

    def forget(self, subscription: BusSubscription) -> None:
        """End a subscription."""
        self._subscriptions.discard(subscription)


class BusSubscription:
    """One reader's view of the bus."""

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self._queue: list[Event] = []
        self._ready = asyncio.Event()
        self._is_closed = False

    def put(self, event: Event) -> None:
        """Take an event, merged into the last one where that loses nothing."""
        if self._queue:
            merged = merge(self._queue[-1], event)
            if merged is not None:
                self._queue[-1] = merged
                return
        self._queue.append(event)
        self._ready.set()

    async def __aiter__(self) -> AsyncIterator[tuple[Event, ...]]:
        while True:
            await self._ready.wait()
            batch, self._queue = tuple(self._queue), []
            if batch:
                yield batch
            if self._is_closed and not self._queue:
                return
            if not self._is_closed:
                self._ready.clear()
                if self._queue:
                    self._ready.set()

    def close(self) -> None:
        """End the iteration once what is queued has been read."""
        self._is_closed = True
        self._bus.forget(self)
        self._ready.set()


def merge(first: Event, second: Event) -> Event | None:
    """The two as one delta, or `None` when they are not pieces of the same block."""
    if not (isinstance(first, Delta) and isinstance(second, Delta)) or type(first) is not type(
        second
    ):
        return None
    if block_of(first) != block_of(second):
        return None
    since = first.seq if first.seq_from is None else first.seq_from
    return replace(second, text=first.text + second.text, seq_from=since)


def block_of(delta: Delta) -> tuple[str, str, str]:
    """What a delta is a piece of: session, model call and, for arguments, the call."""
    call_id = delta.tool_use_id if isinstance(delta, ToolInputDelta) else ""
    return delta.session_id, delta.model_call_id, call_id
