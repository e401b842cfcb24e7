"""Read: the lines of a text file with their numbers, or an image."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from tui_agent.tools.base import Effects, ToolContext, text_result
from tui_agent.tools.errors import FileError, FileErrorCode, plain
from tui_agent.tools.images import MAX_BYTES, MAX_SIDE, ImageFacts, image_facts
from tui_agent.tools.ledger import digest_of
from tui_agent.tools.open_files import READ_SECONDS, Files, chunks_of
from tui_agent.tools.paths import folders_of, judged_path, resolve_for_effects, shown
from tui_agent.tools.results import CONTENT_CHARS
from tui_agent.tools.text_files import decode, is_binary
from tui_agent.vocabulary.blocks import ImageBlock, JsonObject, ToolResult

WHOLE_BYTES = 10 * 1024 * 1024
"""Files up to this size are read whole and may then be changed; of larger ones a part is read."""

_LINES = 2000
_LINE_CHARS = 2000
_LINE_BYTES = 4 * _LINE_CHARS
_SCAN_BYTES = 512 * 1024 * 1024
_SAMPLE = 64 * 1024


class ReadInput(BaseModel):
    """Input of Read."""

    model_config = ConfigDict(extra="forbid")

    file_path: str = Field(description="Path of the file: absolute, or from the workspace folder")
    offset: int | None = Field(None, ge=0, description="Number of the first line to read")
    limit: int | None = Field(None, ge=1, description=f"How many lines to read, {_LINES} if unset")


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines of a file from number `first` on. `total` is how many the file has, if known; `note`
    says why there may be more."""

    first: int
    lines: list[str]
    total: int | None
    note: str = ""


class Read:
    """Shows a file to the model and notes which version it has seen."""

    name: ClassVar[str] = "Read"
    description: ClassVar[str] = (
        "Read a file. Text comes with line numbers, like `cat -n`: the number and the tab after it"
        f" are not part of the file. At most {_LINES} lines at once, long lines are cut; use offset"
        " and limit to read on in large files. PNG, JPEG, GIF and WebP images are shown as images."
        " A folder cannot be read: use Glob or Bash."
    )
    input_model: ClassVar[type[ReadInput]] = ReadInput
    is_read_only: ClassVar[bool] = True

    def __init__(self, files: Files | None = None) -> None:
        self._files = files or Files()

    def effects(self, args: ReadInput, context: ToolContext) -> Effects:
        """Reads the file."""
        return Effects(reads=frozenset({resolve_for_effects(context.folder, args.file_path)}))

    def subject(self, args: ReadInput) -> str:
        """The path as the model wrote it, and the lines it wants."""
        if args.offset is None and args.limit is None:
            return args.file_path
        first = args.offset or 1
        return f"{args.file_path}:{first}-{first + (args.limit or _LINES) - 1}"

    def preview(self, args: ReadInput, context: ToolContext) -> JsonObject:
        """The real path."""
        path = resolve_for_effects(context.folder, args.file_path)
        return {"kind": "text", "text": f"Read {plain(os.fspath(path))}"}

    async def run(self, args: ReadInput, context: ToolContext) -> ToolResult:
        """Read it, in a thread."""
        try:
            async with asyncio.timeout(READ_SECONDS + 1):
                return await asyncio.to_thread(self._read, args, context)
        except TimeoutError:
            raise FileError(
                FileErrorCode.TOO_LARGE, f"{args.file_path} did not answer within the time limit."
            ) from None

    def _read(self, args: ReadInput, context: ToolContext) -> ToolResult:
        path = judged_path(context, args.file_path)
        folders = folders_of(context)
        first, limit = args.offset or 1, args.limit or _LINES
        with self._files.opened(path, folders) as (descriptor, info):
            if info.st_size > WHOLE_BYTES:
                lines = _part(descriptor, info.st_size, first, limit)
                return _lines_result(path, context.folder, lines, info.st_size)
        data = self._files.read(path, folders, limit=WHOLE_BYTES).data
        facts = image_facts(data)
        if facts is not None:
            return _image_result(path, context.folder, data, facts)
        text = decode(data).text
        digest = digest_of(data)
        context.ledger.note(path, digest)
        if not text:
            details = {"kind": "file", "path": os.fspath(path), "lines": 0, "bytes": 0}
            result = text_result(f"{shown(path, context.folder)} exists but is empty.", details)
        else:
            lines = _whole(text, first, limit)
            result = _lines_result(path, context.folder, lines, len(data))
        return replace(result, details={**result.details, "digest": digest})


def _whole(text: str, first: int, limit: int) -> _Lines:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return _Lines(first, lines[first - 1 : first - 1 + limit], len(lines))


