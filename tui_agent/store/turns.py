"""Turns and what they spent. Functions take a connection inside a unit and plain values."""

from __future__ import annotations

import sqlite3

from tui_agent.store.rows import USAGE_SUMS, insert, turn_of, turn_row, update, usage_of, usage_row
from tui_agent.store.values import TurnEnd
from tui_agent.vocabulary.errors import NotFoundError
from tui_agent.vocabulary.records import TurnRecord
from tui_agent.vocabulary.usage import Usage


def begin(connection: sqlite3.Connection, turn: TurnRecord) -> None:
    """A turn starts."""
    insert(connection, "turns", turn_row(turn))


def end(connection: sqlite3.Connection, how: TurnEnd) -> None:
    """The turn is over; `usage` and `rounds` are its totals. Raises `NotFoundError`."""
    row = {
        "reason": how.reason.value,
        "cause": how.cause,
        "ended": how.ended,
        "rounds": how.rounds,
        **usage_row(how.usage),
    }
    _change(connection, how.turn_id, row)


def save_usage(connection: sqlite3.Connection, turn_id: str, usage: Usage, rounds: int) -> None:
    """The totals of a running turn so far. Raises `NotFoundError`."""
    _change(connection, turn_id, {"rounds": rounds, **usage_row(usage)})


def _change(connection: sqlite3.Connection, turn_id: str, row: dict[str, object]) -> None:
    if not update(connection, "turns", row, "id = ?", turn_id):
        raise NotFoundError(f"There is no turn {turn_id}.")


def last(connection: sqlite3.Connection, session_id: str) -> TurnRecord | None:
    """The newest turn of a session."""
    row = connection.execute(
        "SELECT * FROM turns WHERE session_id = ? ORDER BY number DESC LIMIT 1", (session_id,)
    ).fetchone()
    return None if row is None else turn_of(row)


def of_session(connection: sqlite3.Connection, session_id: str) -> tuple[TurnRecord, ...]:
    """Every turn of a session, oldest first."""
    rows = connection.execute(
        "SELECT * FROM turns WHERE session_id = ? ORDER BY number", (session_id,)
    )
    return tuple(turn_of(row) for row in rows)


def chain_rounds(connection: sqlite3.Connection, turn_id: str) -> int:
    """Rounds of a turn and of all that it resumes, one after the other."""
    row = connection.execute(
        # UNION, not UNION ALL: damaged rows that resume each other must not spin
        "WITH RECURSIVE chain(id, resumes, rounds) AS ("
        " SELECT id, resumes, rounds FROM turns WHERE id = ?"
        " UNION SELECT t.id, t.resumes, t.rounds FROM turns t JOIN chain ON t.id = chain.resumes)"
        " SELECT coalesce(sum(rounds), 0) FROM chain",
        (turn_id,),
    ).fetchone()
    return int(row[0])


def tree_usage(connection: sqlite3.Connection, root_id: str) -> Usage:
    """Tokens of all turns and stored compactions of a root session and its descendants."""
    return _spent(connection, "s.root_id = ?", root_id)


def usage_below(connection: sqlite3.Connection, session_id: str) -> tuple[Usage, Usage]:
    """Tokens of a session alone, and of it with all that works for it."""
    below = (
        "s.id IN (WITH RECURSIVE below(id) AS (SELECT ? UNION ALL"
        " SELECT c.id FROM sessions c JOIN below ON c.parent_id = below.id) SELECT id FROM below)"
    )
    return own_usage(connection, session_id), _spent(connection, below, session_id)


def own_usage(connection: sqlite3.Connection, session_id: str) -> Usage:
    """Tokens of a session without its descendants."""
    return _spent(connection, "s.id = ?", session_id)


def _spent(connection: sqlite3.Connection, where: str, key: str) -> Usage:
    total = Usage()
    for table in ("turns", "boundaries"):
        row = connection.execute(
            f"SELECT {USAGE_SUMS} FROM {table} x"  # noqa: S608 - our own names
            f" JOIN sessions s ON s.id = x.session_id WHERE {where}",
            (key,),
        ).fetchone()
        total += usage_of(row)
    return total


def usage_by_model(
    connection: sqlite3.Connection, session_id: str
) -> tuple[tuple[str, str, Usage], ...]:
    """Tokens of a session's own replies by provider and model, as prices differ."""
    fields = ("input", "output", "cache_read", "cache_write", "reasoning")
    sums = ", ".join(f"SUM(json_extract(usage, '$.{field}')) AS {field}" for field in fields)
    rows = connection.execute(
        f"SELECT provider, model, {sums} FROM messages"  # noqa: S608 - our own names
        " WHERE session_id = ? AND usage IS NOT NULL AND provider IS NOT NULL"
        " GROUP BY provider, model",
        (session_id,),
    )
    return tuple(
        (row["provider"], row["model"], Usage(*(row[field] for field in fields))) for row in rows
    )
