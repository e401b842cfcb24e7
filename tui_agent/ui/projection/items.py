"""What a conversation is made of on screen, and how it changes.

Items are frozen; a projector replaces them and tells with `Change` values what it did, so that a
view can do the same without comparing lists. Texts are as the model or the tool wrote them: whoever
draws them makes them safe.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.decisions import Verdict
from tui_agent.vocabulary.states import CallState


@dataclass(frozen=True, slots=True)
class UserItem:
    """What the person wrote."""

    key: str
    text: str
    created: float


@dataclass(frozen=True, slots=True)
class AnswerItem:
    """What the model said. `is_cut`: it was interrupted while it streamed."""

    key: str
    text: str
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class ThinkingItem:
    """What the model thought."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class StreamItem:
    """Text that is being written now; `text` is all of it so far."""

    key: str
    text: str
    is_thinking: bool = False


@dataclass(frozen=True, slots=True)
class CallItem:
    """One tool call. `output` is what the model got or, while it runs, the newest output.

    `started` is wall-clock seconds, `duration` seconds, `None` before it ran or when it never did.
    """

    key: str
    tool: str
    subject: str
    state: CallState
    input: JsonObject = field(default_factory=dict)
    output: str = ""
    details: JsonObject = field(default_factory=dict)
    verdict: Verdict | None = None
    comment: str | None = None
    pending_id: str | None = None
    child_id: str | None = None
    started: float | None = None
    duration: float | None = None
    total_bytes: int = 0


class NoticeKind(StrEnum):
    """How much a notice matters, and whether it is a boundary of the history."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    BOUNDARY = "boundary"


@dataclass(frozen=True, slots=True)
class NoticeItem:
    """A line that neither side of the conversation wrote."""

    key: str
    kind: NoticeKind
    text: str
    detail: str = ""


ConversationItem = UserItem | AnswerItem | ThinkingItem | StreamItem | CallItem | NoticeItem


@dataclass(frozen=True, slots=True)
class Added:
    """A new item at the end."""

    item: ConversationItem


@dataclass(frozen=True, slots=True)
class Changed:
    """The item `key` is now `item`; the key may change when a stream becomes a message."""

    key: str
    item: ConversationItem


@dataclass(frozen=True, slots=True)
class Grew:
    """The stream `key` got more text."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Gone:
    """The item `key` was withdrawn."""

    key: str


@dataclass(frozen=True, slots=True)
class Reset:
    """Too much changed at once: take all items anew."""


Change = Added | Changed | Grew | Gone | Reset
