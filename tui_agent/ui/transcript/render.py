"""From an item to its parts, and from a part to its lines.

One place knows which renderer draws which item and how far items stand apart. Heights are estimated
here too, from the source alone: a hundred times cheaper than rendering and a few percent off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from tui_agent.ui.transcript import cards
from tui_agent.ui.transcript.blocks import (
    AssistantMarkdown,
    DiffBody,
    Item,
    MatchesBody,
    Notice,
    OutputBody,
    StreamingText,
    Thinking,
    ToolCard,
    UserText,
)
from tui_agent.ui.transcript.glyphs import Glyphs
from tui_agent.ui.transcript.lines import Line, Run, wrap_runs
from tui_agent.ui.transcript.markdown import MEASURE, References, render_markdown
from tui_agent.ui.transcript.stream import Part

WIDEST: Final = MEASURE + cards.INDENT
"""Cells of the widest line, with its mark."""

WHOLE: Final = (Part(""),)
"""The parts of an item that is drawn in one piece."""


def is_markdown(item: Item) -> bool:
    """Whether the item is cut into parts at its blocks."""
    return isinstance(item, AssistantMarkdown) or (
        isinstance(item, StreamingText) and not item.is_thinking
    )


def is_foldable(item: Item) -> bool:
    """Whether the item shows more when it is unfolded."""
    return isinstance(item, Thinking) or (isinstance(item, ToolCard) and item.body is not None)


def gap_between(before: Item | None, is_open_before: bool, item: Item, is_open: bool) -> int:
    """Empty rows above `item`: none between calls of one line, so that they read as a list."""
    if before is None:
        return 0
    is_list = isinstance(before, ToolCard) and isinstance(item, ToolCard)
    return 0 if is_list and not is_open and not is_open_before else 1


def lines_of(
    item: Item,
    parts: Sequence[Part],
    number: int,
    *,
    width: int,
    glyphs: Glyphs,
    references: References,
    is_open: bool,
) -> list[Line]:
    """The lines of one part, none wider than `width` cells."""
    width = min(width, WIDEST)
    room = max(1, width - cards.INDENT)
    match item:
        case AssistantMarkdown() | StreamingText():
            lines = _label(item, room) if number == 0 else []
            if isinstance(item, StreamingText) and item.is_thinking:
                for row in item.text.split("\n"):
                    lines += cards.margin(wrap_runs([Run(row, "thinking")], room))
                return lines
            part = parts[number]
            # An open fence is highlighted once, when it is finished.
            lines += cards.margin(
                render_markdown(
                    part.source,
                    room,
                    glyphs=glyphs,
                    references=references,
                    highlight=not part.is_tail,
                )
            )
            if isinstance(item, AssistantMarkdown) and item.is_cut and number == len(parts) - 1:
                lines += cards.cut_line(room)
            return lines
        case UserText():
            return cards.user_lines(item, width, glyphs)
        case Thinking():
            return cards.thinking_lines(item, width, glyphs, is_open=is_open)
        case ToolCard():
            return cards.card_lines(item, width, glyphs, is_open=is_open)
        case Notice():
            return cards.notice_lines(item, width, glyphs)
        case _:
            assert_never(item)


def estimated_height(item: Item, width: int, is_open: bool) -> int:
    """About how many rows the item takes."""
    room = max(1, min(width, WIDEST) - cards.INDENT)
    match item:
        case UserText():
            return _rows(item.text, room) + 1
        case AssistantMarkdown() | StreamingText():
            return _rows(item.text, room) + bool(item.label)
        case Thinking():
            return 1 + (_rows(item.text, room) if is_open else 0)
        case Notice():
            return _rows(item.text, room) + (_rows(item.detail, room) if item.detail else 0)
        case ToolCard():
            return 1 + (_body_rows(item) if is_open else 0)
        case _:
            assert_never(item)


def source_text(item: Item) -> str:
    """The item as text, for copying without rendering it."""
    match item:
        case UserText() | AssistantMarkdown() | StreamingText() | Thinking() | Notice():
            return item.text
        case ToolCard():
            return f"{item.name} {item.subject}".rstrip()
        case _:
            assert_never(item)


def _label(item: AssistantMarkdown | StreamingText, room: int) -> list[Line]:
    if not item.label:
        return []
    time = item.time if isinstance(item, AssistantMarkdown) else ""
    return cards.margin([cards.label_line(item.label, time, room, "assistant-label")])


def _rows(text: str, room: int) -> int:
    return sum(1 + max(0, len(line) - 1) // room for line in text.split("\n"))


def _body_rows(card: ToolCard) -> int:
    match card.body:
        case DiffBody():
            return len(card.body.lines)
        case OutputBody():
            tail = card.body.tail.text.count("\n") + 2 if card.body.tail else 0
            return card.body.head.text.count("\n") + 1 + tail
        case MatchesBody():
            return len(card.body.matches)
        case None:
            return 0
        case _:
            assert_never(card.body)
