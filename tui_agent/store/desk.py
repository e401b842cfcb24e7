"""What a person leaves on the desk: drafts, the place of the view, queued messages, standing
permissions; and replies that are still streaming."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence

from tui_agent.store.rows import dump, insert, partial_of
from tui_agent.text.surrogates import safe_surrogates
from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.decisions import Grant, Scope
from tui_agent.vocabulary.errors import NotFoundError
from tui_agent.vocabulary.events import QueuedMessage
from tui_agent.vocabulary.records import Partial


def save_draft(connection: sqlite3.Connection, session_id: str, text: str, now: float) -> None:
    """Keep what is typed; an empty text forgets it."""
    if not text:
        connection.execute("DELETE FROM drafts WHERE session_id = ?", (session_id,))
        return
    row = {"session_id": session_id, "text": text, "updated": now}
    insert(connection, "drafts", row, or_else="OR REPLACE")


def draft(connection: sqlite3.Connection, session_id: str) -> str:
    """What was typed and not sent; empty when nothing was."""
    row = connection.execute(
        "SELECT text FROM drafts WHERE session_id = ?", (session_id,)
    ).fetchone()
    return "" if row is None else str(row["text"])


def save_view(
    connection: sqlite3.Connection, session_id: str, view: JsonObject, now: float
) -> None:
    """Keep where the person was."""
    row = {"session_id": session_id, "view": dump(view), "updated": now}
    insert(connection, "views", row, or_else="OR REPLACE")


def view(connection: sqlite3.Connection, session_id: str) -> JsonObject:
    """Where the person was; empty when that is unknown or unreadable."""
    row = connection.execute(
        "SELECT view FROM views WHERE session_id = ?", (session_id,)
    ).fetchone()
    try:
        found = {} if row is None else json.loads(row["view"])
    except ValueError:
        # a lost scroll place is not worth a session that cannot be opened
        return {}
    return found if isinstance(found, dict) else {}


# --- queue ----------------------------------------------------------------------------------------


def enqueue(connection: sqlite3.Connection, session_id: str, message: QueuedMessage) -> None:
    """Put a message at the end of the queue."""
    last = connection.execute(
        "SELECT coalesce(max(position), 0) FROM queue WHERE session_id = ?", (session_id,)
    ).fetchone()[0]
    row = {
        "session_id": session_id,
        "id": message.id,
        "position": last + 1,
        "text": message.text,
        "after_turn": message.after_turn,
    }
    insert(connection, "queue", row)


def queue(connection: sqlite3.Connection, session_id: str) -> tuple[QueuedMessage, ...]:
    """The queued messages in order."""
    rows = connection.execute(
        "SELECT * FROM queue WHERE session_id = ? ORDER BY position", (session_id,)
    )
    return tuple(QueuedMessage(row["id"], row["text"], bool(row["after_turn"])) for row in rows)


def edit_queue(
    connection: sqlite3.Connection,
    session_id: str,
    messages: Sequence[QueuedMessage],
    dropped: Collection[str],
) -> tuple[QueuedMessage, ...]:
    """Put these messages into this order, each with its `after_turn`, and drop those whose ids are
    `dropped`; returns the ones that were. A message that has left the queue stays away; one that
    came meanwhile stands after the named ones."""
    queued = queue(connection, session_id)
    gone = tuple(message for message in queued if message.id in dropped)
    connection.executemany(
        "DELETE FROM queue WHERE session_id = ? AND id = ?",
        [(session_id, message.id) for message in gone],
    )
    named = {message.id: message for message in messages}
    places = {message_id: place for place, message_id in enumerate(named)}
    kept = [message for message in queued if message not in gone]
    kept.sort(key=lambda message: places.get(message.id, len(places)))
    connection.executemany(
        "UPDATE queue SET position = ?, after_turn = ? WHERE session_id = ? AND id = ?",
        [
            (place, named.get(message.id, message).after_turn, session_id, message.id)
            for place, message in enumerate(kept, 1)
        ],
    )
    return gone


# --- permissions ----------------------------------------------------------------------------------


def add_grant(connection: sqlite3.Connection, grant: Grant) -> None:
    """Keep a standing permission; the same one twice is kept once."""
    known = connection.execute(
        "SELECT 1 FROM grants WHERE session_id IS ? AND folder = ? AND rule = ? AND scope = ?",
        (grant.session_id, grant.folder, grant.rule, grant.scope.value),
    ).fetchone()
    if known is None:
        row = {
            "session_id": grant.session_id,
            "folder": grant.folder,
            "rule": grant.rule,
            "scope": grant.scope.value,
            "at": grant.at,
        }
        insert(connection, "grants", row)


def grants(connection: sqlite3.Connection, session_id: str, folder: str) -> tuple[Grant, ...]:
    """What holds for a session in a folder: its own grants there and those of the folder."""
    rows = connection.execute(
        "SELECT * FROM grants WHERE folder = ? AND (session_id IS NULL OR session_id = ?)"
        " ORDER BY number",
        (safe_surrogates(folder), session_id),
    )
    return tuple(map(_grant, rows))


def all_grants(connection: sqlite3.Connection, folder: str | None) -> tuple[Grant, ...]:
    """Every standing permission, oldest first; with `folder` those that hold there."""
    place = None if folder is None else safe_surrogates(folder)
    rows = connection.execute(
        "SELECT * FROM grants WHERE ? IS NULL OR folder = ? ORDER BY number", (place, place)
    )
    return tuple(map(_grant, rows))


def remove_grant(connection: sqlite3.Connection, number: int) -> Grant:
    """Take a standing permission back; returns what it was. Raises `NotFoundError`."""
    row = connection.execute(
        # a number beyond what SQLite holds is nobody's
        "DELETE FROM grants WHERE number = CAST(? AS INTEGER) RETURNING *",
        (str(number),),
    ).fetchone()
    if row is None:
        raise NotFoundError(f"There is no standing permission {number}.")
    return _grant(row)


def _grant(row: sqlite3.Row) -> Grant:
    return Grant(
        row["session_id"], row["folder"], row["rule"], Scope(row["scope"]), row["at"], row["number"]
    )


# --- replies that still stream --------------------------------------------------------------------


def save_partials(connection: sqlite3.Connection, partials: Sequence[Partial]) -> None:
    """Keep what has streamed so far, of all sessions at once."""
    for partial in partials:
        row = {
            "session_id": partial.session_id,
            "turn_id": partial.turn_id,
            "model_call_id": partial.model_call_id,
            "text": partial.text,
            "thinking": partial.thinking,
            "updated": partial.updated,
        }
        insert(connection, "partials", row, or_else="OR REPLACE")


def partial(connection: sqlite3.Connection, session_id: str) -> Partial | None:
    """The reply that was streaming when it was last saved."""
    row = connection.execute(
        "SELECT * FROM partials WHERE session_id = ?", (session_id,)
    ).fetchone()
    return None if row is None else partial_of(row)
