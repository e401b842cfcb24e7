"""The append-only history: appending with the next number, reading from either end.

What is returned is what a later read returns, digit for digit. While a batch is open nothing but
its results (and a summary, which the order of a request leaves out) can be appended: that keeps
every stored history answerable.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from tui_agent.store import sessions, turns
from tui_agent.store.batches import open_batch_message, plan
from tui_agent.store.rows import (
    boundary_of,
    boundary_row,
    insert,
    message_of,
    message_row,
    update,
)
from tui_agent.store.values import TurnEnd
from tui_agent.text.surrogates import safe_surrogates
from tui_agent.vocabulary.errors import ConflictError, StoreError
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import Boundary
from tui_agent.vocabulary.usage import Usage

_SESSIONS_OF_PROMPTS = 100
"""The sessions of a folder that are asked for prompts: a bound on what is read."""


def put(connection: sqlite3.Connection, session_id: str, message: Message, now: float) -> Message:
    """Append `message` with the next number, whatever is open. Only for the units of this room."""
    sessions.touch(connection, session_id, now)
    newest = connection.execute(
        "SELECT max(seq) FROM messages WHERE session_id = ?", (session_id,)
    ).fetchone()[0]
    row = message_row(session_id, replace(message, seq=(newest or 0) + 1))
    insert(connection, "messages", row)
    stored = connection.execute(
        "SELECT * FROM messages WHERE session_id = ? AND seq = ?", (session_id, row["seq"])
    ).fetchone()
    return message_of(stored)


def append(
    connection: sqlite3.Connection,
    session_id: str,
    message: Message,
    *,
    now: float,
    dequeue: str | None = None,
) -> Message:
    """Append a message and take its row from the queue, together. Raises `ConflictError` when the
    queue has no such row, or a batch is open."""
    if message.origin is Origin.TOOL_RESULTS:
        raise StoreError("Results are stored by closing their batch.")
    _refuse_open_batch(connection, session_id)
    if dequeue is not None:
        taken = connection.execute(
            "DELETE FROM queue WHERE session_id = ? AND id = ?", (session_id, dequeue)
        )
        if not taken.rowcount:
            raise ConflictError(f"The message {dequeue} is no longer in the queue.")
    stored = put(connection, session_id, message, now)
    if message.origin is Origin.USER:
        _title(connection, session_id, stored)
    return stored


def _title(connection: sqlite3.Connection, session_id: str, message: Message) -> None:
    if not sessions.get(connection, session_id).title:
        title = sessions.title_from(message)
        update(connection, "sessions", {"title": title}, "id = ?", session_id)


def append_reply(
    connection: sqlite3.Connection,
    session_id: str,
    message: Message,
    *,
    turn_id: str,
    usage: Usage,
    rounds: int,
    now: float,
) -> Message:
    """Append the model's reply with its calls as planned, drop the partial reply and note the
    turn's totals. Raises `ConflictError` when a batch is open or a call's id was used before."""
    _refuse_open_batch(connection, session_id)
    stored = put(connection, session_id, message, now)
    plan(connection, session_id, stored, turn_id)
    drop_partial(connection, session_id)
    turns.save_usage(connection, turn_id, usage, rounds)
    return stored


def end_cut_stream(
    connection: sqlite3.Connection,
    session_id: str,
    message: Message | None,
    *,
    note: Message | None = None,
    ends: TurnEnd | None,
    now: float,
) -> Message | None:
    """Keep what had streamed (marked cut; it must hold no calls) and a note behind it, drop the
    partial reply and, with `ends`, end the turn."""
    stored = None
    if message is not None:
        _refuse_open_batch(connection, session_id)
        row = message_row(session_id, message)
        if row["calls"]:
            raise StoreError("A reply that was cut is stored without its calls.")
        stored = put(connection, session_id, replace(message, cut=True), now)
    if note is not None:
        put(connection, session_id, note, now)
    drop_partial(connection, session_id)
    if ends is not None:
        turns.end(connection, ends)
    return stored


def drop_partial(connection: sqlite3.Connection, session_id: str) -> None:
    """Forget the reply that was streaming."""
    connection.execute("DELETE FROM partials WHERE session_id = ?", (session_id,))


def _refuse_open_batch(connection: sqlite3.Connection, session_id: str) -> None:
    if open_batch_message(connection, session_id) is not None:
        raise ConflictError("Calls are still open: answer or discard them first.")


def read(
    connection: sqlite3.Connection,
    session_id: str,
    *,
    last: int | None = None,
    before: int | None = None,
    limit: int | None = None,
    from_seq: int | None = None,
) -> tuple[Message, ...]:
    """Messages, oldest first: the `last` ones, or the last `limit` before number `before`, or from
    number `from_seq` on (the first `limit` of them)."""
    values: list[object] = [session_id]
    where = "session_id = ?"
    if before is not None:
        where += " AND seq < ?"
        values.append(before)
    if from_seq is not None:
        where += " AND seq >= ?"
        values.append(from_seq)
    is_from_end = last is not None or (before is not None and from_seq is None)
    count = last if last is not None else limit
    values.append(-1 if count is None else max(0, count))
    order = "DESC" if is_from_end else "ASC"
    rows = connection.execute(
        f"SELECT * FROM messages WHERE {where} ORDER BY seq {order} LIMIT ?",  # noqa: S608 - ours
        values,
    ).fetchall()
    found = tuple(message_of(row) for row in rows)
    return found[::-1] if is_from_end else found


def sent_prompts(connection: sqlite3.Connection, folder: str, limit: int) -> tuple[str, ...]:
    """What people sent in the root sessions of a folder that were used last, oldest first, the
    newest `limit`."""
    rows = connection.execute(
        """
        SELECT text FROM messages
        WHERE origin = 'user' AND text <> '' AND session_id IN (
            SELECT id FROM sessions WHERE folder = ? AND parent_id IS NULL
            ORDER BY updated DESC LIMIT ?)
        ORDER BY number DESC LIMIT ?""",
        (safe_surrogates(folder), _SESSIONS_OF_PROMPTS, limit),
    ).fetchall()
    return tuple(row["text"] for row in reversed(rows))


def first_seq(connection: sqlite3.Connection, session_id: str) -> int:
    """The lowest number of a session's messages; 0 without any."""
    row = connection.execute(
        "SELECT min(seq) FROM messages WHERE session_id = ?", (session_id,)
    ).fetchone()
    return int(row[0] or 0)


