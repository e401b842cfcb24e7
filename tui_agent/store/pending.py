"""Open approvals and questions. An item is open until it is resolved, once, by a decision or by the
end of its call. Deciding, which also moves the call, is in `decisions.py`."""

from __future__ import annotations

import sqlite3

from tui_agent.store.rows import decision_of, insert, pending_of, pending_row
from tui_agent.store.values import PendingEntry
from tui_agent.vocabulary.decisions import PendingItem
from tui_agent.vocabulary.errors import NotFoundError


def open_item(connection: sqlite3.Connection, item: PendingItem) -> None:
    """Ask."""
    insert(connection, "pending", pending_row(item))


def close_for_call(
    connection: sqlite3.Connection, session_id: str, tool_use_id: str, at: float, why: str
) -> None:
    """Close the open item of a call, if it has one, without an answer."""
    connection.execute(
        "UPDATE pending SET resolved = ?, why = ?"
        " WHERE session_id = ? AND tool_use_id = ? AND resolved IS NULL",
        (at, why, session_id, tool_use_id),
    )


def entry(connection: sqlite3.Connection, pending_id: str) -> PendingEntry:
    """One item, open or resolved. Raises `NotFoundError`."""
    row = connection.execute("SELECT * FROM pending WHERE pending_id = ?", (pending_id,)).fetchone()
    if row is None:
        raise NotFoundError(
            f"There is no approval or question {pending_id}: see tui-agent approvals list."
        )
    return PendingEntry(pending_of(row), row["resolved"], decision_of(row), row["why"])


def listing(
    connection: sqlite3.Connection,
    *,
    session_id: str | None,
    root_id: str | None,
    open_only: bool,
) -> tuple[PendingItem, ...]:
    """Items of one session, of a tree or of all, oldest first."""
    # named, as the planner would rather read every item that ever was
    which = "INDEXED BY pending_open" if open_only else ""
    state = "p.resolved IS NULL" if open_only else "TRUE"
    rows = connection.execute(
        f"SELECT p.* FROM pending p {which} JOIN sessions s ON s.id = p.session_id"  # noqa: S608 - ours
        f" WHERE {state} AND (? IS NULL OR p.session_id = ?) AND (? IS NULL OR s.root_id = ?)"
        " ORDER BY p.number",
        (session_id, session_id, root_id, root_id),
    )
    return tuple(pending_of(row) for row in rows)
