"""The tables, and the steps that led to them.

In comes a connection to a database of any age; afterwards it has the newest tables, or nothing
about it has changed and a `StoreError` says why. Each step is one transaction that sets
`user_version` last, so a killed migration goes on where it stopped. Before a database with content
is changed, a copy is made beside it. A database that a newer program made, or that another program
made, is never written to.

A step that has been released is never edited; changes are new steps.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from tui_agent.store.connection import ATTEMPTS, BUSY_SECONDS, is_busy
from tui_agent.vocabulary.errors import StoreError

APPLICATION_ID = 0x54554941
"""Marks the file as ours ("TUIA"), for `file` and for the check against foreign databases."""

_USAGE = """
    input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER,
    cache_write_tokens INTEGER, reasoning_tokens INTEGER"""

_FIRST: tuple[str, ...] = (
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        folder TEXT NOT NULL,
        root_id TEXT NOT NULL,
        parent_id TEXT REFERENCES sessions(id) ON DELETE CASCADE,
        parent_tool_use_id TEXT,
        forked_from TEXT,
        title TEXT NOT NULL,
        agent TEXT NOT NULL,
        mode TEXT NOT NULL,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        base_url TEXT,
        extra_folders TEXT NOT NULL,
        system_prompt TEXT,
        append_system_prompt TEXT,
        limits TEXT NOT NULL,
        rules TEXT NOT NULL,
        created REAL NOT NULL,
        updated REAL NOT NULL
    )""",
    "CREATE INDEX sessions_by_folder ON sessions(folder, updated) WHERE parent_id IS NULL",
    "CREATE INDEX sessions_by_time ON sessions(updated) WHERE parent_id IS NULL",
    "CREATE INDEX sessions_by_root ON sessions(root_id)",
    "CREATE INDEX sessions_by_parent ON sessions(parent_id)",
    f"""
    CREATE TABLE turns (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        "trigger" TEXT NOT NULL,
        resumes TEXT,
        started REAL NOT NULL,
        ended REAL,
        reason TEXT,
        cause TEXT,
        rounds INTEGER NOT NULL,{_USAGE}
    )""",
    "CREATE INDEX turns_by_session ON turns(session_id, number)",
    # `text` is the visible text for the search; `calls` counts the tool calls in `blocks`
    """
    CREATE TABLE messages (
        number INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        id TEXT NOT NULL,
        role TEXT NOT NULL,
        origin TEXT NOT NULL,
        created REAL NOT NULL,
        turn_id TEXT,
        provider TEXT,
        model TEXT,
        usage TEXT,
        stop_reason TEXT,
        cut INTEGER NOT NULL,
        calls INTEGER NOT NULL,
        text TEXT NOT NULL,
        blocks TEXT NOT NULL,
        UNIQUE (session_id, seq),
        UNIQUE (session_id, id)
    )""",
    "CREATE INDEX messages_with_calls ON messages(session_id, seq) WHERE calls > 0",
    """
    CREATE INDEX messages_with_results ON messages(session_id, seq)
        WHERE origin = 'tool_results'""",
    """
    CREATE TRIGGER messages_are_append_only BEFORE UPDATE ON messages
    BEGIN SELECT RAISE(ABORT, 'messages are append-only'); END""",
    """
    CREATE VIRTUAL TABLE messages_fts USING fts5(
        text, content='messages', content_rowid='number', tokenize='unicode61 remove_diacritics 2'
    )""",
    """
    CREATE TRIGGER messages_enter_search AFTER INSERT ON messages WHEN new.text <> ''
    BEGIN INSERT INTO messages_fts(rowid, text) VALUES (new.number, new.text); END""",
    """
    CREATE TRIGGER messages_leave_search AFTER DELETE ON messages WHEN old.text <> ''
    BEGIN
        INSERT INTO messages_fts(messages_fts, rowid, text)
        VALUES ('delete', old.number, old.text);
    END""",
    """
    CREATE TABLE tool_runs (
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        tool_use_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        name TEXT NOT NULL,
        input TEXT NOT NULL,
        state TEXT NOT NULL,
        problem TEXT,
        verdict TEXT,
        comment TEXT,
        answers TEXT,
        digest TEXT,
        attempt INTEGER NOT NULL,
        started REAL,
        ended REAL,
        outcome TEXT,
        content TEXT NOT NULL,
        details TEXT NOT NULL,
        ends_turn INTEGER NOT NULL,
        child_id TEXT,
        turn_id TEXT,
        PRIMARY KEY (session_id, tool_use_id),
        UNIQUE (session_id, message_id, position),
        FOREIGN KEY (session_id, message_id) REFERENCES messages(session_id, id) ON DELETE CASCADE
    )""",
    """
    CREATE TABLE pending (
        number INTEGER PRIMARY KEY,
        pending_id TEXT NOT NULL UNIQUE,
        session_id TEXT NOT NULL,
        tool_use_id TEXT NOT NULL,
        agent_path TEXT NOT NULL,
        kind TEXT NOT NULL,
        tool TEXT NOT NULL,
        input TEXT NOT NULL,
        preview TEXT NOT NULL,
        reason TEXT NOT NULL,
        digest TEXT NOT NULL,
        rule TEXT,
        folder TEXT NOT NULL,
        created REAL NOT NULL,
        agent TEXT NOT NULL,
        details TEXT NOT NULL,
        resolved REAL,
        decision TEXT,
        why TEXT NOT NULL DEFAULT '',
        FOREIGN KEY (session_id, tool_use_id)
            REFERENCES tool_runs(session_id, tool_use_id) ON DELETE CASCADE
    )""",
    """
    CREATE UNIQUE INDEX pending_open ON pending(session_id, tool_use_id)
        WHERE resolved IS NULL""",
    "CREATE INDEX pending_by_call ON pending(session_id, tool_use_id)",
    """
    CREATE TABLE partials (
        session_id TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
        turn_id TEXT NOT NULL,
        model_call_id TEXT NOT NULL,
        text TEXT NOT NULL,
        thinking TEXT NOT NULL,
        updated REAL NOT NULL
    )""",
    # no reference: what is typed is kept before the session itself is stored
    "CREATE TABLE drafts (session_id TEXT PRIMARY KEY, text TEXT NOT NULL, updated REAL NOT NULL)",
    "CREATE TABLE views (session_id TEXT PRIMARY KEY, view TEXT NOT NULL, updated REAL NOT NULL)",
    """
    CREATE TABLE queue (
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        id TEXT NOT NULL,
        position INTEGER NOT NULL,
        text TEXT NOT NULL,
        after_turn INTEGER NOT NULL,
        PRIMARY KEY (session_id, id)
    )""",
    """
    CREATE TABLE held_results (
        id TEXT PRIMARY KEY,
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        child_id TEXT,
        tool_use_id TEXT,
        content TEXT NOT NULL,
        details TEXT NOT NULL,
        created REAL NOT NULL,
        delivered REAL
    )""",
    "CREATE INDEX held_results_waiting ON held_results(session_id) WHERE delivered IS NULL",
    """
    CREATE TABLE owners (
        root_id TEXT PRIMARY KEY,
        epoch INTEGER NOT NULL,
        boot_id TEXT NOT NULL,
        pid INTEGER NOT NULL,
        acquired REAL NOT NULL,
        released REAL
    )""",
    """
    CREATE TABLE file_versions (
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        digest TEXT NOT NULL,
        details TEXT NOT NULL,
        noted REAL NOT NULL,
        PRIMARY KEY (session_id, path)
    )""",
    """
    CREATE TABLE grants (
        number INTEGER PRIMARY KEY,
        session_id TEXT REFERENCES sessions(id) ON DELETE CASCADE,
        folder TEXT NOT NULL,
        rule TEXT NOT NULL,
        scope TEXT NOT NULL,
        at REAL NOT NULL
    )""",
    "CREATE INDEX grants_by_session ON grants(session_id)",
    "CREATE INDEX grants_by_folder ON grants(folder)",
    f"""
    CREATE TABLE boundaries (
        number INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        summary_message_id TEXT NOT NULL,
        kept_from INTEGER NOT NULL,
        "trigger" TEXT NOT NULL,
        tokens_before INTEGER NOT NULL,
        tokens_after INTEGER NOT NULL,
        created REAL NOT NULL,{_USAGE},
        FOREIGN KEY (session_id, summary_message_id)
            REFERENCES messages(session_id, id) ON DELETE CASCADE
    )""",
    "CREATE INDEX boundaries_by_session ON boundaries(session_id, summary_message_id)",
)