# --- compaction -----------------------------------------------------------------------------------


def store_summary(
    connection: sqlite3.Connection,
    session_id: str,
    message: Message,
    *,
    kept_from: int,
    trigger: str,
    tokens_before: int,
    tokens_after: int,
    usage: Usage | None,
    now: float,
) -> Message:
    """A summary and the boundary that makes it count: requests start with it, then go on with
    number `kept_from`. Raises `StoreError` when the cut would part a call from its result."""
    if message.origin is not Origin.SUMMARY:
        raise StoreError("A boundary needs a message of origin summary.")
    kept = connection.execute(
        "SELECT origin FROM messages WHERE session_id = ? AND seq = ?", (session_id, kept_from)
    ).fetchone()
    batch = open_batch_message(connection, session_id)
    if (kept is not None and kept["origin"] == Origin.TOOL_RESULTS) or (
        batch is not None and kept_from > batch.seq
    ):
        raise StoreError("A summary may not part a call from its result.")
    stored = put(connection, session_id, message, now)
    boundary = Boundary(
        session_id, stored.id, kept_from, trigger, tokens_before, tokens_after, message.created
    )
    insert(connection, "boundaries", boundary_row(boundary, usage))
    return stored


def boundaries(connection: sqlite3.Connection, session_id: str) -> tuple[Boundary, ...]:
    """Every stored compaction of a session, oldest first."""
    rows = connection.execute(
        "SELECT * FROM boundaries WHERE session_id = ? ORDER BY number", (session_id,)
    )
    return tuple(boundary_of(row) for row in rows)


def history(
    connection: sqlite3.Connection, session_id: str
) -> tuple[Boundary | None, tuple[Message, ...]]:
    """What a request is made from: the newest summary, if any, then every message from its
    boundary on without older summaries."""
    row = connection.execute(
        "SELECT * FROM boundaries WHERE session_id = ? ORDER BY number DESC LIMIT 1", (session_id,)
    ).fetchone()
    if row is None:
        return None, read(connection, session_id)
    boundary = boundary_of(row)
    summary = connection.execute(
        "SELECT * FROM messages WHERE session_id = ? AND id = ?",
        (session_id, boundary.summary_message_id),
    ).fetchone()
    kept = connection.execute(
        "SELECT * FROM messages WHERE session_id = ? AND seq >= ? AND origin <> 'summary'"
        " ORDER BY seq",
        (session_id, boundary.kept_from),
    )
    return boundary, (message_of(summary), *(message_of(row) for row in kept))
