"""A session's history as text for people and as Markdown.

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
from tui_agent.vocabulary.records import SessionRecord, SessionSnapshot, ToolRun
from tui_agent.workspace.api import WorkspaceApi

_PAGE: Final = 500
_LONGEST_RESULT: Final = 2_000
_WHO: Final[Mapping[Origin, str]] = {
    Origin.USER: "you",
    Origin.ASSISTANT: "model",
    Origin.TOOL_RESULTS: "results",
    Origin.NOTIFICATION: "notification",
    Origin.HOOK: "hook",
    Origin.RECOVERY: "recovery",
    Origin.SUMMARY: "summary",
}


async def all_messages(workspace: WorkspaceApi, snapshot: SessionSnapshot) -> tuple[Message, ...]:
    """The whole history, page by page."""
    pages = [snapshot.messages]
    while pages[-1] and pages[-1][0].seq > snapshot.first_seq:
        pages.append(await workspace.messages_before(snapshot.session.id, pages[-1][0].seq, _PAGE))
    return tuple(message for page in reversed(pages) for message in page)


def as_text(messages: Iterable[Message], runs: Iterable[ToolRun]) -> Iterator[str]:
    """Lines for a terminal."""
    names = {run.tool_use_id: run.name for run in runs}
    for message in messages:
        yield ""
        yield f"{_WHO[message.origin]}  {moment(message.created)}"
        for kind, text in _parts(message, names):
            title, body = (f"{kind}: ", text) if kind else ("", text)
            lines = f"{title}{body}".split("\n")
            yield from (f"  {line}" if line else "" for line in lines)


def as_markdown(
    session: SessionRecord, messages: Iterable[Message], runs: Iterable[ToolRun]
) -> list[str]:
    """Lines of a Markdown document."""
    names = {run.tool_use_id: run.name for run in runs}
    lines = [f"# {exact(session.title) or session.id}", ""]
    lines.append(f"{exact(session.folder)}, {exact(session.model.model)}")
    for message in messages:
        lines += ["", f"## {_WHO[message.origin]}, {moment(message.created)}"]
        for kind, text in _parts(message, names):
            lines += ["", *([f"**{kind}**", "", *_fenced(text)] if kind else text.split("\n"))]
    return lines


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
                yield _result_heading(block, names), _result_text(block)
            case ImageBlock():
                yield "image", exact(block.media_type)


def _result_heading(block: ToolResultBlock, names: Mapping[str, str]) -> str:
    name = exact(names.get(block.tool_use_id, block.tool_use_id))
    return f"{name}, {block.outcome.value.replace('_', ' ')}"


def _result_text(block: ToolResultBlock) -> str:
    half = _LONGEST_RESULT // 2
    text, _ = head_tail(plain(text_of(block.content)), _LONGEST_RESULT, head=half, tail=half)
    images = sum(isinstance(part, ImageBlock) for part in block.content)
    return f"{text}\n[{images} images]" if images else text


def _fenced(text: str) -> list[str]:
    """A code block that no fence inside `text` can end."""
    fence = "```"
    while fence in text:
        fence += "`"
    return [fence, *text.split("\n"), fence]