def _part(descriptor: int, size: int, first: int, limit: int) -> _Lines:
    """Lines of a file that is too large to be read whole."""
    sample = os.pread(descriptor, _SAMPLE, 0)
    if not sample.strip(b"\0"):
        return _Lines(
            1, [], None, f"The file has {size:,} bytes; the first {len(sample):,} of them are zero."
        )
    codec = decode(sample, is_part=True).codec
    if codec.startswith(("utf-16", "utf-32")):
        raise FileError(
            FileErrorCode.TOO_LARGE,
            f"The file is in {codec} and has {size:,} bytes; over {WHOLE_BYTES:,} only files in"
            " one-byte encodings and UTF-8 can be read in part.",
        )
    found: list[str] = []
    total, note = 0, ""
    for number, piece in _line_pieces(descriptor, first):
        if piece is None:
            note = f"Reading stopped after {_SCAN_BYTES:,} bytes."
            continue
        total = number
        if number >= first:
            found.append(piece.decode(codec, errors="replace"))
        if len(found) >= limit:
            return _Lines(first, found, None, f"The file has {size:,} bytes.")
    return _Lines(first, found, None if note else total, note)


def _line_pieces(descriptor: int, first: int) -> Iterator[tuple[int, bytes | None]]:
    """Lines by number, without their ends and cut: those from `first` on, and the last in any case.
    A piece of `None` says that reading stopped before the end of the file."""
    line = bytearray()
    number, scanned, has_rest = 1, 0, False
    for chunk in chunks_of(descriptor):
        scanned += len(chunk)
        start, ends = 0, chunk.count(b"\n")
        if ends and number + ends < first:
            # all of it lies before what is wanted: counting is enough
            number += ends
            start = chunk.rfind(b"\n") + 1
            line.clear()
            yield number - 1, b""
        while (end := chunk.find(b"\n", start)) >= 0:
            line += chunk[start : min(end, start + _LINE_BYTES)]
            yield number, bytes(line[:_LINE_BYTES])
            line.clear()
            number += 1
            start = end + 1
        has_rest = start < len(chunk) or (has_rest and not ends)
        if len(line) < _LINE_BYTES:
            line += chunk[start : start + _LINE_BYTES]
        if is_binary(bytes(line)):
            raise FileError(FileErrorCode.BINARY_FILE, "The file is binary further on.")
        if scanned >= _SCAN_BYTES:
            yield number, bytes(line[:_LINE_BYTES])
            yield number, None
            return
    if has_rest:
        yield number, bytes(line[:_LINE_BYTES])


def _lines_result(path: Path, folder: Path, found: _Lines, size: int) -> ToolResult:
    name = shown(path, folder)
    if not found.lines:
        if found.total is None:
            text = found.note
        else:
            text = f"{name} has {found.total} lines; line {found.first} is beyond its end."
        details = {"kind": "file", "path": os.fspath(path), "lines": 0, "bytes": size}
        return text_result(text, details)
    numbered: list[str] = []
    used = 0
    for number, line in enumerate(found.lines, found.first):
        row = f"{number:6d}\t{_cut(line.removesuffix(chr(13)))}"
        used += len(row) + 1
        if used > CONTENT_CHARS - 300 and numbered:
            break
        numbered.append(row)
    last = found.first + len(numbered) - 1
    notes = [found.note] if found.note else []
    if found.total is None or last < found.total:
        of = "" if found.total is None else f" of {found.total}"
        notes.append(
            f"These are lines {found.first} to {last}{of}. Read on with offset={last + 1}."
        )
    text = "\n".join(numbered) + ("\n\n[" + " ".join(notes) + "]" if notes else "")
    details = {
        "kind": "file",
        "path": os.fspath(path),
        "lines": len(numbered),
        "first_line": found.first,
        "total_lines": found.total,
        "bytes": size,
    }
    return text_result(text, _plain_path(details))


def _cut(line: str) -> str:
    if len(line) <= _LINE_CHARS:
        return line
    return f"{line[:_LINE_CHARS]} [line cut]"


def _image_result(path: Path, folder: Path, data: bytes, facts: ImageFacts) -> ToolResult:
    if facts.problem:
        raise FileError(
            FileErrorCode.BINARY_FILE,
            f"{shown(path, folder)} is a broken {facts.media_type} file: {facts.problem}. It cannot"
            " be shown.",
        )
    if len(data) > MAX_BYTES or max(facts.width, facts.height) > MAX_SIDE:
        raise FileError(
            FileErrorCode.TOO_LARGE,
            f"{shown(path, folder)} is an image of {len(data):,} bytes and"
            f" {facts.width}×{facts.height} pixels; at most {MAX_BYTES:,} bytes and"
            f" {MAX_SIDE} pixels a side can be shown. Make a smaller copy and read that.",
        )
    details = {
        "kind": "file",
        "path": os.fspath(path),
        "lines": 0,
        "bytes": len(data),
        "media_type": facts.media_type,
        "width": facts.width,
        "height": facts.height,
    }
    image = ImageBlock(facts.media_type, base64.b64encode(data).decode("ascii"))
    return ToolResult((image,), _plain_path(details))


def _plain_path(details: dict[str, object]) -> JsonObject:
    return {**details, "path": plain(str(details["path"]))}
