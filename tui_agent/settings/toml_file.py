"""Reading one TOML file, and telling on which line of it something stands.

In comes a path that may be anything a stranger's project put there; out comes its content, or one
`UserError` line with the place and what to do. Only regular files of bounded size are opened, so
that a pipe or a device cannot hold up a start.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from tui_agent.settings.model import KeyPath
from tui_agent.vocabulary.errors import UserError

LARGEST: Final = 1_000_000
"""Bytes. No settings file of a person is near it."""

_DEEPEST: Final = 16
_MOST_READ_AGAIN: Final = 2_000_000
_ENDLESS: Final = re.compile(r"[0-9_]{4000,}")
_PLACE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A file that was read. `values` is what it says."""

    path: Path
    text: str
    values: Mapping[str, Any]

    def refuse(self, where: KeyPath, what: str) -> NoReturn:
        """Raise the `UserError` for the value at `where`; `what` says why and what to do."""
        raise UserError(f"{self.place_of(where)}: {dotted(where)} {what}")

    def place_of(self, where: KeyPath) -> str:
        """`file:line` of the statement that gives the value at `where` or what is nearest to it."""
        return f"{self.path}:{_line_of(self.text, where)}"

    def walk(self) -> Iterator[tuple[KeyPath, object]]:
        """Every value that holds no others, with the way to it, in the order of the file."""
        rest: list[tuple[KeyPath, object]] = [((), self.values)]
        while rest:
            where, value = rest.pop()
            match value:
                case dict() if value and len(where) <= _DEEPEST:
                    rest += [((*where, key), item) for key, item in reversed(value.items())]
                case list() if value and len(where) <= _DEEPEST:
                    pairs = list(enumerate(value))
                    rest += [((*where, index), item) for index, item in reversed(pairs)]
                case _:
                    yield where, value


def read_toml(path: Path) -> TomlFile | None:
    """The file at `path`; `None` when there is none. Raises `UserError`."""
    data = _read(path)
    if data is None:
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}:{line}: not UTF-8 text: save the file as UTF-8") from error
    too_deep = f"{path}: nested too deeply: write it flatter"
    try:
        file = TomlFile(path, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError(_syntax_error(path, text, str(error))) from error
    except ValueError as error:
        # Python reads no decimal number of thousands of digits, and tomllib passes that on.
        raise UserError(_endless_number(path, text)) from error
    except RecursionError as error:
        raise UserError(too_deep) from error
    if any(len(where) > _DEEPEST for where, _ in file.walk()):
        raise UserError(too_deep)
    return file


def dotted(where: KeyPath) -> str:
    """A way to a value as TOML writes it: `models."my.local".window`, `permissions.deny[0]`."""
    shown = ""
    for part in where:
        if isinstance(part, int):
            shown += f"[{part}]"
        else:
            key = part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else f'"{part}"'
            shown += f".{key}" if shown else key
    return shown


def _read(path: Path) -> bytes | None:
    try:
        # Without O_NONBLOCK opening a pipe waits for somebody who writes.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UserError(_unreadable(path, error)) from error
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise UserError(f"{path}: is a folder: put a settings file there or remove it")
        if not stat.S_ISREG(mode):
            raise UserError(f"{path}: is not a regular file: put a settings file there")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise UserError(_unreadable(path, error)) from error
    finally:
        os.close(descriptor)
    if len(data) > LARGEST:
        raise UserError(f"{path}: is larger than {LARGEST} bytes: shorten it")
    return data


def _unreadable(path: Path, error: OSError) -> str:
    reason = (error.strerror or type(error).__name__).lower()
    return f"{path}: cannot be read ({reason}): mend its permissions or remove it"


def _syntax_error(path: Path, text: str, message: str) -> str:
    place = _PLACE.search(message)
    what = message[: place.start()] if place else message
    if place and place[1]:
        at = f"{path}:{place[1]}:{place[2]}"
    else:
        lines = text.rstrip().split("\n")
        at = f"{path}:{len(lines)}:{len(lines[-1]) + 1}"
    return f"{at}: not valid TOML: {what[:1].lower()}{what[1:]}: correct this line"


def _endless_number(path: Path, text: str) -> str:
    found = _ENDLESS.search(text)
    line = text.count("\n", 0, found.start()) + 1 if found else 1
    return f"{path}:{line}: a number of thousands of digits: write a smaller one"


def _line_of(text: str, where: KeyPath) -> int:
    """The line, from 1, of the statement that goes furthest on the way to `where`.

    tomllib keeps no places. But every statement is valid on its own below its table's header, so
    the text is read statement by statement: lines are added to one until it is valid.
    """
    lines = text.split("\n")
    header, begin, budget = "", 0, _MOST_READ_AGAIN
    found, found_depth = 1, 0
    for end in range(1, len(lines) + 1):
        statement = "\n".join(lines[begin:end]) + "\n"
        budget -= len(header) + len(statement)
        if budget < 0:
            break
        try:
            values = tomllib.loads(header + statement)
        except tomllib.TOMLDecodeError:
            continue
        depth = _depth(values, where)
        if depth > found_depth:
            found, found_depth = begin + 1, depth
        if depth == len(where):
            break
        if statement.lstrip().startswith("["):
            header = statement
        begin = end
    return found


def _depth(values: object, where: KeyPath) -> int:
    """How many steps of the way `where` exist."""
    for depth, part in enumerate(where):
        match values, part:
            case dict(), str() if part in values:
                values = values[part]
            case list(), int() if part < len(values):
                values = values[part]
            case _:
                return depth
    return len(where)
