"""Files with output that was too long for its result: where they are, and how long they stay.

One folder a session, one file a call, for their owner only. The model reads them as it reads any
file, for as long as the session is at work; what is old or too much is removed when a workspace
starts. A file of an open session is never removed. Everything here blocks.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tui_agent.processes.capture import SpillFile
from tui_agent.tools.base import ToolContext

KEPT_SECONDS = 14 * 24 * 3600.0
"""How long a file stays after it was written."""
KEPT_BYTES = 500 * 1024 * 1024
"""How much all files together may have; the oldest go first."""


def spill_file(context: ToolContext) -> SpillFile:
    """The file for the output of one call; made when something is written."""
    folder = context.spill_folder / _file_name(context.session_id)
    return SpillFile(folder / f"{_file_name(context.tool_use_id)}.txt")


def spilling_sessions(folder: Path) -> tuple[str, ...]:
    """The ids of the sessions that have files."""
    try:
        with os.scandir(folder) as scan:
            return tuple(sorted(e.name for e in scan if e.is_dir(follow_symlinks=False)))
    except FileNotFoundError:
        return ()


def clean_spill(
    folder: Path, *, is_open: Collection[str], exist: Collection[str], now: float
) -> int:
    """Remove files that are too old or too much, and those of sessions that no longer `exist`; none
    of a session in `is_open`. `now` is in seconds since the epoch. Returns how many bytes went.
    Raises `OSError` when the folder cannot be read."""
    removed = 0
    left: list[_Spilled] = []
    for name in spilling_sessions(folder):
        if name in is_open:
            continue
        files = _files(folder / name)
        if name not in exist:
            removed += sum(file.size for file in files)
            shutil.rmtree(folder / name, ignore_errors=True)
            continue
        left += files
    left.sort(key=lambda file: file.written)
    total = sum(file.size for file in left)
    for file in left:
        if total <= KEPT_BYTES and file.written >= now - KEPT_SECONDS:
            break
        total -= file.size
        removed += _remove(file)
    return removed


@dataclass(frozen=True, slots=True)
class _Spilled:
    path: Path
    size: int
    written: float


def _files(folder: Path) -> list[_Spilled]:
    found = []
    with os.scandir(folder) as scan:
        for entry in scan:
            info = entry.stat(follow_symlinks=False)
            found.append(_Spilled(Path(entry.path), info.st_size, info.st_mtime))
    return found


def _remove(file: _Spilled) -> int:
    try:
        file.path.unlink()
    except OSError:
        return 0  # someone was faster, or it is no file of ours: it does no harm where it is
    try:
        file.path.parent.rmdir()
    except OSError:
        pass  # there are others in it
    return file.size


def _file_name(identifier: str) -> str:
    """A file name for an id; those of calls come from outside and may hold anything."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", identifier)[:80]
    if name and name == identifier:
        return name
    return f"{name}-{hashlib.sha256(identifier.encode('utf-8', 'replace')).hexdigest()[:8]}"
