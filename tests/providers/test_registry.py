"""Which providers there are, whose key is taken, and what is known about their models."""

from __future__ import annotations

import pytest

from tui_agent.providers.anthropic_messages import AnthropicClient
from tui_agent.providers.catalogue import CATALOGUE, default_model, facts_for
from tui_agent.providers.chat_completions import ChatClient
from tui_agent.providers.demo import DemoClient
from tui_agent.providers.registry import (
    key_for,
    key_names,
    known_providers,
    make_client,
    providers_with_key,
)
from tui_agent.vocabulary.agents import EFFORTS, ModelChoice
from tui_agent.vocabulary.errors import UsageError


def test_the_order_of_choice() -> None:
    assert known_providers() == (
        "anthropic",
        "openai",
        "gemini",
        "deepseek",
        "kimi",
        "glm",
        "openrouter",
        "compatible",
        "demo",
    )


@pytest.mark.parametrize(
    ("provider", "environ", "expected"),
    [
        ("openai", {}, None),
        ("openai", {"OPENAI_API_KEY": " k \n"}, ("k", "OPENAI_API_KEY")),
        ("openai", {"OPENAI_API_KEY": "  "}, None),
        ("openai", {"ANTHROPIC_API_KEY": "k"}, None),
        (
            "openai",
            {"TUI_AGENT_API_KEY": "ours", "OPENAI_API_KEY": "k"},
            ("ours", "TUI_AGENT_API_KEY"),
        ),
        (
            "openai",
            {"TUI_AGENT_API_KEY": "ours", "TUI_AGENT_PROVIDER": "glm", "OPENAI_API_KEY": "k"},
            ("k", "OPENAI_API_KEY"),
        ),
        ("compatible", {"TUI_AGENT_API_KEY": "ours"}, ("ours", "TUI_AGENT_API_KEY")),
        ("gemini", {"GOOGLE_API_KEY": "g"}, ("g", "GOOGLE_API_KEY")),
        ("anthropic", {"ANTHROPIC_AUTH_TOKEN": "t"}, ("t", "ANTHROPIC_AUTH_TOKEN")),
        ("demo", {"TUI_AGENT_API_KEY": "ours"}, None),
    ],
)
def test_whose_key_is_taken(
    provider: str, environ: dict[str, str], expected: tuple[str, str] | None
) -> None:
    assert key_for(provider, environ) == expected


ROUTER_KEY = {"OPENROUTER_API_KEY": "r"}


@pytest.mark.parametrize(
    ("provider", "base_url", "expected"),
    [
        ("openrouter", None, "r"),
        ("openrouter", "https://openrouter.ai/api/v1", "r"),
        ("openrouter", "https://elsewhere.example/api/v1", None),
        ("compatible", "https://openrouter.ai/api/v1", "r"),
        ("compatible", "https://openrouter.ai.example/api/v1", None),
        ("compatible", "http://127.0.0.1:8080/v1", None),
        ("compatible", None, None),
        ("openai", "https://openrouter.ai/api/v1", None),
    ],
)
def test_a_routers_key_goes_to_its_host_alone(
    provider: str, base_url: str | None, expected: str | None
) -> None:
    found = key_for(provider, ROUTER_KEY, base_url)
    assert (found[0] if found else None) == expected


def test_providers_with_a_key_of_their_own_in_the_order_of_choice() -> None:
    environ = {"ZHIPU_API_KEY": "z", "OPENAI_API_KEY": "o", "TUI_AGENT_API_KEY": "ours"}
    assert providers_with_key(environ) == ("openai", "glm")


@pytest.mark.parametrize("provider", known_providers())
def test_a_client_for_every_provider(provider: str) -> None:
    client = make_client(ModelChoice(provider, "m", "http://127.0.0.1:1/v1"), key="k")
    assert client.provider == provider
    assert isinstance(client, AnthropicClient | ChatClient | DemoClient)


def test_an_unknown_provider_is_told_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="anthropic, openai"):
        make_client(ModelChoice("nobody", "m"))


@pytest.mark.parametrize("provider", [p for p in known_providers() if p != "compatible"])
def test_the_model_to_begin_with_takes_tools(provider: str) -> None:
    model = default_model(provider)
    assert model is not None
    assert facts_for(ModelChoice(provider, model)).takes_tools


def test_every_listed_model_leaves_room_for_a_prompt() -> None:
    for provider, models in CATALOGUE.items():
        for model, facts in models.items():
            assert 8_192 <= facts.max_output < facts.window, (provider, model)


def test_a_dated_id_is_the_same_model() -> None:
    dated = ModelChoice("anthropic", "claude-haiku-4-5-20251001")
    assert facts_for(dated) == facts_for(ModelChoice("anthropic", "claude-haiku-4-5"))


def test_an_unknown_model_gets_careful_values_and_the_user_corrects_them() -> None:
    choice = ModelChoice("compatible", "my-local", "http://127.0.0.1:8080/v1")
    assert facts_for(choice).window == 32_768
    facts = facts_for(choice, {"window": 8192, "options": {"temperature": 0}})
    assert (facts.window, facts.options) == (8192, (("temperature", 0),))
    with pytest.raises(ValueError, match="windows"):
        facts_for(choice, {"windows": 1})


def test_what_the_server_says_goes_before_the_catalogue_and_the_user_before_both() -> None:
    choice = ModelChoice("anthropic", "claude-sonnet-5-5")
    told = {"window": 500_000, "max_output": 60_000}
    assert facts_for(choice, told=told).window == 500_000
    facts = facts_for(choice, {"window": 100_000}, told=told)
    assert (facts.window, facts.max_output) == (100_000, 60_000)
    assert facts.price_input == 2


def test_a_window_that_is_smaller_than_thought_keeps_room_for_the_prompt() -> None:
    choice = ModelChoice("compatible", "small", "http://127.0.0.1:8080/v1")
    assert facts_for(choice, told={"window": 4096}).max_output == 1024
    assert facts_for(choice, {"max_output": 3000}, told={"window": 4096}).max_output == 3000


def test_a_limit_of_the_makers_own_server_does_not_count_elsewhere() -> None:
    assert not facts_for(ModelChoice("openai", "gpt-6.1-sol")).takes_tools
    gateway = ModelChoice("openai", "gpt-6.1-sol", "https://gateway.example/v1")
    assert facts_for(gateway).takes_tools
    assert facts_for(gateway).note == ""
    spelled_out = ModelChoice("openai", "gpt-6.1-sol", "https://api.openai.com/v1/")
    assert not facts_for(spelled_out).takes_tools


def test_levels_of_thinking_are_words_that_some_maker_knows() -> None:
    for models in CATALOGUE.values():
        for facts in models.values():
            assert set(facts.efforts or ()) <= set(EFFORTS)


def test_every_maker_has_a_key_name_but_the_servers_of_ones_own() -> None:
    without = {provider for provider in known_providers() if not key_names(provider)}
    assert without == {"compatible", "demo"}
