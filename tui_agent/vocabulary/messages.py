"""Messages: the append-only history of a session.

The request that a provider gets is a projection of these; nothing here is ever rewritten.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from tui_agent.vocabulary.blocks import Block
from tui_agent.vocabulary.usage import Usage

Role = Literal["user", "assistant"]


class Origin(StrEnum):
    """Who or what a message came from."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_RESULTS = "tool_results"
    NOTIFICATION = "notification"
    HOOK = "hook"
    RECOVERY = "recovery"
    SUMMARY = "summary"


class StopReason(StrEnum):
    """Why the provider ended its response."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    CONTEXT_WINDOW = "context_window"
    PAUSE_TURN = "pause_turn"
    OTHER = "other"
    ERROR = "error"
    """Not said by a provider: the call failed for good."""
    ABORTED = "aborted"
    """Not said by a provider: we closed the stream."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a session. `created` is seconds since the epoch (wall clock, for people);
    the order of messages is that of `seq`, which counts from 1 within a session.

    `cut` marks text that was interrupted while it streamed.
    """

    id: str
    role: Role
    blocks: tuple[Block, ...]
    origin: Origin
    created: float
    seq: int = 0
    turn_id: str | None = None
    provider: str | None = None
    model: str | None = None
    usage: Usage | None = None
    stop_reason: StopReason | None = None
    cut: bool = False
