"""Full-text search over what people and models wrote.

In comes what a person typed, never query syntax: every word must occur, the last one may be the
beginning of a word. Out come hits, best first.
"""

from __future__ import annotations

import sqlite3

from tui_agent.store.values import SearchHit
from tui_agent.text.surrogates import safe_surrogates


def search(
    connection: sqlite3.Connection, text: str, folder: str | None, limit: int
) -> tuple[SearchHit, ...]:
    """Messages with all words of `text`, in every session or in those of `folder`."""
    query = _query(text)
    if not query:
        return ()
    place = None if folder is None else safe_surrogates(folder)
    rows = connection.execute(
        "SELECT m.session_id, m.id, m.seq, m.created, s.root_id, s.title, s.folder,"
        " snippet(messages_fts, 0, '', '', '…', 24) AS snippet"
        " FROM messages_fts JOIN messages m ON m.number = messages_fts.rowid"
        " JOIN sessions s ON s.id = m.session_id"
        " WHERE messages_fts MATCH ? AND (? IS NULL OR s.folder = ?)"
        " ORDER BY rank, m.number DESC LIMIT ?",
        (query, place, place, limit),
    )
    return tuple(
        SearchHit(
            session_id=row["session_id"],
            root_id=row["root_id"],
            message_id=row["id"],
            seq=row["seq"],
            title=row["title"],
            folder=row["folder"],
            snippet=row["snippet"],
            created=row["created"],
        )
        for row in rows
    )


def matching(text: str) -> tuple[str, list[str]]:
    """A condition on sessions `s` for a listing: by title, beginning of id, or content."""
    pattern = (
        safe_surrogates(text).strip().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    )
    condition = "s.title LIKE ? ESCAPE '\\' OR s.id LIKE ? ESCAPE '\\'"
    values = [f"%{pattern}%", f"{pattern}%"]
    if query := _query(text):
        condition += (
            " OR s.id IN (SELECT o.root_id FROM messages_fts"
            " JOIN messages m ON m.number = messages_fts.rowid"
            " JOIN sessions o ON o.id = m.session_id WHERE messages_fts MATCH ?)"
        )
        values.append(query)
    return f"({condition})", values


def _query(text: str) -> str:
    # quoted, so that no word is taken for syntax; a NUL would end the query early
    words = [word.replace('"', '""') for word in safe_surrogates(text).replace("\0", " ").split()]
    words = [word for word in words if any(map(str.isalnum, word))]
    return " ".join(f'"{word}"' for word in words) + "*" if words else ""
