"""A model request as the body of a Chat Completions call.

Differences between makers come from the preset alone. A batch's results become one message each,
before anything else; images in them, which this wire has no place for, follow in a message of the
user. Reasoning goes back only to the model that made it, in the field it came in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tui_agent.providers.base import ModelRequest, RequestMessage, ToolSchema
from tui_agent.providers.presets import Preset
from tui_agent.providers.request_notes import RequestNotes, effort_to_ask, is_makers_own
from tui_agent.providers.wire_values import (
    arguments_for_wire,
    id_for_wire,
    name_for_wire,
    sound_json,
)
from tui_agent.vocabulary.blocks import (
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    text_of,
    tool_uses,
)

THINKING_FIELD = "thinking_field"
"""Key in a thinking block's provider data: the name of the field the reasoning came in."""
MESSAGE_EXTRA = "message"
"""Key in a block's provider data: fields that go back on the message that holds the block."""

_LONGEST_ID = 40
_NO_OUTPUT = "(no output)"
_ERROR_PREFIX = "Error: "

Wire = dict[str, Any]
Ids = dict[str, str]
"""Call ids of the history and what stands for them on the wire. A maker's own stay as they are:
some models read something from them."""


def build_body(request: ModelRequest, preset: Preset, notes: RequestNotes | None = None) -> Wire:
    """The whole body. Options of the model are laid over it as they are."""
    notes = notes or RequestNotes()
    body: Wire = {
        "model": request.model,
        "messages": _messages(request, preset, notes),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    options = dict(request.facts.options)
    if not options.keys() & {"max_tokens", "max_completion_tokens"}:
        body[preset.max_tokens_field] = request.facts.max_output
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    body |= preset.extra_body
    body |= _effort(request, preset, notes)
    whole: Wire = sound_json(body | options)
    return whole


def _effort(request: ModelRequest, preset: Preset, notes: RequestNotes) -> Wire:
    """How much the model is to think, in the maker's words."""
    effort, problem = effort_to_ask(request.facts)
    if problem:
        notes.about_request(problem)
    pattern = preset.no_effort_with_tools
    if request.tools and pattern is not None and re.match(pattern, request.model):
        if effort not in (None, "none"):
            notes.about_request(
                f"thinking effort {effort} not asked for: over this API the model takes tools "
                "only without thinking"
            )
        return {"reasoning_effort": "none"}
    if effort is None:
        return {}
    if effort == "none" and preset.has_thinking_switch:
        return {"thinking": {"type": "disabled"}}
    return {"reasoning_effort": effort}


def _tool(tool: ToolSchema) -> Wire:
    function = {
        "name": name_for_wire(tool.name),
        "description": tool.description,
        "parameters": tool.input_schema,
    }
    return {"type": "function", "function": function}


def _messages(request: ModelRequest, preset: Preset, notes: RequestNotes) -> list[Wire]:
    messages: list[Wire] = []
    # some servers take exactly one system message, and only as the first
    system = "\n\n".join(text for text in request.system if text.strip())
    if system:
        messages.append({"role": "system", "content": system})
    ids: Ids = {}
    for message in request.messages:
        if message.role == "user":
            messages += _user(message, ids, notes)
        else:
            is_own = is_makers_own(message, preset.name, request)
            messages += _assistant(message, preset, ids, notes, is_own=is_own)
    return _merged(messages)


def _user(message: RequestMessage, ids: Ids, notes: RequestNotes) -> list[Wire]:
    wires: list[Wire] = []
    parts: list[Wire] = []
    for block in message.blocks:
        match block:
            case ToolResultBlock():
                call_id = ids.get(block.tool_use_id, block.tool_use_id)
                wires.append(_result(block, call_id))
                images = _images_of_result(block, call_id)
                if images:
                    notes.changed("images of results put behind them", "this API takes none inside")
                parts += images
            case TextBlock():
                if block.text.strip():
                    parts.append({"type": "text", "text": block.text})
            case ImageBlock():
                parts.append(_image(block))
            case ThinkingBlock() | ToolUseBlock():
                # an assistant's; nothing puts them into a user's message
                pass
    if parts:
        wires.append({"role": "user", "content": _content(parts)})
    return wires


def _content(parts: list[Wire]) -> str | list[Wire]:
    """Plain text where there is only text: more servers take it than take a list."""
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts)
    return parts


