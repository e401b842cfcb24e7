"""A session in which nothing runs: what it waits for, and closing what was left open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tui_agent.loop.observing import result_block
from tui_agent.loop.review import resolved_event
from tui_agent.store import Store
from tui_agent.vocabulary.blocks import Outcome, TextBlock, text_of
from tui_agent.vocabulary.decisions import PendingKind
from tui_agent.vocabulary.events import (
    Event,
    MessageStored,
    ToolResultEvent,
)
from tui_agent.vocabulary.ids import Clock, new_id
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import SessionRecord
from tui_agent.vocabulary.states import CallState, DoneReason
from tui_agent.workspace.recovery import PROCESS_ENDED


async def resting_reason(store: Store, session_id: str) -> str:
    """What only a person can do for this session, in words; empty when it is idle."""
    record = await store.session(session_id)
    items = await store.pending(root_id=record.root_id)
    mine = [item for item in items if session_id in item.agent_path]
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


async def close_open_tree(
    store: Store, clock: Clock, root: SessionRecord, text: str, publish: Callable[[Event], None]
) -> None:
    """Close the open batches of a session and its descendants, children first: what has no outcome
    becomes "not run", or "interrupted" where it had begun."""
    for session in reversed(await store.tree(root.root_id)):
        path = await agent_path(store, session)
        if root.id in path:
            await _close_batch(store, clock, session, path, text=text, publish=publish)


async def agent_path(store: Store, session: SessionRecord) -> tuple[str, ...]:
    """The ids from the root to this session."""
    path = [session.id]
    while session.parent_id is not None:
        session = await store.session(session.parent_id)
        path.insert(0, session.id)
    return tuple(path)


async def _close_batch(
    store: Store,
    clock: Clock,
    session: SessionRecord,
    path: tuple[str, ...],
    *,
    text: str,
    publish: Callable[[Event], None],
) -> None:
    batch = await store.open_batch(session.id)
    if batch is None:
        return
    asks = await store.pending(session_id=session.id)
    settled = []
    runs = []
    for run in batch[1]:
        if not run.state.is_settled:
            had_begun = run.state in (CallState.STARTED, CallState.WAITING)
            run = replace(
                run,
                state=CallState.CANCELLED,
                outcome=Outcome.INTERRUPTED if had_begun else Outcome.NOT_RUN,
                content=(TextBlock(f"{'Interrupted' if had_begun else 'Not run'}: {text}"),),
                ended=clock.wall(),
            )
            settled.append(run)
        runs.append(run)
    message = Message(
        id=new_id("msg"),
        role="user",
        blocks=tuple(result_block(run) for run in runs),
        origin=Origin.TOOL_RESULTS,
        created=clock.wall(),
    )
    stored = await store.close_batch(session.id, message, settled=settled)

    def tell(event: Event) -> None:
        publish(replace(event, session_id=session.id, agent_path=path))

    for item in asks:
        tell(resolved_event(item, None, None))
    for run in settled:
        tell(
            ToolResultEvent(
                tool_use_id=run.tool_use_id,
                tool=run.name,
                outcome=run.outcome or Outcome.NOT_RUN,
                content=text_of(run.content),
                details=run.details,
            )
        )
    tell(MessageStored(message=stored))
