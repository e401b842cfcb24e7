"""What Write and Edit share: the file as it is, the right to change it, the change itself.

A change starts from the version that the model last saw and is refused on any other.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tui_agent.tools.base import ToolContext
from tui_agent.tools.diffs import Diff
from tui_agent.tools.errors import FileError, FileErrorCode, plain
from tui_agent.tools.ledger import digest_of
from tui_agent.tools.open_files import FileContent, Files, changed, locked
from tui_agent.tools.paths import folders_of, judged_path, resolve, shown
from tui_agent.tools.read import WHOLE_BYTES
from tui_agent.vocabulary.blocks import JsonObject, TextBlock, ToolResult


@dataclass(frozen=True, slots=True)
class Change:
    """A change that is worked out but not made. `old` is `None` for a new file."""

    path: Path
    old: FileContent | None
    data: bytes
    diff: Diff

    def details(self) -> JsonObject:
        """The change as details and previews have it."""
        return {
            "kind": "diff",
            "path": plain(os.fspath(self.path)),
            "diff": self.diff.text,
            "added": self.diff.added,
            "removed": self.diff.removed,
            "is_new": self.old is None,
        }


Plan = Callable[[Path, FileContent | None], Change]
"""Works out the change of a path from its content now; raises `FileError` if it cannot be made."""


def make_change(files: Files, context: ToolContext, text: str, plan: Plan) -> Change:
    """Work out and make the change of the path that `text` names. Raises `FileError`."""
    path = judged_path(context, text, for_writing=True)
    with locked(path):
        old = _content(files, context, path)
        if old is not None:
            _check_seen(context, path, old)
        change = plan(path, old)
        files.replace(path, folders_of(context), change.data, expected=old.state if old else None)
        context.ledger.note(path, digest_of(change.data))
    return change


def preview_change(files: Files, context: ToolContext, text: str, plan: Plan) -> JsonObject:
    """The change as a person sees it before deciding; if it cannot be made, why."""
    try:
        path = resolve(context.folder, text)
        old = _content(files, context, path)
        if old is not None and context.ledger.digest(path) is not None:
            _check_seen(context, path, old)  # else a call before this one may read it yet
        return plan(path, old).details()
    except FileError as error:
        return {"kind": "text", "text": f"As things stand this will fail: {error}"}


def change_result(change: Change, context: ToolContext) -> ToolResult:
    """What the model is told of a change that was made."""
    name = shown(change.path, context.folder)
    added = change.diff.added
    counts = f"{added} line{'' if added == 1 else 's'} added, {change.diff.removed} removed"
    verb = "Created" if change.old is None else "Changed"
    details = {**change.details(), "digest": digest_of(change.data)}
    return ToolResult((TextBlock(f"{verb} {name} ({counts})."),), details)


def _content(files: Files, context: ToolContext, path: Path) -> FileContent | None:
    try:
        return files.read(path, folders_of(context), limit=WHOLE_BYTES)
    except FileError as error:
        if error.code is FileErrorCode.NOT_FOUND:
            return None
        raise


def _check_seen(context: ToolContext, path: Path, old: FileContent) -> None:
    known = context.ledger.digest(path)
    if known is None:
        raise FileError(
            FileErrorCode.STALE,
            f"{plain(os.fspath(path))} exists and has not been read yet. Read it first.",
        )
    if known != digest_of(old.data):
        raise changed(path)
    if not old.state.mode & 0o222:
        raise FileError(FileErrorCode.PERMISSION, f"{plain(os.fspath(path))} is write-protected.")
