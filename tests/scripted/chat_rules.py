"""The rules of the Chat Completions wire: what some strict provider or server behind it refuses.

The wire has many servers. A rule stands here when a known one refuses; the name says what holds,
the docstring who asks for it where that is not plain.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from tests.scripted.issued import signature_for
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

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MAX_ID = 64
_ROLES = ("system", "developer", "user", "assistant", "tool")
_KEYS: dict[str, set[str]] = {
    "system": {"role", "content"},
    "developer": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {
        "role",
        "content",
        "tool_calls",
        "refusal",
        "reasoning_content",
        "reasoning",
        "reasoning_details",
    },
    "tool": {"role", "tool_call_id", "content"},
}
_NO_SIGNATURE = "skip_thought_signature_validator"
_CALL_KEYS = {"id", "type", "function", "extra_content"}


def roles_are_known(subject: Subject) -> Iterator[str]:
    for i, message in enumerate(subject.messages):
        if message.get("role") not in _ROLES:
            yield f"messages.{i}.role: {message.get('role')!r} is not known"


def system_is_one_and_first(subject: Subject) -> Iterator[str]:
    """Chat templates of local servers and some gateways raise otherwise."""
    for i, message in enumerate(subject.messages):
        if i and message.get("role") in ("system", "developer"):
            yield f"messages.{i}: a {message.get('role')} message after the first message"


def first_message_is_user(subject: Subject) -> Iterator[str]:
    spoken = [m for m in subject.messages if m.get("role") not in ("system", "developer")]
    if not spoken or spoken[0].get("role") == "assistant":
        yield "messages: the first message after the system message must be of the user"


def last_message_is_not_assistant(subject: Subject) -> Iterator[str]:
    if subject.messages and subject.messages[-1].get("role") == "assistant":
        yield "messages: the conversation must not end with an assistant message"


def roles_alternate(subject: Subject) -> Iterator[str]:
    """Templates that insist on alternation refuse two user or two assistant messages in a row."""
    for i, (one, other) in enumerate(pairwise(subject.messages)):
        if one.get("role") == other.get("role") and other.get("role") in ("user", "assistant"):
            yield f"messages.{i + 1}: second {other.get('role')} message in a row"


def no_content_is_empty(subject: Subject) -> Iterator[str]:
    """Only an assistant message with calls may be without content."""
    for i, message in enumerate(subject.messages):
        if message.get("role") == "assistant" and message.get("tool_calls"):
            continue
        if message.get("content") in ("", [], None):
            yield f"messages.{i}: no content"


def no_text_is_blank(subject: Subject) -> Iterator[str]:
    for i, message in enumerate(subject.messages):
        # A tool may well print nothing but line ends; an assistant's empty content beside calls is
        # told apart by nobody.
        if message.get("role") == "tool" or not message.get("content"):
            continue
        if any(b.get("type") == "text" and is_blank(b.get("text")) for b in blocks(message)):
            yield f"messages.{i}: blank text"


def every_call_is_answered_at_once(subject: Subject) -> Iterator[str]:
    for i, called in _called(subject):
        answered = Counter(_answers_after(subject, i))
        for tool_call_id in called:
            match answered[tool_call_id]:
                case 0:
                    yield f"messages.{i}: {tool_call_id!r} is not answered before the next role"
                case 1:
                    continue
                case n:
                    yield f"messages.{i}: {n} tool messages for {tool_call_id!r}"


def answers_are_in_call_order(subject: Subject) -> Iterator[str]:
    for i, called in _called(subject):
        wanted = dict.fromkeys(called)
        given = dict.fromkeys(id_ for id_ in _answers_after(subject, i) if id_ in wanted)
        if list(given) != [id_ for id_ in wanted if id_ in given]:
            yield f"messages.{i}: tool messages not in call order: {list(given)}"


def no_answer_is_orphaned(subject: Subject) -> Iterator[str]:
    open_calls: list[str] = []
    for i, message in enumerate(subject.messages):
        if message.get("role") != "tool":
            open_calls = _call_ids(message)
        elif str(message.get("tool_call_id")) not in open_calls:
            yield f"messages.{i}: {message.get('tool_call_id')!r} answers no call directly before"


def call_ids_are_unique(subject: Subject) -> Iterator[str]:
    counts = Counter(id_ for message in subject.messages for id_ in _call_ids(message))
    for tool_call_id, n in counts.items():
        if n > 1:
            yield f"messages: tool call id {tool_call_id!r} is used {n} times"


def call_ids_are_short(subject: Subject) -> Iterator[str]:
    for i, call in _calls(subject):
        id_ = call.get("id")
        if not isinstance(id_, str) or not 1 <= len(id_) <= _MAX_ID:
            yield f"messages.{i}: tool call id {id_!r} is not of 1 to {_MAX_ID} characters"


def tool_names_are_valid(subject: Subject) -> Iterator[str]:
    for i, call in _calls(subject):
        if not _NAME.fullmatch(str(_function(call).get("name", ""))):
            yield f"messages.{i}: tool name {_function(call).get('name')!r} is not valid"


def arguments_are_a_json_object(subject: Subject) -> Iterator[str]:
    for i, call in _calls(subject):
        arguments = _function(call).get("arguments")
        if not isinstance(arguments, str):
            yield f"messages.{i}: the arguments of {call.get('id')!r} are not a string"
        elif not _decodes_to_an_object(arguments):
            yield f"messages.{i}: the arguments of {call.get('id')!r} are not a JSON object"


def offered_tools_are_valid(subject: Subject) -> Iterator[str]:
    yield from tool_schemas(subject, _NAME, nested=True)


def tool_messages_are_text(subject: Subject) -> Iterator[str]:
    for i, message in enumerate(subject.messages):
        kinds = {block.get("type") for block in blocks(message)}
        if message.get("role") == "tool" and kinds - {"text"}:
            yield f"messages.{i}: a tool message may hold text only"


def no_key_is_unknown(subject: Subject) -> Iterator[str]:
    for i, message in enumerate(subject.messages):
        for key in unknown_keys(message, _KEYS.get(str(message.get("role")), set(message))):
            yield f"messages.{i}.{key}: unknown key"
    for i, call in _calls(subject):
        for key in unknown_keys(call, _CALL_KEYS):
            yield f"messages.{i}.tool_calls.{key}: unknown key"
        for key in unknown_keys(_function(call), {"name", "arguments"}):
            yield f"messages.{i}.tool_calls.function.{key}: unknown key"


def one_output_limit(subject: Subject) -> Iterator[str]:
    if "max_tokens" in subject.body and "max_completion_tokens" in subject.body:
        yield "max_tokens and max_completion_tokens: only one may be given"


def reasoning_is_replayed(subject: Subject) -> Iterator[str]:
    """DeepSeek and Kimi refuse a tool-call turn whose reasoning does not come back, `""` where
    there was none.
    """
    if not subject.demand_reasoning:
        return
    for i, message in enumerate(subject.messages):
        if _call_ids(message) and not isinstance(message.get("reasoning_content"), str):
            yield f"messages.{i}: the reasoning_content of a tool-call turn must be passed back"


def reasoning_is_as_issued(subject: Subject) -> Iterator[str]:
    """Reasoning that comes back is the text that was given out with these calls."""
    for i, message in enumerate(subject.messages):
        told = next(
            (t for t in map(subject.issued.by_tool_use.get, _call_ids(message)) if t is not None),
            None,
        )
        reasoning = message.get("reasoning_content")
        if told is not None and reasoning is not None and reasoning != told.reasoning:
            yield f"messages.{i}: reasoning_content is not what was issued"


def signatures_are_replayed(subject: Subject) -> Iterator[str]:
    """Gemini signs the first call of a turn and refuses the turn without it; what another model
    left carries the stand-in that switches the check off.
    """
    if not subject.sign_calls:
        return
    for i, message in enumerate(subject.messages):
        calls = objects(message.get("tool_calls"))
        if not calls:
            continue
        first = str(calls[0].get("id"))
        told = subject.issued.by_tool_use.get(first)
        is_own = told is not None and told.is_signed and told.model == subject.body.get("model")
        wanted = signature_for(first) if is_own else _NO_SIGNATURE
        if calls[0].get("extra_content") != {"google": {"thought_signature": wanted}}:
            yield f"messages.{i}: function call is missing its thought_signature"


RULES: tuple[Rule, ...] = (
    roles_are_known,
    system_is_one_and_first,
    first_message_is_user,
    last_message_is_not_assistant,
    roles_alternate,
    no_content_is_empty,
    no_text_is_blank,
    every_call_is_answered_at_once,
    answers_are_in_call_order,
    no_answer_is_orphaned,
    call_ids_are_unique,
    call_ids_are_short,
    tool_names_are_valid,
    arguments_are_a_json_object,
    offered_tools_are_valid,
    tool_messages_are_text,
    no_key_is_unknown,
    one_output_limit,
    reasoning_is_replayed,
    reasoning_is_as_issued,
    signatures_are_replayed,
    no_lone_surrogates,
)


def _calls(subject: Subject) -> Iterator[tuple[int, Block]]:
    for i, message in enumerate(subject.messages):
        for call in objects(message.get("tool_calls")):
            yield i, call


def _call_ids(message: Mapping[str, Any]) -> list[str]:
    return [str(call.get("id")) for call in objects(message.get("tool_calls"))]


def _called(subject: Subject) -> Iterator[tuple[int, list[str]]]:
    for i, message in enumerate(subject.messages):
        if called := _call_ids(message):
            yield i, called


def _answers_after(subject: Subject, place: int) -> list[str]:
    """The ids of the tool messages that follow directly."""
    answers: list[str] = []
    for message in subject.messages[place + 1 :]:
        if message.get("role") != "tool":
            break
        answers.append(str(message.get("tool_call_id")))
    return answers


def _function(call: Block) -> Mapping[str, Any]:
    function = call.get("function")
    return function if isinstance(function, dict) else {}


def _decodes_to_an_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False
