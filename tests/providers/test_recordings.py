"""Every recorded stream and error, through the real SDK and a real socket, means what it should."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.data import wire_dir
from tests.providers.fixture_server import FixtureServer
from tui_agent.providers.anthropic_messages import AnthropicClient
from tui_agent.providers.base import (
    ModelClient,
    ModelRequest,
    RequestMessage,
    StreamEnd,
    StreamItem,
    TextPiece,
    ThinkingPiece,
    ToolInputPiece,
)
from tui_agent.providers.chat_completions import ChatClient
from tui_agent.providers.presets import PRESETS
from tui_agent.vocabulary.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.errors import ProviderError
from tui_agent.vocabulary.usage import Usage

EXPECTED: Mapping[str, Any] = json.loads((wire_dir() / "expected.json").read_text())
REQUEST = ModelRequest("model-1", (), (RequestMessage("user", (TextBlock("hi"),)),), ())


@dataclass
class Seen:
    """What one call yielded."""

    end: StreamEnd | None = None
    error: ProviderError | None = None
    text: str = ""
    thinking: str = ""
    arguments: dict[str, str] = field(default_factory=dict)


def client_for(
    server: FixtureServer, family: str, name: str, *, timeout: float = 5.0, kind: str = "stream"
) -> ModelClient:
    where = f"{kind}/{family}/{name}" if kind == "stream" else f"{kind}/{name}"
    if family == "anthropic":
        return AnthropicClient("k", base_url=server.url(where), timeout=timeout)
    preset = PRESETS["compatible"]
    return ChatClient(preset, "k", base_url=server.url(f"{where}/v1"), timeout=timeout)


async def collect(stream: AsyncIterator[StreamItem]) -> Seen:
    seen = Seen()
    try:
        async for item in stream:
            match item:
                case TextPiece():
                    seen.text += item.text
                case ThinkingPiece():
                    seen.thinking += item.text
                case ToolInputPiece():
                    seen.arguments[item.id] = seen.arguments.get(item.id, "") + item.text
                case StreamEnd():
                    seen.end = item
    except ProviderError as error:
        seen.error = error
    return seen


def plain(block: Block) -> dict[str, Any]:
    """A block in the form that the expectations are written in."""
    match block:
        case ThinkingBlock() if block.redacted is not None:
            return {"type": "redacted_thinking", "data": block.redacted}
        case ThinkingBlock():
            return {"type": "thinking", "text": block.text, "signature": block.signature}
        case ToolUseBlock():
            is_runnable = block.problem is None
            return {
                "type": "tool_use",
                "id": block.id,
                "name": block.name,
                "input": dict(block.input) if is_runnable else None,
                "runnable": is_runnable,
            }
        case TextBlock():
            return {"type": "text", "text": block.text}
        case _:
            raise AssertionError(block)


def replayed(end: StreamEnd) -> dict[str, Any]:
    """The opaque data beside the blocks, in the form that the expectations are written in."""
    found: dict[str, Any] = {}
    for block in end.blocks:
        data = dict(getattr(block, "provider_data", None) or {})
        if "message" in data:
            found["message"] = data.pop("message")
        if data and isinstance(block, ToolUseBlock):
            found.setdefault("tool_calls", {})[block.id] = data
        else:
            found |= data
    return found


def forms(expected: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The accepted forms of one result. What is never run may be left out of the blocks."""
    for form in (expected, *({**expected, **other} for other in expected.get("also", ()))):
        yield form
        runnable = [block for block in form["blocks"] if block["type"] != "server_tool_use"]
        yield {**form, "blocks": runnable}


