"""Folds the raw events of an Anthropic Messages stream into blocks, usage and a stop reason.

Events come loosely typed from the SDK; what this program does not know (future events, blocks,
deltas, server tools it never asked for) is passed over. Counts are cumulative: the last one said
holds. Arguments of a call are parsed once, when all of them are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tui_agent.providers.base import (
    StreamEnd,
    StreamItem,
    TextPiece,
    ThinkingPiece,
    ToolInputPiece,
)
from tui_agent.providers.wire_values import (
    CUT_PROBLEM,
    STOPPED_PROBLEM,
    GrowingText,
    call_name,
    fresh_call_id,
    parse_arguments,
    taken_arguments,
    token_count,
)
from tui_agent.vocabulary.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from tui_agent.vocabulary.messages import StopReason
from tui_agent.vocabulary.usage import Usage

_STOPS: Mapping[str, StopReason] = {
    "end_turn": StopReason.END_TURN,
    "stop_sequence": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.MAX_TOKENS,
    "refusal": StopReason.REFUSAL,
    "pause_turn": StopReason.PAUSE_TURN,
    "model_context_window_exceeded": StopReason.CONTEXT_WINDOW,
}


class _Part:
    """One content block while it grows."""

    __slots__ = ("id", "input", "kind", "name", "redacted", "signature", "text")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.text = GrowingText()
        self.signature: str | None = None
        self.redacted: str | None = None
        self.id = ""
        self.name = ""
        self.input: Mapping[str, Any] = {}


class AnthropicAssembly:
    """See `driver.Assembly`. `taken_ids` are the call ids that the history already has."""

    def __init__(self, taken_ids: Iterable[str] = ()) -> None:
        self.is_complete = False
        self.has_begun = False
        self._taken = set(taken_ids)
        self._parts: dict[int, _Part] = {}
        self._visible: list[str] = []
        self._counts: dict[str, int] = {}
        self._stop_word: str | None = None
        self._stop_details: Any = None

    def feed(self, event: Any) -> Iterator[StreamItem]:
        """Takes one raw event."""
        match getattr(event, "type", None):
            case "message_start":
                self.has_begun = True
                self._count(getattr(getattr(event, "message", None), "usage", None))
            case "content_block_start":
                yield from self._start(event.index, event.content_block)
            case "content_block_delta":
                part = self._parts.get(event.index)
                if part is not None:
                    yield from self._grow(part, event.delta)
            case "message_delta":
                self._count(getattr(event, "usage", None))
                delta = getattr(event, "delta", None)
                self._stop_word = getattr(delta, "stop_reason", None) or self._stop_word
                self._stop_details = getattr(delta, "stop_details", None) or self._stop_details
            case "message_stop":
                self.is_complete = True
            case _:
                pass

    def _start(self, index: int, block: Any) -> Iterator[StreamItem]:
        part = _Part(getattr(block, "type", ""))
        self._parts[index] = part
        match part.kind:
            case "text":
                yield from self._show_text(part, getattr(block, "text", None))
            case "thinking":
                part.signature = getattr(block, "signature", None) or None
                yield from self._show_thinking(part, getattr(block, "thinking", None))
            case "redacted_thinking":
                part.redacted = getattr(block, "data", "")
            case "tool_use":
                part.id = fresh_call_id(getattr(block, "id", None), self._taken)
                self._taken.add(part.id)
                part.name = call_name(getattr(block, "name", None) or "")
                started_with = getattr(block, "input", None)
                part.input = started_with if isinstance(started_with, Mapping) else {}
                yield ToolInputPiece(part.id, part.name, "")
            case _:
                pass

    def _grow(self, part: _Part, delta: Any) -> Iterator[StreamItem]:
        match getattr(delta, "type", None):
            case "text_delta" if part.kind == "text":
                yield from self._show_text(part, delta.text)
            case "thinking_delta" if part.kind == "thinking":
                yield from self._show_thinking(part, delta.thinking)
            case "signature_delta" if part.kind == "thinking":
                part.signature = (part.signature or "") + delta.signature
            case "input_json_delta" if part.kind == "tool_use":
                shown = part.text.add(delta.partial_json or "")
                if shown:
                    yield ToolInputPiece(part.id, part.name, shown)
            case _:
                pass

    def _show_text(self, part: _Part, piece: str | None) -> Iterator[StreamItem]:
        shown = part.text.add(piece or "")
        if shown:
            self._visible.append(shown)
            yield TextPiece(shown)

    def _show_thinking(self, part: _Part, piece: str | None) -> Iterator[StreamItem]:
        shown = part.text.add(piece or "")
        if shown:
            yield ThinkingPiece(shown)

    def _count(self, usage: Any) -> None:
        said = {
            "input": getattr(usage, "input_tokens", None),
            "output": getattr(usage, "output_tokens", None),
            "cache_read": getattr(usage, "cache_read_input_tokens", None),
            "cache_write": getattr(usage, "cache_creation_input_tokens", None),
            "reasoning": getattr(
                getattr(usage, "output_tokens_details", None), "thinking_tokens", None
            ),
        }
        counts = {name: token_count(count) for name, count in said.items()}
        self._counts.update({name: count for name, count in counts.items() if count is not None})

    @property
    def partial_text(self) -> str:
        """Visible text so far."""
        return "".join(self._visible)

    @property
    def usage(self) -> Usage:
        """Token counts as last said."""
        said = self._counts.get
        return Usage(
            said("input"),
            said("output"),
            said("cache_read"),
            said("cache_write"),
            said("reasoning"),
        )

    def end(self) -> StreamEnd:
        """The whole response."""
        said = _STOPS.get(self._stop_word or "end_turn", StopReason.OTHER)
        blocks = self._blocks(said)
        stop = said
        if said in (StopReason.END_TURN, StopReason.TOOL_USE):
            has_calls = any(isinstance(block, ToolUseBlock) for block in blocks)
            stop = StopReason.TOOL_USE if has_calls else StopReason.END_TURN
        return StreamEnd(blocks, stop, self.usage, self._note(stop))

    def _blocks(self, stop: StopReason) -> tuple[Block, ...]:
        parts = [part for _, part in sorted(self._parts.items())]
        blocks: list[Block] = []
        for part in parts:
            match part.kind:
                case "text" if part.text.text:
                    blocks.append(TextBlock(part.text.text))
                case "thinking" if part.text.text or part.signature:
                    blocks.append(ThinkingBlock(part.text.text, part.signature))
                case "redacted_thinking":
                    blocks.append(ThinkingBlock("", redacted=part.redacted))
                case "tool_use":
                    blocks.append(_call(part, stop, is_last=part is parts[-1]))
                case _:
                    pass
        return tuple(blocks)

    def _note(self, stop: StopReason) -> str:
        if stop is StopReason.OTHER:
            return self._stop_word or ""
        details = self._stop_details
        said = (getattr(details, "category", None), getattr(details, "explanation", None))
        return ": ".join(str(word) for word in said if word)


def _call(part: _Part, stop: StopReason, *, is_last: bool) -> ToolUseBlock:
    """A call as it may be kept. The output limit cuts the block that was being written, even where
    its JSON happens to be whole; blocks before it were finished."""
    if stop is StopReason.REFUSAL:
        return ToolUseBlock(part.id, part.name, {}, STOPPED_PROBLEM)
    if is_last and stop in (StopReason.MAX_TOKENS, StopReason.CONTEXT_WINDOW):
        return ToolUseBlock(part.id, part.name, {}, CUT_PROBLEM)
    arguments = part.text.text
    if not arguments.strip():
        value, problem = taken_arguments(part.input)
    else:
        value, problem = parse_arguments(arguments)
    return ToolUseBlock(part.id, part.name, value, problem)
