"""The next request of a session: prompt, schemas and projected history, with where each comes from.

One function makes it for the model call and for whoever wants to look at it first, so that the two
cannot differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from tui_agent.context.budget import block_tokens, context_tokens, overhead_tokens
from tui_agent.context.history import History
from tui_agent.context.prompt import prompt_layers, system_prompt
from tui_agent.providers.base import ModelRequest, ToolSchema
from tui_agent.vocabulary.agents import AgentConfig, ModelFacts
from tui_agent.vocabulary.inspection import PromptLayer
from tui_agent.vocabulary.records import SessionRecord


@dataclass(frozen=True, slots=True)
class NextRequest:
    """A request, its parts with their sizes, and what had to be changed in the stored history.

    `tokens` is the size that the meter shows and the threshold is compared with; the layers' sizes
    are estimates and need not add up to it. `overhead` is the estimate without the history.
    """

    request: ModelRequest
    layers: tuple[PromptLayer, ...]
    tokens: int
    overhead: int
    notes: tuple[str, ...] = ()


def next_request(
    session: SessionRecord,
    agent: AgentConfig,
    tools: tuple[ToolSchema, ...],
    history: History,
    *,
    model: str,
    facts: ModelFacts,
) -> NextRequest:
    """The request for a session with this history."""
    prompt = prompt_layers(session, agent)
    system = system_prompt(prompt)
    projection = history.projected()
    schemas = overhead_tokens((), tools)
    overhead = schemas + overhead_tokens(system, ())
    layers = [PromptLayer(layer.name, layer.source, layer.tokens, layer.text) for layer in prompt]
    layers.append(PromptLayer("tools", _count(len(tools), "schema"), schemas))
    layers.append(
        PromptLayer(
            "history",
            _count(len(projection.messages), "message"),
            sum(block_tokens(message.blocks) for message in projection.messages),
        )
    )
    return NextRequest(
        ModelRequest(model, system, projection.messages, tools, facts),
        tuple(layers),
        context_tokens(history.messages, overhead, counted_after=history.counted_after),
        overhead,
        (*_cleared(history), *projection.repairs),
    )


def _cleared(history: History) -> tuple[str, ...]:
    if not history.cleared:
        return ()
    return (f"{_count(history.cleared, 'older tool result')} cleared: only a marker is sent",)


def request_overhead(
    session: SessionRecord, agent: AgentConfig, tools: tuple[ToolSchema, ...]
) -> int:
    """Tokens that every request of this session carries besides its history, estimated."""
    return overhead_tokens(system_prompt(prompt_layers(session, agent)), tools)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
