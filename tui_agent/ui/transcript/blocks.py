"""What the transcript shows, as frozen descriptions.

An item has an id that stays while the item changes. All text is already safe to show: `prose` for
what people and models wrote, `output` for what tools printed. Items say what happened; how it looks
is decided by `cards` and `markdown`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tui_agent.text import StyledText
from tui_agent.ui.marks import Mark


@dataclass(frozen=True, slots=True)
class UserText:
    """What a person wrote, shown as they wrote it. `time` is words such as `12:04`."""

    item_id: str
    text: str
    label: str = "you"
    time: str = ""


@dataclass(frozen=True, slots=True)
class AssistantMarkdown:
    """What a model wrote. `label` names it where a new voice begins. `is_cut`: interrupted."""

    item_id: str
    text: str
    label: str = ""
    time: str = ""
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class StreamingText:
    """What a model is writing now: all of it so far. It grows by `stream_append`."""

    item_id: str
    text: str = ""
    label: str = ""
    is_thinking: bool = False


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a model thought, one line until it is unfolded."""

    item_id: str
    text: str
    duration: str = ""


class NoticeKind(StrEnum):
    """How much a notice matters, and whether it is a boundary of the history."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    BOUNDARY = "boundary"


@dataclass(frozen=True, slots=True)
class Notice:
    """A line that neither side wrote: an error, how a turn ended, a recovery note, a boundary."""

    item_id: str
    kind: NoticeKind
    text: str
    detail: str = ""


class DiffSign(StrEnum):
    """What a line of a diff is."""

    ADDED = "+"
    REMOVED = "-"
    CONTEXT = " "
    SKIPPED = "@"
    """Stands for the lines between two places; its text names the place."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff; `number` is that of the new file, of the old one where it is removed."""

    sign: DiffSign
    text: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class DiffBody:
    """A change of a file. `hidden` lines more are in the whole output."""

    lines: tuple[DiffLine, ...]
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class OutputBody:
    """What a tool printed: its first and last lines, with `hidden` lines between them left out."""

    head: StyledText
    tail: StyledText | None = None
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class Match:
    """One place that was found: `where` is a path or a line number."""

    where: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class MatchesBody:
    """Places that were found. `hidden` more are in the whole output."""

    matches: tuple[Match, ...]
    hidden: int = 0


Body = DiffBody | OutputBody | MatchesBody


@dataclass(frozen=True, slots=True)
class ToolCard:
    """One tool call. `word` is its state in words, empty where the mark says enough.

    `note` stands behind the subject, muted: `+3 -1`, `14 hits`. The body shows when the card is
    unfolded; `is_open` says how it starts.
    """

    item_id: str
    tool_use_id: str
    mark: Mark
    name: str
    subject: str = ""
    note: str = ""
    word: str = ""
    duration: str = ""
    body: Body | None = None
    is_open: bool = False


Item = UserText | AssistantMarkdown | StreamingText | Thinking | ToolCard | Notice
