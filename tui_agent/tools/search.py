"""Listing and searching a folder with a program of its own: ripgrep, or ours where there is none.

A program, because a search may take long and must end when it is cancelled or its time is up, and
because a regular expression may never end. Both honour nested ignore files with or without a
repository and the user's excludes of git, follow no links, leave `.git` out and take no settings of
ripgrep's. A folder of which the rules above it leave out everything was named on purpose: it is
searched without them.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tui_agent.processes.capture import HeadAndTail
from tui_agent.processes.shell import ShellCancelled, ShellOutcome, run_program
from tui_agent.tools.base import ToolError, ToolInterrupted
from tui_agent.tools.errors import FileError, FileErrorCode
from tui_agent.vocabulary.blocks import Outcome, TextBlock, ToolResult

SEARCH_SECONDS = 20.0
LISTED_BYTES = 32 * 1024 * 1024
FOUND_BYTES = 8 * 1024 * 1024
LINE_CHARS = 500
TELL_SECONDS = 2.0
"""How often a search that takes long says so."""

_RIPGREP = (
    "--no-config", "--hidden", "--no-require-git", "--no-messages", "--null", "--color=never",
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
    """Runs searches for one call. `avoided` are real paths that are never looked into;
    `progress(line, bytes_found)` is called now and then while a search takes long."""

    def __init__(
        self,
        environment: Mapping[str, str],
        avoided: Sequence[Path],
        progress: Callable[[str, int], None],
    ) -> None:
        self._environment = environment
        self._avoided = avoided
        self._progress = progress
        self._ripgrep = shutil.which("rg", path=environment.get("PATH"))

    async def files(self, folder: Path) -> Found:
        """The files beneath `folder` that are not ignored: relative paths, each ended by NUL."""
        if self._ripgrep is None:
            request = {"do": "files", "avoided": self._names(folder)}
            return await self._run_own(request, folder, LISTED_BYTES)
        arguments = ["--files", *self._excluded(folder), "./"]
        found = await self._run_ripgrep(self._ripgrep, arguments, folder, LISTED_BYTES)
        if found.data:
            return found
        arguments = ["--no-ignore-parent", *arguments]
        return await self._run_ripgrep(self._ripgrep, arguments, folder, LISTED_BYTES)

    async def grep(self, query: Query, root: Path) -> Found:
        """Matches in a file or beneath a folder: `path NUL rest` a line, as ripgrep has it."""
        folder, target = (root, "./") if root.is_dir() else (root.parent, f"./{root.name}")
        if self._ripgrep is not None:
            arguments = [*_flags(query), *self._excluded(folder), "-e", query.pattern, "--", target]
            found = await self._run_ripgrep(self._ripgrep, arguments, folder, FOUND_BYTES)
            if found.data or target != "./" or await self._sees_any(self._ripgrep, folder):
                return found
            arguments = ["--no-ignore-parent", *arguments]
            return await self._run_ripgrep(self._ripgrep, arguments, folder, FOUND_BYTES)
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
        return await self._run_own(request, folder, FOUND_BYTES)

    async def _sees_any(self, ripgrep: str, folder: Path) -> bool:
        """Whether there is any file beneath `folder` that is not ignored."""
        arguments = ["--files", "--quiet", *self._excluded(folder), "./"]
        ran = await self._start([ripgrep, *_RIPGREP, *arguments], folder, HeadAndTail())
        return ran.exit_code == 0

    async def _run_ripgrep(
        self, ripgrep: str, arguments: Sequence[str], folder: Path, most: int
    ) -> Found:
        return await self._run([ripgrep, *_RIPGREP, *arguments], folder, most)

    async def _run_own(self, request: Mapping[str, object], folder: Path, most: int) -> Found:
        package = Path(__file__).resolve().parents[2]
        python = [sys.executable, "-I", "-X", "utf8"]
        arguments = [*python, "-c", _OWN, os.fspath(package), json.dumps(request)]
        return await self._run(arguments, folder, most)

    async def _run(self, arguments: Sequence[str], folder: Path, most: int) -> Found:
        kept = HeadAndTail(head_bytes=most, tail_bytes=0)
        async with self._telling(kept):
            ran = await self._start(arguments, folder, kept)
        problem = ran.errors.text.strip()
        if ran.exit_code == 2 and problem and not kept.total:
            raise _bad_pattern(problem)
        notes = []
        if ran.timed_out:
            notes.append(f"The search was stopped after {SEARCH_SECONDS:g} s: there may be more.")
        if kept.total > most:
            notes.append("The search found too much: the rest was dropped.")
        if ran.exit_code == 2:
            notes.append("Some files could not be searched.")
        data = kept.head
        if ran.timed_out or kept.total > most:
            # what stands after the last mark is a part of something
            data = data[: max(data.rfind(b"\n"), data.rfind(b"\0")) + 1]
        return Found(data, " ".join(notes))

    async def _start(
        self, arguments: Sequence[str], folder: Path, output: HeadAndTail
    ) -> ShellOutcome:
        try:
            return await run_program(
                arguments,
                cwd=folder,
                environment=self._environment,
                timeout=SEARCH_SECONDS,
                output=output,
                merge_errors=False,
            )
        except ShellCancelled:
            text = TextBlock("The search was cancelled.")
            raise ToolInterrupted(ToolResult((text,), {}, Outcome.INTERRUPTED)) from None
        except OSError as error:
            raise ToolError(f"The search could not be started: {error}") from None

    @asynccontextmanager
    async def _telling(self, kept: HeadAndTail) -> AsyncIterator[None]:
        """Say now and then that it still goes on."""
        started = time.monotonic()

        async def tell() -> None:
            while True:
                await asyncio.sleep(TELL_SECONDS)
                seconds = time.monotonic() - started
                line = f"searching for {seconds:.0f} s, {kept.total:,} bytes of results so far\n"
                self._progress(line, kept.total)

        ticker = asyncio.create_task(tell())
        try:
            yield
        finally:
            ticker.cancel()

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
