"""Our own listing and searching, where ripgrep is not installed. Runs as a program of its own.

In comes a request as JSON and the folder it runs in; out come, on standard output, the same bytes
that ripgrep would print. Exits with 0 if something was found, 1 if not, 2 if a part could not be
searched, or with a message if the request is wrong. It opens regular files only, follows no link,
and holds a few megabytes of a file at a time, however large that is.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

from tui_agent.tools.globs import expanded, matches
from tui_agent.tools.ignore_rules import IgnoreRules

_BLOCK = 256 * 1024
_LONGEST_LINE = 16 * 1024 * 1024
_WHOLE_BYTES = 64 * 1024 * 1024
"""A search across lines needs all of a file; larger ones are left out."""
_BINARY_SAMPLE = 64 * 1024
_LINE_CHARS = 500
_PASS_ON_SECONDS = 0.2
_LINE_BY_LINE = re.compile(r"\\[AZ]|\(\?[=!<>(]|[*+?}]\+")
"""What may match in a line of its own and not where the line stands among others."""
_TYPES = {
    "c": "*.{c,h}", "cpp": "*.{cpp,cc,cxx,hpp,hh,hxx,h}", "cs": "*.cs", "css": "*.{css,scss}",
    "go": "*.go", "html": "*.{html,htm}", "java": "*.java", "js": "*.{js,jsx,mjs,cjs}",
    "json": "*.json", "kotlin": "*.{kt,kts}", "lua": "*.lua", "md": "*.{md,markdown}",
    "php": "*.php", "py": "*.{py,pyi}", "ruby": "*.rb", "rust": "*.rs", "sh": "*.{sh,bash,zsh}",
    "sql": "*.sql", "swift": "*.swift", "toml": "*.toml", "ts": "*.{ts,tsx,mts,cts}",
    "txt": "*.txt", "xml": "*.xml", "yaml": "*.{yaml,yml}",
}  # fmt: skip


def main(request_text: str) -> None:
    """Do what `request_text` asks for in the current folder, and exit."""
    request = json.loads(request_text)
    try:
        search = _Search(request)
        found = search.print_files() if request["do"] == "files" else search.print_matches()
    except re.error as error:
        sys.stderr.write(f"regex parse error: {error}")
        sys.exit(2)
    except (ValueError, RecursionError) as error:
        sys.stderr.write(str(error))
        sys.exit(2)
    sys.stdout.buffer.flush()
    sys.exit(2 if search.is_partial else 0 if found else 1)


class _Search:
    """One request. `is_partial`: something could not be read."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.is_partial = False
        self._passed_on = 0.0
        self._request = request
        self._avoided = {os.path.normpath(name) for name in request["avoided"]}

    def print_files(self) -> bool:
        found = False
        for path in self._walk():
            found = True
            sys.stdout.buffer.write(os.fsencode(path) + b"\0")
        return found

    def print_matches(self) -> bool:
        request = self._request
        flags = re.MULTILINE | (re.IGNORECASE if request["ignore_case"] else 0)
        if request["multiline"]:
            flags |= re.DOTALL
        pattern = re.compile(request["pattern"], flags)
        wanted = _wanted(request)
        target = request["target"]
        is_named = target != "./"
        paths = iter([target]) if is_named else self._walk()
        found = False
        for path in paths:
            if wanted(path) and self._search(path, pattern, is_named=is_named):
                found = True
                self._pass_on()
        return found

    def _pass_on(self) -> None:
        """Whoever ends this search at its time limit has what was found by then; seldom enough that
        a write for each of many files does not cost more than the search."""
        now = time.monotonic()
        if now > self._passed_on + _PASS_ON_SECONDS:
            self._passed_on = now
            sys.stdout.buffer.flush()

    def _walk(self) -> Iterator[str]:
        """The files beneath the current folder that no ignore file leaves out. Where rules from
        above leave out all of it, it was named on purpose and they do not count."""
        here = os.getcwd()
        above = IgnoreRules.above(here, searched=here)
        is_empty = True
        for path in self._beneath(".", here, above):
            is_empty = False
            yield path
        if is_empty:
            yield from self._beneath(".", here, above.without_levels())

    def _beneath(self, folder: str, absolute: str, above: IgnoreRules) -> Iterator[str]:
        rules = above.within(absolute)
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            self.is_partial = True
            return
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            inner = os.path.join(absolute, entry.name)
            if entry.name == ".git" or rules.leave_out(inner, is_folder=is_folder):
                continue
            path = os.path.join(folder, entry.name)
            if is_folder:
                yield from self._beneath(path, inner, rules)
            elif (
                entry.is_file(follow_symlinks=False) and os.path.normpath(path) not in self._avoided
            ):
                yield path

    def _search(self, path: str, pattern: re.Pattern[str], *, is_named: bool) -> bool:
        """Search one file; whether there was a match."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self.is_partial = True
            return False
        with open(descriptor, "rb") as file:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                return False
            try:
                return self._search_opened(path, file, info.st_size, pattern, is_named=is_named)
            except OSError:
                self.is_partial = True
                return False

    def _search_opened(
        self, path: str, file: IO[bytes], size: int, pattern: re.Pattern[str], *, is_named: bool
    ) -> bool:
        text = _Text(file, keeps_binary=is_named)
        if text.is_binary and not is_named:
            return False
        if self._request["multiline"]:
            if size > _WHOLE_BYTES:
                self.is_partial = True
                return False
            hits = _across_lines(text, pattern, self._request)
        else:
            hits = _by_lines(text, pattern, self._request)
        return _print_hits(path, hits, self._request, is_binary=text.is_binary)


class _Text:
    """The text of a file in blocks that end where a line ends. Where a file turns out to be binary
    it ends, unless `keeps_binary`: then its NULs end lines."""

    def __init__(self, file: IO[bytes], *, keeps_binary: bool) -> None:
        self._file = file
        self._keeps_binary = keeps_binary
        self._first = file.read(_BINARY_SAMPLE)
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self.is_binary = False
        if self._first.startswith(codecs.BOM_UTF8):
            self._first = self._first[3:]
        elif self._first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        else:
            self.is_binary = b"\0" in self._first

    def blocks(self) -> Iterator[str]:
        """The text, whole lines at a time; a line longer than the longest is cut in two."""
        rest = ""
        data = self._first
        while data:
            chunk = self._decoder.decode(data)
            if "\0" in chunk:
                if not self._keeps_binary:
                    yield rest + chunk[: chunk.rfind("\n", 0, chunk.find("\0")) + 1]
                    return
                chunk = chunk.replace("\0", "\n")
            end = chunk.rfind("\n") + 1
            if end or len(rest) > _LONGEST_LINE:
                yield rest + chunk[:end]
                rest = chunk[end:]
            else:
                rest += chunk
            data = self._file.read(_BLOCK)
        rest += self._decoder.decode(b"", final=True)
        if rest:
            yield rest


_Row = tuple[int, bool, str]
"""Number, whether it is a match or stands near one, and the line."""


def _by_lines(text: _Text, pattern: re.Pattern[str], request: Mapping[str, Any]) -> Iterator[_Row]:
    may_skip = _LINE_BY_LINE.search(request["pattern"]) is None
    before: deque[tuple[int, str]] = deque(maxlen=request["before"])
    number, after = 0, 0
    for block in text.blocks():
        if may_skip and not after and pattern.search(block) is None:
            number += block.removesuffix("\n").count("\n") + 1
            if before.maxlen:
                last = block.removesuffix("\n").rsplit("\n", before.maxlen)
                # one part too many may come first, with all the lines before it: it falls out
                before.extend(enumerate(last, number - len(last) + 1))
            continue
        for line in block.removesuffix("\n").split("\n"):
            number += 1
            if pattern.search(line) is not None:
                yield from ((near, False, other) for near, other in before)
                before.clear()
                yield number, True, line
                after = request["after"]
            elif after:
                after -= 1
                yield number, False, line
            elif before.maxlen:
                before.append((number, line))


def _across_lines(
    text: _Text, pattern: re.Pattern[str], request: Mapping[str, Any]
) -> Iterator[_Row]:
    whole = "".join(text.blocks())
    lines = whole.removesuffix("\n").split("\n") if whole else []
    hit: set[int] = set()
    at, first = 0, 0
    for match in pattern.finditer(whole):
        first += whole.count("\n", at, match.start())
        at = match.start()
        hit.update(range(first, first + match.group().rstrip("\n").count("\n") + 1))
    near = {
        number
        for middle in hit
        for number in range(middle - request["before"], middle + request["after"] + 1)
    }
    for number in sorted(near):
        if 0 <= number < len(lines):
            yield number + 1, number in hit, lines[number]


def _print_hits(
    path: str, hits: Iterator[_Row], request: Mapping[str, Any], *, is_binary: bool
) -> bool:
    match request["mode"]:
        case "files_with_matches":
            if next(hits, None) is None:
                return False
            sys.stdout.buffer.write(os.fsencode(path) + b"\0")
            return True
        case "count":
            count = sum(is_match for _, is_match, _ in hits)
            if count:
                _write(path, f"{count}")
            return count > 0
        case _:
            found = False
            for number, is_match, line in hits:
                found = True
                if is_binary:
                    name = os.fsencode(path)
                    sys.stdout.buffer.write(name + b": binary file matches (found a NUL)\n")
                    break
                mark = ":" if is_match else "-"
                cut = "" if len(line) <= _LINE_CHARS else " [... omitted end of long line]"
                _write(path, f"{number}{mark}{line[:_LINE_CHARS]}{cut}")
            return found


def _write(path: str, rest: str) -> None:
    line = os.fsencode(path) + b"\0" + rest.encode("utf-8", "surrogateescape") + b"\n"
    sys.stdout.buffer.write(line)


def _wanted(request: Mapping[str, Any]) -> Callable[[str], bool]:
    globs: list[tuple[bool, tuple[tuple[str, ...], ...]]] = []
    if request["type"] is not None:
        if request["type"] not in _TYPES:
            raise ValueError(f"unrecognized file type: {request['type']}")
        globs.append((True, tuple(map(_segments, expanded(_TYPES[request["type"]])))))
    if request["glob"] is not None:
        glob = request["glob"]
        alternatives = tuple(map(_segments, expanded(glob.removeprefix("!"))))
        globs.append((not glob.startswith("!"), alternatives))

    def wanted(path: str) -> bool:
        parts = os.path.normpath(path).split(os.sep)
        return all(
            any(matches(segments, parts) for segments in alternatives) is is_positive
            for is_positive, alternatives in globs
        )

    return wanted


def _segments(glob: str) -> tuple[str, ...]:
    if "/" not in glob:
        return ("**", glob)
    return tuple(part for part in glob.split("/") if part)
