"""File patterns: `*`, `?`, `[abc]`, `**` for any folders, `{a,b}` for alternatives.

A pattern without a slash is about names at any depth. The fixed parts at the start of a pattern say
where the search starts; they may lead anywhere and are judged like any path.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tui_agent.tools.errors import FileError, FileErrorCode

MAX_ALTERNATIVES = 256
_MAX_CHARS = 2000
_MAGIC = re.compile(r"[*?\[]")
_ANY_FOLDERS = "**"


@dataclass(frozen=True, slots=True)
class FilePattern:
    """One alternative of a pattern: the path it starts at, as written, and what follows."""

    base: str
    segments: tuple[str, ...]


def file_patterns(pattern: str) -> tuple[FilePattern, ...]:
    """The alternatives of `pattern`. Raises `FileError` for one that is wrong or has too many."""
    if not pattern.strip() or "\0" in pattern:
        raise FileError(FileErrorCode.INVALID_PATTERN, "The pattern is empty or has a NUL in it.")
    if len(pattern) > _MAX_CHARS:
        raise _too_complex()
    return tuple(_split(alternative) for alternative in expanded(pattern))


def expanded(pattern: str) -> tuple[str, ...]:
    """`pattern` without braces, as all the patterns it stands for. Raises `FileError`."""
    finished: list[str] = []
    waiting = [pattern]
    while waiting:
        text = waiting.pop()
        group = _first_group(text)
        if group is None:
            finished.append(text)
        else:
            start, end, choices = group
            waiting += [text[:start] + choice + text[end:] for choice in reversed(choices)]
        if len(finished) + len(waiting) > MAX_ALTERNATIVES:
            raise _too_complex()
    return tuple(dict.fromkeys(finished))


def matches(segments: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether a path, as its parts, is what `segments` describe."""
    if len(segments) == 1 and segments[0] != _ANY_FOLDERS:
        return len(parts) == 1 and _is_name(segments[0], parts[0])
    if not parts or not (segments[-1] == _ANY_FOLDERS or _is_name(segments[-1], parts[-1])):
        return False  # most files of a folder are told by their name
    states = set(_with_skips(segments, 0))
    for part in parts:
        following: set[int] = set()
        for state in states:
            if state == len(segments):
                continue
            if segments[state] == _ANY_FOLDERS:
                following.update(_with_skips(segments, state))
            elif _is_name(segments[state], part):
                following.update(_with_skips(segments, state + 1))
        if not following:
            return False
        states = following
    return len(segments) in states


def _with_skips(segments: Sequence[str], state: int) -> Iterator[int]:
    """`state` and those behind it that are reached by taking `**` for no folder at all."""
    yield state
    while state < len(segments) and segments[state] == _ANY_FOLDERS:
        state += 1
        yield state


_compiled: dict[str, re.Pattern[str]] = {}


def _is_name(segment: str, name: str) -> bool:
    if segment == "*":
        return True
    compiled = _compiled.get(segment)
    if compiled is None:
        if len(_compiled) > 4 * MAX_ALTERNATIVES:
            _compiled.clear()
        compiled = _compiled[segment] = re.compile(fnmatch.translate(segment))
    return compiled.match(name) is not None


def _split(pattern: str) -> FilePattern:
    if "/" not in pattern and pattern not in ("..", "."):
        return FilePattern("", (_ANY_FOLDERS, pattern) if pattern != _ANY_FOLDERS else ("**", "*"))
    parts = pattern.split("/")
    fixed = 0
    while fixed < len(parts) - 1 and not _MAGIC.search(parts[fixed]):
        fixed += 1
    rest = [part for part in parts[fixed:] if part not in ("", ".")]
    if ".." in rest:
        raise FileError(
            FileErrorCode.INVALID_PATTERN, "The pattern has .. after a wildcard or at its end."
        )
    if not rest or rest[-1] == _ANY_FOLDERS:
        rest.append("*")
    base = "/".join(parts[:fixed])
    return FilePattern("/" if base == "" and fixed else base, tuple(rest))


def _first_group(text: str) -> tuple[int, int, list[str]] | None:
    """The first `{a,b}` of a pattern: where it starts and ends, and its choices."""
    start = text.find("{")
    while start >= 0:
        depth, choices, piece = 0, [], start + 1
        for at in range(start, len(text)):
            char = text[at]
            if char == "{":
                depth += 1
            elif char == "," and depth == 1:
                choices.append(text[piece:at])
                piece = at + 1
            elif char == "}":
                depth -= 1
                if depth == 0:
                    if choices:
                        return start, at + 1, [*choices, text[piece:at]]
                    break
        start = text.find("{", start + 1)
    return None


def _too_complex() -> FileError:
    return FileError(
        FileErrorCode.PATTERN_TOO_COMPLEX,
        f"The pattern is too complex: it may stand for at most {MAX_ALTERNATIVES} alternatives and"
        f" have {_MAX_CHARS} characters.",
    )
