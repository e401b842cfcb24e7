"""The rules of the Messages wire: what a strict provider refuses in a request.

Taken from the API's documented and observed refusals, and a little stricter where some provider or
gateway is: adjacent messages of one role are merged by the API itself, yet refused here, because
the client is the one to merge them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from tests.scripted.issued import IssuedMessage, Part, prefix_digest
from tests.scripted.subject import (
    Block,
    Rule,
    Subject,
    blocks,
    is_blank,
    no_lone_surrogates,
    objects,
    tool_schemas,
    unknown_keys,
)

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_MAX_CACHE_MARKS = 4
_THINKING = ("thinking", "redacted_thinking")
_KEYS: dict[str, set[str]] = {
    "text": {"type", "text", "cache_control", "citations"},
    "image": {"type", "source", "cache_control"},
    "document": {"type", "source", "title", "context", "citations", "cache_control"},
    "tool_use": {"type", "id", "name", "input", "cache_control", "caller"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
}
_USER_BLOCKS = {"text", "image", "document", "tool_result"}
_ASSISTANT_BLOCKS = {"text", "tool_use", *_THINKING}
_RESULT_BLOCKS = {"text", "image", "document"}


def max_tokens_is_given(subject: Subject) -> Iterator[str]:
    limit = subject.body.get("max_tokens")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        yield "max_tokens: a positive integer is required"


def roles_are_user_and_assistant(subject: Subject) -> Iterator[str]:
    for i, message in enumerate(subject.messages):
        if message.get("role") not in ("user", "assistant"):
            yield f"messages.{i}.role: {message.get('role')!r} is neither user nor assistant"


def first_message_is_user(subject: Subject) -> Iterator[str]:
    if subject.messages and subject.messages[0].get("role") == "assistant":
        yield "messages.0: the first message must be of the user"


def last_message_is_user(subject: Subject) -> Iterator[str]:
    if subject.messages and subject.messages[-1].get("role") == "assistant":
        yield "messages: the conversation must end with a user message"


def roles_alternate(subject: Subject) -> Iterator[str]:
    for i, (one, other) in enumerate(pairwise(subject.messages)):
        if one.get("role") == other.get("role"):
            yield f"messages.{i + 1}: second {other.get('role')} message in a row"


def no_message_is_empty(subject: Subject) -> Iterator[str]:
    for i, message in enumerate(subject.messages):
        if message.get("content") in ("", [], None):
            yield f"messages.{i}: empty content"


def no_text_is_blank(subject: Subject) -> Iterator[str]:
    system = subject.body.get("system")
    for k, block in enumerate(objects(system)):
        if block.get("type") == "text" and is_blank(block.get("text")):
            yield f"system.{k}: text blocks must contain more than white space"
    for i, message in enumerate(subject.messages):
        for k, block in enumerate(blocks(message)):
            where = f"messages.{i}.content.{k}"
            # Empty content as a whole is the matter of `no_message_is_empty`.
            if message.get("content") and _has_blank_text(block):
                yield f"{where}: text blocks must contain more than white space"


def _has_blank_text(block: Block) -> bool:
    parts = [block, *(objects(block.get("content")) if block.get("type") == "tool_result" else ())]
    return any(part.get("type") == "text" and is_blank(part.get("text")) for part in parts)


def blocks_fit_their_role(subject: Subject) -> Iterator[str]:
    for i, message in enumerate(subject.messages):
        fitting = _ASSISTANT_BLOCKS if message.get("role") == "assistant" else _USER_BLOCKS
        for k, block in enumerate(blocks(message)):
            where = f"messages.{i}.content.{k}"
            if block.get("type") not in fitting:
                yield f"{where}: a {block.get('type')} block in a {message.get('role')} message"
            for part in _result_parts(block):
                if part.get("type") not in _RESULT_BLOCKS:
                    yield f"{where}.content: a {part.get('type')} block in a tool result"


def no_key_is_unknown(subject: Subject) -> Iterator[str]:
    for i, message in enumerate(subject.messages):
        for key in unknown_keys(message, {"role", "content"}):
            yield f"messages.{i}.{key}: extra inputs are not permitted"
        for k, block in enumerate(blocks(message)):
            for part in (block, *_result_parts(block)):
                kind = str(part.get("type"))
                for key in unknown_keys(part, _KEYS.get(kind, set(part))):
                    yield f"messages.{i}.content.{k}.{kind}.{key}: extra inputs are not permitted"


def every_tool_use_is_answered_once(subject: Subject) -> Iterator[str]:
    for i, called in _called(subject):
        answered = Counter(_result_ids(_message_after(subject, i)))
        for tool_use_id in called:
            match answered[tool_use_id]:
                case 0:
                    yield f"messages.{i}: no tool_result for {tool_use_id!r} in the next message"
                case 1:
                    continue
                case n:
                    yield f"messages.{i + 1}: {n} tool_results for {tool_use_id!r}"


def results_come_first(subject: Subject) -> Iterator[str]:
    for i, message in enumerate(subject.messages):
        kinds = [block.get("type") for block in blocks(message)]
        if "tool_result" in kinds:
            last = len(kinds) - 1 - kinds[::-1].index("tool_result")
            if any(kind != "tool_result" for kind in kinds[:last]):
                yield f"messages.{i}: tool_result blocks must come before anything else"


def results_are_in_call_order(subject: Subject) -> Iterator[str]:
    for i, called in _called(subject):
        wanted = dict.fromkeys(called)
        given = dict.fromkeys(
            id_ for id_ in _result_ids(_message_after(subject, i)) if id_ in wanted
        )
        if list(given) != [id_ for id_ in wanted if id_ in given]:
            yield f"messages.{i + 1}: tool_results not in call order: {list(given)}"


def no_result_is_orphaned(subject: Subject) -> Iterator[str]:
    for i, message in enumerate(subject.messages):
        before = subject.messages[i - 1] if i else {}
        called = _tool_use_ids(before) if before.get("role") == "assistant" else []
        for tool_use_id in _result_ids(message):
            if tool_use_id not in called:
                yield f"messages.{i}: {tool_use_id!r} is no tool_use of the message before"


def tool_use_ids_are_unique(subject: Subject) -> Iterator[str]:
    counts = Counter(id_ for message in subject.messages for id_ in _tool_use_ids(message))
    for tool_use_id, n in counts.items():
        if n > 1:
            yield f"messages: tool_use id {tool_use_id!r} is used {n} times"


def tool_use_ids_are_plain(subject: Subject) -> Iterator[str]:
    for i, called in _called(subject):
        for tool_use_id in called:
            if not _ID.fullmatch(tool_use_id):
                yield f"messages.{i}: tool_use id {tool_use_id!r} has odd characters"


def tool_names_are_valid(subject: Subject) -> Iterator[str]:
    for i, block in _tool_uses(subject):
        if not _NAME.fullmatch(str(block.get("name", ""))):
            yield f"messages.{i}: tool name {block.get('name')!r} is not valid"


def tool_input_is_an_object(subject: Subject) -> Iterator[str]:
    for i, block in _tool_uses(subject):
        if not isinstance(block.get("input"), dict):
            yield f"messages.{i}: the input of {block.get('id')!r} is not an object"


def offered_tools_are_valid(subject: Subject) -> Iterator[str]:
    yield from tool_schemas(subject, _NAME, nested=False)


def no_result_is_empty(subject: Subject) -> Iterator[str]:
    for i, message in enumerate(subject.messages):
        for block in blocks(message):
            if block.get("type") == "tool_result" and block.get("content") in ("", [], None):
                yield f"messages.{i}: the result of {block.get('tool_use_id')!r} is empty"


def error_results_are_text(subject: Subject) -> Iterator[str]:
    for i, message in enumerate(subject.messages):
        for block in blocks(message):
            kinds = {part.get("type") for part in _result_parts(block)}
            if block.get("is_error") is True and kinds - {"text"}:
                yield f"messages.{i}: an error result may hold text only"


def cache_marks_are_few(subject: Subject) -> Iterator[str]:
    parts = [*objects(subject.body.get("system")), *objects(subject.body.get("tools"))]
    for message in subject.messages:
        for block in blocks(message):
            parts += [block, *_result_parts(block)]
    count = sum(1 for part in parts if part.get("cache_control"))
    if count > _MAX_CACHE_MARKS:
        yield f"cache_control: {count} marks, at most {_MAX_CACHE_MARKS} are allowed"


def thinking_is_as_issued(subject: Subject) -> Iterator[str]:
    """Text and signature of every thinking block, and every redacted block, are what a server gave
    out.
    """
    for i, message in enumerate(subject.messages):
        for k, block in enumerate(blocks(message)):
            match block.get("type"):
                case "thinking":
                    text, signature = str(block.get("thinking")), str(block.get("signature"))
                    genuine = subject.issued.knows_thinking(text, signature)
                case "redacted_thinking":
                    genuine = str(block.get("data")) in subject.issued.redacted
                case _:
                    continue
            if not genuine:
                yield f"messages.{i}.content.{k}: invalid signature in a thinking block"


def thinking_is_in_place(subject: Subject) -> Iterator[str]:
    """In the latest tool loop thinking stands where it stood.

    Not demanded of another model, with thinking switched off, or when the conversation before the
    message has changed (it was compacted, or old results were cleared): there the client has to
    leave it out.
    """
    if _is_switched_off(subject.body.get("thinking")):
        return
    for i in _latest_tool_loop(subject.messages):
        message = subject.messages[i]
        told = _issued_message(subject, message)
        if told is None or told.model != subject.body.get("model"):
            continue
        is_moved = _without_ids(told.parts) != _without_ids(_parts(message))
        if told.prefix == prefix_digest(subject.body, i) and is_moved:
            yield f"messages.{i}: thinking blocks of the latest tool loop are missing or moved"


def _without_ids(parts: Iterable[Part]) -> list[Part]:
    """What stands where; a client may have to give a call another id."""
    return [replace(part, text="") if part.kind == "tool_use" else part for part in parts]


def thinking_is_bound_to_its_prefix(subject: Subject) -> Iterator[str]:
    """Newer models refuse thinking when system, tools or a message before it has changed since."""
    if not subject.bind_thinking:
        return
    for i, message in enumerate(subject.messages):
        told = _issued_message(subject, message)
        thinks = any(block.get("type") in _THINKING for block in blocks(message))
        if told is not None and thinks and told.prefix != prefix_digest(subject.body, i):
            yield f"messages.{i}: thinking is kept although the conversation before it has changed"


RULES: tuple[Rule, ...] = (
    max_tokens_is_given,
    roles_are_user_and_assistant,
    first_message_is_user,
    last_message_is_user,
    roles_alternate,
    no_message_is_empty,
    no_text_is_blank,
    blocks_fit_their_role,
    no_key_is_unknown,
    every_tool_use_is_answered_once,
    results_come_first,
    results_are_in_call_order,
    no_result_is_orphaned,
    tool_use_ids_are_unique,
    tool_use_ids_are_plain,
    tool_names_are_valid,
    tool_input_is_an_object,
    offered_tools_are_valid,
    no_result_is_empty,
    error_results_are_text,
    cache_marks_are_few,
    thinking_is_as_issued,
    thinking_is_in_place,
    thinking_is_bound_to_its_prefix,
    no_lone_surrogates,
)


def _result_parts(block: Block) -> list[Block]:
    return objects(block.get("content")) if block.get("type") == "tool_result" else []


def _tool_uses(subject: Subject) -> Iterator[tuple[int, Block]]:
    for i, message in enumerate(subject.messages):
        for block in blocks(message):
            if block.get("type") == "tool_use":
                yield i, block


def _tool_use_ids(message: Mapping[str, Any]) -> list[str]:
    return [str(b.get("id")) for b in blocks(message) if b.get("type") == "tool_use"]


def _result_ids(message: Mapping[str, Any]) -> list[str]:
    return [str(b.get("tool_use_id")) for b in blocks(message) if b.get("type") == "tool_result"]


def _called(subject: Subject) -> Iterator[tuple[int, list[str]]]:
    """Each message that calls tools, by place, with the ids of its calls."""
    for i, message in enumerate(subject.messages):
        if called := _tool_use_ids(message):
            yield i, called


def _message_after(subject: Subject, place: int) -> Mapping[str, Any]:
    messages = subject.messages
    following = messages[place + 1] if place + 1 < len(messages) else {}
    return following if following.get("role") == "user" else {}


def _latest_tool_loop(messages: list[Mapping[str, Any]]) -> list[int]:
    """The places of the assistant messages since the last user message that answers no calls."""
    places: list[int] = []
    for i in range(len(messages) - 1, -1, -1):
        if messages[i].get("role") == "assistant":
            places.append(i)
        elif not _result_ids(messages[i]):
            break
    return places


def _issued_message(subject: Subject, message: Mapping[str, Any]) -> IssuedMessage | None:
    known = (subject.issued.by_tool_use.get(id_) for id_ in _tool_use_ids(message))
    return next((told for told in known if told is not None), None)


def _parts(message: Mapping[str, Any]) -> tuple[Part, ...]:
    """The message as `Issued` remembers one."""
    parts: list[Part] = []
    for block in blocks(message):
        match block.get("type"):
            case "thinking":
                parts.append(Part("thinking", str(block["thinking"]), str(block.get("signature"))))
            case "redacted_thinking":
                parts.append(Part("redacted_thinking", "", str(block.get("data"))))
            case "tool_use":
                parts.append(Part("tool_use", str(block.get("id"))))
            case _:
                continue
    return tuple(parts)


def _is_switched_off(thinking: object) -> bool:
    return isinstance(thinking, dict) and thinking.get("type") == "disabled"
