"""What a rule looks at, and the looking itself: the parts the rules of both wires share.

A rule is a function from a `Subject` to the violations it finds, each told as `where: what`. Rules
are independent of one another and read the messages only through helpers that survive any JSON, so
that one broken place never hides another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.scripted.issued import Issued

Block = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """One request body with what the server knows and demands."""

    body: Mapping[str, Any]
    issued: Issued = field(default_factory=Issued)
    bind_thinking: bool = False
    demand_reasoning: bool = False
    sign_calls: bool = False

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        listed = self.body.get("messages")
        return (
            [m if isinstance(m, dict) else {} for m in listed] if isinstance(listed, list) else []
        )


Rule = Callable[[Subject], Iterator[str]]


def objects(value: object) -> list[Block]:
    """The objects of a list; nothing of anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def blocks(message: Mapping[str, Any]) -> list[Block]:
    """The content as blocks; text content is one text block."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


def is_blank(text: object) -> bool:
    return not isinstance(text, str) or not text.strip()


def unknown_keys(value: Mapping[str, Any], known: set[str]) -> list[str]:
    return sorted(str(key) for key in value if key not in known)


def messages_are_a_list_of_objects(subject: Subject) -> Iterator[str]:
    listed = subject.body.get("messages")
    if not isinstance(listed, list) or not listed:
        yield "messages: at least one message is required"
        return
    for i, message in enumerate(listed):
        if not isinstance(message, dict):
            yield f"messages.{i}: must be an object"


def no_lone_surrogates(subject: Subject) -> Iterator[str]:
    """Half a surrogate pair cannot be encoded as UTF-8; APIs answer it with 400."""
    for where, text in _texts(subject.body, ""):
        if _LONE_SURROGATE.search(text):
            yield f"{where}: lone surrogate"


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _texts(value: object, where: str) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield where, value
        case dict():
            for key, inner in value.items():
                yield from _texts(key, f"{where}.(key)")
                yield from _texts(inner, f"{where}.{key}".lstrip("."))
        case list():
            for i, inner in enumerate(value):
                yield from _texts(inner, f"{where}.{i}")
        case _:
            return


def tool_schemas(subject: Subject, name_pattern: re.Pattern[str], nested: bool) -> Iterator[str]:
    """Offered tools: a valid name, offered once, with an object schema."""
    seen: set[str] = set()
    for i, tool in enumerate(objects(subject.body.get("tools"))):
        inner = tool.get("function") if nested else tool
        offered = inner if isinstance(inner, dict) else {}
        name = str(offered.get("name", ""))
        schema = offered.get("parameters" if nested else "input_schema")
        if not name_pattern.fullmatch(name):
            yield f"tools.{i}: name {name!r} is not valid"
        if name in seen:
            yield f"tools.{i}: name {name!r} is offered twice"
        seen.add(name)
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"tools.{i}: the schema of {name!r} is not of type object"
