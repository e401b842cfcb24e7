"""A model request as the body of an Anthropic Messages call.

The prefix is byte-stable: the same system prompt, tools and earlier messages give the same bytes on
every call, apart from the cache marks, which are no part of what the provider compares. Thinking
goes back untouched to the model that made it and to no other.
"""

from __future__ import annotations

from typing import Any, assert_never

from tui_agent.providers.base import ModelRequest, RequestMessage, ToolSchema
from tui_agent.providers.request_notes import RequestNotes, effort_to_ask, is_makers_own
from tui_agent.providers.wire_values import id_for_wire, name_for_wire, sound_json
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


def build_body(request: ModelRequest, provider: str, notes: RequestNotes | None = None) -> Wire:
    """The whole body. Options of the model are laid over it as they are."""
    notes = notes or RequestNotes()
    messages = [_message(message, request, provider, notes) for message in request.messages]
    body: Wire = {
        "model": request.model,
        "max_tokens": request.facts.max_output,
        "stream": True,
        "messages": _merged([message for message in messages if message["content"]]),
    }
    system = [{"type": "text", "text": text} for text in request.system if text.strip()]
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    _mark_for_cache(body)
    whole: Wire = sound_json(
        {**body, **_thinking_fields(request, notes), **dict(request.facts.options)}
    )
    return whole


def _thinking_fields(request: ModelRequest, notes: RequestNotes) -> Wire:
    """How much to think and whether to show it. A model that decides by itself shows a summary only
    when asked; older ones are left as their maker set them."""
    effort, problem = effort_to_ask(request.facts)
    if problem:
        notes.about_request(problem)
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    wire: Wire = {}
    if request.facts.thinks_adaptively:
        wire["thinking"] = {"type": "adaptive", "display": "summarized"}
    if effort is not None:
        wire["output_config"] = {"effort": effort}
    return wire


def _tool(tool: ToolSchema) -> Wire:
    return {
        "name": name_for_wire(tool.name),
        "description": tool.description,
        "input_schema": tool.input_schema,
    }


def _message(
    message: RequestMessage, request: ModelRequest, provider: str, notes: RequestNotes
) -> Wire:
    # thinking is bound to the conversation it was made in
    is_own = is_makers_own(message, provider, request) and not message.prefix_changed
    if not is_own:
        notes.of_foreign(message)
    elif any(isinstance(block, ThinkingBlock) and not _thinking(block) for block in message.blocks):
        notes.left_out("unsigned reasoning", "it was cut before its maker signed it")
    content = [wire for block in message.blocks for wire in _block(block, is_own=is_own)]
    if message.role == "user":
        # results have to stand before anything else that the person or the program says
        content.sort(key=lambda wire: wire["type"] != "tool_result")
    return {"role": message.role, "content": content}


def _block(block: Block, *, is_own: bool) -> list[Wire]:
    """A block as it goes out: as one, as none, or as several."""
    match block:
        case TextBlock():
            return _text(block)
        case ThinkingBlock():
            wire = _thinking(block) if is_own else None
            return [wire] if wire else []
        case ToolUseBlock():
            return [
                {
                    "type": "tool_use",
                    "id": id_for_wire(block.id, longest=_LONGEST_ID),
                    "name": name_for_wire(block.name),
                    "input": block.input,
                }
            ]
        case ToolResultBlock():
            return _result(block)
        case ImageBlock():
            return [_image(block)]
        case _:
            assert_never(block)


def _text(block: TextBlock) -> list[Wire]:
    # a text without a visible character is refused
    return [{"type": "text", "text": block.text}] if block.text.strip() else []


def _result(block: ToolResultBlock) -> list[Wire]:
    call_id = id_for_wire(block.tool_use_id, longest=_LONGEST_ID)
    wire: Wire = {"type": "tool_result", "tool_use_id": call_id}
    content = [part for item in block.content for part in _part(item)]
    if not block.is_error:
        return [wire | {"content": content} if content else wire]
    # the result of a failed call may hold text only
    images = [part for part in content if part["type"] == "image"]
    texts = [part for part in content if part["type"] == "text"]
    wire["content"] = texts or [{"type": "text", "text": "(no output)"}]
    wire["is_error"] = True
    return [wire, *images]


def _thinking(block: ThinkingBlock) -> Wire | None:
    if block.redacted is not None:
        return {"type": "redacted_thinking", "data": block.redacted}
    if block.signature is None:
        # cut before it was signed: its maker would refuse it
        return None
    return {"type": "thinking", "thinking": block.text, "signature": block.signature}


def _part(part: ContentPart) -> list[Wire]:
    match part:
        case TextBlock():
            return _text(part)
        case ImageBlock():
            return [_image(part)]
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
