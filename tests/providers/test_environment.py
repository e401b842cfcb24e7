"""What reaches a server: our key and nothing of the environment. What an import costs: nothing."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

from tests.providers.fixture_server import Answer, FixtureServer
from tui_agent.providers.anthropic_messages import AnthropicClient
from tui_agent.providers.base import ModelClient, ModelRequest, RequestMessage
from tui_agent.providers.chat_completions import ChatClient
from tui_agent.providers.presets import PRESETS
from tui_agent.vocabulary.blocks import TextBlock
from tui_agent.vocabulary.errors import ErrorClass, ProviderError

_READ_BY_SDKS = (
    "ORG_ID",
    "PROJECT_ID",
    "API_KEY",
    "AUTH_TOKEN",
    "ADMIN_KEY",
    "BASE_URL",
    "PROFILE",
    "IDENTITY_TOKEN",
    "IDENTITY_TOKEN_FILE",
    "FEDERATION_RULE_ID",
    "ORGANIZATION_ID",
    "WORKSPACE_ID",
    "SERVICE_ACCOUNT_ID",
    "CONFIG_DIR",
)
REQUEST = ModelRequest("m", (), (RequestMessage("user", (TextBlock("hi"),)),), ())


def client_for(server: FixtureServer, family: str, key: str | None) -> ModelClient:
    if family == "anthropic":
        return AnthropicClient(key, base_url=server.url("stream/anthropic/01-text"))
    url = server.url("stream/openai/01-text/v1")
    return ChatClient(PRESETS["compatible"], key, base_url=url)


@pytest.mark.parametrize("family", ["anthropic", "openai"])
async def test_nothing_of_the_environment_travels_along(
    server: FixtureServer, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for maker in ("OPENAI", "ANTHROPIC"):
        for name in _READ_BY_SDKS:
            monkeypatch.setenv(f"{maker}_{name}", "leaked")
        monkeypatch.setenv(
            f"{maker}_CUSTOM_HEADERS",
            "X-Secret: leaked\nauthorization: Bearer leaked\nX-Api-Key: leaked\nbroken",
        )
    client = client_for(server, family, "our-key")
    async for _ in client.stream(REQUEST):
        pass
    server.answers += [Answer(200, {"content-type": "application/json"}, '{"data": []}')] * 2
    await client.models()
    await client.describe("m")
    await client.aclose()
    assert len(server.asked) == 3
    for asked in server.asked:
        assert "leaked" not in str(asked)
        assert asked.headers["authorization"] == "Bearer our-key"
        assert not {"openai-organization", "openai-project"} & set(asked.headers)


@pytest.mark.parametrize("provider", ["anthropic", *PRESETS])
async def test_no_header_comes_from_us_but_what_the_wire_needs(
    server: FixtureServer, provider: str
) -> None:
    client: ModelClient
    if provider == "anthropic":
        client = client_for(server, provider, "our-key")
    else:
        url = server.url("stream/openai/01-text/v1")
        client = ChatClient(PRESETS[provider], "our-key", base_url=url)
    async for _ in client.stream(REQUEST):
        pass
    await client.aclose()
    ours = {name for name in server.asked[-1].headers if not name.startswith("x-stainless-")}
    wire = {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
    assert ours - wire - {"anthropic-version", "x-api-key"} <= {"authorization", "user-agent"}


@pytest.mark.parametrize("family", ["anthropic", "openai"])
async def test_a_server_of_ones_own_needs_no_key(server: FixtureServer, family: str) -> None:
    client = client_for(server, family, None)
    async for _ in client.stream(REQUEST):
        pass
    await client.aclose()
    assert server.asked[-1].headers["authorization"] == "Bearer none"


@pytest.mark.parametrize("key", [None, "  ", "ключ", "two words", "line\nbreak"])
async def test_a_key_that_cannot_be_one_is_refused_before_anything_is_sent(
    key: str | None,
) -> None:
    for client in (AnthropicClient(key), ChatClient(PRESETS["openai"], key)):
        with pytest.raises(ProviderError) as caught:
            async for _ in client.stream(REQUEST):
                pass
        assert caught.value.error_class is ErrorClass.AUTH


async def test_a_deprecated_model_prints_nothing(server: FixtureServer) -> None:
    client = client_for(server, "anthropic", "k")
    request = ModelRequest("claude-opus-4-5", (), REQUEST.messages, ())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        async for _ in client.stream(request):
            pass
    await client.aclose()
    assert not [w for w in caught if issubclass(w.category, DeprecationWarning)]


def test_no_module_of_the_room_imports_an_sdk() -> None:
    program = (
        "import importlib, pkgutil, sys, tui_agent.providers as room\n"
        "for module in pkgutil.iter_modules(room.__path__):\n"
        "    importlib.import_module('tui_agent.providers.' + module.name)\n"
        "heavy = {'anthropic', 'openai', 'httpx2', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
