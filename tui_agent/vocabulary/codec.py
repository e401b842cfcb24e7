"""Blocks, messages, usage and events as JSON values, and blocks back again.

Encoding is total over the vocabulary. Decoding raises `ValueError` that names what was wrong, so
that a damaged row is reported and never half read. A trailing underscore of a field name (`from_`)
is not part of its name on the wire.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache
from typing import Any, assert_never

from tui_agent.vocabulary.blocks import (
    Block,
    ContentPart,
    ImageBlock,
    Json,
    JsonObject,
    Outcome,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from tui_agent.vocabulary.usage import Usage


@cache
def _field_names(cls: type[Any]) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, field.name.rstrip("_")) for field in dataclasses.fields(cls))


def to_json(value: object) -> Json:
    """Any value of the vocabulary as a JSON value. Raises `TypeError` for a foreign type."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if isinstance(value, BLOCK_TYPES):
            return block_to_json(value)
        return {wire: to_json(getattr(value, name)) for name, wire in _field_names(type(value))}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [to_json(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def block_to_json(block: Block) -> dict[str, Json]:
    """One block as a JSON object; fields that say nothing are left out."""
    data: dict[str, Json]
    match block:
        case TextBlock():
            data = {"type": "text", "text": block.text}
        case ThinkingBlock():
            data = {"type": "thinking", "text": block.text}
            if block.signature is not None:
                data["signature"] = block.signature
            if block.redacted is not None:
                data["redacted"] = block.redacted
        case ToolUseBlock():
            data = {"type": "tool_use", "id": block.id, "name": block.name}
            data["input"] = to_json(block.input)
            if block.problem is not None:
                data["problem"] = block.problem
        case ToolResultBlock():
            data = {"type": "tool_result", "tool_use_id": block.tool_use_id}
            data["content"] = [block_to_json(part) for part in block.content]
            data["is_error"] = block.is_error
            data["outcome"] = block.outcome.value
        case ImageBlock():
            data = {"type": "image", "media_type": block.media_type, "data": block.data}
        case _:
            assert_never(block)
    provider_data = getattr(block, "provider_data", None)
    if provider_data is not None:
        data["provider_data"] = to_json(provider_data)
    return data


def block_from_json(data: JsonObject) -> Block:
    """The block that `block_to_json` wrote. Raises `ValueError` when `data` is not one."""
    try:
        match data["type"]:
            case "text":
                return TextBlock(data["text"], data.get("provider_data"))
            case "thinking":
                return ThinkingBlock(
                    data["text"],
                    data.get("signature"),
                    data.get("redacted"),
                    data.get("provider_data"),
                )
            case "tool_use":
                return ToolUseBlock(
                    data["id"],
                    data["name"],
                    data["input"],
                    data.get("problem"),
                    data.get("provider_data"),
                )
            case "tool_result":
                return ToolResultBlock(
                    data["tool_use_id"],
                    parts_from_json(data["content"]),
                    data["is_error"],
                    Outcome(data["outcome"]),
                )
            case "image":
                return ImageBlock(data["media_type"], data["data"])
            case other:
                raise ValueError(f"no block has the type {other!r}")
    except (KeyError, TypeError) as error:
        raise ValueError(f"a stored block is damaged: {error!r}") from error


def blocks_from_json(items: Iterable[JsonObject]) -> tuple[Block, ...]:
    """Several blocks. Raises `ValueError`."""
    return tuple(block_from_json(item) for item in items)


def parts_from_json(items: Iterable[JsonObject]) -> tuple[ContentPart, ...]:
    """The content of a tool result. Raises `ValueError` for a block that may not stand there."""
    parts = []
    for item in items:
        block = block_from_json(item)
        if not isinstance(block, TextBlock | ImageBlock):
            raise ValueError(f"a tool result cannot contain {item.get('type')!r}")
        parts.append(block)
    return tuple(parts)


def usage_from_json(data: JsonObject | None) -> Usage | None:
    """Token counts; `None` stays `None`. Raises `ValueError` for anything else."""
    if data is None:
        return None
    try:
        return Usage(**data)
    except TypeError as error:
        raise ValueError(f"stored usage is damaged: {error}") from error


BLOCK_TYPES = (TextBlock, ThinkingBlock, ToolUseBlock, ToolResultBlock, ImageBlock)
