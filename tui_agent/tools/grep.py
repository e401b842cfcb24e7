"""Grep: where a regular expression occurs."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field

from tui_agent.tools.base import Effects, ToolContext, text_result
from tui_agent.tools.errors import FileError, FileErrorCode, plain
from tui_agent.tools.open_files import Files
from tui_agent.tools.paths import is_inside, judged_path, resolve_for_effects, shown
from tui_agent.tools.results import CONTENT_CHARS
from tui_agent.tools.search import LINE_CHARS, Found, Query, Searcher
from tui_agent.vocabulary.blocks import JsonObject, ToolResult

_LIMIT = 250
_NAMED = 3


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
        searcher = Searcher(context.environment, avoided, context.progress)
        found = await searcher.grep(query, root)
        base = root if root.is_dir() else root.parent
        names = _Names(base, context.folder)
        return await asyncio.to_thread(_result, args, found, names)


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
    """Rows in order, as many as wanted; how many there are in all, of how many files, and how many
    matches those have. `binary` are files with matches that cannot be shown."""

    rows: list[str]
    total: int
    files: int
    matches: int
    binary: tuple[str, ...] = ()


def _files(data: bytes, names: _Names, limit: int) -> _Listed:
    rows = sorted(names.of(raw) for raw in data.split(b"\0") if raw)
    return _Listed(rows[:limit], len(rows), len(rows), len(rows))


def _counts(data: bytes, names: _Names, limit: int) -> _Listed:
    pairs = sorted(
        (names.of(record.name), int(data[record.start : record.end]))
        for record in _records(data)
        if data[record.start : record.end].isdigit()
    )
    rows = [f"{name}:{count}" for name, count in pairs[:limit]]
    return _Listed(rows, len(pairs), len(pairs), sum(count for _, count in pairs))


def _lines(data: bytes, names: _Names, limit: int, *, is_numbered: bool) -> _Listed:
    by_file: dict[bytes, list[_Record]] = {}
    matches = 0
    for record in _records(data):
        by_file.setdefault(record.name, []).append(record)
        matches += record.is_match
    rows: list[str] = []
    for name, raw in sorted((names.of(raw), raw) for raw in by_file):
        rows += [
            _row(name, data[record.start : record.end], is_numbered=is_numbered)
            for record in by_file[raw][: limit - len(rows)]
        ]
    total = sum(map(len, by_file.values()))
    binary = tuple(sorted(names.of(raw) for raw in _BINARY.findall(data)))
    return _Listed(rows, total, len(by_file), matches, binary)


def _row(name: str, rest: bytes, *, is_numbered: bool) -> str:
    digits = len(rest) - len(rest.lstrip(b"0123456789"))
    number, mark, line = rest[:digits], rest[digits : digits + 1], rest[digits + 1 :]
    text = line.decode("utf-8", errors="replace").rstrip("\r")[: LINE_CHARS + 100]
    sign = mark.decode("ascii", errors="replace")
    shown_number = f"{number.decode('ascii')}{sign}" if is_numbered else ""
    return f"{name}{sign}{shown_number}{text}"


@dataclass(frozen=True, slots=True)
class _Record:
    """One line of a search's output: the raw name, and where the rest of it is in the output."""

    name: bytes
    start: int
    end: int
    is_match: bool


_BINARY = re.compile(
    rb"^(\./[^\0\n]*): (?:WARNING: stopped searching binary file|binary file matches)[^\0\n]*\n",
    re.MULTILINE,
)
_BETWEEN = re.compile(rb"--\n|" + _BINARY.pattern, re.MULTILINE)
"""Lines that are not about a line of a file."""
_REST = re.compile(rb"\d+(:)?")


def _records(data: bytes) -> Iterator[_Record]:
    """Every `name NUL rest` of the output. A name may hold line ends, a rest does not."""
    at = 0
    while at < len(data):
        between = _BETWEEN.match(data, at)
        if between is not None:
            at = between.end()
            continue
        start = data.find(b"\0", at) + 1
        if not start:
            return
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        rest = _REST.match(data, start, end)
        yield _Record(data[at : start - 1], start, end, bool(rest and rest.group(1)))
        at = end + 1


def _result(args: GrepInput, found: Found, names: _Names) -> ToolResult:
    limit = args.head_limit or _LIMIT
    match args.output_mode:
        case "files_with_matches":
            listed = _files(found.data, names, limit)
        case "count":
            listed = _counts(found.data, names, limit)
        case "content":
            listed = _lines(found.data, names, limit, is_numbered=args.line_numbers)
        case _:
            assert_never(args.output_mode)
    rows: list[str] = []
    used = 0
    for row in listed.rows:
        used += len(row) + 1
        if used > CONTENT_CHARS - 500:
            break
        rows.append(row)
    notes = [found.note] if found.note else []
    if len(rows) < listed.total:
        notes.append(
            f"{listed.total:,} results, {len(rows)} are shown. Narrow the search or raise"
            " head_limit."
        )
    if listed.binary:
        some = ", ".join(listed.binary[:_NAMED])
        more = f" and {len(listed.binary) - _NAMED} more" if len(listed.binary) > _NAMED else ""
        notes.append(f"Binary, so not all that matches in it is shown: {some}{more}.")
    details = {
        "kind": "matches",
        "pattern": args.pattern,
        "mode": args.output_mode,
        "count": listed.matches,
        "files": listed.files,
        "truncated": bool(notes),
    }
    lines = rows or ["No matches."]
    return text_result("\n".join([*lines, *(f"[{text}]" for text in notes)]), details)
