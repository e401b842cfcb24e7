"""A session in which nothing runs: what it waits for, and closing what was left open."""

from __future__ import annotations

from collections.abc import Callable

from tui_agent.loop.settling import Place, close_batch
from tui_agent.store import Store
from tui_agent.vocabulary.decisions import PendingKind
from tui_agent.vocabulary.events import Event
from tui_agent.vocabulary.ids import Clock
from tui_agent.vocabulary.records import PROCESS_ENDED, SessionRecord
from tui_agent.vocabulary.states import DoneReason


async def resting_reason(store: Store, session_id: str) -> str:
    """What only a person can do for this session, in words; empty when it is idle."""
    record = await store.session(session_id)
    items = await store.pending(root_id=record.root_id)
    mine = [item for item in items if item.is_below(session_id)]
    if mine:
        return "your answer" if mine[0].kind is PendingKind.QUESTION else "your decision"
    if await store.open_batch(session_id) is not None:
        return "your key to go on: approved calls have not run"
    last = await store.last_turn(session_id)
    if last is not None and last.cause == PROCESS_ENDED:
        newest = await store.messages(session_id, last=1)
        if newest and newest[-1].role == "user":
            return "your key to go on: the last turn was cut"
    if last is not None and last.reason is DoneReason.MAX_TURNS:
        return "your key to go on: the turn limit was reached"
    if await store.queue(session_id):
        return "your key: messages are queued"
    return ""


async def close_open_batch(
    store: Store, clock: Clock, session: SessionRecord, why: str, publish: Callable[[Event], None]
) -> None:
    """Close the open batch of a session, and those of the subagents that it waits for."""
    batch = await store.open_batch(session.id)
    if batch is None:
        return
    place = Place(session.id, await agent_path(store, session), session.folder)
    await close_batch(store, place, batch[1], why=why, now=clock.wall(), tell=publish)


async def agent_path(store: Store, session: SessionRecord) -> tuple[str, ...]:
    """The ids from the root to this session."""
    path = [session.id]
    while session.parent_id is not None:
        session = await store.session(session.parent_id)
        path.insert(0, session.id)
    return tuple(path)
