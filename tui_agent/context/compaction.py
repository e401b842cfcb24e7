"""Where to cut a history, what to ask for as its summary, and the message that replaces it.

First form: one plain summary of everything before the cut, recent turns kept as they are. The cut
never stands between a call and its answer. The summary carries the first request, the last prompt
and the open todo list word for word, so that the task survives a poor summary, and a second one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from tui_agent.context.budget import compaction_threshold, message_tokens, text_tokens
from tui_agent.providers.base import ModelRequest, RequestMessage
from tui_agent.tools.names import TODO_WRITE
from tui_agent.vocabulary.agents import ModelFacts
from tui_agent.vocabulary.blocks import (
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    text_of,
    tool_uses,
)
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.usage import CHARACTERS_PER_TOKEN

KEPT_SHARE = 0.25
"""How much of the window recent turns may take after a compaction."""
KEPT_OF_ROOM = 0.5
"""And how much of what the threshold leaves beside prompt and tools, so that a small window is not
full again at once."""
BODY_CHARACTERS = 2_000
"""Of one block, for the summariser."""
PROMPT_CHARACTERS = 20_000
"""Of a request that is carried over, and at most a quarter of what is summarised; a longer one says
where it was cut."""
SUMMARY_HEADING = "[Summary of the earlier conversation]"
_FIRST_REQUEST = "The first request, word for word:"
_LATEST_REQUEST = "The latest request, word for word:"
_TODO = "The todo list as it stands:"
_BOXES = {"completed": "[x]", "in_progress": "[>]"}

_SYSTEM = (
    "You summarise a working session between a person and a coding agent so that the agent can go "
    "on without the original messages. Write plain text. State the goal, decisions and their "
    "reasons, files read and changed (with paths), commands and what they showed, errors and how "
    "they were solved, what is finished and what is still open. Keep names, paths, numbers and "
    "exact error texts. Do not address the person and do not continue the work."
)


@dataclass(frozen=True, slots=True)
class Cut:
    """`older` is summarised; the request goes on with message number `kept_from`."""

    older: tuple[Message, ...]
    kept: tuple[Message, ...]

    @property
    def kept_from(self) -> int:
        """The number of the first message that stays in the request."""
        return self.kept[0].seq if self.kept else self.older[-1].seq + 1


def choose_cut(history: Sequence[Message], facts: ModelFacts, overhead: int = 0) -> Cut | None:
    """Where to cut, or `None` when there is nothing worth summarising. `overhead`: tokens that
    every request carries besides its history.

    Recent messages are kept up to a share of the window, from a prompt on where one is near, else
    from an assistant message on; an open batch is always kept.
    """
    room = max(0, compaction_threshold(facts) - overhead)
    allowance = round(min(KEPT_SHARE * facts.window, KEPT_OF_ROOM * room))
    places = [index for index in range(1, len(history)) if _may_cut_before(history, index)]
    kept = _tokens_from(history)
    fitting = [index for index in places if kept[index] <= allowance]
    if not fitting:
        fitting = places[-1:]
    prompts = [index for index in fitting if history[index].origin is Origin.USER]
    chosen = prompts[0] if prompts else fitting[0] if fitting else None
    if chosen is None or not _is_worth_it(history[:chosen]):
        return None
    return Cut(tuple(history[:chosen]), tuple(history[chosen:]))


def _tokens_from(history: Sequence[Message]) -> list[int]:
    """For each place the tokens from there to the end."""
    sums = list(accumulate(map(message_tokens, reversed(history))))
    return sums[::-1]


def _may_cut_before(history: Sequence[Message], index: int) -> bool:
    """Whether no call before `index` is answered at or behind it."""
    return not tool_uses(history[index - 1].blocks)


def _is_worth_it(older: Sequence[Message]) -> bool:
    return any(message.origin is not Origin.SUMMARY for message in older)


def summary_request(cut: Cut, model: str, facts: ModelFacts, focus: str = "") -> ModelRequest:
    """The model call that asks for the summary: the older part as one text, no tools."""
    budget = round(0.6 * facts.window * 3)
    transcript = _head_and_tail("\n\n".join(_as_text(message) for message in cut.older), budget)
    wish = f"\n\nThe person asks to keep especially: {focus}" if focus.strip() else ""
    prompt = f"Summarise this session.{wish}\n\n<session>\n{transcript}\n</session>"
    message = RequestMessage("user", (TextBlock(prompt),))
    return ModelRequest(model, (_SYSTEM,), (message,), (), facts)


def summary_text(cut: Cut, summary: str) -> str:
    """The text of the stored summary message."""
    parts = [SUMMARY_HEADING, summary.strip()]
    older = sum(message_tokens(each) for each in cut.older) * CHARACTERS_PER_TOKEN
    longest = max(BODY_CHARACTERS, min(PROMPT_CHARACTERS, round(older / 4)))
    prompts = [
        _head_and_tail(text_of(each.blocks), longest)
        for each in cut.older
        if each.origin is Origin.USER
    ]
    first = _carried(cut, _FIRST_REQUEST) or next(iter(prompts), "")
    latest = prompts[-1] if prompts else _carried(cut, _LATEST_REQUEST)
    if first:
        parts.append(f"{_FIRST_REQUEST}\n{first}")
    is_asked_later = any(message.origin is Origin.USER for message in cut.kept)
    if latest and latest != first and not is_asked_later:
        parts.append(f"{_LATEST_REQUEST}\n{latest}")
    if todo := _open_todo(cut):
        parts.append(f"{_TODO}\n{todo}")
    return "\n\n".join(parts)


def is_shorter(cut: Cut, text: str) -> bool:
    """Whether the summary takes less room than what it stands for."""
    return text_tokens(text) < sum(map(message_tokens, cut.older))


def _carried(cut: Cut, heading: str) -> str:
    """What an earlier summary, which begins the older part, has below `heading`."""
    if not cut.older or cut.older[0].origin is not Origin.SUMMARY:
        return ""
    _, found, rest = text_of(cut.older[0].blocks).rpartition(f"\n\n{heading}\n")
    ends = [at for other in (_LATEST_REQUEST, _TODO) if (at := rest.find(f"\n\n{other}\n")) >= 0]
    return rest[: min(ends, default=len(rest))] if found else ""


def _open_todo(cut: Cut) -> str:
    """The list that the model keeps, if something is left to do and no newer one is kept."""
    if any(call.name == TODO_WRITE for message in cut.kept for call in tool_uses(message.blocks)):
        return ""
    refused = {
        block.tool_use_id
        for message in cut.older
        for block in message.blocks
        if isinstance(block, ToolResultBlock) and block.is_error
    }
    written = [
        call.input.get("todos")
        for message in cut.older
        for call in tool_uses(message.blocks)
        if call.name == TODO_WRITE and call.id not in refused
    ]
    if not written:
        return _carried(cut, _TODO)
    listed = written[-1] if isinstance(written[-1], list | tuple) else ()
    items = [item for item in listed if isinstance(item, Mapping)]
    if all(item.get("status") == "completed" for item in items):
        return ""
    return "\n".join(map(_todo_line, items))


def _todo_line(item: Mapping[str, object]) -> str:
    box = _BOXES.get(str(item.get("status")), "[ ]")
    return f"- {box} {' '.join(str(item.get('content')).split())}"


def _as_text(message: Message) -> str:
    lines = []
    for block in message.blocks:
        match block:
            case TextBlock():
                lines.append(f"{message.role}: {_clip(block.text)}")
            case ToolUseBlock():
                lines.append(f"call {block.name}: {_clip(str(to_json(block.input)))}")
            case ToolResultBlock():
                lines.append(f"result ({block.outcome}): {_clip(text_of(block.content))}")
            case ImageBlock():
                lines.append("(an image)")
            case ThinkingBlock():
                continue
    return "\n".join(lines)


def _clip(text: str) -> str:
    return _head_and_tail(text, BODY_CHARACTERS)


def _head_and_tail(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
