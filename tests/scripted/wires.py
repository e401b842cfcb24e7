"""How a reply looks on each wire: Messages SSE and Chat Completions SSE.

A script's `Reply` comes in; a run of frames goes out: bytes to send, and the pauses, holds and cuts
between them, which the server carries out. What was said is noted in `Issued`, so that the next
request can be compared with it. Shapes are those of the two public APIs as recorded; nothing here
looks at sockets.
"""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from tests.scripted.answers import JsonObject, encode_json, estimate_tokens, refusal_shape
from tests.scripted.issued import Issued, IssuedMessage, Part, prefix_digest, signature_for
from tests.scripted.request import ParsedRequest
from tests.scripted.script import (
    Call,
    Cut,
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
)

Frame = bytes | Pause | Hold | Cut

_CHAT_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}


@dataclass
class Minter:
    """Makes ids no other server makes, and counts up within one."""

    salt: str = field(default_factory=lambda: secrets.token_hex(4))
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def mint(self, prefix: str) -> str:
        return f"{prefix}_{self.salt}_{next(self._numbers)}"


def encode(
    reply: Reply,
    request: ParsedRequest,
    issued: Issued,
    minter: Minter,
    *,
    sign_calls: bool = False,
) -> Iterator[Frame]:
    """The frames of a reply on the wire of the request. A message is remembered once its end is
    encoded. `sign_calls`: on the chat wire the first call of a message is signed.
    """
    encoder: _MessagesEncoder | _ChatEncoder
    match request.wire:
        case "anthropic":
            encoder = _MessagesEncoder(reply, request, minter)
        case "chat":
            encoder = _ChatEncoder(reply, request, minter)
            encoder.sign_calls = sign_calls
        case _:
            assert_never(request.wire)
    yield from encoder.begin()
    stopped = False
    for step in reply.steps:
        match step:
            case Pause() | Hold():
                yield step
            case Cut():
                yield step
                return
            case Raw(data):
                yield data
            case StreamError():
                yield from encoder.error(step)
                return
            case Usage():
                continue
            case Stop():
                issued.remember(encoder.message())
                yield from encoder.end(step)
                stopped = True
            case Say() | Think() | Redacted() | Call():
                yield from encoder.speak(step)
            case _:
                assert_never(step)
    if not stopped:
        issued.remember(encoder.message())
        yield from encoder.end(Stop())


class _Encoder:
    """What both wires share: the parts said so far, the reported usage, the reason to stop."""

    def __init__(self, reply: Reply, request: ParsedRequest, minter: Minter) -> None:
        self.request = request
        self.minter = minter
        self.parts: list[Part] = []
        self.reasoning = ""
        self.sign_calls = False
        scripted = [step for step in reply.steps if isinstance(step, Usage)]
        self.usage = scripted[-1] if scripted else _estimated_usage(reply, request)

    def message(self) -> IssuedMessage:
        prefix = prefix_digest(self.request.body, len(self.request.messages))
        return IssuedMessage(
            self.request.model, prefix, tuple(self.parts), self.reasoning, self.sign_calls
        )

    def stop_reason(self, stop: Stop) -> str:
        called = any(part.kind == "tool_use" for part in self.parts)
        return stop.reason or ("tool_use" if called else "end_turn")


class _MessagesEncoder(_Encoder):
    _index = -1
    _text_is_open = False

    def begin(self) -> Iterator[Frame]:
        usage = {
            "input_tokens": self.usage.input,
            "cache_creation_input_tokens": self.usage.cache_write,
            "cache_read_input_tokens": self.usage.cache_read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.usage.cache_write,
                "ephemeral_1h_input_tokens": 0,
            },
            "output_tokens": 1,
            "service_tier": "standard",
        }
        message: JsonObject = {
            "id": self.minter.mint("msg"),
            "type": "message",
            "role": "assistant",
            "model": self.request.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "stop_details": None,
            "usage": usage,
        }
        yield _event("message_start", message=message)
        yield _event("ping")

    def speak(self, step: Say | Think | Redacted | Call) -> Iterator[Frame]:
        if not isinstance(step, Say):
            yield from self._close_text()
        match step:
            case Say():
                yield from self._say(step)
            case Think():
                yield from self._think(step)
            case Redacted(data):
                self.parts.append(Part("redacted_thinking", "", data))
                yield self._start({"type": "redacted_thinking", "data": data})
                yield self._stop()
            case Call():
                yield from self._call(step)
            case _:
                assert_never(step)

    def end(self, stop: Stop) -> Iterator[Frame]:
        yield from self._close_text()
        delta: JsonObject = {"stop_reason": self.stop_reason(stop), "stop_sequence": None}
        if stop.details is not None:
            delta["stop_details"] = dict(stop.details)
        usage: JsonObject = {
            "output_tokens": self.usage.output,
            "input_tokens": self.usage.input,
            "cache_read_input_tokens": self.usage.cache_read,
            "cache_creation_input_tokens": self.usage.cache_write,
        }
        if self.usage.thinking:
            usage["output_tokens_details"] = {"thinking_tokens": self.usage.thinking}
        yield _event("message_delta", delta=delta, usage=usage)
        yield _event("message_stop")

    def error(self, step: StreamError) -> Iterator[Frame]:
        error = {"details": None, "type": step.type, "message": step.message}
        yield _event("error", error=error, request_id="req_scripted")

    def _say(self, step: Say) -> Iterator[Frame]:
        if not self._text_is_open:
            yield self._start({"type": "text", "text": ""})
            self._text_is_open = True
        for piece in pieces(step.text, step.chunk):
            yield self._delta({"type": "text_delta", "text": piece})
            yield from _rest(step.delay)

    def _think(self, step: Think) -> Iterator[Frame]:
        signature = signature_for(step.text) if step.signature is None else step.signature
        self.parts.append(Part("thinking", step.text, signature))
        yield self._start({"type": "thinking", "thinking": "", "signature": ""})
        for piece in pieces(step.text, step.chunk):
            yield self._delta({"type": "thinking_delta", "thinking": piece})
            yield from _rest(step.delay)
        yield self._delta({"type": "signature_delta", "signature": signature})
        yield self._stop()

    def _call(self, step: Call) -> Iterator[Frame]:
        tool_use_id = step.id or self.minter.mint("toolu")
        self.parts.append(Part("tool_use", tool_use_id))
        yield self._start({"type": "tool_use", "id": tool_use_id, "name": step.name, "input": {}})
        yield self._delta({"type": "input_json_delta", "partial_json": ""})
        for piece in pieces(_arguments(step), step.split):
            yield self._delta({"type": "input_json_delta", "partial_json": piece})
            yield from _rest(step.delay)
        yield self._stop()

    def _close_text(self) -> Iterator[Frame]:
        if self._text_is_open:
            self._text_is_open = False
            yield self._stop()

    def _start(self, block: JsonObject) -> bytes:
        self._index += 1
        return _event("content_block_start", index=self._index, content_block=block)

    def _delta(self, delta: JsonObject) -> bytes:
        return _event("content_block_delta", index=self._index, delta=delta)

    def _stop(self) -> bytes:
        return _event("content_block_stop", index=self._index)


