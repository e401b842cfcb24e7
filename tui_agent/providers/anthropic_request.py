"""A model request as the body of an Anthropic Messages call.

The prefix is byte-stable: the same system prompt, tools and earlier messages give the same bytes on
every call, apart from the cache marks, which are no part of what the provider compares. Thinking
goes back untouched to the model that made it and to no other.
"""

from __future__ import annotations

from typing import Any, assert_never

from tui_agent.providers.base import ModelRequest, RequestMessage, ToolSchema
from tui_agent.providers.wire_values import id_for_wire, name_for_wire, sound_json, sound_text
from tui_agent.vocabulary.blocks import (
    Block,
    ContentPart,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

_LONGEST_ID = 64
_CACHE_MARK = {"type": "ephemeral"}

Wire = dict[str, Any]


def build_body(request: ModelRequest, provider: str) -> Wire:
    """Everything but `stream`. Options of the model are laid over it as they are."""
    messages = [_message(message, request.model, provider) for message in request.messages]
    body: Wire = {
        "model": request.model,
        "max_tokens": request.facts.max_output,
        "messages": _merged([message for message in messages if message["content"]]),
    }
    system = [{"type": "text", "text": sound_text(text)} for text in request.system if text.strip()]
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    _mark_for_cache(body)
    return body


def _tool(tool: ToolSchema) -> Wire:
    return {
        "name": name_for_wire(tool.name),
        "description": sound_text(tool.description),
        "input_schema": sound_json(tool.input_schema),
    }


def _message(message: RequestMessage, model: str, provider: str) -> Wire:
    is_own = message.provider == provider and message.model == model
    # thinking is bound to the conversation it was made in
    is_own = is_own and not message.prefix_changed
    content = [wire for block in message.blocks if (wire := _block(block, is_own=is_own))]
    if message.role == "user":
        # results have to stand before anything else that the person or the program says
        content.sort(key=lambda wire: wire["type"] != "tool_result")
    return {"role": message.role, "content": content}


def _block(block: Block, *, is_own: bool) -> Wire | None:
    match block:
        case TextBlock():
            # a text without a visible character is refused
            return {"type": "text", "text": sound_text(block.text)} if block.text.strip() else None
        case ThinkingBlock():
            return _thinking(block) if is_own else None
        case ToolUseBlock():
            return {
                "type": "tool_use",
                "id": id_for_wire(block.id, longest=_LONGEST_ID),
                "name": name_for_wire(block.name),
                "input": sound_json(block.input),
            }
        case ToolResultBlock():
            wire: Wire = {
                "type": "tool_result",
                "tool_use_id": id_for_wire(block.tool_use_id, longest=_LONGEST_ID),
            }
            content = [part for item in block.content if (part := _part(item))]
            if content:
                wire["content"] = content
            if block.is_error:
                wire["is_error"] = True
                wire.setdefault("content", [{"type": "text", "text": "(no output)"}])
            return wire
        case ImageBlock():
            return _image(block)
        case _:
            assert_never(block)


def _thinking(block: ThinkingBlock) -> Wire | None:
    if block.redacted is not None:
        return {"type": "redacted_thinking", "data": block.redacted}
    if block.signature is None:
        # cut before it was signed: its maker would refuse it
        return None
    return {"type": "thinking", "thinking": block.text, "signature": block.signature}


def _part(part: ContentPart) -> Wire | None:
    match part:
        case TextBlock():
            return {"type": "text", "text": sound_text(part.text)} if part.text.strip() else None
        case ImageBlock():
            return _image(part)
        case _:
            assert_never(part)


def _image(block: ImageBlock) -> Wire:
    source = {"type": "base64", "media_type": block.media_type, "data": block.data}
    return {"type": "image", "source": source}


def _merged(messages: list[Wire]) -> list[Wire]:
    """Messages of one role that came to stand side by side as one, with results first."""
    merged: list[Wire] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"] = merged[-1]["content"] + message["content"]
        else:
            merged.append(message)
    return merged


def _mark_for_cache(body: Wire) -> None:
    """Marks the end of tools and system, and of the last two user messages: the next call finds the
    older mark again even when a large batch lies between the two."""
    if "system" in body:
        body["system"][-1]["cache_control"] = _CACHE_MARK
    elif "tools" in body:
        body["tools"][-1]["cache_control"] = _CACHE_MARK
    users = [message for message in body["messages"] if message["role"] == "user"]
    for message in users[-2:]:
        message["content"][-1]["cache_control"] = _CACHE_MARK