def _result(block: ToolResultBlock, call_id: str) -> Wire:
    text = text_of(block.content) or _NO_OUTPUT
    if block.is_error:
        text = _ERROR_PREFIX + text
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def _images_of_result(block: ToolResultBlock, call_id: str) -> list[Wire]:
    images = [_image(part) for part in block.content if isinstance(part, ImageBlock)]
    if not images:
        return []
    return [{"type": "text", "text": f"Image output of call {call_id}:"}, *images]


def _image(block: ImageBlock) -> Wire:
    url = f"data:{block.media_type};base64,{block.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _assistant(
    message: RequestMessage, preset: Preset, ids: Ids, notes: RequestNotes, *, is_own: bool
) -> list[Wire]:
    if not is_own:
        notes.of_foreign(message)
    text = "\n\n".join(
        block.text for block in message.blocks if isinstance(block, TextBlock) and block.text
    )
    uses = tool_uses(message.blocks)
    for use in uses:
        ids[use.id] = use.id if is_own else id_for_wire(use.id, longest=_LONGEST_ID)
    calls = [_call(use, ids[use.id], is_own=is_own) for use in uses]
    if not text and not calls:
        return []
    wire: Wire = {"role": "assistant", "content": text or None}
    wire |= _thinking(message, preset, notes, is_own=is_own)
    if is_own:
        wire |= _message_extra(message)
    if calls:
        if not is_own and preset.foreign_call_extra is not None:
            calls[0] |= preset.foreign_call_extra
        wire["tool_calls"] = calls
    return [wire]


def _call(block: ToolUseBlock, call_id: str, *, is_own: bool) -> Wire:
    wire: Wire = {
        "id": call_id,
        "type": "function",
        "function": {
            "name": name_for_wire(block.name),
            "arguments": arguments_for_wire(block.input),
        },
    }
    if is_own and block.provider_data is not None:
        wire |= {key: value for key, value in block.provider_data.items() if key != MESSAGE_EXTRA}
    return wire


def _thinking(
    message: RequestMessage, preset: Preset, notes: RequestNotes, *, is_own: bool
) -> Wire:
    fields: Wire = {}
    if preset.thinking_demanded is not None:
        fields[preset.thinking_demanded] = ""
    if not is_own:
        return fields
    for block in message.blocks:
        if not isinstance(block, ThinkingBlock):
            continue
        field = (block.provider_data or {}).get(THINKING_FIELD)
        if isinstance(field, str) and preset.replays_thinking:
            fields[field] = fields.get(field, "") + block.text
        else:
            notes.left_out("reasoning", "this API has no place to give it back")
    return fields


def _message_extra(message: RequestMessage) -> Wire:
    for block in message.blocks:
        data = getattr(block, "provider_data", None)
        extra = data.get(MESSAGE_EXTRA) if data is not None else None
        if isinstance(extra, Mapping):
            return dict(extra)
    return {}


def _merged(messages: list[Wire]) -> list[Wire]:
    """User messages that came to stand side by side as one; strict templates want them to
    alternate."""
    merged: list[Wire] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last is not None and last["role"] == message["role"] == "user":
            merged[-1] = {"role": "user", "content": _joined(last["content"], message["content"])}
        else:
            merged.append(message)
    return merged


def _joined(left: str | list[Wire], right: str | list[Wire]) -> str | list[Wire]:
    if isinstance(left, str) and isinstance(right, str):
        return f"{left}\n\n{right}"
    parts = [
        {"type": "text", "text": side} if isinstance(side, str) else side for side in (left, right)
    ]
    return [item for part in parts for item in (part if isinstance(part, list) else [part])]
