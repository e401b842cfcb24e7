"""The calls of a batch: the rows that say where each one stands.

A call's state changes only by an UPDATE that names the states it may come from; a settled call
never changes again. A batch is open from the reply that made its calls until the one message that
answers all of them, in call order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tui_agent.store.pending import close_for_call, open_item
from tui_agent.store.rows import insert, marks, message_of, run_of, run_row, update
from tui_agent.vocabulary.blocks import ContentPart, JsonObject, Outcome, ToolResultBlock, tool_uses
from tui_agent.vocabulary.decisions import PendingItem
from tui_agent.vocabulary.errors import ConflictError, NotFoundError, StoreError
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.states import CallState

UNDECIDED = (CallState.PLANNED, CallState.ASKED)
UNSTARTED = (*UNDECIDED, CallState.APPROVED)
UNSETTLED = (*UNSTARTED, CallState.STARTED, CallState.WAITING)


def plan(
    connection: sqlite3.Connection, session_id: str, message: Message, turn_id: str | None
) -> None:
    """A row for each call of a reply. Raises `ConflictError` when an id was used before."""
    for position, call in enumerate(tool_uses(message.blocks)):
        if _find(connection, session_id, call.id) is not None:
            raise ConflictError(f"The call id {call.id} was used before in this session.")
        run = ToolRun(
            session_id=session_id,
            tool_use_id=call.id,
            message_id=message.id,
            position=position,
            name=call.name,
            input=call.input,
            problem=call.problem,
            turn_id=turn_id,
        )
        insert(connection, "tool_runs", run_row(run))


def open_batch_message(connection: sqlite3.Connection, session_id: str) -> Message | None:
    """The reply whose calls no message has answered yet."""
    row = connection.execute(
        "SELECT * FROM messages WHERE session_id = ? AND calls > 0 ORDER BY seq DESC LIMIT 1",
        (session_id,),
    ).fetchone()
    if row is None:
        return None
    answered = connection.execute(
        "SELECT 1 FROM messages WHERE session_id = ? AND origin = 'tool_results' AND seq > ?",
        (session_id, row["seq"]),
    ).fetchone()
    return message_of(row) if answered is None else None


def open_batch(
    connection: sqlite3.Connection, session_id: str
) -> tuple[Message, tuple[ToolRun, ...]] | None:
    """The open reply and its calls in order."""
    message = open_batch_message(connection, session_id)
    if message is None:
        return None
    return message, runs(connection, session_id, (message.id,))


def runs(
    connection: sqlite3.Connection, session_id: str, message_ids: Sequence[str] | None = None
) -> tuple[ToolRun, ...]:
    """Calls of a session, or of some of its messages, in the order in which they were made."""
    where, values = "r.session_id = ?", [session_id]
    if message_ids is not None:
        where += f" AND r.message_id IN ({marks(len(message_ids))})"
        values.extend(message_ids)
    rows = connection.execute(
        "SELECT r.* FROM tool_runs r"  # noqa: S608 - only place holders are added
        " JOIN messages m ON m.session_id = r.session_id AND m.id = r.message_id"
        f" WHERE {where} ORDER BY m.seq, r.position",
        values,
    )
    return tuple(run_of(row) for row in rows)


def known_files(connection: sqlite3.Connection, session_id: str) -> tuple[tuple[str, str], ...]:
    """(path, digest) of every file that a good result of the session names, oldest first."""
    rows = connection.execute(
        "SELECT json_extract(details, '$.path') AS path,"
        " json_extract(details, '$.digest') AS digest"
        " FROM tool_runs WHERE session_id = ? AND outcome = 'ok'"
        " AND json_extract(details, '$.digest') IS NOT NULL ORDER BY ended",
        (session_id,),
    )
    return tuple((str(row["path"]), str(row["digest"])) for row in rows)


def taken_ids(
    connection: sqlite3.Connection, session_id: str, ids: Sequence[str]
) -> frozenset[str]:
    """Those of `ids` that a call of the session already has."""
    rows = connection.execute(
        "SELECT tool_use_id FROM tool_runs"  # noqa: S608 - only place holders are added
        f" WHERE session_id = ? AND tool_use_id IN ({marks(len(ids))})",
        (session_id, *ids),
    )
    return frozenset(str(row["tool_use_id"]) for row in rows)


def get(connection: sqlite3.Connection, session_id: str, tool_use_id: str) -> ToolRun:
    """One call. Raises `NotFoundError`."""
    run = _find(connection, session_id, tool_use_id)
    if run is None:
        raise NotFoundError(f"There is no call {tool_use_id} in this session.")
    return run


def _find(connection: sqlite3.Connection, session_id: str, tool_use_id: str) -> ToolRun | None:
    row = connection.execute(
        "SELECT * FROM tool_runs WHERE session_id = ? AND tool_use_id = ?",
        (session_id, tool_use_id),
    ).fetchone()
    return None if row is None else run_of(row)


def move(
    connection: sqlite3.Connection,
    session_id: str,
    tool_use_id: str,
    row: dict[str, object],
    came_from: Iterable[CallState],
) -> bool:
    """Change a call, if it is in one of the states `came_from`; whether it was."""
    states = [state.value for state in came_from]
    where = f"session_id = ? AND tool_use_id = ? AND state IN ({marks(len(states))})"
    return update(connection, "tool_runs", row, where, session_id, tool_use_id, *states) == 1


# --- review ---------------------------------------------------------------------------------------

_REVIEWED_FROM: dict[CallState, tuple[CallState, ...]] = {
    CallState.ASKED: (CallState.PLANNED, CallState.APPROVED),
    CallState.APPROVED: UNSTARTED,
    CallState.DENIED: UNSTARTED,
    CallState.DONE: UNSTARTED,
    CallState.FAILED: UNSTARTED,
    CallState.CANCELLED: UNSTARTED,
}
"""What a review may make of a call, and of which calls: never of one that runs or has ended."""


def record_review(
    connection: sqlite3.Connection,
    session_id: str,
    reviewed: Sequence[ToolRun],
    pending: Sequence[PendingItem],
    now: float,
) -> tuple[ToolRun, ...]:
    """What the gate made of some calls, and the asks that follow from it.

    Returns the calls as they are now, in the given order. One that has moved on meanwhile (a
    decision from elsewhere) stays as it is, and its ask is not opened.
    """
    asks = {item.tool_use_id: item for item in pending}
    if strangers := asks.keys() - {
        run.tool_use_id for run in reviewed if run.state is CallState.ASKED
    }:
        raise StoreError(f"An ask was given for a call that is not asked: {min(strangers)}.")
    for run in reviewed:
        came_from = _REVIEWED_FROM.get(run.state)
        if came_from is None:
            raise StoreError(f"A review cannot make a call {run.state}.")
        if run.state.is_settled and run.outcome is None:
            raise StoreError(f"The call {run.tool_use_id} was settled without an outcome.")
        row = run_row(run)
        kept = {
            name: row[name]
            for name in (
                "input", "state", "problem", "verdict", "comment", "digest", "outcome",
                "content", "details", "ends_turn", "ended",
            )
        }  # fmt: skip
        if not move(connection, session_id, run.tool_use_id, kept, came_from):
            continue
        close_for_call(connection, session_id, run.tool_use_id, now, "judged again")
        if run.state is CallState.ASKED:
            if run.tool_use_id not in asks:
                raise StoreError(f"The asked call {run.tool_use_id} has no item to answer.")
            open_item(connection, asks[run.tool_use_id])
    return tuple(get(connection, session_id, run.tool_use_id) for run in reviewed)


# --- running --------------------------------------------------------------------------------------


def mark_started(
    connection: sqlite3.Connection,
    session_id: str,
    tool_use_id: str,
    *,
    at: float,
    turn_id: str | None,
    again: bool,
) -> ToolRun:
    """An approved call starts; with `again` also one that was started or is waiting (a pure read
    after a crash, a Task whose child goes on). Raises `ConflictError` for any other."""
    came_from = [CallState.APPROVED]
    if again:
        came_from += [CallState.STARTED, CallState.WAITING]
    run = get(connection, session_id, tool_use_id)
    row = {
        "state": CallState.STARTED.value,
        "started": at,
        "attempt": run.attempt + 1,
        "turn_id": turn_id,
    }
    if not move(connection, session_id, tool_use_id, row, came_from):
        raise ConflictError(f"The call {tool_use_id} may not start: it is {run.state}.")
    return get(connection, session_id, tool_use_id)


def child_started(
    connection: sqlite3.Connection,
    session_id: str,
    tool_use_id: str,
    *,
    child_id: str,
    at: float,
    turn_id: str | None,
) -> None:
    """The call starts with, or already runs and now gets, the child session `child_id`."""
    run = get(connection, session_id, tool_use_id)
    if run.child_id is not None:
        raise ConflictError(f"The call {tool_use_id} already has the session {run.child_id}.")
    if run.state is not CallState.STARTED:
        mark_started(connection, session_id, tool_use_id, at=at, turn_id=turn_id, again=False)
    move(connection, session_id, tool_use_id, {"child_id": child_id}, [CallState.STARTED])


def note_waiting(
    connection: sqlite3.Connection, session_id: str, tool_use_id: str, child_id: str
) -> bool:
    """The call waits for its paused child session; false when it is settled or not started."""
    row: dict[str, object] = {"state": CallState.WAITING.value, "child_id": child_id}
    running = (CallState.STARTED, CallState.WAITING)
    return move(connection, session_id, tool_use_id, row, running)


def record_outcome(
    connection: sqlite3.Connection,
    session_id: str,
    tool_use_id: str,
    *,
    state: CallState,
    outcome: Outcome,
    content: Sequence[ContentPart],
    details: JsonObject,
    ends_turn: bool,
    started: float | None,
    at: float,
) -> bool:
    """A call has its outcome, once: false, and nothing changed, when it had one already."""
    run = get(connection, session_id, tool_use_id)
    ended = replace(
        run,
        state=state,
        outcome=outcome,
        content=tuple(content),
        details=details,
        ends_turn=ends_turn,
        started=started if run.started is None else run.started,
        ended=at,
    )
    return settle(connection, ended, UNSETTLED, "the call has ended")


def settle(
    connection: sqlite3.Connection, run: ToolRun, came_from: Iterable[CallState], why: str
) -> bool:
    """Store a call's end and close its ask; false when it is in none of the states `came_from`."""
    if not run.state.is_settled or run.outcome is None:
        raise StoreError(f"The call {run.tool_use_id} is not at its end: {run.state}.")
    row = run_row(run)
    names = (
        *("state", "comment", "verdict", "outcome", "content", "details"),
        *("ends_turn", "started", "ended"),
    )
    kept = {name: row[name] for name in names}
    if not move(connection, run.session_id, run.tool_use_id, kept, came_from):
        return False
    close_for_call(connection, run.session_id, run.tool_use_id, run.ended or 0.0, why)
    return True


def check_answers(connection: sqlite3.Connection, session_id: str, message: Message) -> None:
    """Raises `StoreError` unless every call of the open batch is settled and `message` answers
    each exactly once, in call order."""
    batch = open_batch(connection, session_id)
    if batch is None:
        raise ConflictError("There is no open batch to answer.")
    if message.origin is not Origin.TOOL_RESULTS or message.role != "user":
        raise StoreError("A batch is answered by one message of origin tool_results.")
    unsettled = [run.tool_use_id for run in batch[1] if not run.state.is_settled]
    if unsettled:
        raise StoreError(f"These calls have no outcome yet: {', '.join(unsettled)}.")
    answered = [b.tool_use_id for b in message.blocks if isinstance(b, ToolResultBlock)]
    if answered != [call.id for call in tool_uses(batch[0].blocks)]:
        raise StoreError("The results do not answer each call of the batch once, in its order.")
