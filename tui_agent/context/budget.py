"""How large the next request is, in tokens: one function for the meter and for every trigger.

The provider's own count of the last response is the base; what came after it, and everything when
there is no count, is estimated from its length.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache

from tui_agent.providers.base import ToolSchema
from tui_agent.vocabulary.agents import ModelFacts
from tui_agent.vocabulary.blocks import (
    Block,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.usage import CHARACTERS_PER_TOKEN, IMAGE_TOKENS, Usage

MESSAGE_TOKENS = 4
COMPACTION_SHARE = 0.8


def text_tokens(text: str) -> int:
    """An estimate for `text`."""
    return round(len(text) / CHARACTERS_PER_TOKEN)


def block_tokens(blocks: Iterable[Block]) -> int:
    """An estimate for `blocks`."""
    total = 0
    for block in blocks:
        match block:
            case TextBlock() | ThinkingBlock():
                total += text_tokens(block.text)
            case ToolUseBlock():
                total += text_tokens(block.name + json.dumps(to_json(block.input)))
            case ToolResultBlock():
                total += block_tokens(block.content)
            case ImageBlock():
                total += IMAGE_TOKENS
    return total


def message_tokens(message: Message) -> int:
    """An estimate for one message."""
    return MESSAGE_TOKENS + block_tokens(message.blocks)


def overhead_tokens(system: Sequence[str], tools: Sequence[ToolSchema]) -> int:
    """An estimate for what every request carries besides its history."""
    return sum(text_tokens(part) for part in system) + sum(map(schema_tokens, tools))


@lru_cache(maxsize=256)
def schema_tokens(tool: ToolSchema) -> int:
    """An estimate for one tool."""
    return text_tokens(tool.name + tool.description + json.dumps(to_json(tool.input_schema)))


def context_tokens(history: Sequence[Message], overhead: int, *, counted_after: int = 0) -> int:
    """The size of a request with this history.

    `counted_after`: only counts of responses with a higher message number are taken as a base, as
    those before a boundary were made with a longer history.
    """
    estimate = 0
    for message in reversed(history):
        usage = message.usage
        if usage is not None and usage.prompt and message.seq > counted_after:
            return usage.total + estimate
        estimate += message_tokens(message)
    return estimate + overhead


def compaction_threshold(facts: ModelFacts) -> int:
    """From this size on a history is compacted before the next call."""
    return round(COMPACTION_SHARE * (facts.window - output_reserve(facts)))


def output_reserve(facts: ModelFacts) -> int:
    """Tokens kept free for the answer; never more than a quarter of the window."""
    return min(facts.max_output, facts.window // 4)


def cost(usage: Usage, facts: ModelFacts) -> float | None:
    """USD for `usage`; `None` when the model's prices are not known. A cache price that is not
    known is taken to be the input price."""
    if facts.price_input is None or facts.price_output is None:
        return None
    read = facts.price_input if facts.price_cache_read is None else facts.price_cache_read
    write = facts.price_input if facts.price_cache_write is None else facts.price_cache_write
    return (
        (usage.input or 0) * facts.price_input
        + (usage.cache_read or 0) * read
        + (usage.cache_write or 0) * write
        + (usage.output or 0) * facts.price_output
    ) / 1_000_000
