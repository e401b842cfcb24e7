"""One conversation that has everything, as different models would have left it."""

from __future__ import annotations

from dataclasses import replace

from tui_agent.providers.base import ModelRequest, RequestMessage, ToolSchema
from tui_agent.vocabulary.agents import ModelFacts
from tui_agent.vocabulary.blocks import (
    Block,
    ImageBlock,
    Outcome,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

TOOLS = (
    ToolSchema(
        "Read",
        "Reads a file.",
        {
            "type": "object",
            "properties": {"file_path": {"type": "string"}},
            "required": ["file_path"],
        },
    ),
    ToolSchema("Bash", "Runs a command.", {"type": "object", "properties": {}}),
)
SYSTEM = ("You are an agent.", "The folder is /work.")
IMAGE = ImageBlock("image/png", "aGVsbG8=")


def conversation(
    provider: str, model: str, thinking: tuple[Block, ...], *, call_data: object = None
) -> tuple[RequestMessage, ...]:
    """A prompt, thinking with two calls, their results with an image and an error, an answer, and
    a second prompt. `provider` and `model` made the assistant's part."""
    calls = (
        ToolUseBlock("call_1", "Read", {"file_path": "a.png"}),
        ToolUseBlock("functions.Bash:1", "Bash", {"command": "ls", "text": "ä"}),
    )
    if isinstance(call_data, dict):
        calls = (replace(calls[0], provider_data=call_data), calls[1])
    return (
        RequestMessage("user", (TextBlock("Look at this"), IMAGE)),
        RequestMessage("assistant", (*thinking, TextBlock("I look."), *calls), provider, model),
        RequestMessage(
            "user",
            (
                ToolResultBlock("call_1", (TextBlock("a picture"), IMAGE)),
                ToolResultBlock(
                    "functions.Bash:1", (TextBlock("exit code 2"),), True, Outcome.ERROR
                ),
                TextBlock("and hurry"),
            ),
        ),
        RequestMessage("assistant", (TextBlock("Done."),), provider, model),
        RequestMessage("user", (TextBlock("Thanks. "), TextBlock("  "))),
    )


def request(
    model: str, messages: tuple[RequestMessage, ...], facts: ModelFacts | None = None
) -> ModelRequest:
    return ModelRequest(model, SYSTEM, messages, TOOLS, facts or ModelFacts(max_output=4096))


SIGNED = (ThinkingBlock("", "sig-1"), ThinkingBlock("", redacted="opaque"), ThinkingBlock("cut"))
REASONED = (ThinkingBlock("I should look.", provider_data={"thinking_field": "reasoning"}),)
