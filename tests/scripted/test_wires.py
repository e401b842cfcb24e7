"""The real SDKs read what the scripted server sends: every kind of step, on both wires, over a
socket.

`heard` is what a client of either wire makes of a stream, in one form, so that a test states a
promise once for both.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, assert_never

import anthropic
import httpx2
import openai
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from tests.scripted.issued import signature_for
from tests.scripted.plugin import StartScripted
from tests.scripted.script import (
    Call,
    Cut,
    CutKind,
    Fail,
    Hold,
    Pause,
    Raw,
    Redacted,
    Reply,
    Say,
    Step,
    Stop,
    StreamError,
    Think,
    Usage,
    in_order,
)
from tests.scripted.server import ScriptedServer

WireName = Literal["anthropic", "chat"]
WIRES: tuple[WireName, ...] = ("anthropic", "chat")
both_wires = pytest.mark.parametrize("wire", WIRES)


@dataclass
class Heard:
    """What came through one stream."""

    text: str = ""
    text_deltas: int = 0
    thinking: str = ""
    signatures: list[str] = field(default_factory=list)
    redacted: list[str] = field(default_factory=list)
    calls: list[list[str]] = field(default_factory=list)
    """[id, name, arguments as they came]"""
    argument_deltas: int = 0
    stop: str | None = None
    details: dict[str, Any] | None = None
    usage: dict[str, int] = field(default_factory=dict)
    complete: bool = False


async def heard(server: ScriptedServer, wire: WireName, prompt: str = "go") -> Heard:
    into = Heard()
    async for _ in hear(server, wire, into, prompt):
        pass
    return into


async def hear(
    server: ScriptedServer, wire: WireName, into: Heard, prompt: str = "go"
) -> AsyncIterator[None]:
    """Ask once with the SDK of the wire; yields after each event."""
    said = {"role": "user", "content": prompt}
    # Plain dicts pass through the SDKs untouched; their parameter types would only be in the way.
    client: Any
    note: Callable[[Heard, Any], None]
    match wire:
        case "anthropic":
            client = AsyncAnthropic(base_url=server.url, api_key="k", max_retries=0)
            asked = {"model": "m", "max_tokens": 50, "stream": True, "messages": [said]}
            create, note = client.messages.create, note_event
        case "chat":
            client = AsyncOpenAI(base_url=server.chat_url, api_key="k", max_retries=0)
            options = {"include_usage": True}
            asked = {"model": "m", "stream": True, "stream_options": options, "messages": [said]}
            create, note = client.chat.completions.create, note_chunk
        case _:
            assert_never(wire)
    async with client, await create(**asked) as stream:
        async for item in stream:
            note(into, item)
            yield


async def read_and_release(
    server: ScriptedServer, wire: WireName, into: Heard, *, when: str
) -> None:
    """Read to the end, opening the gate `read` once this text has come.

    A cut throws away what the client has not read yet, so a test of one holds it back this long.
    """
    async for _ in hear(server, wire, into):
        if into.text == when:
            server.release("read")


async def failure(server: ScriptedServer, wire: WireName, into: Heard | None = None) -> Any:
    """Ask once, expecting an error of the API; the error."""
    with pytest.raises((anthropic.APIStatusError, openai.APIError)) as caught:
        await read_and_release(server, wire, into or Heard(), when="never")
    return caught.value


def note_event(into: Heard, event: Any) -> None:
    match event.type:
        case "content_block_start" if event.content_block.type == "tool_use":
            into.calls.append([event.content_block.id, event.content_block.name, ""])
        case "content_block_start" if event.content_block.type == "redacted_thinking":
            into.redacted.append(event.content_block.data)
        case "content_block_delta":
            note_delta(into, event.delta)
        case "message_delta":
            into.stop, details = event.delta.stop_reason, event.delta.stop_details
            into.details = details.to_dict() if details else None
            told = event.usage
            into.usage = {
                "input": told.input_tokens,
                "output": told.output_tokens,
                "cache_read": told.cache_read_input_tokens,
                "cache_write": told.cache_creation_input_tokens,
            }
            if told.output_tokens_details:
                into.usage["thinking"] = told.output_tokens_details.thinking_tokens
        case "message_stop":
            into.complete = True
        case _:
            return


def note_delta(into: Heard, delta: Any) -> None:
    match delta.type:
        case "text_delta":
            into.text += delta.text
            into.text_deltas += 1
        case "thinking_delta":
            into.thinking += delta.thinking
        case "signature_delta":
            into.signatures.append(delta.signature)
        case "input_json_delta":
            into.calls[-1][2] += delta.partial_json
            into.argument_deltas += bool(delta.partial_json)
        case _:
            return


def note_chunk(into: Heard, chunk: Any) -> None:
    if chunk.usage:
        read = chunk.usage.prompt_tokens_details.cached_tokens
        write = chunk.usage.prompt_tokens_details.cache_write_tokens
        into.usage = {
            "input": chunk.usage.prompt_tokens - read - write,
            "output": chunk.usage.completion_tokens,
            "cache_read": read,
            "cache_write": write,
            "thinking": chunk.usage.completion_tokens_details.reasoning_tokens,
        }
    for choice in chunk.choices:
        into.text += choice.delta.content or ""
        into.text_deltas += bool(choice.delta.content)
        into.thinking += getattr(choice.delta, "reasoning_content", None) or ""
        for call in choice.delta.tool_calls or ():
            if call.id:
                into.calls.append([call.id, call.function.name, ""])
            into.calls[call.index][2] += call.function.arguments
            into.argument_deltas += bool(call.function.arguments)
        if choice.finish_reason:
            into.stop, into.complete = choice.finish_reason, True


# ---------------------------------------------------------------- what is said


@both_wires
async def test_say_streams_its_text_in_deltas(scripted: StartScripted, wire: WireName) -> None:
    server = await scripted([Reply([Say("Hello, "), Say("wörld 👋!", chunk=1)])])
    got = await heard(server, wire)
    assert got.text == "Hello, wörld 👋!"
    assert got.text_deltas == 1 + len("wörld 👋!")
    assert got.complete
    assert got.stop == ("end_turn" if wire == "anthropic" else "stop")


@both_wires
async def test_think_streams_thinking_and_its_signature(
    scripted: StartScripted, wire: WireName
) -> None:
    server = await scripted([Reply([Think("2+2 is 4."), Think("Sure.", "sig=="), Say("4")])])
    got = await heard(server, wire)
    assert (got.thinking, got.text) == ("2+2 is 4.Sure.", "4")
    expected = [signature_for("2+2 is 4."), "sig=="] if wire == "anthropic" else []
    assert got.signatures == expected


@both_wires
async def test_redacted_thinking_is_a_block_of_the_messages_wire_only(
    scripted: StartScripted, wire: WireName
) -> None:
    got = await heard(await scripted([Reply([Redacted("opaque"), Say("4")])]), wire)
    assert (got.redacted, got.text) == (["opaque"] if wire == "anthropic" else [], "4")


@both_wires
async def test_calls_come_in_fragments_with_ids_of_their_own(
    scripted: StartScripted, wire: WireName
) -> None:
    steps: list[Step] = [
        Say("Two."),
        Call("Read", {"path": "é 😀"}, split=3),
        Call("Bash", id="given", split=0),
    ]
    got = await heard(await scripted([Reply(steps)]), wire)
    (first_id, first, first_input), (second_id, second, second_input) = got.calls
    assert (first, json.loads(first_input)) == ("Read", {"path": "é 😀"})
    assert (second, json.loads(second_input)) == ("Bash", {})
    assert second_id == "given"
    assert first_id not in ("", "given")
    assert got.argument_deltas > 5
    assert got.stop == ("tool_use" if wire == "anthropic" else "tool_calls")


@both_wires
async def test_made_ids_differ_between_servers(scripted: StartScripted, wire: WireName) -> None:
    seen = [(await heard(await scripted([Reply([Call("A")])]), wire)).calls[0][0] for _ in "12"]
    assert seen[0] != seen[1]


@both_wires
async def test_input_given_as_text_goes_out_as_it_is(
    scripted: StartScripted, wire: WireName
) -> None:
    steps: list[Step] = [Call("Write", '{"path": "big.txt", "text": "cut h'), Stop("max_tokens")]
    got = await heard(await scripted([Reply(steps)]), wire)
    assert got.calls[0][2] == '{"path": "big.txt", "text": "cut h'
    assert got.stop == ("max_tokens" if wire == "anthropic" else "length")


@both_wires
@pytest.mark.parametrize(
    ("reason", "on_chat"),
    [
        ("refusal", "content_filter"),
        ("stop_sequence", "stop"),
        ("model_context_window_exceeded", "model_context_window_exceeded"),
        ("insufficient_system_resource", "insufficient_system_resource"),
    ],
)
async def test_stop_gives_the_reason_in_the_words_of_the_wire(
    scripted: StartScripted, wire: WireName, reason: str, on_chat: str
) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "no"}
    given = details if reason == "refusal" else None
    got = await heard(await scripted([Reply([Say("x"), Stop(reason, given)])]), wire)
    assert got.stop == (reason if wire == "anthropic" else on_chat)
    assert got.details == (given if wire == "anthropic" else None)


@both_wires
async def test_usage_reports_what_it_says(scripted: StartScripted, wire: WireName) -> None:
    usage = Usage(100, 20, cache_read=64, cache_write=8, thinking=5)
    got = await heard(await scripted([Reply([Say("x"), usage])]), wire)
    assert got.usage == {
        "input": 100,
        "output": 20,
        "cache_read": 64,
        "cache_write": 8,
        "thinking": 5,
    }


@both_wires
async def test_usage_is_estimated_when_the_script_is_silent(
    scripted: StartScripted, wire: WireName
) -> None:
    server = await scripted(lambda _: Reply([Say("word " * 100)]))
    short, long = await heard(server, wire, "a"), await heard(server, wire, "a" * 4000)
    assert long.usage["input"] > short.usage["input"] + 900
    assert 100 < short.usage["output"] < 200


async def test_chat_usage_comes_only_when_asked_for(scripted: StartScripted) -> None:
    server = await scripted([Reply([Say("x")])])
    async with AsyncOpenAI(base_url=server.chat_url, api_key="k", max_retries=0) as client:
        chunks = await client.chat.completions.create(
            model="m", stream=True, messages=[{"role": "user", "content": "go"}]
        )
        assert [chunk.usage async for chunk in chunks if chunk.usage or not chunk.choices] == []


@both_wires
async def test_raw_bytes_go_into_the_body_as_they_are(
    scripted: StartScripted, wire: WireName
) -> None:
    raw = Raw(b'event: error\ndata: {"error": {"type": "odd", "message": "by hand"}}\n\n')
    server = await scripted(in_order([Reply([Raw(b": keep-alive\n\n"), Say("a")]), Reply([raw])]))
    assert (await heard(server, wire)).text == "a"
    assert "by hand" in str(await failure(server, wire))


# ---------------------------------------------------------------- how it comes


@both_wires
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_a_body_in_pieces_says_the_same(
    scripted: StartScripted, wire: WireName, size: int
) -> None:
    call = Call("Read", {"path": "é"}, id="c")
    steps: list[Step] = [Think("hm ☃"), Say("wörld 👋"), call, Usage(5, 6)]
    server = await scripted(lambda r: Reply(steps, size if "pieces" in r.last_user_text else 0))
    assert await heard(server, wire, "in pieces") == await heard(server, wire, "whole")


@both_wires
async def test_pauses_and_delays_lose_nothing(scripted: StartScripted, wire: WireName) -> None:
    call = Call("Read", {"a": 1}, delay=0.001)
    steps: list[Step] = [Say("ab", chunk=1, delay=0.001), Pause(0.001), call]
    got = await heard(await scripted([Reply(steps, body_chunk=40, body_delay=0.001)]), wire)
    assert got.text == "ab"
    assert got.calls[0][1:] == ["Read", '{"a": 1}']


@both_wires
async def test_hold_sends_nothing_more_until_released(
    scripted: StartScripted, wire: WireName
) -> None:
    server = await scripted([Reply([Say("before"), Hold("gate"), Say(" after")], body_chunk=999)])
    into = Heard()
    async for _ in hear(server, wire, into):
        if into.text == "before" and not into.complete:
            await server.reached("gate")
            assert not server.requests[0].finished
            server.release("gate")
    assert into.text == "before after"
    assert into.complete


@both_wires
async def test_a_clean_cut_raises_nothing_and_completes_nothing(
    scripted: StartScripted, wire: WireName
) -> None:
    got = await heard(await scripted([Reply([Say("half"), Cut("clean")])]), wire)
    assert (got.text, got.stop, got.complete) == ("half", None, False)


@pytest.mark.parametrize(
    ("kind", "error"), [("cut", httpx2.RemoteProtocolError), ("rst", httpx2.ReadError)]
)
@both_wires
async def test_a_hard_cut_is_a_connection_error(
    scripted: StartScripted, wire: WireName, kind: CutKind, error: type[Exception]
) -> None:
    server = await scripted([Reply([Say("half"), Hold("read"), Cut(kind)])])
    into = Heard()
    with pytest.raises(error if wire == "anthropic" else openai.APIConnectionError):
        await read_and_release(server, wire, into, when="half")
    assert (into.text, into.complete) == ("half", False)


@both_wires
async def test_a_cut_after_stop_leaves_a_complete_message(
    scripted: StartScripted, wire: WireName
) -> None:
    server = await scripted([Reply([Say("all"), Stop(), Hold("read"), Cut("cut")])])
    into = Heard()
    # The chat client stops reading at [DONE] and never sees the cut.
    cut = pytest.raises(httpx2.RemoteProtocolError)
    expected: AbstractContextManager[object] = cut if wire == "anthropic" else nullcontext()
    with expected:
        await read_and_release(server, wire, into, when="all")
    assert (into.text, into.complete) == ("all", True)


@both_wires
async def test_a_stream_error_is_raised_in_the_middle(
    scripted: StartScripted, wire: WireName
) -> None:
    server = await scripted([Reply([Say("half"), StreamError("overloaded_error", "Busy")])])
    into = Heard()
    error = await failure(server, wire, into)
    assert "Busy" in str(error)
    assert error.type == "overloaded_error"
    assert (into.text, into.complete) == ("half", False)


# ---------------------------------------------------------------- errors instead of streams


@both_wires
@pytest.mark.parametrize("status", [400, 401, 429, 500, 529])
async def test_fail_is_an_http_error_in_the_shape_of_the_wire(
    scripted: StartScripted, wire: WireName, status: int
) -> None:
    server = await scripted([Fail(status, headers={"retry-after": "3"})])
    error = await failure(server, wire)
    assert error.status_code == status
    assert error.response.headers["retry-after"] == "3"
    assert f"scripted error {status}" in str(error)
    assert server.requests[0].finished


@both_wires
async def test_fail_sends_the_body_it_is_given(scripted: StartScripted, wire: WireName) -> None:
    page = "<html>Bad Gateway</html>"
    server = await scripted(
        [Fail(502, page, {"content-type": "text/html"}), Fail(400, [{"error": {"code": 7}}])]
    )
    for status, body in ((502, page), (400, '[{"error":{"code":7}}]')):
        error = await failure(server, wire)
        assert (error.status_code, error.response.text) == (status, body)
