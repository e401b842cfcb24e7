"""What is known of a model: asked of its provider when it is used, never waited for long."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from tests.providers.fixture_server import Answer, FixtureServer
from tui_agent.providers.base import ListedModel, ModelClient
from tui_agent.providers.chat_completions import ChatClient
from tui_agent.providers.presets import PRESETS
from tui_agent.settings.model import ModelEntry, ModelSettings, Settings
from tui_agent.store import Store
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.errors import ErrorClass, ProviderError
from tui_agent.vocabulary.ids import SYSTEM_CLOCK, Clock
from tui_agent.vocabulary.records import SessionRecord
from tui_agent.workspace import model_reports as reports
from tui_agent.workspace import models as rooms
from tui_agent.workspace.models import ModelBroker

NO_STORE = cast("Store", None)
"""A choice that names its model writes nothing."""


class Session:
    """As much of a session as a choice of model is."""

    def __init__(self, choice: ModelChoice) -> None:
        self.model = choice


async def facts_of(broker: ModelBroker, choice: ModelChoice) -> Any:
    return (await broker.access(cast("SessionRecord", Session(choice)))).facts


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[FixtureServer]:
    (tmp_path / "errors.json").write_text("{}")
    async with FixtureServer(tmp_path) as running:
        yield running


def listing(*models: dict[str, Any]) -> Answer:
    body = json.dumps({"object": "list", "data": list(models)})
    return Answer(200, {"content-type": "application/json"}, body)


CARDS = [
    ({"owned_by": "llamacpp", "meta": {"n_ctx": 8192, "n_ctx_train": 262_144}}, 8192),
    ({"owned_by": "vllm", "max_model_len": 16_384}, 16_384),
    ({"loaded_context_length": 4096, "max_context_length": 131_072}, 4096),
    ({"max_context_length": 131_072}, 131_072),
    ({"context_length": 65_536}, 65_536),
    ({"context_length": 1_000_000, "top_provider": {"context_length": 200_000}}, 200_000),
    ({"context_length": "many", "context_window": True}, 32_768),
    ({"meta": None, "top_provider": 3, "context_length": 0}, 32_768),
]


@pytest.mark.parametrize(("card", "window"), CARDS)
async def test_the_window_that_a_server_names_in_its_listing(
    server: FixtureServer, card: dict[str, Any], window: int
) -> None:
    server.answers.append(listing({"id": "other", "context_length": 7}, {"id": "mine", **card}))
    broker = ModelBroker(Settings(), {}, NO_STORE)
    facts = await facts_of(broker, ModelChoice("compatible", "mine", server.url("v1")))
    await broker.aclose()
    assert facts.window == window
    assert facts.max_output <= window // 4


async def test_a_router_tells_prices_limits_and_who_takes_no_tools(server: FixtureServer) -> None:
    card = {
        "id": "maker/model",
        "context_length": 200_000,
        "top_provider": {"context_length": 200_000, "max_completion_tokens": 50_000},
        "pricing": {"prompt": "0.000002", "completion": "0.00001", "input_cache_read": "-1"},
        "supported_parameters": ["temperature"],
    }
    server.answers.append(listing(card))
    broker = ModelBroker(Settings(), {}, NO_STORE)
    facts = await facts_of(broker, ModelChoice("compatible", "maker/model", server.url("v1")))
    await broker.aclose()
    assert (facts.window, facts.max_output) == (200_000, 50_000)
    assert (facts.price_input, facts.price_output, facts.price_cache_read) == (2, 10, None)
    assert not facts.takes_tools


def capable(*levels: str, types: tuple[str, ...]) -> dict[str, Any]:
    efforts = {level: {"supported": level in levels} for level in ("low", "medium", "high", "max")}
    thinking = {name: {"supported": name in types} for name in ("adaptive", "disabled", "enabled")}
    return {
        "effort": {"supported": bool(levels), **efforts, "xhigh": None},
        "thinking": {"supported": True, "types": thinking},
    }


async def test_the_messages_api_tells_limits_and_how_a_model_thinks(server: FixtureServer) -> None:
    card = {
        "type": "model",
        "id": "claude-new",
        "display_name": "New",
        "max_input_tokens": 500_000,
        "max_tokens": 40_000,
        "capabilities": capable("low", "high", types=("adaptive", "disabled")),
    }
    server.answers.append(Answer(200, {"content-type": "application/json"}, json.dumps(card)))
    choice = ModelChoice("anthropic", "claude-new", server.url("x"))
    broker = ModelBroker(Settings(), {"ANTHROPIC_API_KEY": "k"}, NO_STORE)
    facts = await facts_of(broker, choice)
    await broker.aclose()
    assert server.asked[-1].path == "/x/v1/models/claude-new"
    assert (facts.window, facts.max_output) == (500_000, 40_000)
    assert facts.efforts == ("none", "low", "high")
    assert facts.thinks_adaptively


async def test_settings_go_before_what_the_provider_says(server: FixtureServer) -> None:
    server.answers.append(listing({"id": "mine", "context_length": 100_000}))
    settings = Settings(
        model=ModelSettings(effort="low"),
        models={"mine": ModelEntry(window=5000), "other": ModelEntry(effort="max")},
    )
    broker = ModelBroker(settings, {}, NO_STORE)
    facts = await facts_of(broker, ModelChoice("compatible", "mine", server.url("v1")))
    assert (facts.window, facts.effort) == (5000, "low")
    assert broker.facts(ModelChoice("compatible", "other", server.url("v1"))).effort == "max"
    await broker.aclose()


async def test_a_provider_is_asked_once(server: FixtureServer) -> None:
    server.answers += [listing({"id": "mine", "context_length": 5000})]
    broker = ModelBroker(Settings(), {}, NO_STORE)
    choice = ModelChoice("compatible", "mine", server.url("v1"))
    for _ in range(3):
        assert (await facts_of(broker, choice)).window == 5000
    await broker.aclose()
    assert len(server.asked) == 1


async def test_the_makers_whose_lists_name_only_names_are_not_asked(
    server: FixtureServer,
) -> None:
    preset = replace(PRESETS["openai"], base_url=server.url("v1"))
    client = ChatClient(preset, "k")
    assert await client.describe("gpt-6-luna") is None
    assert not server.asked
    server.answers.append(listing({"id": "gpt-6-luna", "context_length": 5000}))
    gateway = ChatClient(PRESETS["openai"], "k", base_url=server.url("v1"))
    assert await gateway.describe("gpt-6-luna") == ListedModel("gpt-6-luna", window=5000)
    await gateway.aclose()


# ----------------------------------------------------------------- providers that do not answer


class Asked:
    """A client of which only the question about a model is used."""

    def __init__(self, *answers: ListedModel | Exception | None) -> None:
        self.answers = list(answers)
        self.times = 0
        self.gate = asyncio.Event()

    async def describe(self, model: str) -> ListedModel | None:
        self.times += 1
        await self.gate.wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


MINE = ModelChoice("compatible", "m", "http://127.0.0.1:1/v1")


async def test_a_slow_provider_is_not_waited_for_and_its_answer_counts_when_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reports, "WAIT_SECONDS", 0.01)
    asked = Asked(ListedModel("m", window=9))
    known = reports.ModelReports(SYSTEM_CLOCK)
    await known.learn(cast("ModelClient", asked), MINE)
    await known.learn(cast("ModelClient", asked), MINE)
    assert known.told(MINE) == {}
    asked.gate.set()
    await known.learn(cast("ModelClient", asked), MINE)
    assert known.told(MINE) == {"window": 9}
    assert asked.times == 1
    await known.aclose()


async def test_after_a_failure_it_is_asked_again_but_not_at_once() -> None:
    failure = ProviderError(ErrorClass.SERVER, "no", "wait")
    asked = Asked(failure, ListedModel("m", window=9))
    asked.gate.set()
    now = [0.0]
    known = reports.ModelReports(Clock(monotonic=lambda: now[0]))
    for _ in range(3):
        await known.learn(cast("ModelClient", asked), MINE)
    assert (asked.times, known.told(MINE)) == (1, {})
    now[0] += reports.ASK_AGAIN_SECONDS + 1
    await known.learn(cast("ModelClient", asked), MINE)
    assert (asked.times, known.told(MINE)) == (2, {"window": 9})


async def test_closing_ends_the_question() -> None:
    asked = Asked(None)
    known = reports.ModelReports(SYSTEM_CLOCK)
    waiting = asyncio.create_task(known.learn(cast("ModelClient", asked), MINE))
    while not asked.times:
        await asyncio.sleep(0)
    await known.aclose()
    await waiting
    assert known.told(MINE) == {}


# --------------------------------------------------------------------- servers that were found


async def test_no_key_goes_to_a_server_that_was_only_found(
    server: FixtureServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.url("v1")
    monkeypatch.setattr(rooms, "LOCAL_SERVERS", {"llama.cpp": url})
    answer = listing({"id": "qwen", "meta": {"n_ctx": 8192}})
    server.answers += [answer, answer]
    environ = {"TUI_AGENT_API_KEY": "secret"}
    broker = ModelBroker(Settings(model=ModelSettings("anthropic", "c")), environ, NO_STORE)
    offers = [offer for offer in await broker.offered() if offer.choice.base_url == url]
    assert [(offer.title, offer.window) for offer in offers] == [("qwen · llama.cpp", 8192)]
    await broker.client(offers[0].choice).models()
    await broker.aclose()
    assert {asked.headers["authorization"] for asked in server.asked} == {"Bearer none"}
    named = ModelBroker(Settings(model=ModelSettings("compatible", "q", url)), environ, NO_STORE)
    server.answers.append(answer)
    await named.client(ModelChoice("compatible", "q", url)).models()
    await named.aclose()
    assert server.asked[-1].headers["authorization"] == "Bearer secret"


async def test_a_model_that_takes_no_tools_is_offered_with_the_reason(
    server: FixtureServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rooms, "LOCAL_SERVERS", {"router": server.url("v1")})
    server.answers.append(
        listing(
            {"id": "a", "supported_parameters": []}, {"id": "b", "supported_parameters": ["tools"]}
        )
    )
    broker = ModelBroker(Settings(), {"OPENAI_API_KEY": "k"}, NO_STORE)
    problems = {offer.choice.model: offer.problem for offer in await broker.offered()}
    await broker.aclose()
    assert problems["a"] == "takes no tools over this API"
    assert problems["b"] == ""
    assert "Chat Completions" in problems["gpt-6.1-sol"]
    assert problems["gpt-6-luna"] == ""