_CLEARINGS: tuple[str, ...] = (
    # no reference to the messages: `tool_use_ids` is a list, and a fork copies the whole row
    """
    CREATE TABLE clearings (
        number INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        tool_use_ids TEXT NOT NULL,
        first_seq INTEGER NOT NULL,
        newest_seq INTEGER NOT NULL
    )""",
    "CREATE INDEX clearings_by_session ON clearings(session_id)",
)

_PROMPTS: tuple[str, ...] = (
    # what people sent is few among many messages, and a new session asks for it
    "CREATE INDEX messages_of_people ON messages(session_id, seq) WHERE origin = 'user'",
)

STEPS: tuple[tuple[str, ...], ...] = (_FIRST, _CLEARINGS, _PROMPTS)
"""Step n brings a database from version n to n + 1."""


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the database up to date. Raises `StoreError` when it is newer or not ours; whatever
    SQLite raises comes out as it is."""
    _refuse_foreign(path)
    _use_write_ahead_log(connection)
    version = _version(connection)
    if 0 < version < len(STEPS):
        _back_up(connection, path, version)
    while _step(connection, path):
        pass


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _refuse_foreign(path: Path) -> None:
    # Read-only: a connection that may write also writes when it closes (the log is folded in).
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as looker:
        looker.execute(f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}")
        version = _version(looker)
        mark = int(looker.execute("PRAGMA application_id").fetchone()[0])
        tables = int(looker.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])
    if tables and mark != APPLICATION_ID:
        raise StoreError(f"The database {path} belongs to another program. It was left as it is.")
    _refuse_newer(path, version)


def _refuse_newer(path: Path, version: int) -> None:
    if version > len(STEPS):
        raise StoreError(
            f"The database {path} has version {version}; this program knows versions up to "
            f"{len(STEPS)}. Update the program; the database was left as it is."
        )


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            # the change of mode does not wait for locks by itself
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if attempt == ATTEMPTS or not is_busy(error):
                raise
            time.sleep(0.1 * attempt)
        else:
            return


def _step(connection: sqlite3.Connection, path: Path) -> bool:
    """One step in one transaction; false when there is nothing left to do."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        # read again under the lock: another process may have migrated meanwhile
        version = _version(connection)
        _refuse_newer(path, version)
        is_behind = version < len(STEPS)
        if is_behind:
            for statement in STEPS[version]:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={version + 1}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return is_behind


def backup_path(path: Path, version: int) -> Path:
    """Where the copy of a database of `version` is kept before it is migrated."""
    return path.with_name(f"{path.name}.backup-v{version}")


def _back_up(connection: sqlite3.Connection, path: Path, version: int) -> None:
    target = backup_path(path, version)
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.part")
    unfinished.unlink(missing_ok=True)
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        with closing(sqlite3.connect(unfinished, isolation_level=None)) as copy:
            connection.backup(copy)
            # one file that can be put in place by a rename, without a log beside it
            copy.execute("PRAGMA journal_mode=DELETE")
        unfinished.replace(target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(
            f"The database {path} must be updated, but no copy could be made first: {reason}."
        ) from error
