"""Token counts for a response whose server counted none.

Reckoned from what really went over the wire, so that totals and limits go on meaning something; a
rough figure, and marked as one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tui_agent.providers.base import StreamEnd
from tui_agent.vocabulary.blocks import (
    Block,
    Json,
    JsonObject,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from tui_agent.vocabulary.usage import CHARACTERS_PER_TOKEN, IMAGE_TOKENS

_IMAGE_FIELDS = ("source", "image_url")


def counted(end: StreamEnd, body: JsonObject) -> StreamEnd:
    """`end` with every count that its provider gave, and estimates of those it left out. `body` is
    the request that was sent."""
    usage = end.usage
    if usage.input is not None and usage.output is not None:
        return end
    estimate = replace(
        usage,
        input=_tokens_in(body) if usage.input is None else usage.input,
        output=_tokens_of(end.blocks) if usage.output is None else usage.output,
        estimated=True,
    )
    return replace(end, usage=estimate)


def _tokens_in(body: JsonObject) -> int:
    characters, images = _size(body)
    return math.ceil(characters / CHARACTERS_PER_TOKEN) + images * IMAGE_TOKENS


def _size(value: Json) -> tuple[int, int]:
    """Characters of text, and images."""
    if isinstance(value, str):
        return len(value), 0
    if isinstance(value, Mapping):
        if any(field in value for field in _IMAGE_FIELDS):
            return 0, 1
        parts = [_size(item) for item in value.values()]
        return sum(map(len, value)) + sum(part[0] for part in parts), sum(part[1] for part in parts)
    if isinstance(value, list | tuple):
        parts = [_size(item) for item in value]
        return sum(part[0] for part in parts), sum(part[1] for part in parts)
    return 0, 0


def _tokens_of(blocks: Iterable[Block]) -> int:
    characters = 0
    for block in blocks:
        match block:
            case TextBlock() | ThinkingBlock():
                characters += len(block.text)
            case ToolUseBlock():
                characters += len(block.name) + _size(block.input)[0]
            case _:
                pass  # a response has no other kind
    return math.ceil(characters / CHARACTERS_PER_TOKEN)
