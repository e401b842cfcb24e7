"""What the scripted server has given out: the memory behind the rules about thinking.

A provider refuses thinking that is not, byte for byte, what it issued. `Issued` remembers every
thinking block, and for every finished message with tool calls in which order thinking and calls
stood and for which prefix of the conversation it was made. Signatures the server made itself prove
themselves (they are a digest of their text), so a second server accepts those of a first one; for
signatures a script chose, hand the first server's memory to the second.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

_MADE_HERE = "SCRIPTED"


@dataclass(frozen=True, slots=True)
class Part:
    """One block of an issued message, as far as the rules compare it: (text, signature), ("", data)
    or (id, "").
    """

    kind: Literal["thinking", "redacted_thinking", "tool_use"]
    text: str
    proof: str = ""


@dataclass(frozen=True, slots=True)
class IssuedMessage:
    """One finished response that carried tool calls."""

    model: str
    prefix: str
    parts: tuple[Part, ...]
    reasoning: str
    is_signed: bool = False
    """Its first call carried a signature: that of the call's id."""


@dataclass
class Issued:
    """The memory itself; one per server unless a test hands one on."""

    thinking: set[tuple[str, str]] = field(default_factory=set)
    redacted: set[str] = field(default_factory=set)
    by_tool_use: dict[str, IssuedMessage | None] = field(default_factory=dict)
    """`None` where an id was given out twice: it tells nothing, the client has to rename one."""

    def remember(self, message: IssuedMessage) -> None:
        for part in message.parts:
            match part.kind:
                case "thinking":
                    self.thinking.add((part.text, part.proof))
                case "redacted_thinking":
                    self.redacted.add(part.proof)
                case "tool_use":
                    known = self.by_tool_use.get(part.text, message)
                    self.by_tool_use[part.text] = message if known is message else None

    def knows_thinking(self, text: str, signature: str) -> bool:
        return (text, signature) in self.thinking or signature == signature_for(text)


def signature_for(text: str) -> str:
    """The signature the server gives to this thinking text."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return _MADE_HERE + base64.b64encode(digest).decode("ascii")


def prefix_digest(body: Mapping[str, Any], count: int) -> str:
    """A digest of system, tools and the first `count` messages; cache marks and string-or-list
    content do not count.
    """
    messages = body.get("messages") or []
    prefix = [body.get("system"), body.get("tools"), messages[:count]]
    plain = json.dumps(_without_marks(prefix), sort_keys=True)
    return hashlib.sha256(plain.encode("utf-8")).hexdigest()


def _without_marks(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_marks(item) for item in value]
    if isinstance(value, dict):
        kept = {k: _without_marks(v) for k, v in value.items() if k != "cache_control"}
        content = kept.get("content")
        if isinstance(content, str):
            kept["content"] = [{"type": "text", "text": content}]
        return kept
    return value
