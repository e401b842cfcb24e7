"""Who runs a session's tree: a lock on a file of its own, and a row that tells others.

The lock is the truth, for it goes with the process however that ends; the row is information, and
its epoch counts the owners. Lock files are never deleted: a deleted name could be locked twice.
"""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
from pathlib import Path

from tui_agent.vocabulary.errors import StoreError

TRIES = 5
PAUSE_SECONDS = 0.01
"""A lock that is only looked at is taken for a moment: it is worth asking again."""


class Ownership:
    """The right to run a session's tree, until `release` or the end of the process."""

    def __init__(self, root_id: str, descriptor: int) -> None:
        self.root_id = root_id
        self.epoch = 0
        self._descriptor: int | None = descriptor

    @property
    def is_held(self) -> bool:
        """Whether it still is ours."""
        return self._descriptor is not None

    def release(self) -> None:
        """Let others have it. Releasing twice does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class Locks:
    """The lock files beside one database."""

    def __init__(self, database: Path) -> None:
        self._folder = database.parent / "locks"

    def take(self, root_id: str) -> Ownership | None:
        """The lock, or `None` when someone else has it. Raises `StoreError`."""
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(
                self._file(root_id), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise StoreError(f"No lock can be made in {self._folder}: {reason}.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return Ownership(root_id, descriptor)

    def is_taken(self, root_id: str) -> bool:
        """Whether anyone has the lock."""
        try:
            descriptor = os.open(self._file(root_id), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return False
        except OSError as error:
            reason = error.strerror or str(error)
            raise StoreError(f"The locks in {self._folder} cannot be read: {reason}.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _file(self, root_id: str) -> Path:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", root_id):
            raise StoreError(f"{root_id!r} cannot name a lock.")
        return self._folder / f"{root_id}.lock"


def note_owner(connection: sqlite3.Connection, root_id: str, now: float) -> int:
    """Write down that this process owns the tree; returns the new epoch."""
    row = connection.execute(
        "INSERT INTO owners (root_id, epoch, boot_id, pid, acquired) VALUES (?, 1, ?, ?, ?)"
        " ON CONFLICT (root_id) DO UPDATE SET epoch = epoch + 1, boot_id = excluded.boot_id,"
        " pid = excluded.pid, acquired = excluded.acquired, released = NULL RETURNING epoch",
        (root_id, _boot_id(), os.getpid(), now),
    ).fetchone()
    return int(row["epoch"])


def note_release(connection: sqlite3.Connection, root_id: str, epoch: int, now: float) -> None:
    """Write down that the owner with `epoch` let go."""
    connection.execute(
        "UPDATE owners SET released = ? WHERE root_id = ? AND epoch = ?", (now, root_id, epoch)
    )


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        # not Linux: the row is information only, and a pid alone is some
        return ""
