"""A session as a Markdown document.

In come a snapshot with the whole history and what it cost; out come lines. Words of people and
models stay Markdown, but nothing in them reaches beyond their own message: a code block that was
left open is closed, HTML is shown and not obeyed, and no picture is fetched from anywhere. Inputs
and results stand in code blocks that nothing inside can end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tui_agent.headless.history import WHO, result_heading, result_text
from tui_agent.headless.words import input_lines, moment, tokens
from tui_agent.text import exact, prose
from tui_agent.vocabulary.blocks import (
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import SessionSnapshot
from tui_agent.workspace.api import SessionUsage

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_CODE_SPAN: Final = re.compile(r"(`+)(?:(?!\1).)*?[^`]\1(?!`)")
_OBEYED: Final = re.compile(r"<(?=[A-Za-z/!?])|!(?=\[)")


def as_markdown(snapshot: SessionSnapshot, usage: SessionUsage) -> list[str]:
    """Lines of a Markdown document."""
    session = snapshot.session
    names = {run.tool_use_id: run.name for run in snapshot.tool_runs}
    lines = [
        f"# {_inline(session.title) or session.id}",
        "",
        f"- session: {session.id}",
        f"- folder: {_inline(session.folder)}",
        f"- model: {_inline(session.model.provider)} {_inline(session.model.model)}",
        f"- begun: {moment(session.created)}",
        f"- tokens: {tokens(usage.own)}, {tokens(usage.tree)} with subagents",
    ]
    for message in snapshot.messages:
        lines += ["", f"## {WHO[message.origin]}, {moment(message.created)}"]
        for part in _parts(message, names):
            lines += ["", *part]
    return lines


def _parts(message: Message, names: Mapping[str, str]) -> Iterator[list[str]]:
    for block in message.blocks:
        match block:
            case TextBlock():
                yield contained(prose(block.text))
            case ThinkingBlock():
                if block.text:
                    yield ["**thinking**", "", *fenced(prose(block.text).split("\n"))]
            case ToolUseBlock():
                yield [f"**{_inline(block.name)}**", "", *fenced(input_lines(block.input))]
            case ToolResultBlock():
                heading = _inline(result_heading(block, names))
                yield [f"**{heading}**", "", *fenced(result_text(block).split("\n"))]
            case ImageBlock():
                yield [f"**image**: {_inline(block.media_type)}"]


def contained(text: str) -> list[str]:
    """Markdown of somebody else's as lines that end where they end."""
    lines, fence = [], ""
    for line in text.split("\n"):
        if fence:
            fence = "" if _closes(line, fence) else fence
        else:
            fence = _opened_by(line)
            line = line if fence else _inert(line)
        lines.append(line)
    return [*lines, fence] if fence else lines


def _opened_by(line: str) -> str:
    """The fence of a code block that begins on this line."""
    found = _FENCE.match(line)
    if found is None or (found[1][0] == "`" and "`" in found[2]):
        return ""
    return found[1]


def _closes(line: str, fence: str) -> bool:
    found = _FENCE.match(line)
    return found is not None and found[1].startswith(fence) and not found[2].strip()


def fenced(lines: list[str]) -> list[str]:
    """A code block that no line inside can end."""
    runs = re.findall(r"`{3,}", "\n".join(lines))
    fence = "`" * (max(map(len, runs), default=2) + 1)
    return [fence, *lines, fence]


def _inert(line: str) -> str:
    """The line with what a reader would obey shown instead, except in code."""
    shown, end = "", 0
    for span in _CODE_SPAN.finditer(line):
        shown += _OBEYED.sub(r"\\\g<0>", line[end : span.start()]) + span[0]
        end = span.end()
    return shown + _OBEYED.sub(r"\\\g<0>", line[end:])


def _inline(text: str) -> str:
    """A name on a line of ours: every mark in it is a plain character."""
    return re.sub(r"([\\`*_\[\]<>#!|])", r"\\\1", exact(text))
