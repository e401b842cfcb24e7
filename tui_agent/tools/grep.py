"""Grep: where a regular expression occurs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field

from tui_agent.tools.base import Effects, ToolContext, text_result
from tui_agent.tools.errors import FileError, FileErrorCode, plain
from tui_agent.tools.open_files import Files
from tui_agent.tools.paths import is_inside, judged_path, resolve_for_effects, shown
from tui_agent.tools.results import CONTENT_CHARS
from tui_agent.tools.search import LINE_CHARS, Query, Searcher
from tui_agent.vocabulary.blocks import JsonObject, ToolResult

_LIMIT = 250


class GrepInput(BaseModel):
    """Input of Grep."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    pattern: str = Field(min_length=1, description="Regular expression")
    path: str | None = Field(None, description="File or folder to search, the workspace if unset")
    glob: str | None = Field(None, description="Only files with such a name, as *.py or *.{ts,tsx}")
    output_mode: Literal["files_with_matches", "content", "count"] = Field(
        "files_with_matches", description="Paths only, matching lines, or a count for each file"
    )
    ignore_case: bool = Field(False, alias="-i", description="Ignore case")
    line_numbers: bool = Field(True, alias="-n", description="Number the lines of content")
    after: int | None = Field(None, alias="-A", ge=0, le=100, description="Lines after a match")
    before: int | None = Field(None, alias="-B", ge=0, le=100, description="Lines before a match")
    around: int | None = Field(None, alias="-C", ge=0, le=100, description="Lines around a match")
    multiline: bool = Field(False, description="Let . and the pattern span lines")
    head_limit: int | None = Field(
        None, ge=0, description=f"Show so many lines or files at most, {_LIMIT} if unset"
    )
    type: str | None = Field(None, description="Only files of a type, such as py, js, rust")


class Grep:
    """Searches the content of files."""

    name: ClassVar[str] = "Grep"
    description: ClassVar[str] = (
        "Search the content of files for a regular expression (ripgrep's syntax, without"
        " look-around). What .gitignore files leave out is not searched, and neither are binary"
        " files. Use output_mode content to see lines, with -A, -B or -C for lines around them."
    )
    input_model: ClassVar[type[GrepInput]] = GrepInput
    is_read_only: ClassVar[bool] = True

    def __init__(self, files: Files | None = None) -> None:
        self._files = files or Files()

    def effects(self, args: GrepInput, context: ToolContext) -> Effects:
        """Reads the file or folder."""
        return Effects(reads=frozenset({resolve_for_effects(context.folder, args.path or ".")}))

    def subject(self, args: GrepInput) -> str:
        """The pattern, and where."""
        return f"{args.pattern} in {args.path}" if args.path else args.pattern

    def preview(self, args: GrepInput, context: ToolContext) -> JsonObject:
        """Where it would look."""
        path = resolve_for_effects(context.folder, args.path or ".")
        return {"kind": "text", "text": f"Search {plain(os.fspath(path))} for {args.pattern}"}

    async def run(self, args: GrepInput, context: ToolContext) -> ToolResult:
        """Search, then order and cut what was found."""
        root = judged_path(context, args.path or ".")
        if not root.exists():
            raise FileError(FileErrorCode.NOT_FOUND, f"{plain(os.fspath(root))} does not exist.")
        if not root.is_dir():
            # the same checks as for reading it
            self._files.state(root, (context.folder, *context.extra_folders))
        around = args.around or 0
        query = Query(
            pattern=args.pattern,
            mode=args.output_mode,
            ignore_case=args.ignore_case,
            before=around if args.before is None else args.before,
            after=around if args.after is None else args.after,
            multiline=args.multiline,
            glob=args.glob,
            type=args.type,
        )
        avoided = (*self._files.own_files(), *sorted(context.hidden))
        searcher = Searcher(context.environment, avoided)
        found = await searcher.grep(query, root)
        base = root if root.is_dir() else root.parent
        names = _Names(base, context.folder)
        limit = args.head_limit or _LIMIT
        match args.output_mode:
            case "files_with_matches":
                listed = _files(found.data, names)
            case "count":
                listed = _counts(found.data, names)
            case "content":
                listed = _lines(found.data, names, is_numbered=args.line_numbers)
            case _:
                assert_never(args.output_mode)
        return _result(args, listed, limit, found.note)


@dataclass(frozen=True, slots=True)
class _Names:
    """How found files are called: from the workspace on, whatever folder was searched."""

    base: Path
    folder: Path

    def of(self, raw: bytes) -> str:
        name = os.fsdecode(raw).removeprefix("./")
        if self.base == self.folder:
            return plain(name)
        path = self.base / name
        return shown(path, self.folder) if is_inside(path, [self.folder]) else plain(str(path))


@dataclass(frozen=True, slots=True)
class _Listed:
    """Rows in order, how many files they are of, and how many matches those have."""

    rows: list[str]
    files: int
    count: int


def _files(data: bytes, names: _Names) -> _Listed:
    rows = sorted(names.of(raw) for raw in data.split(b"\0") if raw)
    return _Listed(rows, len(rows), len(rows))


def _counts(data: bytes, names: _Names) -> _Listed:
    pairs = sorted((names.of(raw), int(rest)) for raw, rest in _pairs(data) if rest.isdigit())
    rows = [f"{name}:{count}" for name, count in pairs]
    return _Listed(rows, len(rows), sum(count for _, count in pairs))


def _lines(data: bytes, names: _Names, *, is_numbered: bool) -> _Listed:
    by_file: dict[str, list[str]] = {}
    raw_names: dict[bytes, str] = {}
    count = 0
    for raw, rest in _pairs(data):
        if raw not in raw_names:
            raw_names[raw] = names.of(raw)
        name = raw_names[raw]
        digits = len(rest) - len(rest.lstrip(b"0123456789"))
        number, mark, line = rest[:digits], rest[digits : digits + 1], rest[digits + 1 :]
        count += mark == b":"
        text = line.decode("utf-8", errors="replace").rstrip("\r")[: LINE_CHARS + 100]
        sign = mark.decode("ascii", errors="replace")
        shown_number = f"{number.decode('ascii')}{sign}" if is_numbered else ""
        by_file.setdefault(name, []).append(f"{name}{sign}{shown_number}{text}")
    rows = [row for name in sorted(by_file) for row in by_file[name]]
    return _Listed(rows, len(by_file), count)


def _pairs(data: bytes) -> list[tuple[bytes, bytes]]:
    pairs = []
    for line in data.split(b"\n"):
        name, mark, rest = line.partition(b"\0")
        if mark:
            pairs.append((name, rest))
    return pairs


def _result(args: GrepInput, listed: _Listed, limit: int, note: str) -> ToolResult:
    rows: list[str] = []
    used = 0
    for row in listed.rows[:limit]:
        used += len(row) + 1
        if used > CONTENT_CHARS - 500:
            break
        rows.append(row)
    notes = [note] if note else []
    if len(rows) < len(listed.rows):
        notes.append(
            f"{len(listed.rows):,} results, {len(rows)} are shown. Narrow the search or raise"
            " head_limit."
        )
    details = {
        "kind": "matches",
        "pattern": args.pattern,
        "mode": args.output_mode,
        "count": listed.count,
        "files": listed.files,
        "truncated": bool(notes),
    }
    lines = rows or ["No matches."]
    return text_result("\n".join([*lines, *(f"[{text}]" for text in notes)]), details)
