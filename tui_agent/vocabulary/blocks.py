"""The pieces that a message is made of.

A block is what a provider sent or will be sent, in one shape for all of them. Blocks are frozen: a
history is append-only, so nothing ever edits a block in place. `provider_data` is opaque to
everyone but the provider adapter that made it; it goes back verbatim to that provider and model and
is dropped for others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Json = Any
"""A value that `json.dumps` accepts. Tool inputs and opaque provider data are made of these."""

JsonObject = Mapping[str, Json]


class Outcome(StrEnum):
    """How one tool call ended. Every call of a closed batch has exactly one."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    NOT_RUN = "not_run"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Visible text."""

    text: str
    provider_data: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """The model's reasoning. `redacted` holds data that only its maker can read.

    A block without text may still carry a `signature` and must then be kept.
    """

    text: str
    signature: str | None = None
    redacted: str | None = None
    provider_data: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ToolUseBlock:
    """One requested call.

    `problem` is set when the arguments could not be taken as they came (cut by the output limit,
    not JSON, not an object): `input` is then `{}`, the call never runs, and the text of `problem`
    becomes its error result.
    """

    id: str
    name: str
    input: JsonObject
    problem: str | None = None
    provider_data: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """An image, base64 in `data`; `media_type` is one of image/png, image/jpeg, image/gif and
    image/webp."""

    media_type: str
    data: str


ContentPart = TextBlock | ImageBlock
"""What a tool result may contain."""


@dataclass(frozen=True, slots=True)
class ToolResultBlock:
    """The answer to the call `tool_use_id`."""

    tool_use_id: str
    content: tuple[ContentPart, ...]
    is_error: bool = False
    outcome: Outcome = Outcome.OK


Block = TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | ImageBlock


def text_of(blocks: tuple[Block, ...] | tuple[ContentPart, ...]) -> str:
    """The visible text of `blocks`, joined by newlines; thinking, calls and images left out."""
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def tool_uses(blocks: tuple[Block, ...]) -> tuple[ToolUseBlock, ...]:
    """The calls among `blocks`, in the order in which the model made them."""
    return tuple(block for block in blocks if isinstance(block, ToolUseBlock))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool returns: `content` for the model, `details` for the screen.

    `details` is a JSON object whose `kind` names its shape (`diff`, `shell`, `file`, `matches`,
    `paths`, `agent`, `answers`); a surface never parses `content` to find something out.
    `ends_turn` makes the turn finish with `model_stop` once the batch is answered.
    """

    content: tuple[ContentPart, ...]
    details: JsonObject = field(default_factory=dict)
    outcome: Outcome = Outcome.OK
    ends_turn: bool = False

    @property
    def is_error(self) -> bool:
        """Whether the provider is told that the call failed."""
        return self.outcome is not Outcome.OK
