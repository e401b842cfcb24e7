"""From projected items to the items that the transcript draws, all text made safe on the way."""

from __future__ import annotations

import re
import time
from typing import assert_never

from tui_agent.text import exact, output, prose
from tui_agent.ui.marks import CALL_WORDS, of_call
from tui_agent.ui.projection.activity import found_words
from tui_agent.ui.projection.items import (
    AnswerItem,
    CallItem,
    ConversationItem,
    NoticeItem,
    StreamItem,
    ThinkingItem,
    UserItem,
)
from tui_agent.ui.projection.words import duration
from tui_agent.ui.transcript.blocks import (
    AssistantMarkdown,
    Body,
    DiffBody,
    DiffLine,
    DiffSign,
    Item,
    Notice,
    NoticeKind,
    OutputBody,
    StreamingText,
    Thinking,
    ToolCard,
    UserText,
)
from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.states import CallState

MOST_DIFF_LINES = 24
HEAD_LINES = 6
TAIL_LINES = 6

_HUNK = re.compile(r"@@ -(?P<old>\d+)(?:,\d+)? \+(?P<new>\d+)(?:,\d+)? @@")


def transcript_item(item: ConversationItem) -> Item:
    """The item as the transcript draws it; its id is the item's key."""
    match item:
        case UserItem():
            return UserText(item.key, prose(item.text), time=_clock(item.created))
        case AnswerItem():
            return AssistantMarkdown(item.key, prose(item.text), is_cut=item.is_cut)
        case ThinkingItem():
            return Thinking(item.key, prose(item.text))
        case StreamItem():
            return StreamingText(item.key, prose(item.text), is_thinking=item.is_thinking)
        case CallItem():
            return tool_card(item)
        case NoticeItem():
            kind = NoticeKind(item.kind.value)
            return Notice(item.key, kind, exact(item.text), prose(item.detail))
        case _:
            assert_never(item)


def tool_card(call: CallItem) -> ToolCard:
    """A call as a card; open where its change or its failure is worth seeing at once."""
    is_quiet = call.state in (CallState.DONE, CallState.STARTED)
    body = _body(call)
    return ToolCard(
        item_id=call.key,
        tool_use_id=call.key,
        mark=of_call(call.state),
        name=exact(call.tool),
        subject=exact(call.subject),
        note=found_words(call.details),
        word="" if is_quiet else CALL_WORDS[call.state],
        duration=duration(call.duration) if call.duration is not None else "",
        body=body,
        is_open=isinstance(body, DiffBody) or call.state is CallState.STARTED,
    )


def diff_lines(unified: str) -> tuple[DiffLine, ...]:
    """The lines of a unified diff, with the numbers of the files they come from."""
    lines: list[DiffLine] = []
    old = new = 0
    for row in unified.splitlines():
        hunk = _HUNK.match(row)
        if hunk:
            old, new = int(hunk["old"]), int(hunk["new"])
            if lines:
                lines.append(DiffLine(DiffSign.SKIPPED, exact(row)))
        elif row.startswith(("--- ", "+++ ")) and not (old or new):
            continue
        elif row.startswith("+"):
            lines.append(DiffLine(DiffSign.ADDED, _tabs(row[1:]), new))
            new += 1
        elif row.startswith("-"):
            lines.append(DiffLine(DiffSign.REMOVED, _tabs(row[1:]), old))
            old += 1
        elif not row.startswith("\\"):
            lines.append(DiffLine(DiffSign.CONTEXT, _tabs(row[1:]), new))
            old, new = old + 1, new + 1
    return tuple(lines)


def _body(call: CallItem) -> Body | None:
    if call.state is CallState.STARTED:
        return _excerpt(call.output, head=0, tail=TAIL_LINES) if call.output.strip() else None
    if call.details.get("kind") == "diff" and call.state is CallState.DONE:
        return _diff(call.details)
    text = call.details.get("output")
    shown = text if isinstance(text, str) else call.output
    return _excerpt(shown, head=HEAD_LINES, tail=TAIL_LINES) if shown.strip() else None


def _diff(details: JsonObject) -> DiffBody | None:
    lines = diff_lines(str(details.get("diff", "")))
    if not lines:
        return None
    return DiffBody(lines[:MOST_DIFF_LINES], max(0, len(lines) - MOST_DIFF_LINES))


def _excerpt(text: str, *, head: int, tail: int) -> OutputBody:
    rows = text.strip("\n").split("\n")
    if len(rows) <= head + tail:
        return OutputBody(output("\n".join(rows)))
    hidden = len(rows) - head - tail
    first = output("\n".join(rows[:head]))
    return OutputBody(first, output("\n".join(rows[-tail:])), hidden)


def _tabs(text: str) -> str:
    return exact(text.expandtabs(4))


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M", time.localtime(seconds)) if seconds else ""
