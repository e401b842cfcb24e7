"""Every refusal of the validator, each seen to come from its own rule alone.

A case is a request with exactly one thing wrong. It must be refused, and it must pass once its rule
is taken out: so no rule is idle, no rule hides behind another, and no case passes for the wrong
reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.scripted import anthropic_rules as messages
from tests.scripted import chat_rules as chat
from tests.scripted import subject
from tests.scripted.issued import Issued, IssuedMessage, Part, prefix_digest, signature_for
from tests.scripted.subject import Rule
from tests.scripted.validator import check_anthropic, check_chat

Json = dict[str, Any]
LONE = "half a pair \ud83d"


# ---------------------------------------------------------------- the Messages wire


def text(value: str, **more: Any) -> Json:
    return {"type": "text", "text": value, **more}


def user(*content: Json | str) -> Json:
    return {"role": "user", "content": [text(c) if isinstance(c, str) else c for c in content]}


def assistant(*content: Json | str) -> Json:
    return {**user(*content), "role": "assistant"}


def use(id_: str, name: str = "Read", input_: Any = None, **more: Any) -> Json:
    given = {"path": "a"} if input_ is None else input_
    return {"type": "tool_use", "id": id_, "name": name, "input": given, **more}


def result(id_: str, content: Any = "ok", **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **more}


def thinking(value: str, signature: str | None = None) -> Json:
    return {"type": "thinking", "thinking": value, "signature": signature or signature_for(value)}


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
ASK = user("read both")
SCHEMA = {"type": "object", "properties": {}}


def request(*said: Json, **more: Any) -> Json:
    return {"model": "m", "max_tokens": 100, "messages": list(said), **more}


def with_loop(*said: Json) -> Json:
    """A request that ends in a tool loop of two calls, the given messages after the prompt."""
    return request(ASK, *said)


def tool(name: str, schema: Json = SCHEMA) -> Json:
    return {"name": name, "input_schema": schema}


def marked(count: int) -> list[Json]:
    return [text(f"part {n}", cache_control={"type": "ephemeral"}) for n in range(count)]


GOOD_MESSAGES: dict[str, Json] = {
    "a prompt": request({"role": "user", "content": "hello"}),
    "a system text and tools": request(ASK, system="be brief", tools=[tool("Read"), tool("Bash")]),
    "a closed batch": with_loop(
        assistant(thinking("hm"), "I look.", use("a"), use("b", input_={})),
        user(result("a", [text("x"), IMAGE]), result("b", is_error=True), "and then?"),
    ),
    "two rounds": with_loop(
        assistant(use("a")), user(result("a")), assistant(use("b")), user(result("b"))
    ),
    "empty thinking with its signature": with_loop(
        assistant(thinking(""), use("a")), user(result("a"))
    ),
    "four cache marks": request(user(*marked(4))),
    "a result of white space": with_loop(assistant(use("a")), user(result("a", "\n"))),
    "whole pairs": request(user("👋 wörld")),
}

BAD_MESSAGES: list[tuple[str, Rule, Json]] = [
    ("no max_tokens", messages.max_tokens_is_given, {"messages": [ASK]}),
    ("max_tokens zero", messages.max_tokens_is_given, {**request(ASK), "max_tokens": 0}),
    (
        "a system message in between",
        messages.roles_are_user_and_assistant,
        request(ASK, {"role": "system", "content": "x"}),
    ),
    ("assistant first", messages.first_message_is_user, request(assistant("hi"), ASK)),
    ("assistant last", messages.last_message_is_user, request(ASK, assistant("hi"))),
    ("two user messages", messages.roles_alternate, request(ASK, user("more"))),
    (
        "two assistant messages",
        messages.roles_alternate,
        request(ASK, assistant("one"), assistant("two"), ASK),
    ),
    ("an empty list", messages.no_message_is_empty, request(ASK, assistant(), ASK)),
    ("an empty string", messages.no_message_is_empty, request({"role": "user", "content": ""})),
    ("an empty text block", messages.no_text_is_blank, request(user("x", ""))),
    ("a blank text block", messages.no_text_is_blank, request(ASK, assistant(" \n"), ASK)),
    ("a blank prompt", messages.no_text_is_blank, request({"role": "user", "content": " "})),
    ("a blank system block", messages.no_text_is_blank, request(ASK, system=[text("")])),
    (
        "a blank text in a result",
        messages.no_text_is_blank,
        with_loop(assistant(use("a")), user(result("a", [text(" ")]))),
    ),
    (
        "an image of the assistant",
        messages.blocks_fit_their_role,
        request(ASK, assistant("see", IMAGE), ASK),
    ),
    ("thinking of the user", messages.blocks_fit_their_role, request(user(thinking("hm")))),
    (
        "thinking in a result",
        messages.blocks_fit_their_role,
        with_loop(assistant(use("a")), user(result("a", [thinking("hm")]))),
    ),
    ("a key of our own in a message", messages.no_key_is_unknown, request({**ASK, "id": "1"})),
    (
        "a key of our own in a block",
        messages.no_key_is_unknown,
        with_loop(assistant(use("a", provider_data={})), user(result("a"))),
    ),
    (
        "a key of our own in a result",
        messages.no_key_is_unknown,
        with_loop(assistant(use("a")), user(result("a", outcome="ok"))),
    ),
    (
        "a call without result",
        messages.every_tool_use_is_answered_once,
        with_loop(assistant(use("a"), use("b")), user(result("a"))),
    ),
    (
        "a call answered by text",
        messages.every_tool_use_is_answered_once,
        with_loop(assistant(use("a")), user("never mind")),
    ),
    (
        "a call answered twice",
        messages.every_tool_use_is_answered_once,
        with_loop(assistant(use("a")), user(result("a"), result("a"))),
    ),
    (
        "text before results",
        messages.results_come_first,
        with_loop(assistant(use("a")), user("here", result("a"))),
    ),
    (
        "text between results",
        messages.results_come_first,
        with_loop(assistant(use("a"), use("b")), user(result("a"), "and", result("b"))),
    ),
    (
        "results in another order",
        messages.results_are_in_call_order,
        with_loop(assistant(use("a"), use("b")), user(result("b"), result("a"))),
    ),
    (
        "a result for nothing",
        messages.no_result_is_orphaned,
        with_loop(assistant(use("a")), user(result("a"), result("z"))),
    ),
    ("a result at the start", messages.no_result_is_orphaned, request(user(result("a")))),
    (
        "a result a round late",
        messages.no_result_is_orphaned,
        with_loop(
            assistant(use("a")),
            user(result("a")),
            assistant(use("b")),
            user(result("b"), result("a")),
        ),
    ),
    (
        "an id used in two rounds",
        messages.tool_use_ids_are_unique,
        with_loop(assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))),
    ),
    (
        "an id with odd characters",
        messages.tool_use_ids_are_plain,
        with_loop(assistant(use("call:1")), user(result("call:1"))),
    ),
    (
        "a name with a dot",
        messages.tool_names_are_valid,
        with_loop(assistant(use("a", "fs.read")), user(result("a"))),
    ),
    (
        "a name too long",
        messages.tool_names_are_valid,
        with_loop(assistant(use("a", "r" * 129)), user(result("a"))),
    ),
    (
        "input as text",
        messages.tool_input_is_an_object,
        with_loop(assistant(use("a", input_='{"path": "a"}')), user(result("a"))),
    ),
    (
        "input as a list",
        messages.tool_input_is_an_object,
        with_loop(assistant(use("a", input_=[])), user(result("a"))),
    ),
    ("a tool with a bad name", messages.offered_tools_are_valid, request(ASK, tools=[tool("a b")])),
    (
        "a tool offered twice",
        messages.offered_tools_are_valid,
        request(ASK, tools=[tool("Read"), tool("Read")]),
    ),
    (
        "a tool without schema",
        messages.offered_tools_are_valid,
        request(ASK, tools=[{"name": "Read"}]),
    ),
    (
        "an empty result",
        messages.no_result_is_empty,
        with_loop(assistant(use("a")), user(result("a", ""))),
    ),
    (
        "a result without parts",
        messages.no_result_is_empty,
        with_loop(assistant(use("a")), user(result("a", []))),
    ),
    (
        "an error with an image",
        messages.error_results_are_text,
        with_loop(assistant(use("a")), user(result("a", [IMAGE], is_error=True))),
    ),
    ("five cache marks", messages.cache_marks_are_few, request(user(*marked(5)))),
    (
        "thinking with another text",
        messages.thinking_is_as_issued,
        request(ASK, assistant(thinking("hm", signature_for("hm ")), "ok"), ASK),
    ),
    (
        "thinking without signature",
        messages.thinking_is_as_issued,
        request(ASK, assistant({"type": "thinking", "thinking": "hm"}, "ok"), ASK),
    ),
    (
        "redacted thinking nobody gave out",
        messages.thinking_is_as_issued,
        request(ASK, assistant({"type": "redacted_thinking", "data": "x"}, "ok"), ASK),
    ),
    ("half a pair in a prompt", subject.no_lone_surrogates, request(user(LONE))),
    (
        "half a pair in an input",
        subject.no_lone_surrogates,
        with_loop(assistant(use("a", input_={"path": [LONE]})), user(result("a"))),
    ),
    (
        "half a pair in a key",
        subject.no_lone_surrogates,
        with_loop(assistant(use("a", input_={LONE: 1})), user(result("a"))),
    ),
]


@pytest.mark.parametrize("body", GOOD_MESSAGES.values(), ids=GOOD_MESSAGES)
def test_a_sound_messages_request_passes(body: Json) -> None:
    assert check_anthropic(body) == []


@pytest.mark.parametrize(("name", "rule", "body"), BAD_MESSAGES, ids=[c[0] for c in BAD_MESSAGES])
def test_a_messages_rule_refuses_and_no_other_does(name: str, rule: Rule, body: Json) -> None:
    assert check_anthropic(body), name
    assert check_anthropic(body, rules=[rule]), name
    assert check_anthropic(body, rules=[r for r in messages.RULES if r is not rule]) == []


@pytest.mark.parametrize("said", [None, [], "hello", ["hello"]])
@pytest.mark.parametrize("check", [check_anthropic, check_chat])
def test_messages_must_be_a_list_of_objects(
    check: Callable[[Json], list[str]], said: object
) -> None:
    assert check({"max_tokens": 1, "messages": said})


# ---------------------------------------------------------------- thinking in the latest tool loop

HM, ALSO = thinking("hm"), thinking("also")
ROUND = assistant(HM, use("a"), ALSO, use("b"))
CLOSED = request(ASK, ROUND, user(result("a"), result("b")))


def remembered(body: Json, place: int) -> Issued:
    """The memory of a server that issued the assistant message at this place."""
    issued = Issued()
    parts = []
    for block in body["messages"][place]["content"]:
        match block["type"]:
            case "thinking":
                parts.append(Part("thinking", block["thinking"], block["signature"]))
            case "tool_use":
                parts.append(Part("tool_use", block["id"]))
            case _:
                continue
    prefix = prefix_digest(body, place)
    issued.remember(IssuedMessage("m", prefix, tuple(parts), ""))
    return issued


@pytest.mark.parametrize(
    ("name", "round_"),
    [
        ("left out", assistant(use("a"), use("b"))),
        ("one left out", assistant(HM, use("a"), use("b"))),
        ("moved to the front", assistant(HM, ALSO, use("a"), use("b"))),
    ],
)
def test_thinking_of_the_latest_tool_loop_stays_in_place(name: str, round_: Json) -> None:
    issued = remembered(CLOSED, 1)
    body = request(ASK, round_, user(result("a"), result("b")))
    assert check_anthropic(CLOSED, issued) == []
    assert check_anthropic(body, issued), name
    others = [rule for rule in messages.RULES if rule is not messages.thinking_is_in_place]
    assert check_anthropic(body, issued, rules=others) == []


def test_thinking_may_be_left_out_where_a_provider_allows_it() -> None:
    issued = remembered(CLOSED, 1)
    bare = [ASK, assistant(use("a"), use("b")), user(result("a"), result("b"))]
    later = request(*bare, assistant("done"), user("next"))
    assert check_anthropic(later, issued) == []
    assert check_anthropic(request(*bare, thinking={"type": "disabled"}), issued) == []
    assert check_anthropic({**request(*bare), "model": "another"}, issued) == []
    assert check_anthropic(request(user("a summary"), *bare[1:]), issued) == []


@pytest.mark.parametrize(
    "prompt",
    [
        {"role": "user", "content": "read both"},
        user(text("read both", cache_control={"type": "ephemeral"})),
    ],
    ids=["text as string", "a cache mark"],
)
def test_the_prefix_is_the_same_however_it_is_written(prompt: Json) -> None:
    issued = remembered(CLOSED, 1)
    assert check_anthropic(request(prompt, *CLOSED["messages"][1:]), issued) == []
    bare = request(prompt, assistant(use("a"), use("b")), user(result("a"), result("b")))
    assert check_anthropic(bare, issued)


def test_bound_thinking_is_refused_after_another_prefix() -> None:
    issued = remembered(CLOSED, 1)
    body = request(user("a summary"), *CLOSED["messages"][1:])
    assert check_anthropic(CLOSED, issued, bind_thinking=True) == []
    assert check_anthropic(body, issued) == []
    assert check_anthropic(body, issued, bind_thinking=True)
    others = [r for r in messages.RULES if r is not messages.thinking_is_bound_to_its_prefix]
    assert check_anthropic(body, issued, bind_thinking=True, rules=others) == []


def test_a_signature_of_the_script_counts_as_genuine_once_issued() -> None:
    body = request(ASK, assistant(thinking("hm", "sig=="), use("a")), user(result("a")))
    assert check_anthropic(body)
    assert check_anthropic(body, remembered(body, 1)) == []


# ---------------------------------------------------------------- the Chat Completions wire

PROMPT = {"role": "user", "content": "read both"}


def said(content: str | None = None, *calls: Json, **more: Any) -> Json:
    message: Json = {"role": "assistant", "content": content, **more}
    return {**message, "tool_calls": list(calls)} if calls else message


def call(id_: str, name: str = "Read", arguments: Any = "{}", **more: Any) -> Json:
    function = {"name": name, "arguments": arguments}
    return {"id": id_, "type": "function", "function": function, **more}


def answer(id_: str, content: Any = "ok", **more: Any) -> Json:
    return {"role": "tool", "tool_call_id": id_, "content": content, **more}


def chat_request(*messages_: Json, **more: Any) -> Json:
    return {"model": "m", "messages": list(messages_), **more}


def function_tool(name: str, schema: Json = SCHEMA) -> Json:
    return {"type": "function", "function": {"name": name, "parameters": schema}}


SYSTEM = {"role": "system", "content": "be brief"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}

GOOD_CHAT: dict[str, Json] = {
    "a prompt": chat_request(SYSTEM, PROMPT, tools=[function_tool("Read")], max_tokens=5),
    "a closed batch": chat_request(
        PROMPT, said(None, call("a"), call("b")), answer("a"), answer("b"), PROMPT
    ),
    "text beside a call": chat_request(PROMPT, said("I look.", call("a")), answer("a")),
    "empty text beside a call": chat_request(PROMPT, said("", call("a")), answer("a")),
    "pictures after the answers": chat_request(
        PROMPT, said(None, call("a")), answer("a"), {"role": "user", "content": [PICTURE]}
    ),
    "a thought signature": chat_request(
        PROMPT, said(None, call("a", extra_content={"google": {}})), answer("a")
    ),
    "reasoning": chat_request(PROMPT, said(None, call("a"), reasoning_content=""), answer("a")),
}

BAD_CHAT: list[tuple[str, Rule, Json]] = [
    (
        "an unknown role",
        chat.roles_are_known,
        chat_request(PROMPT, {"role": "function", "content": "x"}),
    ),
    ("a second system message", chat.system_is_one_and_first, chat_request(PROMPT, SYSTEM)),
    ("assistant first", chat.first_message_is_user, chat_request(SYSTEM, said("hi"), PROMPT)),
    ("system alone", chat.first_message_is_user, chat_request(SYSTEM)),
    ("assistant last", chat.last_message_is_not_assistant, chat_request(PROMPT, said("hi"))),
    ("two user messages", chat.roles_alternate, chat_request(PROMPT, PROMPT)),
    (
        "two assistant messages",
        chat.roles_alternate,
        chat_request(PROMPT, said("one"), said("two"), PROMPT),
    ),
    ("null and no calls", chat.no_content_is_empty, chat_request(PROMPT, said(None), PROMPT)),
    ("an empty text", chat.no_content_is_empty, chat_request(PROMPT, said(""), PROMPT)),
    (
        "an empty answer",
        chat.no_content_is_empty,
        chat_request(PROMPT, said(None, call("a")), answer("a", "")),
    ),
    ("a blank prompt", chat.no_text_is_blank, chat_request({"role": "user", "content": " \n"})),
    (
        "a call without answer",
        chat.every_call_is_answered_at_once,
        chat_request(PROMPT, said(None, call("a"), call("b")), answer("a")),
    ),
    (
        "a call answered twice",
        chat.every_call_is_answered_at_once,
        chat_request(PROMPT, said(None, call("a")), answer("a"), answer("a")),
    ),
    (
        "answers in another order",
        chat.answers_are_in_call_order,
        chat_request(PROMPT, said(None, call("a"), call("b")), answer("b"), answer("a")),
    ),
    (
        "an answer to nothing",
        chat.no_answer_is_orphaned,
        chat_request(PROMPT, said(None, call("a")), answer("a"), answer("z")),
    ),
    (
        "an id used in two rounds",
        chat.call_ids_are_unique,
        chat_request(
            PROMPT, said(None, call("a")), answer("a"), said(None, call("a")), answer("a")
        ),
    ),
    (
        "an id too long",
        chat.call_ids_are_short,
        chat_request(PROMPT, said(None, call("i" * 65)), answer("i" * 65)),
    ),
    (
        "an empty id",
        chat.call_ids_are_short,
        chat_request(PROMPT, said(None, call("")), answer("")),
    ),
    (
        "a name with a dot",
        chat.tool_names_are_valid,
        chat_request(PROMPT, said(None, call("a", "fs.read")), answer("a")),
    ),
    (
        "arguments as an object",
        chat.arguments_are_a_json_object,
        chat_request(PROMPT, said(None, call("a", arguments={})), answer("a")),
    ),
    (
        "arguments cut off",
        chat.arguments_are_a_json_object,
        chat_request(PROMPT, said(None, call("a", arguments='{"pa')), answer("a")),
    ),
    (
        "arguments as a list",
        chat.arguments_are_a_json_object,
        chat_request(PROMPT, said(None, call("a", arguments="[]")), answer("a")),
    ),
    (
        "a tool offered twice",
        chat.offered_tools_are_valid,
        chat_request(PROMPT, tools=[function_tool("Read"), function_tool("Read")]),
    ),
    (
        "a tool in the other wire's shape",
        chat.offered_tools_are_valid,
        chat_request(PROMPT, tools=[tool("Read")]),
    ),
    (
        "a picture in an answer",
        chat.tool_messages_are_text,
        chat_request(PROMPT, said(None, call("a")), answer("a", [PICTURE])),
    ),
    (
        "is_error on an answer",
        chat.no_key_is_unknown,
        chat_request(PROMPT, said(None, call("a")), answer("a", is_error=True)),
    ),
    (
        "index on a call",
        chat.no_key_is_unknown,
        chat_request(PROMPT, said(None, call("a", index=0)), answer("a")),
    ),
    (
        "two limits",
        chat.one_output_limit,
        chat_request(PROMPT, max_tokens=5, max_completion_tokens=5),
    ),
    (
        "half a pair in an answer",
        subject.no_lone_surrogates,
        chat_request(PROMPT, said(None, call("a")), answer("a", LONE)),
    ),
]


@pytest.mark.parametrize("body", GOOD_CHAT.values(), ids=GOOD_CHAT)
def test_a_sound_chat_request_passes(body: Json) -> None:
    assert check_chat(body) == []


@pytest.mark.parametrize(("name", "rule", "body"), BAD_CHAT, ids=[c[0] for c in BAD_CHAT])
def test_a_chat_rule_refuses_and_no_other_does(name: str, rule: Rule, body: Json) -> None:
    assert check_chat(body), name
    assert check_chat(body, rules=[rule]), name
    assert check_chat(body, rules=[r for r in chat.RULES if r is not rule]) == []


def test_reasoning_of_a_tool_call_turn_comes_back_where_it_is_demanded() -> None:
    body = chat_request(PROMPT, said(None, call("a")), answer("a"))
    assert check_chat(body) == []
    assert check_chat(body, demand_reasoning=True)
    others = [rule for rule in chat.RULES if rule is not chat.reasoning_is_replayed]
    assert check_chat(body, demand_reasoning=True, rules=others) == []
    assert check_chat(GOOD_CHAT["reasoning"], demand_reasoning=True) == []


def test_reasoning_comes_back_as_it_was_given() -> None:
    issued = Issued()
    issued.remember(IssuedMessage("m", "", (Part("tool_use", "a"),), "Need the file."))
    genuine = said(None, call("a"), reasoning_content="Need the file.")
    altered = said(None, call("a"), reasoning_content="Need the file")
    assert check_chat(chat_request(PROMPT, genuine, answer("a")), issued) == []
    body = chat_request(PROMPT, altered, answer("a"))
    assert check_chat(body, issued)
    others = [rule for rule in chat.RULES if rule is not chat.reasoning_is_as_issued]
    assert check_chat(body, issued, rules=others) == []


def signed(signature: str) -> Json:
    return {"extra_content": {"google": {"thought_signature": signature}}}


def test_the_signature_of_a_call_comes_back_to_the_model_that_signed_it() -> None:
    issued = Issued()
    issued.remember(IssuedMessage("m", "", (Part("tool_use", "a"),), "", is_signed=True))

    def judged(id_: str, model: str = "m", **extra: Any) -> list[str]:
        body = chat_request(PROMPT, said(None, call(id_, **extra)), answer(id_), model=model)
        assert check_chat(body, issued) == []
        return check_chat(body, issued, sign_calls=True)

    stand_in = signed("skip_thought_signature_validator")
    assert judged("a", **signed(signature_for("a"))) == []
    assert judged("foreign", **stand_in) == []
    assert judged("a", "another", **stand_in) == []
    assert judged("a")
    assert judged("foreign")
    assert judged("a", **stand_in)
    assert judged("a", "another", **signed(signature_for("a")))


# ---------------------------------------------------------------- the rules as a whole


def test_no_rule_is_without_a_case() -> None:
    """The rules about what was issued or demanded have tests of their own above."""
    by_hand = {
        messages.thinking_is_in_place,
        messages.thinking_is_bound_to_its_prefix,
        chat.reasoning_is_replayed,
        chat.reasoning_is_as_issued,
        chat.signatures_are_replayed,
    }
    tried = {rule for _, rule, _ in BAD_MESSAGES} | {rule for _, rule, _ in BAD_CHAT} | by_hand
    assert {*messages.RULES, *chat.RULES} - tried == set()
