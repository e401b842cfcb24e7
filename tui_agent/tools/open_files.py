"""Opening and replacing files so that what was checked is what is touched.

Every file is reached from a folder's descriptor, one part at a time and through no link, as its
real path has none: a link that turns up was put there since. Only regular files are opened, never
blocking, never the program's own database (opening and closing it in this process would drop the
locks that SQLite holds on it). Files are replaced by a temporary file in the same folder and a
rename, so that there is the old content or the new, never a part. Everything here blocks and
belongs in a thread.
"""

from __future__ import annotations

import os
import secrets
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

from tui_agent.tools.errors import FileError, FileErrorCode, os_failure, plain
from tui_agent.tools.paths import moved

READ_SECONDS = 10.0
"""A file that takes longer than this to read is given up."""

_CHUNK = 1024 * 1024
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_DATABASE_SUFFIXES = ("", "-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class FileState:
    """What tells one version of a file from another without reading it."""

    device: int
    inode: int
    size: int
    modified: int
    mode: int
    owner: int
    group: int

    @classmethod
    def of(cls, info: os.stat_result) -> FileState:
        """The state that `info` describes."""
        return cls(
            info.st_dev,
            info.st_ino,
            info.st_size,
            info.st_mtime_ns,
            info.st_mode,
            info.st_uid,
            info.st_gid,
        )


@dataclass(frozen=True, slots=True)
class FileContent:
    """A whole file as it was at one moment."""

    data: bytes
    state: FileState


@dataclass(frozen=True, slots=True)
class Files:
    """Access to files for the tools of one process; `databases` are those of the program itself."""

    databases: tuple[Path, ...] = ()

    @contextmanager
    def opened(self, path: Path, folders: Iterable[Path]) -> Iterator[tuple[int, os.stat_result]]:
        """A descriptor for reading the regular file at the real path `path`, and what it is.

        `folders` are those that the call works in. Raises `FileError`.
        """
        with _parent(path, folders) as (folder, name):
            info = self._checked(path, folder, name)
            try:
                descriptor = os.open(name, _READ, dir_fd=folder)
            except OSError as error:
                raise os_failure(error, path) from None
        try:
            opened = os.fstat(descriptor)
            if (opened.st_dev, opened.st_ino) != (info.st_dev, info.st_ino):
                raise moved(path)
            yield descriptor, opened
        except OSError as error:
            raise os_failure(error, path) from None
        finally:
            os.close(descriptor)

    def read(self, path: Path, folders: Iterable[Path], *, limit: int) -> FileContent:
        """The content of a file of at most `limit` bytes. Raises `FileError`."""
        with self.opened(path, folders) as (descriptor, info):
            if info.st_size > limit:
                raise _too_large(path, info.st_size, limit)
            data = bytearray()
            for chunk in chunks_of(descriptor):
                data += chunk
                if len(data) > limit:
                    raise _too_large(path, len(data), limit)
            return FileContent(bytes(data), FileState.of(os.fstat(descriptor)))

    def state(self, path: Path, folders: Iterable[Path]) -> FileState | None:
        """What is at `path` now; `None` when nothing is. Raises `FileError`, also for what is not a
        regular file."""
        try:
            with _parent(path, folders) as (folder, name):
                return FileState.of(self._checked(path, folder, name))
        except FileError as error:
            if error.code is FileErrorCode.NOT_FOUND:
                return None
            raise

    def replace(
        self, path: Path, folders: Iterable[Path], data: bytes, *, expected: FileState | None
    ) -> None:
        """Make `data` the content of `path`, which is in the state `expected` or does not exist.

        Missing folders are made. Raises `FileError`; then nothing has changed.
        """
        with _parent(path, folders, create=True) as (folder, name):
            temporary = f".tui-agent-{secrets.token_hex(8)}.tmp"
            try:
                _write_new(temporary, folder, data, expected)
                self._check_unchanged(path, folder, name, expected)
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException as error:
                try:
                    os.unlink(temporary, dir_fd=folder)
                except OSError:
                    pass  # it was not made, or went with the failing disk
                if isinstance(error, OSError):
                    raise os_failure(error, path) from None
                raise
            _sync_folder(folder)

    def _checked(self, path: Path, folder: int, name: str) -> os.stat_result:
        try:
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            raise os_failure(error, path) from None
        if stat.S_ISLNK(info.st_mode):
            raise moved(path)
        if stat.S_ISDIR(info.st_mode):
            raise _is_folder(path)
        if not stat.S_ISREG(info.st_mode):
            raise FileError(
                FileErrorCode.NOT_REGULAR_FILE,
                f"{plain(os.fspath(path))} is not a regular file but a device, pipe or socket.",
            )
        if self._is_database(info):
            raise FileError(
                FileErrorCode.PERMISSION,
                f"{plain(os.fspath(path))} is this program's own database and is left alone.",
            )
        return info

    def _is_database(self, info: os.stat_result) -> bool:
        for own in self.own_files():
            try:
                other = os.stat(own)
            except OSError:
                continue
            if (other.st_dev, other.st_ino) == (info.st_dev, info.st_ino):
                return True
        return False

    def own_files(self) -> tuple[Path, ...]:
        """Every file that belongs to a database of the program."""
        return tuple(
            own.with_name(own.name + suffix)
            for own in self.databases
            for suffix in _DATABASE_SUFFIXES
        )

    def _check_unchanged(
        self, path: Path, folder: int, name: str, expected: FileState | None
    ) -> None:
        try:
            now = FileState.of(self._checked(path, folder, name))
        except FileError as error:
            if error.code is not FileErrorCode.NOT_FOUND:
                raise
            now = None
        if now != expected:
            raise changed(path)


_locks: WeakValueDictionary[Path, threading.Lock] = WeakValueDictionary()
_locks_guard = threading.Lock()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Changes to one real path happen one after the other in this process."""
    with _locks_guard:
        lock = _locks.get(path)
        if lock is None:
            lock = _locks[path] = threading.Lock()
    with lock:
        yield


def chunks_of(descriptor: int) -> Iterator[bytes]:
    """The rest of an open file, for at most `READ_SECONDS`. Raises `FileError`, `OSError`."""
    deadline = time.monotonic() + READ_SECONDS
    while chunk := os.read(descriptor, _CHUNK):
        yield chunk
        if time.monotonic() > deadline:
            raise FileError(FileErrorCode.TOO_LARGE, "Reading the file took too long.")


def changed(path: Path) -> FileError:
    """The failure of a file that is not what the model last saw."""
    return FileError(
        FileErrorCode.STALE,
        f"{plain(os.fspath(path))} has changed since it was read. Read it again, then repeat the"
        " change on what is there now.",
    )


@contextmanager
def _parent(
    path: Path, folders: Iterable[Path], *, create: bool = False
) -> Iterator[tuple[int, str]]:
    """A descriptor of the folder that holds `path`, reached without following a link."""
    inside = [folder for folder in folders if path.is_relative_to(folder)]
    root = max(inside, key=lambda folder: len(folder.parts), default=Path("/"))
    parts = path.relative_to(root).parts
    if not parts:
        raise _is_folder(path)
    try:
        descriptor = os.open(root, _FOLDER)
    except OSError as error:
        raise os_failure(error, root) from None
    try:
        for part in parts[:-1]:
            deeper = _enter(descriptor, part, path, create=create)
            os.close(descriptor)
            descriptor = deeper
        yield descriptor, parts[-1]
    finally:
        os.close(descriptor)


def _enter(folder: int, part: str, path: Path, *, create: bool) -> int:
    try:
        try:
            return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
        except FileNotFoundError:
            if not create:
                raise
        try:
            os.mkdir(part, dir_fd=folder)
        except FileExistsError:
            pass  # made by someone else just now; what it is shows when it is opened
        return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if _is_link(folder, part):
            raise moved(path) from None
        raise os_failure(error, path) from None


def _is_link(folder: int, part: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _write_new(name: str, folder: int, data: bytes, replaced: FileState | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    # a new file gets what the umask leaves, one that replaces another gets its mode
    descriptor = os.open(name, flags, 0o666 if replaced is None else 0o600, dir_fd=folder)
    try:
        if replaced is not None:
            _give_to_owner(descriptor, replaced)
            os.fchmod(descriptor, stat.S_IMODE(replaced.mode))
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _give_to_owner(descriptor: int, replaced: FileState) -> None:
    """The new file belongs to whom the old one belonged to, as far as we may give it away."""
    made = os.fstat(descriptor)
    for owner, group in ((-1, replaced.group), (replaced.owner, -1)):
        if owner in (-1, made.st_uid) and group in (-1, made.st_gid):
            continue
        try:
            os.fchown(descriptor, owner, group)
        except OSError:
            pass  # only root may give a file away; writing it in place instead could tear it


def _sync_folder(folder: int) -> None:
    try:
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return  # a folder that may be written but not listed: the rename stands all the same
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some file systems cannot; the file itself is on disk
    finally:
        os.close(descriptor)


def _is_folder(path: Path) -> FileError:
    return FileError(
        FileErrorCode.IS_DIRECTORY, f"{plain(os.fspath(path))} is a folder, not a file."
    )


def _too_large(path: Path, size: int, limit: int) -> FileError:
    return FileError(
        FileErrorCode.TOO_LARGE,
        f"{plain(os.fspath(path))} has {size:,} bytes; files of at most {limit:,} bytes can be"
        " handled whole.",
    )
