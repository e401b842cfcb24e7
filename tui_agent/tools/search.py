"""Listing and searching a folder with a program of its own: ripgrep, or ours where there is none.

A program, because a search may take long and must end when it is cancelled or its time is up, and
because a regular expression may never end. Both honour nested ignore files with or without a
repository, follow no links, leave `.git` out and take no settings of the user's.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_agent.processes.capture import HeadAndTail
from tui_agent.processes.shell import ShellCancelled, run_program
from tui_agent.tools.base import ToolError, ToolInterrupted
from tui_agent.tools.errors import FileError, FileErrorCode
from tui_agent.vocabulary.blocks import Outcome, TextBlock, ToolResult

SEARCH_SECONDS = 20.0
KEPT_BYTES = 32 * 1024 * 1024
LINE_CHARS = 500

_RIPGREP = (
    "--no-config", "--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-exclude",
    "--no-messages", "--null", "--color=never",
)  # fmt: skip
_OWN = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    "from tui_agent.tools.own_search import main; main(sys.argv[2])"
)


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for. `mode` is one of files_with_matches, content, count."""

    pattern: str
    mode: str
    ignore_case: bool = False
    before: int = 0
    after: int = 0
    multiline: bool = False
    glob: str | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a search printed; `note` says why it may not be all."""

    data: bytes
    note: str


class Searcher:
    """Runs searches for one call. `avoided` are real paths that are never looked into."""

    def __init__(self, environment: Mapping[str, str], avoided: Sequence[Path]) -> None:
        self._environment = environment
        self._avoided = avoided
        self._ripgrep = shutil.which("rg", path=environment.get("PATH"))

    async def files(self, folder: Path) -> Found:
        """The files beneath `folder` that are not ignored: relative paths, each ended by NUL."""
        if self._ripgrep is not None:
            excluded = self._excluded(folder)
            return await self._run([self._ripgrep, *_RIPGREP, "--files", *excluded, "./"], folder)
        return await self._run_own({"do": "files", "avoided": self._names(folder)}, folder)

    async def grep(self, query: Query, root: Path) -> Found:
        """Matches in a file or beneath a folder: `path NUL rest` a line, as ripgrep has it."""
        folder, target = (root, "./") if root.is_dir() else (root.parent, f"./{root.name}")
        if self._ripgrep is not None:
            arguments = [self._ripgrep, *_RIPGREP, *_flags(query), *self._excluded(folder)]
            return await self._run([*arguments, "-e", query.pattern, "--", target], folder)
        request = {
            "do": "grep",
            "target": target,
            "avoided": self._names(folder),
            "pattern": query.pattern,
            "mode": query.mode,
            "ignore_case": query.ignore_case,
            "before": query.before,
            "after": query.after,
            "multiline": query.multiline,
            "glob": query.glob,
            "type": query.type,
        }
        return await self._run_own(request, folder)

    async def _run_own(self, request: Mapping[str, object], folder: Path) -> Found:
        package = Path(__file__).resolve().parents[2]
        arguments = [sys.executable, "-I", "-c", _OWN, os.fspath(package), json.dumps(request)]
        return await self._run(arguments, folder)

    async def _run(self, arguments: Sequence[str], folder: Path) -> Found:
        kept = HeadAndTail(head_bytes=KEPT_BYTES, tail_bytes=0)
        try:
            ran = await run_program(
                arguments,
                cwd=folder,
                environment=self._environment,
                timeout=SEARCH_SECONDS,
                output=kept,
                merge_errors=False,
            )
        except ShellCancelled:
            text = TextBlock("The search was cancelled.")
            raise ToolInterrupted(ToolResult((text,), {}, Outcome.INTERRUPTED)) from None
        except OSError as error:
            raise ToolError(f"The search could not be started: {error}") from None
        problem = ran.errors.text.strip()
        if ran.exit_code == 2 and problem and not kept.total:
            raise _bad_pattern(problem)
        notes = []
        if ran.timed_out:
            notes.append(f"The search was stopped after {SEARCH_SECONDS:g} s: there may be more.")
        if kept.total > KEPT_BYTES:
            notes.append("The search found too much: the rest was dropped.")
        if ran.exit_code == 2:
            notes.append("Some files could not be searched.")
        data = kept.head
        if ran.timed_out or kept.total > KEPT_BYTES:
            # what stands after the last mark is a part of something
            data = data[: max(data.rfind(b"\n"), data.rfind(b"\0")) + 1]
        return Found(data, " ".join(notes))

    def _names(self, folder: Path) -> list[str]:
        return [
            os.fspath(path.relative_to(folder))
            for path in self._avoided
            if path.is_relative_to(folder)
        ]

    def _excluded(self, folder: Path) -> list[str]:
        arguments = ["--glob", "!.git"]
        for name in self._names(folder):
            arguments += ["--glob", "!/" + re.sub(r"([*?\[\]{}\\!])", r"\\\1", name)]
        return arguments


def _flags(query: Query) -> list[str]:
    flags = ["--ignore-case"] if query.ignore_case else []
    if query.multiline:
        flags += ["--multiline", "--multiline-dotall"]
    if query.type is not None:
        flags += ["--type", query.type]
    if query.glob is not None:
        flags += _glob_flags(query.glob, has_type=query.type is not None)
    match query.mode:
        case "content":
            flags += ["--no-heading", "--with-filename", "--line-number"]
            flags += ["--max-columns", str(LINE_CHARS), "--max-columns-preview"]
            flags += ["--before-context", str(query.before), "--after-context", str(query.after)]
        case "count":
            flags += ["--count", "--with-filename"]
        case _:
            flags += ["--files-with-matches"]
    return flags


def _glob_flags(glob: str, *, has_type: bool) -> list[str]:
    """A positive glob of ripgrep's also brings ignored files back; as a file type it does not."""
    if "/" in glob or glob.startswith("!") or has_type:
        return ["--glob", glob]
    return ["--type-add", f"wanted:{glob}", "--type", "wanted"]


def _bad_pattern(problem: str) -> FileError:
    text = problem[:1500]
    if "size limit" in problem:
        return FileError(FileErrorCode.PATTERN_TOO_COMPLEX, f"The pattern is too complex: {text}")
    return FileError(FileErrorCode.INVALID_PATTERN, f"The search could not be done: {text}")
