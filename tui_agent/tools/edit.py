"""Edit: one piece of a file replaced by another, every other byte left as it was.

The model sees lines without their ends, so a line end in what it looks for matches LF and CRLF
alike, and only the part that really differs is replaced, with the line ends of the place.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from tui_agent.tools.base import Effects, ToolContext
from tui_agent.tools.changes import Change, Plan, change_result, make_change, preview_change
from tui_agent.tools.diffs import common_start, unified
from tui_agent.tools.errors import FileError, FileErrorCode
from tui_agent.tools.open_files import FileContent, Files
from tui_agent.tools.paths import resolve_for_effects
from tui_agent.tools.results import one_line, to_the_end
from tui_agent.tools.text_files import check_text, decode, encode
from tui_agent.vocabulary.blocks import JsonObject, ToolResult

_SHOWN_MATCHES = 20
_COMPARED_LINES = 20_000
_SCORED_LINES = 400
_NEAREST = 3


class EditInput(BaseModel):
    """Input of Edit."""

    model_config = ConfigDict(extra="forbid")

    file_path: str = Field(description="Path of the file: absolute, or from the workspace folder")
    old_string: str = Field(
        description="The text to replace, exactly as it stands in the file, indentation included"
    )
    new_string: str = Field(description="The text to put in its place")
    replace_all: bool = Field(False, description="Replace every occurrence, not just the only one")


class Edit:
    """Replaces text in a file that the model has read."""

    name: ClassVar[str] = "Edit"
    description: ClassVar[str] = (
        "Replace text in a file that was read before. old_string must occur exactly once: give as"
        " many lines around it as that takes, or set replace_all. Leave out the line numbers that"
        " Read shows."
    )
    input_model: ClassVar[type[EditInput]] = EditInput
    is_read_only: ClassVar[bool] = False

    def __init__(self, files: Files | None = None) -> None:
        self._files = files or Files()

    def effects(self, args: EditInput, context: ToolContext) -> Effects:
        """Writes the file."""
        return Effects(writes=frozenset({resolve_for_effects(context.folder, args.file_path)}))

    def subject(self, args: EditInput) -> str:
        """The path as the model wrote it."""
        return args.file_path

    def preview(self, args: EditInput, context: ToolContext) -> JsonObject:
        """The difference that it makes."""
        return preview_change(self._files, context, args.file_path, _plan(args))

    async def run(self, args: EditInput, context: ToolContext) -> ToolResult:
        """Change it, in a thread."""
        return await to_the_end(
            lambda: make_change(self._files, context, args.file_path, _plan(args)),
            lambda change: change_result(change, context),
        )


def _plan(args: EditInput) -> Plan:
    def plan(path: Path, old: FileContent | None) -> Change:
        if old is None:
            raise FileError(
                FileErrorCode.NOT_FOUND, f"{args.file_path} does not exist. Write can create it."
            )
        check_text(args.old_string)
        check_text(args.new_string)
        if not args.old_string:
            raise FileError(
                FileErrorCode.NO_MATCH, "old_string is empty: name the text that is to be replaced."
            )
        if args.old_string == args.new_string:
            raise FileError(
                FileErrorCode.NO_MATCH, "old_string and new_string are the same: nothing to change."
            )
        file = decode(old.data)
        text = replaced(file.text, args.old_string, args.new_string, every=args.replace_all)
        return Change(path, old, encode(file, text), unified(file.text, text))

    return plan


def replaced(text: str, old: str, new: str, *, every: bool) -> str:
    """`text` with `old` replaced by `new`. Raises `FileError` unless it occurs, and once if not
    `every`."""
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    pattern = re.compile("\r?\n".join(re.escape(line) for line in old.split("\n")))
    # not list(): a hundred thousand matches made in one go would hold up every other thread
    matches = [match for match in pattern.finditer(text)]  # noqa: C416
    if not matches:
        raise _no_match(text, old)
    if len(matches) > 1 and not every:
        raise _several(text, [match.start() for match in matches])
    pieces, end = [], 0
    for match in matches:
        pieces += [text[end : match.start()], _spliced(text, match, old, new)]
        end = match.end()
    return "".join([*pieces, text[end:]])


def _spliced(text: str, match: re.Match[str], old: str, new: str) -> str:
    """What stands in for a match: its own characters where old and new agree, the rest with the
    line ends used there."""
    found = match.group()
    start = common_start(old, new)
    end = common_start(old[start:][::-1], new[start:][::-1])
    middle = new[start : len(new) - end].replace("\n", _line_end_near(text, match))
    return found[: _raw_length(found, start)] + middle + found[_raw_length(found, len(old) - end) :]


def _raw_length(found: str, count: int) -> int:
    """How long the piece of `found` is that has `count` characters when CRLF counts as one."""
    at = 0
    for _ in range(count):
        at += 2 if found.startswith("\r\n", at) else 1
    return at


def _line_end_near(text: str, match: re.Match[str]) -> str:
    """The line end within the match, else the one after it, else the one before it."""
    at = text.find("\n", match.start())
    if at < 0:
        at = text.rfind("\n", 0, match.start())
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _several(text: str, starts: list[int]) -> FileError:
    lines = [str(text.count("\n", 0, start) + 1) for start in starts[:_SHOWN_MATCHES]]
    more = f" and {len(starts) - _SHOWN_MATCHES} more" if len(starts) > _SHOWN_MATCHES else ""
    return FileError(
        FileErrorCode.SEVERAL_MATCHES,
        f"old_string occurs {len(starts)} times, in lines {', '.join(lines)}{more}. Add lines"
        " around the one you mean, or set replace_all. Nothing was changed.",
    )


def _no_match(text: str, old: str) -> FileError:
    near = _nearest_lines(text.split("\n"), old)
    message = "old_string does not occur in the file. Nothing was changed."
    if near:
        message += " The nearest lines are (number, tab, line):\n" + "\n".join(near)
    return FileError(FileErrorCode.NO_MATCH, message)


def _nearest_lines(lines: list[str], old: str) -> list[str]:
    """Numbered lines that resemble the first line of `old` that has anything in it."""
    wanted = next((line for line in old.split("\n") if line.strip()), "")
    if not wanted:
        return []
    squeezed = "".join(wanted.split())
    candidates = enumerate(lines[:_COMPARED_LINES], 1)
    same = [number for number, line in candidates if "".join(line.split()) == squeezed]
    numbers = same[:_NEAREST] or _similar(lines[:_COMPARED_LINES], wanted.strip())
    return [f"{number:6d}\t{_shown(lines[number - 1])}" for number in numbers]


def _similar(lines: list[str], wanted: str) -> list[int]:
    """Numbers of the lines most like `wanted`, judged by characters first and then by order."""
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[:200])
    rough: list[tuple[float, int]] = []
    for number, line in enumerate(lines, 1):
        matcher.set_seq1(line.strip()[:200])
        if matcher.real_quick_ratio() > 0.5 and (score := matcher.quick_ratio()) > 0.5:
            rough.append((score, number))
    scored: list[tuple[float, int]] = []
    for _, number in sorted(rough, key=lambda item: -item[0])[:_SCORED_LINES]:
        matcher.set_seq1(lines[number - 1].strip()[:200])
        scored.append((matcher.ratio(), number))
    best = sorted(scored, key=lambda item: (-item[0], item[1]))[:_NEAREST]
    return sorted(number for score, number in best if score > 0.6)


def _shown(line: str) -> str:
    return line.rstrip("\r") if len(line) <= 200 else one_line(line)