def expected_of(family: str, name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = EXPECTED["options"][family].get(name) or EXPECTED[family][name]
    same_as = found.get("same_as")
    return EXPECTED[family][same_as] if same_as else found


def counts(usage: Usage | None) -> dict[str, int | None]:
    assert usage is not None
    return {key: value for key, value in to_json(usage).items() if key != "estimated"}


def as_said(usage: Usage, expected: Mapping[str, int | None]) -> Usage:
    """`usage` without what was reckoned because the stream does not say it: prompt and output."""
    unsaid = {key: None for key in ("input", "output") if expected[key] is None}
    assert usage.estimated == bool(unsaid)
    assert all(getattr(usage, key) for key in unsaid)
    return replace(usage, **unsaid, estimated=False)


def check(seen: Seen, expected: Mapping[str, Any]) -> None:
    if expected["error"] is not None:
        assert seen.end is None
        assert seen.error is not None
        assert seen.error.error_class == expected["error"]["class"]
        assert seen.error.is_retryable == expected["error"]["retry"]
        assert seen.error.partial_text == expected["partial_text"]
        assert counts(seen.error.usage) == expected["usage"]
        return
    assert seen.error is None
    assert seen.end is not None
    found = {
        "blocks": [plain(block) for block in seen.end.blocks],
        "stop": seen.end.stop_reason.value,
        "usage": counts(as_said(seen.end.usage, expected["usage"])),
    }
    accepted = [{key: form[key] for key in found} for form in forms(expected)]
    assert found in accepted
    assert replayed(seen.end) == expected.get("replay", {})
    for word in expected.get("stop_details", {}).values():
        assert word in seen.end.note
    # what was shown while it streamed is what is kept
    blocks = seen.end.blocks
    assert seen.text == "".join(b.text for b in blocks if isinstance(b, TextBlock))
    assert seen.thinking == "".join(b.text for b in blocks if isinstance(b, ThinkingBlock))
    for call in blocks:
        if isinstance(call, ToolUseBlock) and call.problem is None:
            assert json.loads(seen.arguments[call.id] or "{}") == call.input


ALL = [(family, name) for family in ("anthropic", "openai") for name in EXPECTED[family]]
SERVED = [
    (family, name) for family in ("anthropic", "openai") for name in EXPECTED["options"][family]
]
STALLED = [case for case in SERVED if "stall" in case[1]]


def test_every_recording_has_its_meaning_written_down() -> None:
    for family in ("anthropic", "openai"):
        recorded = {path.stem for path in (wire_dir() / family).glob("*.sse")}
        assert recorded == set(EXPECTED[family])
    errors = json.loads((wire_dir() / "errors.json").read_text())
    assert set(errors) == set(EXPECTED["errors"])


@pytest.mark.parametrize(("family", "name"), ALL)
async def test_a_recording_means_what_it_should(
    server: FixtureServer, family: str, name: str
) -> None:
    client = client_for(server, family, name)
    check(await collect(client.stream(REQUEST)), expected_of(family, name))
    await client.aclose()


@pytest.mark.parametrize(("family", "name"), [case for case in SERVED if case not in STALLED])
async def test_line_ends_cuts_and_resets_change_nothing(
    server: FixtureServer, family: str, name: str
) -> None:
    client = client_for(server, family, name)
    check(await collect(client.stream(REQUEST)), expected_of(family, name))
    await client.aclose()


@pytest.mark.parametrize(("family", "name"), STALLED)
async def test_a_silent_stream_times_out(server: FixtureServer, family: str, name: str) -> None:
    client = client_for(server, family, name, timeout=0.5)
    check(await collect(client.stream(REQUEST)), expected_of(family, name))
    await client.aclose()


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize(("family", "name"), ALL)
async def test_where_the_network_cuts_does_not_matter(
    server: FixtureServer, family: str, name: str, size: int
) -> None:
    client = client_for(server, family, f"{name},chunk={size}")
    check(await collect(client.stream(REQUEST)), expected_of(family, name))
    await client.aclose()


@pytest.mark.parametrize("name", EXPECTED["errors"])
async def test_an_error_says_its_class_and_what_to_do(server: FixtureServer, name: str) -> None:
    expected = EXPECTED["errors"][name]
    family = "anthropic" if name.startswith(("anthropic", "html")) else "openai"
    client = client_for(server, family, name, kind="error")
    error = (await collect(client.stream(REQUEST))).error
    await client.aclose()
    assert error is not None
    assert error.error_class == expected["class"]
    assert error.is_retryable == expected["retry"]
    assert error.retry_after == expected["retry_after"]
    assert error.action == expected["user_action"]
    recorded = json.loads((wire_dir() / "errors.json").read_text())[name]
    assert error.status == recorded["status"]
    if isinstance(recorded["body"], str):
        assert "<" not in error.message
    else:
        body = recorded["body"][0] if isinstance(recorded["body"], list) else recorded["body"]
        assert error.message == body["error"]["message"]


@pytest.mark.parametrize("family", ["anthropic", "openai"])
async def test_closing_the_stream_closes_the_connection(server: FixtureServer, family: str) -> None:
    client = client_for(server, family, "01-text,delay=0.05,chunk=40", timeout=5)
    stream = client.stream(REQUEST)
    async for item in stream:
        assert isinstance(item, TextPiece)
        break
    closing: Any = stream
    await closing.aclose()
    # no wait in between: nothing is left to the garbage collector
    await asyncio.wait_for(server.all_gone(), 5)
    await client.aclose()
