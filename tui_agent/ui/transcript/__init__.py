"""The conversation on screen: one virtualised widget over any number of items.

Frozen descriptions of what was said and done come in (`blocks`), lines of named styles are made of
them (`markdown`, `cards`), and one widget shows the part that is on screen (`view`). The room knows
nothing of sessions or events: whoever owns it projects them into items. Text must come in already
safe to show; nothing here ever reads markup, opens a link or fetches an image.
"""

from tui_agent.ui.transcript.blocks import (
    AssistantMarkdown,
    Body,
    DiffBody,
    DiffLine,
    DiffSign,
    Item,
    Match,
    MatchesBody,
    Notice,
    NoticeKind,
    OutputBody,
    StreamingText,
    Thinking,
    ToolCard,
    UserText,
)
from tui_agent.ui.transcript.markdown import warm_up
from tui_agent.ui.transcript.view import TranscriptView

__all__ = [
    "AssistantMarkdown",
    "Body",
    "DiffBody",
    "DiffLine",
    "DiffSign",
    "Item",
    "Match",
    "MatchesBody",
    "Notice",
    "NoticeKind",
    "OutputBody",
    "StreamingText",
    "Thinking",
    "ToolCard",
    "TranscriptView",
    "UserText",
    "warm_up",
]
