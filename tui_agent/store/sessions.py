"""Sessions: making, finding, changing, forking and deleting them.

Every function takes a connection inside a unit (see `connection.py`) and plain values.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

from tui_agent.store import clearings, turns
from tui_agent.store.batches import child_started, open_batch_message
from tui_agent.store.rows import (
    insert,
    marks,
    session_of,
    session_row,
    update,
)
from tui_agent.store.search import matching
from tui_agent.text.surrogates import safe_surrogates
from tui_agent.vocabulary.errors import ConflictError, NotFoundError
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import PROCESS_ENDED, SessionRecord, SessionSummary
from tui_agent.vocabulary.states import DoneReason, Phase

TITLE_CELLS = 60
CHANGEABLE = frozenset(
    {
        "folder",
        "model",
        "title",
        "agent",
        "mode",
        "extra_folders",
        "system_prompt",
        "append_system_prompt",
        "limits",
        "rules",
    }
)


def create(connection: sqlite3.Connection, record: SessionRecord) -> None:
    """A new session."""
    insert(connection, "sessions", session_row(record))


def create_child(
    connection: sqlite3.Connection,
    record: SessionRecord,
    parent_run: tuple[str, str],
    started: float,
    turn_id: str | None,
) -> None:
    """A subagent's session, and the call that started it marked as started, with the child's id.
    Raises `ConflictError` when the call may not start."""
    child_started(connection, *parent_run, child_id=record.id, at=started, turn_id=turn_id)
    create(connection, record)


def get(connection: sqlite3.Connection, session_id: str) -> SessionRecord:
    """Raises `NotFoundError`."""
    row = connection.execute("SELECT * FROM sessions WHERE id = ?", (session_id,)).fetchone()
    if row is None:
        raise NotFoundError(f"There is no session {session_id}.")
    return session_of(row)


def change(
    connection: sqlite3.Connection, session_id: str, changes: dict[str, Any], now: float
) -> SessionRecord:
    """The session with `changes` to its fields. Raises `NotFoundError`."""
    if unknown := changes.keys() - CHANGEABLE:
        raise TypeError(f"a session's {', '.join(sorted(unknown))} cannot be changed")
    record = get(connection, session_id)
    record = replace(record, **changes, updated=max(record.updated, now))
    update(connection, "sessions", session_row(record), "id = ?", session_id)
    return record


def touch(connection: sqlite3.Connection, session_id: str, now: float) -> None:
    """Note that the session was used. Raises `NotFoundError`."""
    found = connection.execute(
        "UPDATE sessions SET updated = max(updated, ?) WHERE id = ?", (now, session_id)
    )
    if not found.rowcount:
        raise NotFoundError(f"There is no session {session_id}.")


def latest(connection: sqlite3.Connection, folder: str) -> str | None:
    """The root session of `folder` that was used last."""
    row = connection.execute(
        "SELECT id FROM sessions WHERE folder = ? AND parent_id IS NULL"
        " ORDER BY updated DESC, id DESC LIMIT 1",
        (safe_surrogates(folder),),
    ).fetchone()
    return None if row is None else str(row["id"])


def children(connection: sqlite3.Connection, session_id: str) -> tuple[SessionRecord, ...]:
    """The direct subagents, oldest first."""
    rows = connection.execute(
        "SELECT * FROM sessions WHERE parent_id = ? ORDER BY created, id", (session_id,)
    )
    return tuple(session_of(row) for row in rows)


def tree(connection: sqlite3.Connection, root_id: str) -> tuple[SessionRecord, ...]:
    """The root and all its descendants, oldest first."""
    rows = connection.execute(
        "SELECT * FROM sessions WHERE root_id = ? ORDER BY parent_id IS NOT NULL, created, id",
        (root_id,),
    )
    return tuple(session_of(row) for row in rows)


def resolve_id(connection: sqlite3.Connection, prefix: str) -> str:
    """The one session whose id is, or begins with, `prefix`. Raises `NotFoundError`."""
    rows = connection.execute(
        "SELECT id FROM sessions WHERE id >= ? AND id < ? ORDER BY id LIMIT 2",
        (prefix, prefix + "\U0010ffff"),
    ).fetchall()
    if not prefix or not rows:
        raise NotFoundError(f"There is no session {prefix or 'without an id'}.")
    if len(rows) > 1 and rows[0]["id"] != prefix:
        raise NotFoundError(f"{prefix} fits more than one session; give more of the id.")
    return str(rows[0]["id"])


def delete(connection: sqlite3.Connection, session_id: str) -> None:
    """The session, its descendants and everything of theirs. Raises `NotFoundError`, and
    `ConflictError` for a subagent's session: the call that started it refers to it."""
    record = get(connection, session_id)
    if record.parent_id is not None:
        raise ConflictError(
            f"{session_id} is what a subagent did: delete the session it works for, "
            f"{record.root_id}"
        )
    rows = connection.execute(
        "WITH RECURSIVE doomed(id) AS (SELECT ? UNION ALL"
        " SELECT s.id FROM sessions s JOIN doomed ON s.parent_id = doomed.id)"
        " SELECT id FROM doomed",
        (session_id,),
    )
    for (doomed,) in rows.fetchall():
        # what is kept without a reference to the session; the rest follows by cascade
        connection.execute("DELETE FROM drafts WHERE session_id = ?", (doomed,))
        connection.execute("DELETE FROM views WHERE session_id = ?", (doomed,))
        connection.execute("DELETE FROM owners WHERE root_id = ?", (doomed,))
    connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))


