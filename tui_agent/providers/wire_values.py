"""Values that cross the wire in both directions: text, call arguments, call ids and names.

Comes in: what a model generated, or what the history holds. Goes out: the same, in a form that
every provider accepts. Pure functions; nothing here knows a provider.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from tui_agent.vocabulary.blocks import Json, JsonObject

CUT_PROBLEM = (
    "The response reached its output limit before this call was complete, so the call was not run. "
    "Ask for less in one call, for example by writing a long file in parts."
)
STOPPED_PROBLEM = "The response was stopped by a filter or a refusal, so this call was not run."
_UNNAMED = "unnamed_tool"
_MAX_SHOWN_ARGUMENTS = 200
_MOST_TOKENS = 2**53
"""More than a model can count to; JSON's own numbers are exact up to here."""
_TAKEN_ID = re.compile(r"[!-~]{1,64}")
_MAX_DEPTH = 64
"""Levels of a call's arguments. Far more than any tool wants, and so few that whatever walks
through a history, here or at a provider, has the stack for it."""


def sound_text(text: str) -> str:
    """`text` without lone surrogates, which cannot be encoded; halves of a pair are joined."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def sound_json(value: Json) -> Json:
    """`value` as every JSON encoder takes it: with `sound_text` applied to every string and key,
    and null for a number that is not finite, which JSON has no word for."""
    if isinstance(value, str):
        return sound_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {sound_text(str(key)): sound_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sound_json(item) for item in value]
    return value


class GrowingText:
    """Text that arrives in pieces. A surrogate pair split over two pieces is given out whole."""

    __slots__ = ("_held", "_parts")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._held = ""

    def add(self, piece: str) -> str:
        """Takes the next piece and returns what may be shown of it, possibly nothing."""
        piece = self._held + piece
        self._held = ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._held = piece[:-1], piece[-1]
        piece = sound_text(piece)
        if piece:
            self._parts.append(piece)
        return piece

    @property
    def text(self) -> str:
        """Everything so far; half a pair that never got its other half is left out."""
        return "".join(self._parts)


def parse_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """The arguments of a call and, when they cannot be used, the problem in words for the model.

    No text at all means no arguments. Stricter than Python's own parser, which takes numbers that
    no provider takes back: NaN, Infinity, and those that are too large for a float.
    """
    if not text.strip():
        return {}, None
    try:
        # not strict: models write line ends into their texts as they are
        value = json.loads(text, strict=False, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        return {}, _not_json(str(error), text)
    return taken_arguments(value)


def taken_arguments(value: object) -> tuple[dict[str, Any], str | None]:
    """As `parse_arguments`, for arguments that came as a parsed value."""
    if not isinstance(value, Mapping):
        kind = type(value).__name__
        return {}, f"The arguments of this call must be a JSON object, but they are a {kind}."
    problem = _problem_inside(value)
    if problem is not None:
        return {}, problem
    return dict(sound_json(value)), None


def arguments_text(arguments: object) -> str:
    """A piece of a call's arguments as text; some servers send a whole object in its place."""
    if isinstance(arguments, str) or arguments is None:
        return arguments or ""
    try:
        return json.dumps(arguments)
    except RecursionError:
        return "(nested too deeply)"


def _problem_inside(value: object) -> str | None:
    """What makes a parsed value unusable. It goes level by level: recursion is what it guards."""
    level = [value]
    for _ in range(_MAX_DEPTH + 1):
        if any(isinstance(item, float) and not math.isfinite(item) for item in level):
            return "The arguments of this call hold a number that is not finite."
        level = [
            inner
            for item in level
            if isinstance(item, Mapping | list)
            for inner in (item.values() if isinstance(item, Mapping) else item)
        ]
        if not level:
            return None
    return f"The arguments of this call are nested too deeply: {_MAX_DEPTH} levels are taken."


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


def _not_json(why: str, text: str) -> str:
    shown = sound_text(text[:_MAX_SHOWN_ARGUMENTS])
    return f"The arguments of this call are not valid JSON ({why}): {shown}"


def token_count(said: object) -> int | None:
    """A count as a provider says it; `None` for what cannot be one."""
    is_count = isinstance(said, int) and not isinstance(said, bool) and 0 <= said <= _MOST_TOKENS
    return said if isinstance(said, int) and is_count else None


def fresh_call_id(wanted: str | None, taken: Collection[str]) -> str:
    """`wanted` if no other call has it and every provider takes it, else an id of our own: they
    ask only that a result has the id of its call."""
    if wanted and wanted not in taken and _TAKEN_ID.fullmatch(wanted):
        return wanted
    return f"call_{secrets.token_hex(12)}"


def call_name(name: str) -> str:
    """A name that can be stored and sent back, also when the model gave none."""
    return sound_text(name).strip() or _UNNAMED


def name_for_wire(name: str) -> str:
    """`name` with only the characters that every provider takes in a tool name, 64 at most."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or _UNNAMED


def id_for_wire(call_id: str, *, longest: int) -> str:
    """`call_id` if any provider takes it, else a stable stand-in, the same for call and result.

    Models make ids such as `functions.Bash:0`, which other makers refuse.
    """
    if len(call_id) <= longest and re.fullmatch(r"[a-zA-Z0-9_-]+", call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:24]}"


def arguments_for_wire(value: JsonObject) -> str:
    """A call's input as JSON text: compact, and the same bytes for the same value."""
    sound = sound_json(value)
    return json.dumps(sound, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
