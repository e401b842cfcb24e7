"""The two connections to the database file, and the only way to run statements on them.

In comes a plain function that gets a `sqlite3.Connection`; it runs as a whole on the connection's
own thread: between `BEGIN IMMEDIATE` and `COMMIT` on the writer, in one snapshot on the reader. As
nothing is awaited in between, a cancelled caller loses the answer and never splits the unit. Every
failure of SQLite leaves as a `StoreError` of one line. A unit may run more than once (when another
process holds the lock), so it must change nothing but the database.

Nothing but SQLite ever opens the file after its creation: closing any other descriptor of it would
drop the locks that SQLite holds in this process.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import aiosqlite

from tui_agent.vocabulary.errors import StoreError

T = TypeVar("T")
Unit = Callable[[sqlite3.Connection], T]

BUSY_SECONDS = 5.0
"""How long one attempt waits for another process's write."""
ATTEMPTS = 3
"""How often a whole unit is tried when the database stays locked."""


class Database:
    """One database file, a connection that writes and one that only reads."""

    def __init__(self, path: Path, writer: aiosqlite.Connection, reader: aiosqlite.Connection):
        self.path = path
        self._writer = writer
        self._reader = reader

    @classmethod
    async def open(
        cls, path: Path, prepare: Callable[[sqlite3.Connection, Path], None]
    ) -> Database:
        """Connect to the file, which is created when it is not there (0600, its folder 0700).

        `prepare` runs on the writer's thread before anything else, to bring the schema up to date.
        Raises `StoreError`.
        """
        create_private_file(path)
        writer = await _connect(path, lambda: _connect_writer(path, prepare))
        try:
            reader = await _connect(path, lambda: _connect_reader(path))
        except BaseException:
            await writer.close()
            raise
        return cls(path, writer, reader)

    async def write(self, unit: Unit[T]) -> T:
        """Run `unit` in one transaction: committed as a whole, or not at all. Raises `StoreError`;
        whatever else `unit` raises rolls back and comes out unchanged."""
        return await _run_on_thread(
            self._writer, lambda c: _attempt(c, self.path, unit, "IMMEDIATE")
        )

    async def read(self, query: Unit[T]) -> T:
        """Run `query` in one consistent snapshot that sees every commit made before. Raises
        `StoreError`."""
        return await _run_on_thread(
            self._reader, lambda c: _attempt(c, self.path, query, "DEFERRED")
        )

    async def data_version(self) -> int:
        """A number that changes when another process has committed something."""

        def query(connection: sqlite3.Connection) -> int:
            # outside a transaction, and on the writer: its own commits do not count
            row = connection.execute("PRAGMA data_version").fetchone()
            return int(row[0])

        return await _run_on_thread(self._writer, query)

    async def is_in_transaction(self) -> bool:
        """Whether either connection has a transaction open. Between units it never has."""
        writing = await _run_on_thread(self._writer, lambda c: c.in_transaction)
        return writing or await _run_on_thread(self._reader, lambda c: c.in_transaction)

    async def close(self) -> None:
        """Finish what is queued, then disconnect. Closing twice does nothing."""
        # shielded: a half-closed connection would leave its thread behind
        await asyncio.shield(self._disconnect())

    async def _disconnect(self) -> None:
        try:
            await self._reader.close()
        finally:
            await self._writer.close()


def create_private_file(path: Path) -> None:
    """Make sure that `path` is a regular file; a new one is 0600 and so are the files that SQLite
    puts beside it. Raises `StoreError`."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            status = path.stat()
            if stat.S_ISDIR(status.st_mode):
                raise StoreError(f"The database path {path} is a folder; name a file.") from None
            if not stat.S_ISREG(status.st_mode):
                raise StoreError(f"The database {path} is not a regular file.") from None
            if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) & 0o077:
                path.chmod(0o600)
        else:
            os.close(descriptor)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(f"The database {path} cannot be created or reached: {reason}.") from error


def explain(error: sqlite3.Error, path: Path) -> StoreError:
    """An error of SQLite as one line: which file, what happened, what to do."""
    code = getattr(error, "sqlite_errorcode", None)
    match None if code is None else code & 0xFF:
        case sqlite3.SQLITE_FULL:
            text = f"The disk is full: {path} cannot grow. Free some space; what was saved is safe."
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            text = (
                f"The database {path} is read-only. Check its permissions and those of its folder."
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            text = f"The database {path} is locked by another program. Try again when it is done."
        case sqlite3.SQLITE_CORRUPT:
            text = f"The database {path} is damaged ({error}). It was left as it is."
        case sqlite3.SQLITE_NOTADB:
            text = f"The file {path} is not a database. It was left as it is."
        case sqlite3.SQLITE_CANTOPEN:
            text = f"The database {path} cannot be opened. Check its permissions and its folder's."
        case sqlite3.SQLITE_IOERR:
            text = f"Reading or writing {path} failed ({error}). The disk may be full or failing."
        case sqlite3.SQLITE_CONSTRAINT:
            text = f"The database {path} refused a row that breaks a rule: {error}."
        case _:
            text = f"The database {path} failed: {error}."
    return StoreError(text)


async def _connect(path: Path, connector: Callable[[], sqlite3.Connection]) -> aiosqlite.Connection:
    connection = aiosqlite.Connection(connector, iter_chunk_size=64)
    # A program that dies without closing must not hang on this thread; SQLite survives the cut.
    connection._thread.daemon = True
    try:
        return await connection
    except Exception as error:  # whatever it is, it is raised again below
        # Nothing but its own end is left for the thread to do, and it reports that to this loop,
        # which must still be there.
        connection._thread.join()
        if isinstance(error, sqlite3.Error):
            raise explain(error, path) from error
        raise


async def _run_on_thread(connection: aiosqlite.Connection, function: Unit[T]) -> T:
    """Run `function(sqlite connection)` on the thread of `connection`.

    The public calls of aiosqlite run one statement each; only its private queue takes a whole
    function. This and `_connect` are the only places that reach into it.
    """
    execute: Callable[[Callable[[], T]], Awaitable[T]] = connection._execute
    try:
        return await execute(lambda: function(connection._conn))
    except ValueError as error:
        if connection._connection is None:
            raise StoreError("The database is closed.") from error
        raise


def _connect_writer(
    path: Path, prepare: Callable[[sqlite3.Connection, Path], None]
) -> sqlite3.Connection:
    connection = _connect_plain(path)
    try:
        prepare(connection, path)
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_reader(path: Path) -> sqlite3.Connection:
    connection = _connect_plain(path)
    connection.execute("PRAGMA query_only=ON")
    return connection


def _connect_plain(path: Path) -> sqlite3.Connection:
    # one thread owns it, but the module that made the closure may be collected on another
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    return connection


def _attempt(connection: sqlite3.Connection, path: Path, unit: Unit[T], kind: str) -> T:
    """The whole unit, again from the start while the database is locked by someone else."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _transact(connection, unit, kind)
        except sqlite3.Error as error:
            if attempt == ATTEMPTS or not is_busy(error):
                raise explain(error, path) from error
            time.sleep(0.01 * attempt)
    raise AssertionError("the loop above returns or raises")


def _transact(connection: sqlite3.Connection, unit: Unit[T], kind: str) -> T:
    connection.execute(f"BEGIN {kind}")
    try:
        result = unit(connection)
        connection.execute("COMMIT")
    except BaseException:
        # some errors (full, I/O) have already rolled back
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


def is_busy(error: sqlite3.Error) -> bool:
    """Whether someone else's lock is what stood in the way."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