def fork(
    connection: sqlite3.Connection, session_id: str, record: SessionRecord, now: float
) -> SessionRecord:
    """`record` as a new root session with the history up to the last closed batch.

    Messages keep their ids and numbers within the new session; turns, pending items and children
    stay behind, so the copies name none of them.
    """
    origin = get(connection, session_id)
    record = replace(
        record,
        root_id=record.id,
        parent_id=None,
        parent_tool_use_id=None,
        forked_from=origin.id,
        title=record.title or origin.title,
        updated=max(record.updated, now),
    )
    create(connection, record)
    batch = open_batch_message(connection, session_id)
    end = batch.seq if batch is not None else _last_seq(connection, session_id) + 1
    keys = (record.id, session_id, end)
    connection.execute(
        "INSERT INTO messages (session_id, seq, id, role, origin, created, turn_id, provider,"
        " model, usage, stop_reason, cut, calls, text, blocks)"
        " SELECT ?, seq, id, role, origin, created, NULL, provider, model, usage, stop_reason,"
        " cut, calls, text, blocks FROM messages WHERE session_id = ? AND seq < ? ORDER BY seq",
        keys,
    )
    connection.execute(
        "INSERT INTO tool_runs SELECT ?, r.tool_use_id, r.message_id, r.position, r.name, r.input,"
        " r.state, r.problem, r.verdict, r.comment, r.answers, r.digest, r.attempt, r.started,"
        " r.ended, r.outcome, r.content, r.details, r.ends_turn, NULL, NULL"
        " FROM tool_runs r JOIN messages m ON m.session_id = r.session_id AND m.id = r.message_id"
        " WHERE r.session_id = ? AND m.seq < ?",
        keys,
    )
    # the origin's tokens were the origin's: the copies carry no usage
    connection.execute(
        'INSERT INTO boundaries (session_id, summary_message_id, kept_from, "trigger",'
        " tokens_before, tokens_after, created)"
        ' SELECT ?, b.summary_message_id, b.kept_from, b."trigger", b.tokens_before,'
        " b.tokens_after, b.created FROM boundaries b JOIN messages m"
        " ON m.session_id = b.session_id AND m.id = b.summary_message_id"
        " WHERE b.session_id = ? AND m.seq < ? AND b.kept_from <= m.seq ORDER BY b.number",
        keys,
    )
    clearings.copy(connection, session_id, record.id, end)
    return record


def _last_seq(connection: sqlite3.Connection, session_id: str) -> int:
    row = connection.execute(
        "SELECT max(seq) FROM messages WHERE session_id = ?", (session_id,)
    ).fetchone()
    return int(row[0] or 0)


