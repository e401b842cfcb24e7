"""JSON that a person typed, taken only when it means one thing everywhere.

Python's own parser takes more than JSON has: numbers that no provider and no strict parser reads
back, and the last of two fields of one name, where another reader may take the first. What a person
approves must be what is stored, shown and run.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

_MAX_SHOWN = 40
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_typed_object(text: str) -> dict[str, Any]:
    """The object that `text` is. Raises `ValueError` with one line for a person: what is wrong and,
    where it has one, its place."""
    try:
        value = json.loads(
            text,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_fields,
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"not JSON: {error.msg} ({where})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("it must be a JSON object: {…}")
    if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise ValueError("it holds half of a character (a lone \\ud800 to \\udfff)")
    return value


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:_MAX_SHOWN]} is too large a number")
    return number


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # Python reads no integer of thousands of digits
        raise ValueError(f"{text[:_MAX_SHOWN]}… is too large a number") from None


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    taken: dict[str, Any] = {}
    for name, value in pairs:
        if name in taken:
            raise ValueError(f'"{name[:_MAX_SHOWN]}" stands twice in one object')
        taken[name] = value
    return taken
