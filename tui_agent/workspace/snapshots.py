"""A session as a surface first sees it: rows as they are, true for one event number."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from tui_agent.store import Store
from tui_agent.vocabulary.records import SessionRecord, SessionSnapshot, SessionSummary
from tui_agent.vocabulary.states import Phase
from tui_agent.vocabulary.usage import Usage
from tui_agent.workspace.bus import EventBus
from tui_agent.workspace.resting import agent_path, resting_reason
from tui_agent.workspace.runner import SessionRunner


async def take_snapshot(
    store: Store,
    bus: EventBus,
    session_id: str,
    *,
    last: int,
    unsaved: SessionRecord | None,
    runners: Mapping[str, SessionRunner],
    owned: Collection[str],
    price: Callable[[str, str, Usage], float | None],
) -> SessionSnapshot:
    """The snapshot of one session.

    The event number is taken before the rows are read: a row that is committed in between may be
    told again by its event, which consumers know by its id, but none is missed. The reply that
    streams here is that of the same moment and never its row, which may be older than the event
    number or newer; the row speaks of sessions that another process runs.
    """
    seq = bus.seq
    live = runners.get(session_id)
    streamed = live.streamed() if live is not None else None
    if unsaved is not None:
        return _empty(seq, unsaved, await store.draft(session_id), await store.view(session_id))
    record = await store.session(session_id)
    messages = await store.messages(session_id, last=last)
    wanted = tuple(message.id for message in messages if message.role == "assistant")
    phase, waiting_for = await _phase(store, record, runners, is_ours=record.root_id in owned)
    return SessionSnapshot(
        seq=seq,
        session=record,
        agent_path=await agent_path(store, record),
        messages=messages,
        first_seq=await store.first_seq(session_id),
        tool_runs=await store.tool_runs(session_id, message_ids=wanted),
        pending=await store.pending(root_id=record.root_id),
        turns=await store.turns(session_id),
        children=await _children(store, session_id, runners),
        queue=await store.queue(session_id),
        partial=streamed if live is not None else await store.partial(session_id),
        draft=await store.draft(session_id),
        view=await store.view(session_id),
        phase=phase,
        waiting_for=waiting_for,
        boundaries=await store.boundaries(session_id),
        cost=await _cost(store, session_id, price),
        is_ours=record.root_id in owned,
    )


async def _cost(
    store: Store, session_id: str, price: Callable[[str, str, Usage], float | None]
) -> float | None:
    """What the replies cost that have a known price; `None` when none has."""
    spent = await store.usage_by_model(session_id)
    known = [cost for each in spent if (cost := price(*each)) is not None]
    return sum(known) if known else None


async def _phase(
    store: Store, record: SessionRecord, runners: Mapping[str, SessionRunner], *, is_ours: bool
) -> tuple[Phase, str]:
    """The phase and what is waited for: of a live runner as it says, else as the rows say, among
    which a turn without an end is one that another process runs."""
    runner = runners.get(record.id)
    if runner is not None and runner.is_busy:
        return runner.phase, runner.waiting_for
    waiting_for = await resting_reason(store, record.id)
    if not is_ours:
        asks = await store.pending(root_id=record.root_id)
        last = await store.last_turn(record.id)
        has_asks = any(item.is_below(record.id) for item in asks)
        if last is not None and last.reason is None and not has_asks:
            return Phase.RUNNING, ""
    return (Phase.REQUIRES_ACTION if waiting_for else Phase.IDLE), waiting_for


async def _children(
    store: Store, session_id: str, runners: Mapping[str, SessionRunner]
) -> tuple[SessionSummary, ...]:
    rows = await store.summaries(parent_id=session_id)
    return tuple(
        replace(row, phase=runners[row.id].phase)
        if row.id in runners and runners[row.id].is_busy
        else row
        for row in sorted(rows, key=lambda row: (row.created, row.id))
    )


def _empty(
    seq: int, record: SessionRecord, draft: str, view: Mapping[str, object]
) -> SessionSnapshot:
    return SessionSnapshot(
        seq=seq,
        session=record,
        agent_path=(record.id,),
        messages=(),
        first_seq=0,
        tool_runs=(),
        pending=(),
        turns=(),
        children=(),
        queue=(),
        partial=None,
        draft=draft,
        view=view,
        phase=Phase.IDLE,
        waiting_for="",
    )
