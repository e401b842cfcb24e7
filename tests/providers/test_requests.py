"""What goes over the wire: whole bodies as reviewed files, and the rules behind them.

The bodies are captured on a real socket. After a wanted change, delete the file and run the test
once: it writes the new body and fails, so that a person looks at it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.providers import history
from tests.providers.fixture_server import FixtureServer
from tui_agent.providers.anthropic_messages import AnthropicClient
from tui_agent.providers.base import ModelRequest, RequestMessage
from tui_agent.providers.chat_completions import ChatClient
from tui_agent.providers.chat_request import build_body
from tui_agent.providers.presets import PRESETS
from tui_agent.providers.retry import without_replay
from tui_agent.vocabulary.agents import ModelFacts
from tui_agent.vocabulary.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock

BODIES = Path(__file__).parent / "bodies"


def reviewed(name: str, body: Any) -> None:
    """Compares with the reviewed file of that name."""
    path = BODIES / f"{name}.json"
    text = json.dumps(body, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        pytest.fail(f"{path.name} is new: review it")
    assert text == path.read_text()


async def anthropic_body(server: FixtureServer, request: ModelRequest) -> Any:
    client = AnthropicClient("k", base_url=server.url("stream/anthropic/01-text"))
    async for _ in client.stream(request):
        pass
    await client.aclose()
    return server.asked[-1].body


async def chat_body(server: FixtureServer, preset: str, request: ModelRequest) -> Any:
    client = ChatClient(PRESETS[preset], "k", base_url=server.url("stream/openai/01-text/v1"))
    async for _ in client.stream(request):
        pass
    await client.aclose()
    return server.asked[-1].body


async def test_the_body_for_anthropic(server: FixtureServer) -> None:
    messages = history.conversation("anthropic", "claude-sonnet-5-5", history.SIGNED)
    request = history.request("claude-sonnet-5-5", messages)
    reviewed("anthropic", await anthropic_body(server, request))


@pytest.mark.parametrize(
    ("preset", "model"),
    [
        ("openai", "gpt-6.1-terra"),
        ("compatible", "qwen"),
        ("deepseek", "deepseek-flash"),
        ("kimi", "kimi-k3"),
        ("glm", "glm-5.3"),
    ],
)
async def test_the_body_for_a_chat_server(server: FixtureServer, preset: str, model: str) -> None:
    thinking = history.REASONED
    if preset != "compatible":
        data = {"thinking_field": "reasoning_content"}
        thinking = (ThinkingBlock("I should look.", provider_data=data),)
    messages = history.conversation(preset, model, thinking)
    reviewed(preset, await chat_body(server, preset, history.request(model, messages)))


SIGNATURE = {"extra_content": {"google": {"thought_signature": "sig"}}}


async def test_the_body_for_gemini(server: FixtureServer) -> None:
    data = {**SIGNATURE, "message": {"extra_content": {"google": {"thought_signature": "late"}}}}
    messages = history.conversation("gemini", "gemini-3.8-flash", (), call_data=data)
    request = history.request("gemini-3.8-flash", messages)
    reviewed("gemini", await chat_body(server, "gemini", request))


# ------------------------------------------------------------------------- replay


def kinds(body: Any) -> list[str]:
    """The types of all blocks in an Anthropic body."""
    return [block["type"] for message in body["messages"] for block in message["content"]]


@pytest.mark.parametrize(
    ("provider", "model"),
    [("anthropic", "claude-opus-5-5"), ("compatible", "claude-sonnet-5-5"), ("", "")],
)
async def test_signed_thinking_never_goes_to_another_model(
    server: FixtureServer, provider: str, model: str
) -> None:
    messages = history.conversation(provider, model, history.SIGNED)
    body = await anthropic_body(server, history.request("claude-sonnet-5-5", messages))
    assert not {"thinking", "redacted_thinking"} & set(kinds(body))
    assert kinds(body).count("tool_use") == 2


async def test_thinking_is_dropped_when_what_was_before_it_changed(server: FixtureServer) -> None:
    kept = RequestMessage(
        "assistant",
        (ThinkingBlock("x", "sig"), TextBlock("y")),
        "anthropic",
        "m",
        prefix_changed=True,
    )
    hello = RequestMessage("user", (TextBlock("hello"),))
    body = await anthropic_body(server, history.request("m", (hello, kept, hello)))
    assert kinds(body) == ["text", "text", "text"]


@pytest.mark.parametrize("preset", ["deepseek", "kimi"])
async def test_demanded_reasoning_stands_on_every_turn_and_is_empty_on_foreign_ones(
    server: FixtureServer, preset: str
) -> None:
    messages = history.conversation("anthropic", "claude-sonnet-5-5", history.SIGNED)
    body = await chat_body(server, preset, history.request("model", messages))
    turns = [message for message in body["messages"] if message["role"] == "assistant"]
    assert [turn["reasoning_content"] for turn in turns] == ["", ""]


@pytest.mark.parametrize(("provider", "model"), [("compatible", "other"), ("deepseek", "qwen")])
async def test_reasoning_never_goes_to_another_model(
    server: FixtureServer, provider: str, model: str
) -> None:
    messages = history.conversation(provider, model, history.REASONED)
    body = await chat_body(server, "compatible", history.request("qwen", messages))
    assert "I should look" not in json.dumps(body)


async def test_a_foreign_turn_carries_the_stand_in_for_a_signature_on_its_first_call(
    server: FixtureServer,
) -> None:
    messages = history.conversation("openai", "gpt-6-luna", (), call_data=SIGNATURE)
    request = history.request("gemini-3.8-flash", messages)
    body = await chat_body(server, "gemini", request)
    calls = body["messages"][2]["tool_calls"]
    stand_in = {"google": {"thought_signature": "skip_thought_signature_validator"}}
    assert [call.get("extra_content") for call in calls] == [stand_in, None]


async def test_openai_gets_no_reasoning_and_no_opaque_data(server: FixtureServer) -> None:
    messages = history.conversation("gemini", "g", history.REASONED, call_data=SIGNATURE)
    body = await chat_body(server, "openai", history.request("gpt-6-luna", messages))
    text = json.dumps(body)
    assert "reasoning_content" not in text
    assert "extra_content" not in text
    assert "I should look" not in text


async def test_a_request_without_replay_keeps_everything_else(server: FixtureServer) -> None:
    messages = history.conversation("anthropic", "m", history.SIGNED)
    request = history.request("m", messages)
    body = await anthropic_body(server, without_replay(request))
    assert "thinking" not in kinds(body)
    assert kinds(body).count("tool_result") == 2


# ------------------------------------------------------------------- details of the wire


async def test_the_prefix_is_the_same_bytes_when_the_conversation_grows(
    server: FixtureServer,
) -> None:
    messages = history.conversation("anthropic", "m", history.SIGNED)

    def stripped(body: Any) -> str:
        text = json.dumps([body["tools"], body["system"], body["messages"]])
        return text.replace(', "cache_control": {"type": "ephemeral"}', "")

    short = stripped(await anthropic_body(server, history.request("m", messages[:3])))
    grown = stripped(await anthropic_body(server, history.request("m", messages)))
    assert grown.startswith(short.removesuffix("]]"))


async def test_call_and_result_keep_one_id_that_every_maker_takes(server: FixtureServer) -> None:
    messages = history.conversation("kimi", "k", ())
    body = await anthropic_body(server, history.request("m", messages))
    used = [b["id"] for m in body["messages"] for b in m["content"] if b["type"] == "tool_use"]
    answered = [
        b["tool_use_id"] for m in body["messages"] for b in m["content"] if "tool_use_id" in b
    ]
    assert used == answered
    assert all(len(call_id) <= 40 and ":" not in call_id for call_id in used)


async def test_a_maker_gets_its_own_call_ids_back_as_it_made_them(server: FixtureServer) -> None:
    messages = history.conversation("kimi", "k", ())
    body = await chat_body(server, "kimi", history.request("k", messages))
    assert body["messages"][2]["tool_calls"][1]["id"] == "functions.Bash:1"
    assert body["messages"][4]["tool_call_id"] == "functions.Bash:1"


@pytest.mark.parametrize(
    ("model", "effort"),
    [
        ("gpt-6-luna", "none"),
        ("gpt-6.1-terra", "none"),
        ("gpt-5.6-sol", "none"),
        ("gpt-6-sol", "none"),
        ("gpt-6.1-sol", None),
        ("gpt-6.2-astra", None),
        ("gpt-4.1", None),
    ],
)
def test_effort_is_switched_off_for_the_models_that_take_tools_only_so(
    model: str, effort: str | None
) -> None:
    hello = (RequestMessage("user", (TextBlock("hello"),)),)
    body = build_body(history.request(model, hello), PRESETS["openai"])
    assert body.get("reasoning_effort") == effort
    without_tools = ModelRequest(model, (), hello, ())
    assert "reasoning_effort" not in build_body(without_tools, PRESETS["openai"])


async def test_options_of_the_user_are_laid_over_the_body(server: FixtureServer) -> None:
    facts = ModelFacts(
        options=(("reasoning_effort", "low"), ("max_tokens", 77), ("temperature", 0))
    )
    hello = (RequestMessage("user", (TextBlock("hello"),)),)
    body = await chat_body(server, "openai", history.request("gpt-6-luna", hello, facts))
    assert body["reasoning_effort"] == "low"
    assert body["max_tokens"] == 77
    assert "max_completion_tokens" not in body
    thinking = {"type": "adaptive", "display": "summarized"}
    facts = ModelFacts(max_output=9000, options=(("thinking", thinking),))
    body = await anthropic_body(server, history.request("m", hello, facts))
    assert body["thinking"] == thinking
    assert body["max_tokens"] == 9000


async def test_half_a_character_never_breaks_a_request(server: FixtureServer) -> None:
    messages = (
        RequestMessage("user", (TextBlock("broken \ud83d"),)),
        RequestMessage("assistant", (ToolUseBlock("c", "Read", {"k\udc00": ["\ud83d"]}),)),
        RequestMessage("user", (ToolResultBlock("c", (TextBlock("\udcff raw byte"),)),)),
    )
    for body in (
        await anthropic_body(server, history.request("m", messages)),
        await chat_body(server, "compatible", history.request("m", messages)),
    ):
        json.dumps(body, ensure_ascii=False).encode()


async def test_results_stand_before_what_the_person_said_meanwhile(server: FixtureServer) -> None:
    messages = (
        RequestMessage("user", (TextBlock("go"),)),
        RequestMessage("assistant", (ToolUseBlock("c", "Read", {}),)),
        RequestMessage("user", (TextBlock("stop"), ToolResultBlock("c", ()))),
    )
    body = await anthropic_body(server, history.request("m", messages))
    assert [block["type"] for block in body["messages"][-1]["content"]] == ["tool_result", "text"]
    body = await chat_body(server, "compatible", history.request("m", messages))
    assert [message["role"] for message in body["messages"][-2:]] == ["tool", "user"]
    assert body["messages"][-2]["content"] == "(no output)"
