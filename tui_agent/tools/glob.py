"""Glob: which files have a name like this."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from tui_agent.tools.base import Effects, ToolContext, text_result
from tui_agent.tools.errors import FileError, plain
from tui_agent.tools.globs import FilePattern, file_patterns, matches
from tui_agent.tools.open_files import Files
from tui_agent.tools.paths import judged_path, resolve_for_effects, shown
from tui_agent.tools.results import CONTENT_CHARS
from tui_agent.tools.search import Searcher
from tui_agent.vocabulary.blocks import JsonObject, ToolResult

_SHOWN = 300
_DATED = 5000


class GlobInput(BaseModel):
    """Input of Glob."""

    model_config = ConfigDict(extra="forbid")

    pattern: str = Field(min_length=1, description="Such as **/*.py, src/**/*.{ts,tsx}, *.md")
    path: str | None = Field(None, description="Folder to search, the workspace if unset")


class Glob:
    """Finds files by name."""

    name: ClassVar[str] = "Glob"
    description: ClassVar[str] = (
        "Find files by name, newest first. * stays within a folder, ** spans folders, {a,b} gives"
        " alternatives; a pattern without a slash matches names at any depth. What .gitignore files"
        " leave out is not listed, unless the search starts inside it."
    )
    input_model: ClassVar[type[GlobInput]] = GlobInput
    is_read_only: ClassVar[bool] = True

    def __init__(self, files: Files | None = None) -> None:
        self._files = files or Files()

    def effects(self, args: GlobInput, context: ToolContext) -> Effects:
        """Reads the folders that the pattern starts from."""
        try:
            names = {_base(args, pattern) for pattern in file_patterns(args.pattern)}
        except FileError:
            names = {args.path or "."}
        return Effects(reads=frozenset(resolve_for_effects(context.folder, n) for n in names))

    def subject(self, args: GlobInput) -> str:
        """The pattern, and where."""
        return f"{args.pattern} in {args.path}" if args.path else args.pattern

    def preview(self, args: GlobInput, context: ToolContext) -> JsonObject:
        """Where it would look."""
        folders = sorted(plain(os.fspath(p)) for p in self.effects(args, context).reads)
        return {"kind": "text", "text": f"List {args.pattern} in {', '.join(folders)}"}

    async def run(self, args: GlobInput, context: ToolContext) -> ToolResult:
        """List the folders, match the names."""
        by_folder: dict[Path, list[FilePattern]] = {}
        for pattern in file_patterns(args.pattern):
            folder = judged_path(context, _base(args, pattern))
            by_folder.setdefault(folder, []).append(pattern)
        searcher = Searcher(context.environment, self._files.own_files(), context.progress)
        found: dict[str, None] = {}
        notes: list[str] = []
        for folder, patterns in by_folder.items():
            if not folder.is_dir():
                notes.append(f"{shown(folder, context.folder)} is not a folder.")
                continue
            listing = await searcher.files(folder)
            notes += [listing.note] if listing.note else []
            names = await asyncio.to_thread(_matching, folder, listing.data, patterns)
            found.update(dict.fromkeys(names))
        return await asyncio.to_thread(_result, args, context.folder, list(found), notes)


def _base(args: GlobInput, pattern: FilePattern) -> str:
    return os.path.join(args.path or ".", pattern.base)


def _matching(folder: Path, listing: bytes, patterns: list[FilePattern]) -> list[str]:
    """Absolute names; plain strings, as there may be hundreds of thousands."""
    start = os.path.join(folder, "")
    found = []
    for raw in listing.split(b"\0"):
        relative = raw.removeprefix(b"./")
        parts = relative.decode("utf-8", "surrogateescape").split("/")
        if relative and any(matches(pattern.segments, parts) for pattern in patterns):
            found.append(start + os.fsdecode(relative))
    return found


def _result(args: GlobInput, folder: Path, found: list[str], notes: list[str]) -> ToolResult:
    paths = sorted(found)
    if len(paths) <= _DATED:
        paths.sort(key=_modified, reverse=True)
    names: list[str] = []
    used = 0
    for path in paths[:_SHOWN]:
        name = shown(Path(path), folder)
        used += len(name) + 1
        if used > CONTENT_CHARS - 500:
            break
        names.append(name)
    if len(names) < len(paths):
        notes.append(f"{len(paths):,} files match; {len(names)} are shown. Narrow the pattern.")
    details = {
        "kind": "paths",
        "pattern": args.pattern,
        "count": len(paths),
        "paths": names,
        "truncated": bool(notes),
    }
    lines = names or ["No files match."]
    return text_result("\n".join([*lines, *(f"[{note}]" for note in notes)]), details)


def _modified(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0  # gone since it was listed
