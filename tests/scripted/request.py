"""A request as the scripted server received it, and one view of its messages for both wires.

Scripts choose their answers and tests look at what was sent through `ParsedRequest`; the view
(`turns`) hides whether system text is a field or a message and whether tool results are blocks or
messages of their own. The body stays as it came.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

Wire = Literal["anthropic", "chat"]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call, its content as text (images appear as `[image]`)."""

    tool_use_id: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call of an assistant message; `input` is None when it is no JSON object."""

    id: str
    name: str
    input: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: `user`, `assistant` or `results`. Results and text of one user message are two
    turns, in this order.
    """

    role: Literal["user", "assistant", "results"]
    text: str = ""
    tool_uses: tuple[ToolUse, ...] = ()
    results: tuple[ToolResult, ...] = ()


@dataclass
class ParsedRequest:
    """One model request. The last three fields are filled in while it is answered."""

    wire: Wire
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    arrival: float
    """`time.monotonic()` when the whole request had been read."""
    violations: list[str] = field(default_factory=list)
    aborted: bool = False
    """The client went away before the answer was complete."""
    finished: bool = False
    """The whole answer, or the error of a `Fail`, was handed to the socket."""

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages as sent, those that are objects at least."""
        listed = self.body.get("messages")
        return [m for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []

    @property
    def tool_names(self) -> list[str]:
        """The names of the offered tools, in the order of the request."""
        listed = [tool for tool in self.body.get("tools") or () if isinstance(tool, dict)]
        return [str((tool.get("function") or tool).get("name", "")) for tool in listed]

    @cached_property
    def system_text(self) -> str:
        if self.wire == "anthropic":
            return text_of(self.body.get("system"))
        system = [m for m in self.messages if m.get("role") in ("system", "developer")]
        return "\n".join(text_of(m.get("content")) for m in system)

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        view = _anthropic_turns if self.wire == "anthropic" else _chat_turns
        return tuple(view(self.messages))

    @property
    def user_texts(self) -> list[str]:
        return [turn.text for turn in self.turns if turn.role == "user"]

    @property
    def first_user_text(self) -> str:
        return next(iter(self.user_texts), "")

    @property
    def last_user_text(self) -> str:
        return next(reversed(self.user_texts), "")

    @property
    def results(self) -> list[ToolResult]:
        """Every tool result of the request, oldest first."""
        return [result for turn in self.turns for result in turn.results]

    @property
    def latest_results(self) -> list[ToolResult]:
        """The results that came in since the last assistant message."""
        latest: list[ToolResult] = []
        for turn in self.turns:
            if turn.role == "assistant":
                latest = []
            latest.extend(turn.results)
        return latest

    def result_of(self, tool_use_id: str) -> ToolResult | None:
        return next((r for r in self.results if r.tool_use_id == tool_use_id), None)


def text_of(content: object) -> str:
    """The text of a message content or tool result, whatever shape it has."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part for part in content if isinstance(part, dict)]
    shown = [
        str(part.get("text", "")) if part.get("type") == "text" else f"[{part.get('type')}]"
        for part in parts
        if part.get("type") not in ("tool_use", "tool_result", "thinking", "redacted_thinking")
    ]
    return "\n".join(shown)


def _anthropic_turns(messages: list[dict[str, Any]]) -> Iterator[Turn]:
    for message in messages:
        content = message.get("content")
        blocks = [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
        if message.get("role") == "assistant":
            calls = tuple(
                ToolUse(str(b.get("id")), str(b.get("name")), _object(b.get("input")))
                for b in blocks
                if b.get("type") == "tool_use"
            )
            yield Turn("assistant", text_of(content), tool_uses=calls)
            continue
        results = tuple(
            ToolResult(
                str(b.get("tool_use_id")), text_of(b.get("content")), bool(b.get("is_error"))
            )
            for b in blocks
            if b.get("type") == "tool_result"
        )
        if results:
            yield Turn("results", results=results)
        if text := text_of(content):
            yield Turn("user", text)


def _chat_turns(messages: list[dict[str, Any]]) -> Iterator[Turn]:
    for message in messages:
        text = text_of(message.get("content"))
        match message.get("role"):
            case "assistant":
                yield Turn("assistant", text, tool_uses=tuple(_chat_calls(message)))
            case "tool":
                result = ToolResult(
                    str(message.get("tool_call_id")), text, text.startswith("Error: ")
                )
                yield Turn("results", results=(result,))
            case "user":
                yield Turn("user", text)
            case _:
                continue


def _chat_calls(message: dict[str, Any]) -> Iterator[ToolUse]:
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        yield ToolUse(
            str(call.get("id")), str(function.get("name")), _decoded(function.get("arguments"))
        )


def _object(value: object) -> Mapping[str, Any] | None:
    return value if isinstance(value, dict) else None


def _decoded(arguments: object) -> Mapping[str, Any] | None:
    try:
        return _object(json.loads(str(arguments)))
    except ValueError:
        return None
