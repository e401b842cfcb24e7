"""What real servers send beside the protocol, and how it is taken: ids, names, arguments, halves of
characters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.providers.fixture_server import Answer, FixtureServer
from tui_agent.providers.anthropic_messages import AnthropicClient
from tui_agent.providers.base import (
    ModelRequest,
    RequestMessage,
    StreamEnd,
    StreamItem,
    TextPiece,
    ToolInputPiece,
)
from tui_agent.providers.chat_completions import ChatClient
from tui_agent.providers.presets import PRESETS
from tui_agent.providers.wire_values import (
    GrowingText,
    fresh_call_id,
    id_for_wire,
    name_for_wire,
    parse_arguments,
    token_count,
)
from tui_agent.vocabulary.blocks import (
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    tool_uses,
)
from tui_agent.vocabulary.errors import ErrorClass, ProviderError
from tui_agent.vocabulary.messages import StopReason
from tui_agent.vocabulary.usage import IMAGE_TOKENS, Usage

HELLO = RequestMessage("user", (TextBlock("hi"),))
REQUEST = ModelRequest("m", (), (HELLO,), ())
STREAM = {"content-type": "text/event-stream"}


async def chat(
    server: FixtureServer, deltas: Sequence[Any], finish: str = "stop", request: Any = REQUEST
) -> tuple[list[StreamItem], StreamEnd]:
    """What the adapter makes of these deltas."""
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    server.answers.append(Answer(200, STREAM, body))
    client = ChatClient(PRESETS["compatible"], "k", base_url=server.url("x/v1"))
    items = [item async for item in client.stream(request)]
    await client.aclose()
    end = items.pop()
    assert isinstance(end, StreamEnd)
    return items, end


async def messages(
    server: FixtureServer,
    blocks: Sequence[tuple[Any, Sequence[Any]]],
    request: Any = REQUEST,
    stop: str = "end_turn",
) -> tuple[list[StreamItem], StreamEnd]:
    """What the other adapter makes of these blocks and their deltas."""
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {}}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {}})
    events.append({"type": "message_stop"})
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    server.answers.append(Answer(200, STREAM, body))
    client = AnthropicClient("k", base_url=server.url("x"))
    items = [item async for item in client.stream(request)]
    await client.aclose()
    end = items.pop()
    assert isinstance(end, StreamEnd)
    return items, end


def fragment(name: str | None = None, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}, **fields}]}


async def test_a_character_split_over_two_events_is_shown_and_kept_whole(
    server: FixtureServer,
) -> None:
    items, end = await chat(server, [{"content": "a\ud83d"}, {"content": "\ude00b"}])
    assert items == [TextPiece("a"), TextPiece("😀b")]
    assert end.blocks == (TextBlock("a😀b"),)


def test_half_a_character_that_stays_alone() -> None:
    text = GrowingText()
    assert [text.add(piece) for piece in ("x\ude00", "\ud83d", "y")] == ["x\ufffd", "", "\ufffdy"]
    assert text.text == "x\ufffd\ufffdy"


async def test_calls_without_index_and_id_are_told_apart_by_their_names(
    server: FixtureServer,
) -> None:
    items, end = await chat(
        server,
        [fragment("Read", '{"a":'), fragment(None, "1}"), fragment("Bash", "{}")],
    )
    calls = tool_uses(end.blocks)
    assert [(call.name, call.input) for call in calls] == [("Read", {"a": 1}), ("Bash", {})]
    assert len({call.id for call in calls} - {""}) == 2
    shown = {item.id for item in items if isinstance(item, ToolInputPiece)}
    assert shown == {call.id for call in calls}


async def test_an_id_that_comes_twice_or_was_there_before_becomes_another(
    server: FixtureServer,
) -> None:
    history = (
        HELLO,
        RequestMessage("assistant", (ToolUseBlock("old", "Read", {}),)),
        RequestMessage("user", (ToolResultBlock("old", (TextBlock("x"),)),)),
    )
    request = ModelRequest("m", (), history, ())
    deltas = [
        fragment("Read", "{}", index=0, id="same"),
        fragment("Read", "{}", index=1, id="same"),
        fragment("Read", "{}", index=2, id="old"),
    ]
    _, end = await chat(server, deltas, request=request)
    ids = [call.id for call in tool_uses(end.blocks)]
    assert ids[0] == "same"
    assert len({*ids, "old"}) == 4
    block = {"type": "tool_use", "name": "Read", "input": {}}
    _, end = await messages(
        server, [({**block, "id": "same"}, []), ({**block, "id": "same"}, [])], request
    )
    assert len({call.id for call in tool_uses(end.blocks)}) == 2


async def test_a_name_that_comes_late_does_not_lose_the_arguments(server: FixtureServer) -> None:
    items, end = await chat(
        server,
        [fragment(None, '{"a"', index=0, id="c"), fragment("Read", ":1}", index=0)],
    )
    assert tool_uses(end.blocks) == (ToolUseBlock("c", "Read", {"a": 1}),)
    assert items == [ToolInputPiece("c", "Read", '{"a":1}')]


async def test_a_name_or_id_that_is_repeated_is_taken_once(server: FixtureServer) -> None:
    part = fragment("Read", '{"a":', index=0, id="c")
    rest = fragment("Read", "1}", index=0, id="c")
    _, end = await chat(server, [part, rest])
    assert tool_uses(end.blocks) == (ToolUseBlock("c", "Read", {"a": 1}),)


async def test_null_never_overwrites_a_name(server: FixtureServer) -> None:
    deltas = [
        fragment("Read", "", index=0, id="c"),
        {"role": None, "content": None, **fragment(None, "{}", index=0, id=None)},
    ]
    _, end = await chat(server, deltas)
    assert tool_uses(end.blocks) == (ToolUseBlock("c", "Read", {}),)


async def test_arguments_may_come_as_an_object(server: FixtureServer) -> None:
    _, end = await chat(server, [fragment("Read", {"a": 1}, index=0, id="c")])
    assert tool_uses(end.blocks)[0].input == {"a": 1}
    block = {"type": "tool_use", "id": "c", "name": "Read", "input": {"a": 1}}
    _, end = await messages(server, [(block, [])])
    assert tool_uses(end.blocks)[0].input == {"a": 1}


async def test_a_call_without_a_name_is_kept_under_one(server: FixtureServer) -> None:
    _, end = await chat(server, [fragment(None, "{}", index=0, id="c")])
    assert tool_uses(end.blocks)[0].name == "unnamed_tool"


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ('{"a": ', "not valid JSON"),
        ("[1]", "list"),
        ("null", "NoneType"),
        ("[" * 9999, "JSON"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ('{"a": [-Infinity]}', "-Infinity is no JSON number"),
        ('{"a": 1e999}', "1e999 is too large"),
        ('{"a": -1e999}', "too large"),
        (nested(65), "nested too deeply"),
        (nested(800), "nested too deeply"),
        (nested(200_000), "JSON"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_arguments_that_cannot_be_used_are_a_problem_in_words(arguments: str, word: str) -> None:
    value, problem = parse_arguments(arguments)
    assert value == {}
    assert problem is not None
    assert word in problem


def test_arguments_that_are_odd_and_yet_good() -> None:
    assert parse_arguments('{"a": 1e308, "b": -0.0}') == ({"a": 1e308, "b": -0.0}, None)
    value, problem = parse_arguments(nested(64))
    assert problem is None
    assert json.dumps(value, separators=(",", ":")) == nested(64)


async def test_arguments_that_came_parsed_are_judged_like_text(server: FixtureServer) -> None:
    for value in ({"a": float("nan")}, json.loads(nested(100))):
        block = {"type": "tool_use", "id": "c", "name": "Read", "input": value}
        _, end = await messages(server, [(block, [])])
        assert tool_uses(end.blocks)[0].input == {}
        assert tool_uses(end.blocks)[0].problem
        _, end = await chat(server, [fragment("Read", value, index=0, id="c")])
        assert tool_uses(end.blocks)[0].input == {}
        assert tool_uses(end.blocks)[0].problem


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-1e999"])
async def test_a_number_that_json_lacks_never_reaches_the_next_request(
    server: FixtureServer, number: str
) -> None:
    _, end = await chat(server, [fragment("Read", f'{{"a": {number}}}', index=0, id="c")])
    stored = ToolUseBlock("old", "Read", {"a": float(number)})  # by an earlier version
    history = (
        HELLO,
        RequestMessage("assistant", (*end.blocks, stored), "compatible", "m"),
        RequestMessage("user", (ToolResultBlock("c", ()), ToolResultBlock("old", ()))),
    )
    request = ModelRequest("m", (), history, ())
    await chat(server, [{"content": "x"}], request=request)
    assert "NaN" not in json.dumps(server.asked[-1].body)
    await messages(server, [({"type": "text", "text": "x"}, [])], request)
    uses = [b for b in server.asked[-1].body["messages"][1]["content"] if b["type"] == "tool_use"]
    assert [use["input"] for use in uses] == [{}, {"a": None}]


@pytest.mark.parametrize("said", ["", " \n"])
async def test_reasoning_that_was_there_and_empty_is_told_again(
    server: FixtureServer, said: str
) -> None:
    deltas = [{"reasoning_content": said}, fragment("Read", "{}", index=0, id="c")]
    _, end = await chat(server, deltas)
    history = (
        HELLO,
        RequestMessage("assistant", end.blocks, "compatible", "m"),
        RequestMessage("user", (ToolResultBlock("c", ()),)),
    )
    request = ModelRequest("m", (), history, ())
    await chat(server, [{"content": "x"}], request=request)
    assert server.asked[-1].body["messages"][1]["reasoning_content"] == said
    await chat(server, [{"content": "x"}], request=replace(request, model="another"))
    assert "reasoning_content" not in server.asked[-1].body["messages"][1]


@pytest.mark.parametrize("finish", ["length", "content_filter", "model_context_window_exceeded"])
async def test_no_call_of_a_cut_response_can_run(server: FixtureServer, finish: str) -> None:
    deltas = [
        fragment("Read", '{"a":1}', index=0, id="c"),
        fragment("Bash", '{"b":2}', index=1, id="d"),
    ]
    _, end = await chat(server, deltas, finish)
    calls = tool_uses(end.blocks)
    assert all(call.problem and call.input == {} for call in calls)
    assert len(calls) == 2


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
async def test_the_call_that_was_being_written_at_the_cut_cannot_run_even_if_it_looks_whole(
    server: FixtureServer, stop: str
) -> None:
    block = {"type": "tool_use", "name": "Bash", "input": {}}
    whole = [{"type": "input_json_delta", "partial_json": "{}"}]
    blocks = [({**block, "id": "a"}, whole), ({**block, "id": "b"}, whole)]
    _, end = await messages(server, blocks, stop=stop)
    assert [call.problem is None for call in tool_uses(end.blocks)] == [True, False]


async def test_reasoning_that_only_the_total_counts_is_output(server: FixtureServer) -> None:
    client = ChatClient(
        PRESETS["gemini"], "k", base_url=server.url("stream/openai/23-gemini-real-shape/v1")
    )
    items = [item async for item in client.stream(REQUEST)]
    await client.aclose()
    end = items[-1]
    assert isinstance(end, StreamEnd)
    assert end.usage == Usage(107, 179, reasoning=148)


@pytest.mark.parametrize("with_image", [False, True])
async def test_what_nobody_counted_is_reckoned_and_marked(
    server: FixtureServer, with_image: bool
) -> None:
    picture = (ImageBlock("image/png", "A" * 90_000),) if with_image else ()
    prompt = RequestMessage("user", (TextBlock("x" * 3600), *picture))
    request = ModelRequest("m", (), (prompt,), ())
    for _, end in (
        await chat(server, [{"content": "y" * 360}], request=request),
        await messages(server, [({"type": "text", "text": "y" * 360}, [])], request),
    ):
        assert end.usage.estimated
        assert end.usage.output == 100
        assert 1000 <= (end.usage.input or 0) - with_image * IMAGE_TOKENS <= 1100


async def test_what_the_provider_counted_is_not_reckoned(server: FixtureServer) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 0, "total_tokens": 5}
    chunk = {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}
    server.answers.append(Answer(200, STREAM, f"data: {json.dumps(chunk)}\n\n"))
    client = ChatClient(PRESETS["compatible"], "k", base_url=server.url("x/v1"))
    end = [item async for item in client.stream(REQUEST)][-1]
    await client.aclose()
    assert isinstance(end, StreamEnd)
    assert end.usage == Usage(5, 0)


@pytest.mark.parametrize(
    ("finish", "error_class"),
    [
        ("error", ErrorClass.SERVER),
        ("network_error", ErrorClass.SERVER),
        ("insufficient_system_resource", ErrorClass.OVERLOADED),
    ],
)
async def test_a_stop_that_says_the_server_failed_is_a_failure(
    server: FixtureServer, finish: str, error_class: ErrorClass
) -> None:
    with pytest.raises(ProviderError) as caught:
        await chat(server, [{"content": "half"}], finish)
    assert caught.value.error_class is error_class
    assert caught.value.partial_text == "half"


async def test_a_stop_nobody_knows_is_shown_as_it_is(server: FixtureServer) -> None:
    _, end = await chat(server, [{"content": "x"}], "sparkled_out")
    assert (end.stop_reason, end.note) == (StopReason.OTHER, "sparkled_out")


async def test_a_routers_reasoning_goes_back_to_it_as_one_list(server: FixtureServer) -> None:
    text = {"type": "reasoning.text", "index": 0}
    deltas = [
        {"reasoning": "I ", "reasoning_details": [{**text, "text": "I "}]},
        {"reasoning": "look.", "reasoning_details": [{**text, "text": "look."}]},
        {"reasoning_details": [{**text, "text": None, "signature": "sig"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "abc"}, 5]},
        fragment("Read", "{}", index=0, id="c"),
    ]
    _, end = await chat(server, deltas)
    history = (
        HELLO,
        RequestMessage("assistant", end.blocks, "compatible", "m"),
        RequestMessage("user", (ToolResultBlock("c", ()),)),
    )
    request = ModelRequest("m", (), history, ())
    await chat(server, [{"content": "x"}], request=request)
    told = server.asked[-1].body["messages"][1]
    assert told["reasoning"] == "I look."
    assert told["reasoning_details"] == [
        {**text, "text": "I look.", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "abc"},
    ]
    await chat(server, [{"content": "x"}], request=replace(request, model="another"))
    assert "reasoning_details" not in server.asked[-1].body["messages"][1]


async def test_the_same_reasoning_under_two_names_is_taken_once(server: FixtureServer) -> None:
    delta = {"reasoning_content": "hm", "reasoning": "hm"}
    _, end = await chat(server, [delta, delta, {"content": "x"}])
    assert [getattr(block, "text", "") for block in end.blocks] == ["hmhm", "x"]


def test_names_and_ids_that_every_maker_takes() -> None:
    assert name_for_wire("mcp.server/tool name") == "mcp_server_tool_name"
    assert id_for_wire("toolu_01", longest=40) == "toolu_01"
    assert id_for_wire("functions.Bash:0", longest=40) == id_for_wire(
        "functions.Bash:0", longest=64
    )
    assert id_for_wire("a.b", longest=40) != id_for_wire("a:b", longest=40)


@pytest.mark.parametrize("held", [b"data: [DONE]\n\n", b""])
async def test_a_connection_left_open_does_not_hold_the_turn_up(held: bytes) -> None:
    chunk = {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}

    gone = asyncio.Event()

    async def never_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        writer.write(b"data: " + json.dumps(chunk).encode() + b"\n\n" + held)
        await writer.drain()
        await reader.read()  # until the client goes
        writer.close()
        gone.set()

    server = await asyncio.start_server(never_close, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    client = ChatClient(PRESETS["compatible"], "k", base_url=url, timeout=60)
    async with asyncio.timeout(30):
        items = [item async for item in client.stream(REQUEST)]
    await client.aclose()
    await gone.wait()
    server.close()
    assert isinstance(items[-1], StreamEnd)


@pytest.mark.parametrize("wanted", ["a" * 65, "a b", "a\x1b[31m", "\u202e", "é", ""])
def test_an_id_that_no_provider_takes_back_is_replaced(wanted: str) -> None:
    assert fresh_call_id(wanted, ()).startswith("call_")


@pytest.mark.parametrize("wanted", ["a" * 64, "functions.Read:0", "call_1", "toolu_01A-b"])
def test_any_other_id_of_a_maker_is_kept(wanted: str) -> None:
    assert fresh_call_id(wanted, ()) == wanted


@pytest.mark.parametrize("said", [-5, 10**30, 2.5, True, "7", None])
def test_what_cannot_be_a_count_is_none(said: object) -> None:
    assert token_count(said) is None
