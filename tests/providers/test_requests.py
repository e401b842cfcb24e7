"""What goes over the wire: whole bodies as reviewed files, and the rules behind them.

The bodies are captured on a real socket. After a wanted change, delete the file and run the test
once: it writes the new body and fails, so that a person looks at it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.providers import history
from tests.providers.fixture_server import FixtureServer
from tui_agent.providers.anthropic_messages import AnthropicClient
from tui_agent.providers.base import ModelClient, ModelRequest, RequestMessage
from tui_agent.providers.catalogue import facts_for
from tui_agent.providers.chat_completions import ChatClient
from tui_agent.providers.chat_request import build_body
from tui_agent.providers.presets import PRESETS
from tui_agent.providers.retry import without_replay
from tui_agent.vocabulary.agents import ModelChoice, ModelFacts
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


def known(provider: str, model: str, effort: str | None = "high") -> ModelFacts:
    """What the catalogue knows of a model, with a level of thinking that was asked for."""
    facts = facts_for(ModelChoice(provider, model))
    return replace(facts, max_output=4096, effort=effort)


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
    request = history.request(
        "claude-sonnet-5-5", messages, known("anthropic", "claude-sonnet-5-5")
    )
    reviewed("anthropic", await anthropic_body(server, request))


@pytest.mark.parametrize(
    ("preset", "model"),
    [
        ("openai", "gpt-6.1-terra"),
        ("compatible", "qwen"),
        ("deepseek", "deepseek-flash"),
        ("kimi", "kimi-k3"),
        ("glm", "glm-5.3"),
        ("openrouter", "openrouter/auto"),
    ],
)
async def test_the_body_for_a_chat_server(server: FixtureServer, preset: str, model: str) -> None:
    thinking = history.REASONED
    if preset not in ("compatible", "openrouter"):
        data = {"thinking_field": "reasoning_content"}
        thinking = (ThinkingBlock("I should look.", provider_data=data),)
    messages = history.conversation(preset, model, thinking)
    request = history.request(model, messages, known(preset, model))
    reviewed(preset, await chat_body(server, preset, request))


SIGNATURE = {"extra_content": {"google": {"thought_signature": "sig"}}}


async def test_the_body_for_gemini(server: FixtureServer) -> None:
    data = {**SIGNATURE, "message": {"extra_content": {"google": {"thought_signature": "late"}}}}
    messages = history.conversation("gemini", "gemini-3.8-flash", (), call_data=data)
    request = history.request("gemini-3.8-flash", messages, known("gemini", "gemini-3.8-flash"))
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


# ------------------------------------------------------- the request as it can be looked at


@pytest.mark.parametrize("provider", ["anthropic", *PRESETS])
async def test_what_is_shown_of_a_request_is_what_is_sent(
    server: FixtureServer, provider: str
) -> None:
    messages = history.conversation("anthropic", "m", history.SIGNED)
    facts = ModelFacts(max_output=4096, effort="low", options=(("temperature", 0),))
    request = history.request("m", messages, facts)
    client: ModelClient
    if provider == "anthropic":
        client = AnthropicClient("k", base_url=server.url("stream/anthropic/01-text"))
    else:
        url = server.url("stream/openai/01-text/v1")
        client = ChatClient(PRESETS[provider], "k", base_url=url)
    shown = client.request_body(request)
    async for _ in client.stream(request):
        pass
    await client.aclose()
    assert server.asked[-1].body == shown.body


def notes_of(preset: str, request: ModelRequest) -> tuple[str, ...]:
    if preset == "anthropic":
        return AnthropicClient("k").request_body(request).notes
    return ChatClient(PRESETS[preset], "k").request_body(request).notes


def test_what_is_left_out_for_another_maker_is_said() -> None:
    messages = history.conversation("anthropic", "claude-sonnet-5-5", history.SIGNED)
    assert notes_of("deepseek", history.request("deepseek-flash", messages)) == (
        "reasoning by anthropic claude-sonnet-5-5 left out (1 message): "
        "it goes back only to the model that made it",
        "images of results put behind them (1 message): this API takes none inside",
    )
    assert notes_of("anthropic", history.request("claude-opus-5-5", messages)) == (
        "reasoning by anthropic claude-sonnet-5-5 left out (1 message): "
        "it goes back only to the model that made it",
    )
    messages = history.conversation("gemini", "g", history.REASONED, call_data=SIGNATURE)
    assert notes_of("openai", history.request("gpt-6-luna", messages))[0] == (
        "reasoning and signatures by gemini g left out (1 message): "
        "it goes back only to the model that made it"
    )


def test_what_its_maker_cannot_get_back_is_said() -> None:
    messages = history.conversation("anthropic", "m", history.SIGNED)
    request = history.request("m", messages)
    assert notes_of("anthropic", request) == (
        "unsigned reasoning left out (1 message): it was cut before its maker signed it",
    )
    assert notes_of("anthropic", without_replay(request)) == (
        "reasoning left out (1 message): its maker is not known, or did not take it back",
    )
    compacted = replace(
        request, messages=tuple(replace(message, prefix_changed=True) for message in messages)
    )
    assert notes_of("anthropic", compacted) == (
        "reasoning left out (1 message): the conversation before it has changed since",
    )


def test_reasoning_that_a_maker_takes_no_more_is_said() -> None:
    messages = history.conversation("openai", "gpt-6-luna", history.REASONED)
    assert notes_of("openai", history.request("gpt-6-luna", messages))[0] == (
        "reasoning left out (1 message): this API has no place to give it back"
    )


def test_a_request_that_is_whole_has_no_notes() -> None:
    hello = (RequestMessage("user", (TextBlock("hello"),)),)
    for preset in ("anthropic", *PRESETS):
        assert notes_of(preset, history.request("m", hello)) == ()


# --------------------------------------------------------------------- thinking and its effort


def thinking_in(provider: str, model: str, effort: str | None, *, tools: bool = True) -> Any:
    """The fields about thinking that a request of this model has."""
    hello = (RequestMessage("user", (TextBlock("hello"),)),)
    request = history.request(model, hello, known(provider, model, effort))
    if not tools:
        request = replace(request, tools=())
    client = AnthropicClient("k") if provider == "anthropic" else ChatClient(PRESETS[provider], "k")
    body = client.request_body(request).body
    return {
        key: body[key] for key in ("thinking", "output_config", "reasoning_effort") if key in body
    }


SHOWN = {"type": "adaptive", "display": "summarized"}
OFF = {"type": "disabled"}
KEPT = {"type": "enabled", "clear_thinking": False}


@pytest.mark.parametrize(
    ("provider", "model", "effort", "fields"),
    [
        ("anthropic", "claude-sonnet-5-5", None, {"thinking": SHOWN}),
        (
            "anthropic",
            "claude-sonnet-5-5",
            "max",
            {"thinking": SHOWN, "output_config": {"effort": "max"}},
        ),
        ("anthropic", "claude-sonnet-5-5", "none", {"thinking": SHOWN}),
        ("anthropic", "claude-haiku-5-5", "none", {"thinking": OFF}),
        ("anthropic", "claude-haiku-4-5", "high", {}),
        ("anthropic", "served-elsewhere", None, {}),
        ("anthropic", "served-elsewhere", "low", {"output_config": {"effort": "low"}}),
        ("gemini", "gemini-4-argon", "medium", {"reasoning_effort": "medium"}),
        ("gemini", "gemini-4-argon", "none", {}),
        ("deepseek", "deepseek-flash", "max", {"reasoning_effort": "max"}),
        ("deepseek", "deepseek-flash", "none", {"thinking": OFF}),
        ("deepseek", "deepseek-flash", "medium", {}),
        ("kimi", "kimi-k3", "low", {"reasoning_effort": "low"}),
        ("kimi", "kimi-k3", "none", {}),
        ("kimi", "kimi-k2.6", "none", {"thinking": OFF}),
        ("kimi", "kimi-k2.7-code", "high", {}),
        ("glm", "glm-5.3", None, {"thinking": KEPT}),
        ("glm", "glm-5.3", "low", {"thinking": KEPT, "reasoning_effort": "low"}),
        ("glm", "glm-5.3", "none", {"thinking": KEPT}),
        ("glm", "glm-5.1", "none", {"thinking": OFF}),
        ("compatible", "qwen", "low", {"reasoning_effort": "low"}),
        ("compatible", "qwen", "none", {"reasoning_effort": "none"}),
        ("openrouter", "openrouter/auto", "xhigh", {"reasoning_effort": "xhigh"}),
        ("openai", "gpt-6-luna", "high", {"reasoning_effort": "none"}),
        ("openai", "gpt-6-luna", None, {"reasoning_effort": "none"}),
    ],
)
def test_effort_in_the_makers_words_and_only_levels_that_the_model_knows(
    provider: str, model: str, effort: str | None, fields: dict[str, Any]
) -> None:
    assert thinking_in(provider, model, effort) == fields


def test_effort_of_a_model_that_thinks_only_without_tools() -> None:
    fields = thinking_in("openai", "gpt-6-luna", "high", tools=False)
    assert fields == {"reasoning_effort": "high"}


def test_a_level_that_is_not_asked_for_is_said() -> None:
    hello = (RequestMessage("user", (TextBlock("hello"),)),)
    request = history.request("kimi-k3", hello, known("kimi", "kimi-k3", "medium"))
    assert notes_of("kimi", request) == (
        "thinking effort medium not asked for: this model knows low, high, max",
    )
    request = history.request("gpt-6-luna", hello, known("openai", "gpt-6-luna"))
    assert "only without thinking" in notes_of("openai", request)[0]


# ------------------------------------------------------------------- details of the wire


async def test_images_of_a_failed_call_stand_behind_its_result(server: FixtureServer) -> None:
    messages = (
        RequestMessage("user", (TextBlock("go"),)),
        RequestMessage("assistant", (ToolUseBlock("c", "Read", {}), ToolUseBlock("d", "Read", {}))),
        RequestMessage(
            "user",
            (
                ToolResultBlock("c", (history.IMAGE,), True),
                ToolResultBlock("d", (TextBlock("x"), history.IMAGE)),
            ),
        ),
    )
    body = await anthropic_body(server, history.request("m", messages))
    failed, good, image = body["messages"][-1]["content"]
    assert failed["content"] == [{"type": "text", "text": "(no output)"}]
    assert [part["type"] for part in good["content"]] == ["text", "image"]
    assert image["type"] == "image"


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
