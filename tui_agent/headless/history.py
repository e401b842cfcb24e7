"""A session's history as text for people.

In come messages and tool runs, out come lines. Words of the model pass as prose, names and
arguments exactly; a result is shown by its head and tail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tui_agent.headless.shapes import dumps
from tui_agent.headless.words import moment
from tui_agent.text import exact, head_tail, plain, prose
from tui_agent.vocabulary.blocks import (
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    text_of,
)
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import ToolRun

LONGEST_RESULT: Final = 2_000
WHO: Final[Mapping[Origin, str]] = {
    Origin.USER: "you",
    Origin.ASSISTANT: "model",
    Origin.TOOL_RESULTS: "results",
    Origin.NOTIFICATION: "notification",
    Origin.HOOK: "hook",
    Origin.RECOVERY: "recovery",
    Origin.SUMMARY: "summary",
}


def as_text(messages: Iterable[Message], runs: Iterable[ToolRun]) -> Iterator[str]:
    """Lines for a terminal."""
    names = {run.tool_use_id: run.name for run in runs}
    for message in messages:
        yield ""
        yield f"{WHO[message.origin]}  {moment(message.created)}"
        for kind, text in _parts(message, names):
            title, body = (f"{kind}: ", text) if kind else ("", text)
            lines = f"{title}{body}".split("\n")
            yield from (f"  {line}" if line else "" for line in lines)


def _parts(message: Message, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What a message holds: a heading, empty for words, and safe text."""
    for block in message.blocks:
        match block:
            case TextBlock():
                yield "", prose(block.text)
            case ThinkingBlock():
                if block.text:
                    yield "thinking", prose(block.text)
            case ToolUseBlock():
                yield exact(block.name), exact(dumps(to_json(block.input)))
            case ToolResultBlock():
                yield result_heading(block, names), result_text(block)
            case ImageBlock():
                yield "image", exact(block.media_type)


def result_heading(block: ToolResultBlock, names: Mapping[str, str]) -> str:
    """Whose result it is and how the call ended."""
    name = exact(names.get(block.tool_use_id, block.tool_use_id))
    return f"{name}, {block.outcome.value.replace('_', ' ')}"


def result_text(block: ToolResultBlock) -> str:
    """A result by its head and tail, safe to show."""
    half = LONGEST_RESULT // 2
    text, _ = head_tail(plain(text_of(block.content)), LONGEST_RESULT, head=half, tail=half)
    images = sum(isinstance(part, ImageBlock) for part in block.content)
    return f"{text}\n[{images} images]" if images else text
