"""Failures that no recording shows: transport, keys in messages, odd bodies, odd headers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.providers.fixture_server import Answer, FixtureServer
from tui_agent.providers.anthropic_messages import AnthropicClient
from tui_agent.providers.base import ModelClient, ModelRequest, RequestMessage
from tui_agent.providers.chat_completions import ChatClient
from tui_agent.providers.presets import PRESETS
from tui_agent.vocabulary.blocks import TextBlock
from tui_agent.vocabulary.errors import ErrorClass, ProviderError

REQUEST = ModelRequest("m", (), (RequestMessage("user", (TextBlock("hi"),)),), ())
KEY = "key-0123456789abcdef"
FAMILIES = ("anthropic", "openai")


def client_at(family: str, url: str) -> ModelClient:
    if family == "anthropic":
        return AnthropicClient(KEY, base_url=url, timeout=2)
    return ChatClient(PRESETS["compatible"], KEY, base_url=url, timeout=2)


async def failure_of(client: ModelClient) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        async for _ in client.stream(REQUEST):
            pass
    await client.aclose()
    return caught.value


async def answered(server: FixtureServer, family: str, answer: Answer) -> ProviderError:
    server.answers.append(answer)
    return await failure_of(client_at(family, server.url("stream/openai/01-text")))


@pytest.mark.parametrize("family", FAMILIES)
async def test_nobody_listens(family: str, free_port: int) -> None:
    error = await failure_of(client_at(family, f"http://127.0.0.1:{free_port}"))
    assert error.error_class is ErrorClass.CONNECTION
    assert error.fast_fail
    assert f"127.0.0.1:{free_port}" in error.message


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_name_that_does_not_exist(family: str) -> None:
    error = await failure_of(client_at(family, "http://nowhere.invalid"))
    assert error.error_class is ErrorClass.CONNECTION
    assert error.fast_fail


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("url", ["ftp://x", "no address"])
async def test_an_address_that_is_none(family: str, url: str) -> None:
    error = await failure_of(client_at(family, url))
    assert not error.is_retryable
    assert "base URL" in error.action


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_connection_that_closes_before_it_answers_may_be_tried_again(family: str) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    error = await failure_of(client_at(family, f"http://127.0.0.1:{port}"))
    server.close()
    assert error.error_class is ErrorClass.CONNECTION
    assert error.is_retryable
    assert not error.fast_fail


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_server_that_speaks_no_tls(family: str, server: FixtureServer) -> None:
    url = server.url("stream").replace("http:", "https:")
    error = await failure_of(client_at(family, url))
    assert error.error_class is ErrorClass.CONNECTION
    assert error.fast_fail


def body_of(**error: Any) -> str:
    return json.dumps({"type": "error", "error": error})


@pytest.mark.parametrize("family", FAMILIES)
async def test_no_message_shows_the_key(family: str, server: FixtureServer) -> None:
    body = body_of(type="authentication_error", message=f"bad key {KEY}\n for you")
    error = await answered(server, family, Answer(401, {}, body))
    assert error.message == "bad key [key] for you"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("status", "body", "error_class"),
    [
        (400, body_of(message="API key not valid. Please pass a valid API key."), ErrorClass.AUTH),
        (400, body_of(message="Your credit balance is too low"), ErrorClass.BILLING),
        (
            400,
            body_of(message="You have reached your specified API usage limits."),
            ErrorClass.QUOTA,
        ),
        (403, body_of(message="no"), ErrorClass.PERMISSION),
        (404, body_of(type="not_found_error", message="model: x"), ErrorClass.NOT_FOUND),
        (404, "<html>nginx</html>", ErrorClass.NOT_FOUND),
        (408, "", ErrorClass.TIMEOUT),
        (409, body_of(message="conflict"), ErrorClass.SERVER),
        (425, "", ErrorClass.SERVER),
        (422, body_of(message="bad field"), ErrorClass.INVALID_REQUEST),
        (400, '{"error": "just words"}', ErrorClass.INVALID_REQUEST),
        (400, '{"detail": "words"}', ErrorClass.INVALID_REQUEST),
        (400, "[]", ErrorClass.INVALID_REQUEST),
        (400, "null", ErrorClass.INVALID_REQUEST),
        (400, body_of(code="content_filter", message="blocked"), ErrorClass.CONTENT_FILTER),
        (413, "<html>too large</html>", ErrorClass.TOO_LONG),
        (400, body_of(message="exceeds maximum allowed content length"), ErrorClass.TOO_LONG),
        (429, body_of(message="tokens per min; reduce the length of the messages"), "rate_limit"),
        (500, "oops", ErrorClass.SERVER),
        (503, "", ErrorClass.OVERLOADED),
        (599, "", ErrorClass.SERVER),
    ],
)
async def test_bodies_of_every_shape(
    family: str, status: int, body: str, error_class: str, server: FixtureServer
) -> None:
    error = await answered(server, family, Answer(status, {}, body))
    assert error.error_class == error_class
    assert error.message.strip()
    assert "<" not in error.message
    assert error.status == status


@pytest.mark.parametrize(
    ("status", "message", "advice"),
    [
        (400, "registry.ollama.ai/library/gemma:2b does not support tools", "pick another model"),
        (404, "No endpoints found that support tool use. To learn more", "pick another model"),
        (
            400,
            '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser',
            "--enable-auto-tool-choice",
        ),
        (500, "tools param requires --jinja flag", "--jinja"),
    ],
)
async def test_a_server_that_gives_its_model_no_tools_says_what_to_do(
    server: FixtureServer, status: int, message: str, advice: str
) -> None:
    error = await answered(server, "openai", Answer(status, {}, body_of(message=message)))
    assert error.error_class is ErrorClass.INVALID_REQUEST
    assert not error.is_retryable
    assert advice in error.action


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, "", 7),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, "", 0),
        ({}, '[{"error": {"details": [{"retryDelay": "34s"}, {}]}}]', 34),
    ],
)
async def test_how_long_the_provider_asks_to_wait(
    server: FixtureServer, headers: dict[str, str], body: str, seconds: float | None
) -> None:
    error = await answered(server, "openai", Answer(429, headers, body))
    assert error.retry_after == seconds


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("data", ["{broken", "[1, 2]", '"text"', "17", '{"choices": 5}'])
async def test_a_stream_of_something_else_is_a_protocol_error(
    family: str, data: str, server: FixtureServer
) -> None:
    body = f"event: content_block_delta\ndata: {data}\n\n"
    answer = Answer(200, {"content-type": "text/event-stream"}, body)
    error = await answered(server, family, answer)
    assert error.error_class is ErrorClass.PROTOCOL


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_page_instead_of_a_stream_is_a_protocol_error(
    family: str, server: FixtureServer
) -> None:
    answer = Answer(200, {"content-type": "text/html"}, "<html>Welcome</html>")
    error = await answered(server, family, answer)
    assert error.error_class is ErrorClass.PROTOCOL
    assert "<" not in error.message


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_line_break_of_unicode_does_not_cut_an_event(
    family: str, server: FixtureServer
) -> None:
    words = "a\u2028b\u0085c"
    if family == "anthropic":
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": words},
            },
            {"type": "message_stop"},
        ]
    else:
        events = [{"choices": [{"delta": {"content": words}, "finish_reason": "stop"}]}]
    body = "".join(
        f"event: {event.get('type')}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
        for event in events
    )
    server.answers.append(Answer(200, {"content-type": "text/event-stream"}, body))
    client = client_at(family, server.url("stream"))
    items = [item async for item in client.stream(REQUEST)]
    await client.aclose()
    assert getattr(items[0], "text", None) == words
