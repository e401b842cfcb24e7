"""Folds the chunks of a Chat Completions stream into blocks, usage and a stop reason.

Servers differ in every detail that the protocol leaves open, so nothing is taken on trust: fields
may be missing, null or empty, calls may come without index or id, usage may come anywhere. A null
never overwrites what was said before. What is to be run is decided by the calls that came, not by
the word at the end.
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
from tui_agent.providers.chat_request import MESSAGE_EXTRA, THINKING_FIELD
from tui_agent.providers.errors import ErrorMapper
from tui_agent.providers.wire_values import (
    CUT_PROBLEM,
    STOPPED_PROBLEM,
    GrowingText,
    arguments_text,
    call_name,
    fresh_call_id,
    parse_arguments,
    token_count,
)
from tui_agent.vocabulary.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from tui_agent.vocabulary.errors import ErrorClass
from tui_agent.vocabulary.messages import StopReason
from tui_agent.vocabulary.usage import Usage

_STOPS: Mapping[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "end": StopReason.END_TURN,
    "eos": StopReason.END_TURN,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "length": StopReason.MAX_TOKENS,
    "max_tokens": StopReason.MAX_TOKENS,
    "content_filter": StopReason.CONTENT_FILTER,
    "sensitive": StopReason.CONTENT_FILTER,
    "refusal": StopReason.REFUSAL,
    "model_context_window_exceeded": StopReason.CONTEXT_WINDOW,
}

# Words in the place of a stop that say that the server failed.
_FAILURES: Mapping[str, ErrorClass] = {
    "error": ErrorClass.SERVER,
    "network_error": ErrorClass.SERVER,
    "insufficient_system_resource": ErrorClass.OVERLOADED,
}

_GROWING_DETAILS = ("text", "summary", "data")
_THINKING_FIELDS = ("reasoning_content", "reasoning")


def _own_field(part: Any, name: str) -> Any:
    """A field of this server's own, or `None`. Asked for as an attribute, each one that is missing
    costs a raised exception, five for every token."""
    known: Mapping[str, Any] = getattr(part, "__dict__", {})
    if name in known:  # a newer SDK may have it in its type
        return known[name]
    return (getattr(part, "model_extra", None) or {}).get(name)


class _Call:
    """One call while its arguments grow. `id` is fixed once a piece of it was shown."""

    __slots__ = ("arguments", "extra", "id", "index", "name", "wire_id")

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.wire_id = ""
        self.id = ""
        self.name = ""
        self.arguments = GrowingText()
        self.extra: dict[str, Any] = {}


class ChatAssembly:
    """See `driver.Assembly`. `taken_ids` are the call ids that the history already has."""

    def __init__(self, errors: ErrorMapper, taken_ids: Iterable[str] = ()) -> None:
        self.is_complete = False
        self.has_begun = False
        self._errors = errors
        self._taken = set(taken_ids)
        self._text = GrowingText()
        self._thinking = GrowingText()
        self._thinking_field: str | None = None
        self._empty_thinking_field: str | None = None
        self._message_extra: dict[str, Any] = {}
        self._details: list[dict[str, Any]] = []
        self._calls: list[_Call] = []
        self._finish = ""
        self._is_refusal = False
        self.usage = Usage()

    def feed(self, event: Any) -> Iterator[StreamItem]:
        """Takes one chunk. Raises `ProviderError` when it says that the server failed."""
        self._count(getattr(event, "usage", None))
        for choice in getattr(event, "choices", None) or ():
            self.has_begun = True
            self._count(_own_field(choice, "usage"))
            delta = getattr(choice, "delta", None)
            if delta is not None:
                yield from self._delta(delta)
            finish = getattr(choice, "finish_reason", None)
            if isinstance(finish, str) and finish:
                self._end_with(finish)

    def _end_with(self, finish: str) -> None:
        if finish in _FAILURES:
            message = f"The provider ended the response with “{finish}”"
            raise self._errors.in_band(message, _FAILURES[finish])
        self._finish = finish
        self.is_complete = True

    def _delta(self, delta: Any) -> Iterator[StreamItem]:
        yield from self._delta_thinking(delta)
        yield from self._delta_text(getattr(delta, "content", None))
        refusal = getattr(delta, "refusal", None)
        if isinstance(refusal, str) and refusal:
            self._is_refusal = True
            yield from self._delta_text(refusal)
        for fragment in getattr(delta, "tool_calls", None) or ():
            yield from self._delta_call(fragment)
        extra = _own_field(delta, "extra_content")
        if isinstance(extra, Mapping):
            self._message_extra["extra_content"] = dict(extra)
        for detail in _own_field(delta, "reasoning_details") or ():
            if isinstance(detail, Mapping):
                self._delta_detail(detail)

    def _delta_detail(self, detail: Mapping[str, Any]) -> None:
        """A router's own form of reasoning, in pieces of one entry or in whole entries; signatures
        of the model behind it are in there, so it goes back as one list."""
        last = self._details[-1] if self._details else None
        if last is None or any(last.get(key) != detail.get(key) for key in ("index", "type")):
            self._details.append(dict(detail))
            return
        for key, piece in detail.items():
            grown = last.get(key)
            if key in _GROWING_DETAILS and isinstance(piece, str) and isinstance(grown, str):
                last[key] = grown + piece
            elif piece is not None:
                last[key] = piece

    def _delta_text(self, piece: object) -> Iterator[StreamItem]:
        shown = self._text.add(piece) if isinstance(piece, str) else ""
        if shown:
            yield TextPiece(shown)

    def _delta_thinking(self, delta: Any) -> Iterator[StreamItem]:
        # some servers send the same text under both names: the first one with text in it holds
        for field in (self._thinking_field,) if self._thinking_field else _THINKING_FIELDS:
            piece = _own_field(delta, field)
            if not isinstance(piece, str):
                continue
            self._empty_thinking_field = self._empty_thinking_field or field
            shown = self._thinking.add(piece)
            if shown:
                self._thinking_field = field
                yield ThinkingPiece(shown)
                return

    def _delta_call(self, fragment: Any) -> Iterator[StreamItem]:
        function = getattr(fragment, "function", None)
        name = getattr(function, "name", None) or ""
        call = self._call_of(fragment, name)
        call.wire_id = call.wire_id or getattr(fragment, "id", None) or ""
        call.name = call.name or name
        extra = (getattr(fragment, "model_extra", None) or {}).get("extra_content")
        if isinstance(extra, Mapping):
            call.extra["extra_content"] = dict(extra)
        already = call.arguments.text if not call.id else ""
        shown = call.arguments.add(arguments_text(getattr(function, "arguments", None)))
        if call.id:
            if shown:
                yield ToolInputPiece(call.id, call.name, shown)
        elif call.name:
            self._fix_id(call)
            yield ToolInputPiece(call.id, call_name(call.name), already + shown)

    def _call_of(self, fragment: Any, name: str) -> _Call:
        """The call that a fragment belongs to, a new one where it begins one.

        It begins one if its index is new; or its id is another than the current call's; or, without
        both, it brings a name although the current call has name and arguments.
        """
        index = getattr(fragment, "index", None)
        call_id = getattr(fragment, "id", None) or ""
        current = self._calls[-1] if self._calls else None
        if index is not None:
            same = [call for call in self._calls if call.index == index]
            current = same[-1] if same else None
        if current is not None:
            is_other_id = bool(call_id and current.wire_id and call_id != current.wire_id)
            is_named_anew = bool(
                index is None and not call_id and name and current.name and current.arguments.text
            )
            if not is_other_id and not is_named_anew:
                return current
        call = _Call(index)
        self._calls.append(call)
        return call

    def _fix_id(self, call: _Call) -> None:
        call.id = fresh_call_id(call.wire_id, self._taken)
        self._taken.add(call.id)

    def _count(self, usage: Any) -> None:
        if usage is None:
            return
        said = usage if isinstance(usage, Mapping) else usage.model_dump()
        prompt = token_count(said.get("prompt_tokens"))
        output = token_count(said.get("completion_tokens"))
        prompt_details = said.get("prompt_tokens_details") or {}
        cached = token_count(prompt_details.get("cached_tokens"))
        if cached is None:
            cached = token_count(said.get("cached_tokens", said.get("prompt_cache_hit_tokens")))
        written = token_count(prompt_details.get("cache_write_tokens"))
        fresh = None if prompt is None else max(0, prompt - (cached or 0) - (written or 0))
        details = said.get("completion_tokens_details") or {}
        reasoning = token_count(details.get("reasoning_tokens"))
        unsaid = (token_count(said.get("total_tokens")) or 0) - (prompt or 0) - (output or 0)
        if reasoning is None and unsaid > 0 and output is not None:
            # a total that exceeds its parts does so by the reasoning, which is paid for as output
            reasoning, output = unsaid, output + unsaid
        self.usage = Usage(fresh, output, cached, written, reasoning)

    @property
    def partial_text(self) -> str:
        """Visible text so far."""
        return self._text.text

    def end(self) -> StreamEnd:
        """The whole response."""
        stop = _STOPS.get(self._finish, StopReason.OTHER)
        if stop is StopReason.END_TURN and self._is_refusal:
            stop = StopReason.REFUSAL
        elif stop in (StopReason.END_TURN, StopReason.TOOL_USE):
            stop = StopReason.TOOL_USE if self._calls else StopReason.END_TURN
        note = self._finish if stop is StopReason.OTHER else ""
        return StreamEnd(self._blocks(stop), stop, self.usage, note)

    def _blocks(self, stop: StopReason) -> tuple[Block, ...]:
        blocks: list[Block] = []
        if self._thinking.text:
            data = {THINKING_FIELD: self._thinking_field}
            blocks.append(ThinkingBlock(self._thinking.text, provider_data=data))
        elif self._empty_thinking_field is not None:
            # there was no reasoning, and who said so wants to hear it again
            self._message_extra[self._empty_thinking_field] = ""
        if self._text.text:
            blocks.append(TextBlock(self._text.text))
        blocks += [self._finished(call, stop) for call in self._calls]
        if self._details:
            self._message_extra["reasoning_details"] = self._details
        if self._message_extra and blocks:
            blocks[-1] = _with_message_extra(blocks[-1], self._message_extra)
        return tuple(blocks)

    def _finished(self, call: _Call, stop: StopReason) -> ToolUseBlock:
        """A call as it may be kept. After a cut none is run: calls may have grown side by side, so
        that no one can tell which was cut."""
        if not call.id:
            self._fix_id(call)
        value: dict[str, Any] = {}
        problem: str | None
        match stop:
            case StopReason.MAX_TOKENS | StopReason.CONTEXT_WINDOW:
                problem = CUT_PROBLEM
            case StopReason.REFUSAL | StopReason.CONTENT_FILTER:
                problem = STOPPED_PROBLEM
            case _:
                value, problem = parse_arguments(call.arguments.text)
        return ToolUseBlock(call.id, call_name(call.name), value, problem, call.extra or None)


def _with_message_extra(block: Block, extra: dict[str, Any]) -> Block:
    match block:
        case TextBlock():
            return TextBlock(block.text, {**(block.provider_data or {}), MESSAGE_EXTRA: extra})
        case ThinkingBlock():
            data = {**(block.provider_data or {}), MESSAGE_EXTRA: extra}
            return ThinkingBlock(block.text, block.signature, block.redacted, data)
        case ToolUseBlock():
            data = {**(block.provider_data or {}), MESSAGE_EXTRA: extra}
            return ToolUseBlock(block.id, block.name, block.input, block.problem, data)
        case _:
            return block
