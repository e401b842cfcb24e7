"""Whole conversations with a server that refuses what a strict provider would refuse.

It checks every request: calls answered once and in order, reasoning back where it was made and
unchanged, nowhere else.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.scripted.plugin import StartScripted
from tests.scripted.plugin import scripted as scripted  # noqa: PLC0414 - a fixture, found by name
from tests.scripted.script import (
    Call,
    Cut,
    Fail,
    Redacted,
    Reply,
    Say,
    Stop,
    StreamError,
    Think,
    in_order,
)
from tests.scripted.server import ScriptedServer
from tui_agent.providers.anthropic_messages import AnthropicClient
from tui_agent.providers.base import (
    ModelClient,
    ModelRequest,
    RequestMessage,
    StreamEnd,
    ToolSchema,
)
from tui_agent.providers.chat_completions import ChatClient
from tui_agent.providers.presets import PRESETS
from tui_agent.providers.retry import Attempt, call
from tui_agent.vocabulary.agents import ModelFacts
from tui_agent.vocabulary.blocks import (
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    text_of,
    tool_uses,
)

TOOLS = (
    ToolSchema("Read", "Reads.", {"type": "object", "properties": {}}),
    ToolSchema("Bash", "Runs.", {"type": "object", "properties": {}}),
)
MODEL = "scripted-1"
SCRIPT = (
    Reply([Think("First I look."), Call("Read", {"file_path": "a"}), Call("Bash", {"c": "ls"})]),
    Reply([Redacted("opaque"), Think("Then more."), Say("Nearly."), Call("Read", {})]),
    Reply([Say("Done.")]),
    Reply([Think("Again."), Say("Still done.")]),
)


def client_of(server: ScriptedServer, provider: str) -> ModelClient:
    if provider == "anthropic":
        return AnthropicClient("k", base_url=server.url)
    return ChatClient(PRESETS[provider], "k", base_url=server.chat_url)


class Conversation:
    """A history that grows as the loop would let it grow."""

    def __init__(self, client: ModelClient) -> None:
        self.client = client
        self.messages: list[RequestMessage] = []
        self.attempts = 0

    async def turn(self, prompt: str) -> str:
        self.messages.append(RequestMessage("user", (TextBlock(prompt),)))
        while True:
            end = await self._answer()
            made_by = RequestMessage("assistant", end.blocks, self.client.provider, MODEL)
            self.messages.append(made_by)
            calls = tool_uses(end.blocks)
            if not calls:
                return text_of(end.blocks)
            results = tuple(ToolResultBlock(use.id, (TextBlock("ok"),)) for use in calls)
            self.messages.append(RequestMessage("user", results))

    async def _answer(self) -> StreamEnd:
        facts = ModelFacts(max_output=9_000)
        request = ModelRequest(MODEL, ("Be good.",), tuple(self.messages), TOOLS, facts)

        async def at_once(_: float) -> None:
            pass

        async for item in call(self.client, request, wait=at_once):
            self.attempts += isinstance(item, Attempt)
            if isinstance(item, StreamEnd):
                return item
        raise AssertionError("no end")


def demands(provider: str) -> dict[str, bool]:
    """What the servers of this maker insist on."""
    return {
        "bind_thinking": provider == "anthropic",
        "demand_reasoning": provider in ("deepseek", "kimi"),
        "sign_calls": provider == "gemini",
    }


MAKERS = ("anthropic", "openai", "gemini", "deepseek", "kimi", "glm", "openrouter", "compatible")


@pytest.mark.parametrize("provider", MAKERS)
async def test_a_conversation_that_a_strict_server_accepts(
    scripted: StartScripted, provider: str
) -> None:
    server = await scripted(in_order(SCRIPT), **demands(provider))
    talk = Conversation(client_of(server, provider))
    assert await talk.turn("go") == "Done."
    assert await talk.turn("and?") == "Still done."
    await talk.client.aclose()
    assert talk.attempts == len(SCRIPT)
    assert any(isinstance(block, ThinkingBlock) for block in talk.messages[1].blocks)


SWITCHES = [
    (first, second)
    for first in ("anthropic", "deepseek", "gemini", "glm", "openai")
    for second in ("anthropic", "kimi", "gemini", "openai", "compatible")
    if first != second
]
PRESETS_THAT_REPLAY = {name: preset.replays_thinking for name, preset in PRESETS.items()}


@pytest.mark.parametrize(("first", "second"), SWITCHES)
async def test_another_maker_goes_on_with_the_conversation_and_the_first_comes_back(
    scripted: StartScripted, first: str, second: str
) -> None:
    one = await scripted(in_order(SCRIPT), **demands(first))
    talk = Conversation(client_of(one, first))
    await talk.turn("go")
    await talk.client.aclose()

    took_over = (
        Reply([Think("Of another mind."), Say("I took over."), Call("Read", {})]),
        Reply([Think("Yet another."), Say("So.")]),
    )
    two = await scripted(in_order(took_over), **demands(second))
    talk.client = client_of(two, second)
    assert await talk.turn("go on") == "So."
    await talk.client.aclose()
    sent = json.dumps(two.requests[0].body)
    assert "First I look." not in sent
    assert "opaque" not in sent

    # a server of the first maker that remembers what it gave out
    back = (Reply([Think("Once more."), Call("Read", {})]), Reply([Say("Back.")]))
    three = await scripted(in_order(back), issued=one.issued, **demands(first))
    talk.client = client_of(three, first)
    assert await talk.turn("and now?") == "Back."
    await talk.client.aclose()
    for request in three.requests:
        sent = json.dumps(request.body)
        assert "Of another mind." not in sent
        assert ("First I look." in sent) == PRESETS_THAT_REPLAY.get(first, True)


@pytest.mark.parametrize("provider", ["anthropic", "compatible"])
async def test_cuts_errors_and_broken_calls_leave_a_history_that_goes_on(
    scripted: StartScripted, provider: str
) -> None:
    script: list[Reply | Fail] = [
        Fail(529),
        Reply([Say("half"), Cut("cut")]),
        Reply([Say("half"), Call("Read", {"a": 1}), Cut("clean")]),
        Reply([Call("Read", '{"broken": ')]),
        Reply([Say("half"), StreamError()]),
        Reply([Call("Bash", '{"cut": "aaa'), Stop("max_tokens")]),
        Reply([Say("Whole.")]),
    ]
    server = await scripted(in_order(script))
    talk = Conversation(client_of(server, provider))
    assert await talk.turn("go") == "Whole."
    await talk.client.aclose()
    assert talk.attempts == len(script)


async def test_thinking_whose_beginning_changed_is_left_out_at_the_second_try(
    scripted: StartScripted,
) -> None:
    server = await scripted(in_order(SCRIPT), bind_thinking=True, violations_expected=True)
    talk = Conversation(client_of(server, "anthropic"))
    await talk.turn("go")
    talk.messages[0] = RequestMessage("user", (TextBlock("something else"),))
    assert await talk.turn("and?") == "Still done."
    await talk.client.aclose()
    assert talk.attempts == len(SCRIPT) + 1


async def test_thinking_before_a_boundary_is_left_out_at_the_first_try(
    scripted: StartScripted,
) -> None:
    server = await scripted(in_order(SCRIPT), bind_thinking=True)
    talk = Conversation(client_of(server, "anthropic"))
    await talk.turn("go")
    talk.messages = [
        replace(message, prefix_changed=message.role == "assistant") for message in talk.messages
    ]
    talk.messages[0] = RequestMessage("user", (TextBlock("a summary"),))
    assert await talk.turn("and?") == "Still done."
    await talk.client.aclose()
    assert talk.attempts == len(SCRIPT)
