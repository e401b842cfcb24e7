"""Which older tool results stand as markers in the requests of a session; never undone.

Functions take a connection inside a unit and plain values.
"""

from __future__ import annotations

import sqlite3

from tui_agent.store.rows import clearing_of, clearing_row, insert
from tui_agent.vocabulary.records import Clearing


def note(connection: sqlite3.Connection, session_id: str, clearing: Clearing) -> None:
    """The results of `clearing` are cleared from now on."""
    insert(connection, "clearings", clearing_row(session_id, clearing))


def of_session(connection: sqlite3.Connection, session_id: str) -> tuple[Clearing, ...]:
    """Every clearing of a session, oldest first."""
    rows = connection.execute(
        "SELECT * FROM clearings WHERE session_id = ? ORDER BY number", (session_id,)
    )
    return tuple(clearing_of(row) for row in rows)


def copy(connection: sqlite3.Connection, session_id: str, to: str, before_seq: int) -> None:
    """Give a fork the clearings that were made when the history ended before `before_seq`."""
    connection.execute(
        "INSERT INTO clearings (session_id, tool_use_ids, first_seq, newest_seq)"
        " SELECT ?, tool_use_ids, first_seq, newest_seq FROM clearings"
        " WHERE session_id = ? AND newest_seq < ? ORDER BY number",
        (to, session_id, before_seq),
    )