class _ChatEncoder(_Encoder):
    _calls = 0

    def begin(self) -> Iterator[Frame]:
        self._id = self.minter.mint("chatcmpl")
        yield self._choice({"role": "assistant", "content": ""})

    def speak(self, step: Say | Think | Redacted | Call) -> Iterator[Frame]:
        match step:
            case Say():
                for piece in pieces(step.text, step.chunk):
                    yield self._choice({"content": piece})
                    yield from _rest(step.delay)
            case Think():
                self.reasoning += step.text
                for piece in pieces(step.text, step.chunk):
                    yield self._choice({"content": None, "reasoning_content": piece})
                    yield from _rest(step.delay)
            case Redacted():
                return
            case Call():
                yield from self._call(step)
            case _:
                assert_never(step)

    def end(self, stop: Stop) -> Iterator[Frame]:
        reason = self.stop_reason(stop)
        yield self._choice({}, finish_reason=_CHAT_STOPS.get(reason, reason))
        options = self.request.body.get("stream_options") or {}
        if options.get("include_usage"):
            yield self._chunk([], usage=self._usage())
        yield b"data: [DONE]\n\n"

    def error(self, step: StreamError) -> Iterator[Frame]:
        yield _data(refusal_shape("chat", step.type, step.message))

    def _call(self, step: Call) -> Iterator[Frame]:
        tool_call_id = step.id or self.minter.mint("call")
        index = self._calls
        self._calls += 1
        self.parts.append(Part("tool_use", tool_call_id))
        function: JsonObject = {"name": step.name, "arguments": ""}
        head: JsonObject = {
            "index": index,
            "id": tool_call_id,
            "type": "function",
            "function": function,
        }
        if self.sign_calls and index == 0:
            head["extra_content"] = {"google": {"thought_signature": signature_for(tool_call_id)}}
        yield self._choice({"tool_calls": [head]})
        for piece in pieces(_arguments(step), step.split):
            yield self._choice({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            yield from _rest(step.delay)

    def _usage(self) -> JsonObject:
        told = self.usage
        prompt = told.input + told.cache_read + told.cache_write
        return {
            "prompt_tokens": prompt,
            "completion_tokens": told.output,
            "total_tokens": prompt + told.output,
            "prompt_tokens_details": {
                "cached_tokens": told.cache_read,
                "cache_write_tokens": told.cache_write,
            },
            "completion_tokens_details": {"reasoning_tokens": told.thinking},
        }

    def _choice(self, delta: JsonObject, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return self._chunk([choice])

    def _chunk(self, choices: list[JsonObject], usage: JsonObject | None = None) -> bytes:
        chunk: JsonObject = {
            "id": self._id,
            "object": "chat.completion.chunk",
            "created": 1790000000,
            "model": self.request.model,
            "choices": choices,
        }
        if usage is not None:
            chunk["usage"] = usage
        return _data(chunk)


def pieces(text: str, size: int) -> Iterator[str]:
    """The text in pieces of `size` characters; 0 means in one piece."""
    step = size or len(text) or 1
    for start in range(0, len(text), step):
        yield text[start : start + step]


def _arguments(call: Call) -> str:
    return call.input if isinstance(call.input, str) else json.dumps(dict(call.input))


def _estimated_usage(reply: Reply, request: ParsedRequest) -> Usage:
    thinking = sum(estimate_tokens(s.text) for s in reply.steps if isinstance(s, Think))
    said = sum(estimate_tokens(_spoken(step)) for step in reply.steps if _spoken(step))
    return Usage(estimate_tokens(request.body), said + thinking, thinking=thinking)


def _spoken(step: Step) -> str:
    match step:
        case Say(text=text):
            return text
        case Call():
            return step.name + _arguments(step)
        case _:
            return ""


def _rest(seconds: float) -> Iterator[Frame]:
    if seconds:
        yield Pause(seconds)


def _event(name: str, **fields: object) -> bytes:
    return f"event: {name}\n".encode() + _data({"type": name, **fields})


def _data(value: Mapping[str, Any]) -> bytes:
    return b"data: " + encode_json(value) + b"\n\n"