# --- listings -------------------------------------------------------------------------------------

_SUMMARY = """
    SELECT s.*, t.id IS NOT NULL AND t.reason IS NULL AS is_cut,
        t.reason AS last_reason, t.cause AS last_cause,
        coalesce((SELECT max(seq) FROM messages m WHERE m.session_id = s.id), 0) AS messages,
        (SELECT role FROM messages m WHERE m.session_id = s.id
            ORDER BY m.seq DESC LIMIT 1) AS last_role,
        (SELECT count(*) FROM pending p INDEXED BY pending_open
            JOIN sessions o ON o.id = p.session_id
            WHERE p.resolved IS NULL
            AND (o.id = s.id OR (s.parent_id IS NULL AND o.root_id = s.id))) AS pending,
        EXISTS (SELECT 1 FROM queue q WHERE q.session_id = s.id) AS is_queued,
        coalesce((SELECT max(seq) FROM messages m
            WHERE m.session_id = s.id AND m.calls > 0), 0)
        > coalesce((SELECT max(seq) FROM messages m
            WHERE m.session_id = s.id AND m.origin = 'tool_results'), 0) AS has_open_batch
    FROM sessions s
    LEFT JOIN turns t ON t.number =
        (SELECT max(number) FROM turns n WHERE n.session_id = s.id)"""


def summaries(
    connection: sqlite3.Connection,
    *,
    folder: str | None,
    search: str,
    ids: tuple[str, ...] | None,
    parent_id: str | None,
    limit: int,
) -> tuple[SessionSummary, ...]:
    """Listings, newest first; root sessions only, unless a parent is named or ids are."""
    conditions, values = [], []
    if parent_id is not None:
        conditions.append("s.parent_id = ?")
        values.append(parent_id)
    elif ids is None:
        conditions.append("s.parent_id IS NULL")
    if ids is not None:
        conditions.append(f"s.id IN ({marks(len(ids))})")
        values.extend(ids)
    if folder is not None:
        conditions.append("s.folder = ?")
        values.append(safe_surrogates(folder))
    if search.strip():
        condition, found = matching(search)
        conditions.append(condition)
        values.extend(found)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    rows = connection.execute(
        f"{_SUMMARY}{where} ORDER BY s.updated DESC, s.id DESC LIMIT ?", (*values, limit)
    ).fetchall()
    return tuple(_summary(connection, row) for row in rows)


def _waits(row: sqlite3.Row) -> bool:
    """Whether only a person can move the session, as far as its rows tell."""
    return bool(
        row["pending"]
        or row["has_open_batch"]
        or row["is_cut"]
        or (row["last_cause"] == PROCESS_ENDED and row["last_role"] == "user")
        or row["last_reason"] == DoneReason.MAX_TURNS
        or row["is_queued"]
    )


def _summary(connection: sqlite3.Connection, row: sqlite3.Row) -> SessionSummary:
    spent = turns.tree_usage if row["parent_id"] is None else turns.own_usage
    return SessionSummary(
        id=row["id"],
        title=row["title"],
        folder=row["folder"],
        phase=Phase.REQUIRES_ACTION if _waits(row) else Phase.IDLE,
        created=row["created"],
        updated=row["updated"],
        messages=row["messages"],
        usage=spent(connection, row["id"]),
        pending=row["pending"],
        parent_id=row["parent_id"],
        model=row["model"],
        provider=row["provider"],
        agent=row["agent"],
        last_reason=None if row["last_reason"] is None else DoneReason(row["last_reason"]),
        is_cut=bool(row["is_cut"]),
    )


def title_from(message: Message) -> str:
    """What a session is called until a person names it: the prompt's first line, 60 cells of it,
    without anything that a terminal obeys."""
    from tui_agent.text import prose, truncate
    from tui_agent.vocabulary.blocks import text_of

    lines = (" ".join(line.split()) for line in prose(text_of(message.blocks)).splitlines())
    return truncate(next((line for line in lines if line), ""), TITLE_CELLS)
