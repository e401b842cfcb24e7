"""Our own listing and searching, where ripgrep is not installed. Runs as a program of its own.

In comes a request as JSON and the folder it runs in; out come, on standard output, the same bytes
that ripgrep would print. Exits with 0 if something was found, 1 if not, 2 with a message if the
request is wrong. It opens regular files only and follows no link.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pathspec import GitIgnoreSpec

from tui_agent.tools.globs import expanded, matches

_IGNORE_FILES = (".ignore", ".gitignore")
_FILE_BYTES = 20 * 1024 * 1024
_LINE_CHARS = 500
_TYPES = {
    "c": "*.{c,h}", "cpp": "*.{cpp,cc,cxx,hpp,hh,hxx,h}", "cs": "*.cs", "css": "*.{css,scss}",
    "go": "*.go", "html": "*.{html,htm}", "java": "*.java", "js": "*.{js,jsx,mjs,cjs}",
    "json": "*.json", "kotlin": "*.{kt,kts}", "lua": "*.lua", "md": "*.{md,markdown}",
    "php": "*.php", "py": "*.{py,pyi}", "ruby": "*.rb", "rust": "*.rs", "sh": "*.{sh,bash,zsh}",
    "sql": "*.sql", "swift": "*.swift", "toml": "*.toml", "ts": "*.{ts,tsx,mts,cts}",
    "txt": "*.txt", "xml": "*.xml", "yaml": "*.{yaml,yml}",
}  # fmt: skip

Rules = tuple[tuple[str, Mapping[str, GitIgnoreSpec]], ...]
"""Ignore files of a folder and those above it, nearest first, each with its folder."""


def main(request_text: str) -> None:
    """Do what `request_text` asks for in the current folder, and exit."""
    request = json.loads(request_text)
    avoided = {os.path.normpath(name) for name in request["avoided"]}
    try:
        if request["do"] == "files":
            found = _print_files(avoided)
        else:
            found = _print_matches(request, avoided)
    except re.error as error:
        sys.stderr.write(f"regex parse error: {error}")
        sys.exit(2)
    except (ValueError, RecursionError) as error:
        sys.stderr.write(str(error))
        sys.exit(2)
    sys.stdout.buffer.flush()
    sys.exit(0 if found else 1)


def walk(folder: str) -> Iterator[str]:
    """The files beneath `folder` that no ignore file leaves out, as paths that start with it."""
    absolute = os.path.abspath(folder)
    above = _rules_above(absolute)
    if _is_ignored(absolute, above, is_folder=True):
        above = ()  # named on purpose: what hides it does not count within it
    yield from _walk(folder, absolute, above)


def _walk(folder: str, absolute: str, above: Rules) -> Iterator[str]:
    rules = ((absolute, _specs(absolute)), *above)
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError:
        return  # not readable: like an empty folder
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        inner = os.path.join(absolute, entry.name)
        if entry.name == ".git" or _is_ignored(inner, rules, is_folder=is_folder):
            continue
        path = os.path.join(folder, entry.name)
        if is_folder:
            yield from _walk(path, inner, rules)
        elif entry.is_file(follow_symlinks=False):
            yield path


def _rules_above(folder: str) -> Rules:
    return tuple((os.fspath(parent), _specs(os.fspath(parent))) for parent in Path(folder).parents)


def _specs(folder: str) -> Mapping[str, GitIgnoreSpec]:
    specs = {}
    for name in _IGNORE_FILES:
        try:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                specs[name] = GitIgnoreSpec.from_lines(file)
        except (OSError, ValueError):
            continue  # there is none, or none that makes sense
    return specs


def _is_ignored(path: str, rules: Rules, *, is_folder: bool) -> bool:
    for name in _IGNORE_FILES:
        for folder, specs in rules:
            spec = specs.get(name)
            if spec is None:
                continue
            relative = os.path.relpath(path, folder) + ("/" if is_folder else "")
            decided = spec.check_file(relative).include
            if decided is not None:
                return decided
    return False


def _print_files(avoided: set[str]) -> bool:
    found = False
    for path in walk("."):
        if os.path.normpath(path) not in avoided:
            found = True
            sys.stdout.buffer.write(os.fsencode(path) + b"\0")
    return found


def _print_matches(request: Mapping[str, Any], avoided: set[str]) -> bool:
    flags = re.MULTILINE | (re.IGNORECASE if request["ignore_case"] else 0)
    if request["multiline"]:
        flags |= re.DOTALL
    pattern = re.compile(request["pattern"], flags)
    wanted = _wanted(request)
    target = request["target"]
    paths = walk(".") if target == "./" else iter([target])
    found = False
    for path in paths:
        if os.path.normpath(path) in avoided or not wanted(path):
            continue
        text = _text_of(path)
        if text is not None and _print_file(path, text, pattern, request):
            found = True
            sys.stdout.buffer.flush()
    return found


def _wanted(request: Mapping[str, Any]) -> Any:
    globs: list[tuple[bool, tuple[str, ...]]] = []
    if request["type"] is not None:
        if request["type"] not in _TYPES:
            raise ValueError(f"unrecognized file type: {request['type']}")
        globs.append((True, expanded(_TYPES[request["type"]])))
    if request["glob"] is not None:
        glob = request["glob"]
        globs.append((not glob.startswith("!"), expanded(glob.removeprefix("!"))))

    def wanted(path: str) -> bool:
        parts = os.path.normpath(path).split(os.sep)
        return all(
            any(matches(_segments(glob), parts) for glob in alternatives) is is_positive
            for is_positive, alternatives in globs
        )

    return wanted


def _segments(glob: str) -> tuple[str, ...]:
    if "/" not in glob:
        return ("**", glob)
    return tuple(part for part in glob.split("/") if part)


def _text_of(path: str) -> str | None:
    """The text of a regular file of bearable size; `None` for anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > _FILE_BYTES:
            return None
        data = file.read(_FILE_BYTES)
    if b"\0" in data[:8192]:
        return None
    return data.decode("utf-8", errors="surrogateescape")


def _print_file(path: str, text: str, pattern: re.Pattern[str], request: Mapping[str, Any]) -> bool:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    hits = _hits(text, lines, pattern, multiline=request["multiline"])
    if request["mode"] == "files_with_matches":
        if next(hits, None) is None:
            return False
        sys.stdout.buffer.write(os.fsencode(path) + b"\0")
        return True
    numbers = sorted(set(hits))
    if not numbers:
        return False
    if request["mode"] == "count":
        _write(path, f"{len(numbers)}")
        return True
    hit = set(numbers)
    shown = {
        number
        for middle in numbers
        for number in range(middle - request["before"], middle + request["after"] + 1)
        if 0 <= number < len(lines)
    }
    for number in sorted(shown):
        mark = ":" if number in hit else "-"
        _write(path, f"{number + 1}{mark}{lines[number][:_LINE_CHARS]}")
    return True


def _hits(
    text: str, lines: list[str], pattern: re.Pattern[str], *, multiline: bool
) -> Iterator[int]:
    """Indexes of the lines that a match touches."""
    if not multiline:
        yield from (number for number, line in enumerate(lines) if pattern.search(line))
        return
    for match in pattern.finditer(text):
        first = text.count("\n", 0, match.start())
        yield from range(first, first + match.group().rstrip("\n").count("\n") + 1)


def _write(path: str, rest: str) -> None:
    line = os.fsencode(path) + b"\0" + rest.encode("utf-8", "surrogateescape") + b"\n"
    sys.stdout.buffer.write(line)
