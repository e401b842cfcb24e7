"""What the demo says next: a pure function from the request to one reply.

Nothing is remembered. Which step of the tour comes next is read from the calls in the history, so
the tour goes on after a restart, a denial, an edited call or a fork. A step whose tool is not
offered is left out. A subagent of the tour is known by how its first message begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tui_agent.providers import demo_texts as texts
from tui_agent.providers.base import ModelRequest, RequestMessage
from tui_agent.vocabulary.blocks import (
    Outcome,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    text_of,
    tool_uses,
)

CHILD_MARK = "Demo task:"
DEMO_FILE = "tui-agent-demo.md"

_TOUR_WORDS = frozenset({"tour", "demo", "the tour", "again"})
_GO_ON_WORDS = frozenset({"go on", "continue", "next", "weiter"})
# How the summary of an older part begins, and how the call that asks for one does.
_SUMMARY_MARKS = ("[Summary of", "Summarise this session")


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that a reply makes."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DemoReply:
    """One reply. `is_slow` streams it over a few seconds whatever its length."""

    text: str
    calls: tuple[PlannedCall, ...] = ()
    thinking: str = ""
    is_slow: bool = False


@dataclass(frozen=True, slots=True)
class _Done:
    """A call of the tour with its result."""

    call: ToolUseBlock
    result: ToolResultBlock | None

    @property
    def text(self) -> str:
        return text_of(self.result.content) if self.result is not None else ""

    @property
    def worked(self) -> bool:
        return self.result is not None and not self.result.is_error

    @property
    def was_denied(self) -> bool:
        return self.result is not None and self.result.outcome is Outcome.DENIED


class _Scene:
    """The request as the tour sees it."""

    def __init__(self, request: ModelRequest, start: int) -> None:
        self.tools = frozenset(tool.name for tool in request.tools)
        messages = request.messages[start:]
        results = {
            block.tool_use_id: block
            for message in messages
            for block in message.blocks
            if isinstance(block, ToolResultBlock)
        }
        self.done = [
            _Done(call, results.get(call.id))
            for message in messages
            if message.role == "assistant"
            for call in tool_uses(message.blocks)
        ]
        self.said = "\n".join(
            text_of(message.blocks) for message in messages if message.role == "assistant"
        )
        last = messages[-1]
        has_results = any(isinstance(block, ToolResultBlock) for block in last.blocks)
        self.remark = _prompt(last) if has_results else ""

    def last(self, tool: str) -> _Done | None:
        """The newest call of `tool`."""
        return next((done for done in reversed(self.done) if done.call.name == tool), None)

    def all(self, tool: str) -> list[_Done]:
        """Every call of `tool`, oldest first."""
        return [done for done in self.done if done.call.name == tool]


def next_reply(request: ModelRequest) -> DemoReply:
    """The reply to `request`."""
    first, last = request.messages[0], request.messages[-1]
    opening = text_of(first.blocks)
    if any(line.lstrip().startswith(CHILD_MARK) for line in opening.splitlines()):
        return _child_reply(request, opening)
    if opening.startswith(_SUMMARY_MARKS[1]) and not request.tools:
        return DemoReply(texts.SUMMARY)
    start = _tour_start(request.messages)
    is_in_tour = any(isinstance(block, ToolResultBlock) for block in last.blocks)
    if start is None:
        return _answer(request, is_in_tour=is_in_tour)
    scene = _Scene(request, start)
    is_beginning = start == len(request.messages) - 1
    wants_on = _prompt(last).casefold().rstrip(".! ") in _GO_ON_WORDS
    if is_beginning or is_in_tour or (wants_on and not _is_over(scene)):
        return _tour_reply(scene, is_beginning=is_beginning)
    return DemoReply(texts.other_prompt(_prompt(last)))


def _answer(request: ModelRequest, *, is_in_tour: bool) -> DemoReply:
    """To a history that holds no beginning of the tour: its older part was summarised."""
    if is_in_tour:
        return _tour_reply(_Scene(request, 0), is_beginning=False)
    return DemoReply(texts.other_prompt(_prompt(request.messages[-1])))


def _tour_start(messages: Sequence[RequestMessage]) -> int | None:
    """Where the newest tour began: at the first prompt, or where one was asked for."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "user" and _prompt(message).casefold().strip("./! ") in _TOUR_WORDS:
            return index
    return None if text_of(messages[0].blocks).startswith(_SUMMARY_MARKS) else 0


def _prompt(message: RequestMessage) -> str:
    """The newest text of a user's message."""
    typed = [block.text for block in message.blocks if isinstance(block, TextBlock)]
    return typed[-1].strip() if typed else ""


# --------------------------------------------------------------------------------- the steps


def _tour_reply(scene: _Scene, *, is_beginning: bool) -> DemoReply:
    parts = [texts.GREETING] if is_beginning else []
    if scene.remark:
        parts.append(texts.remark(scene.remark))
    if not is_beginning:
        parts += _comments(scene)
    for step in _STEPS:
        reply = step(scene)
        if reply is not None:
            text = "\n\n".join([*parts, reply.text])
            return DemoReply(text, reply.calls, reply.thinking)
    called = {done.call.name for done in scene.done}
    return DemoReply("\n\n".join([*parts, texts.ending(called)]))


def _is_over(scene: _Scene) -> bool:
    return texts.ENDING_HEADING in scene.said


def _comments(scene: _Scene) -> list[str]:
    """What there is to say of the calls that were answered last."""
    comments: list[str] = []
    if texts.SUMMARY_HEADING not in scene.said and not _wants_to_read(scene):
        comments.append(_findings(scene))
    if not scene.done:
        return comments
    last = scene.done[-1]
    match last.call.name:
        case "AskUserQuestion":
            comments.append(texts.answered(last.text, worked=last.worked))
        case "Write":
            comments.append(texts.wrote(last.text, worked=last.worked, was_denied=last.was_denied))
        case "Task":
            comments.append(texts.reported([done.text for done in scene.all("Task")]))
        case "Bash":
            comments.append(texts.ran(last.text, worked=last.worked, was_denied=last.was_denied))
        case _:
            pass
    return comments


def _look(scene: _Scene) -> DemoReply | None:
    if scene.last("Glob") or "Glob" not in scene.tools:
        return None
    call = PlannedCall("Glob", {"pattern": "*"})
    return DemoReply(texts.LOOK, (call,), thinking=texts.LOOK_THINKING)


def _read(scene: _Scene) -> DemoReply | None:
    path = _wants_to_read(scene)
    if path is None:
        return None
    return DemoReply(texts.read(path), (PlannedCall("Read", {"file_path": path}),))


def _wants_to_read(scene: _Scene) -> str | None:
    listing = scene.last("Glob")
    if listing is None or not listing.worked or scene.last("Read") or "Read" not in scene.tools:
        return None
    return file_to_read(listing.text)


def _ask(scene: _Scene) -> DemoReply | None:
    if scene.last("AskUserQuestion") or "AskUserQuestion" not in scene.tools:
        return None
    return DemoReply(texts.ASK, (PlannedCall("AskUserQuestion", {"questions": [texts.QUESTION]}),))


def _wants_only(scene: _Scene, topic: str) -> bool:
    """Whether the tour's question was answered with `topic`."""
    asked = scene.last("AskUserQuestion")
    return asked is not None and asked.worked and topic in asked.text


def _write(scene: _Scene) -> DemoReply | None:
    if scene.last("Write") or "Write" not in scene.tools or _wants_only(scene, texts.SUBAGENTS):
        return None
    call = PlannedCall("Write", {"file_path": DEMO_FILE, "content": texts.DEMO_FILE_CONTENT})
    listing = scene.last("Glob")
    is_there = listing is not None and DEMO_FILE in listing.text
    if is_there and "Read" in scene.tools:
        # left from an earlier tour: a file that exists has to be read before it is written
        return DemoReply(texts.WRITE, (PlannedCall("Read", {"file_path": DEMO_FILE}), call))
    return DemoReply(texts.WRITE, (call,))


def _delegate(scene: _Scene) -> DemoReply | None:
    if scene.last("Task") or "Task" not in scene.tools or _wants_only(scene, texts.PERMISSIONS):
        return None
    calls = tuple(
        PlannedCall(
            "Task",
            {
                "description": description,
                "prompt": f"{CHILD_MARK} {prompt}",
                "subagent_type": "general-purpose",
            },
        )
        for description, prompt in texts.CHILD_TASKS
    )
    return DemoReply(texts.DELEGATE, calls)


def _shell(scene: _Scene) -> DemoReply | None:
    if scene.last("Bash") or "Bash" not in scene.tools or _wants_only(scene, texts.SUBAGENTS):
        return None
    call = PlannedCall("Bash", {"command": "ls -la | head", "description": "List this folder"})
    return DemoReply(texts.SHELL, (call,))


_STEPS: tuple[Callable[[_Scene], DemoReply | None], ...] = (
    _look,
    _read,
    _ask,
    _write,
    _delegate,
    _shell,
)


def _findings(scene: _Scene) -> str:
    listing, reading = scene.last("Glob"), scene.last("Read")
    text = listing.text if listing is not None and listing.worked else ""
    path = str(reading.call.input.get("file_path", "")) if reading is not None else ""
    excerpt = reading.text if reading is not None and reading.worked else ""
    return texts.findings(listed(text), number_found(text), path, excerpt)


def listed(text: str) -> list[str]:
    """The entries in the result of a search for files: one a line, notes left out."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if re.fullmatch(r"[^\s(\[:].*[^\s:.)\]]", line)]


def number_found(text: str) -> int:
    """How many files a search found; its note tells when it shows fewer."""
    noted = re.search(r"^\[([\d,]+) files match", text, re.MULTILINE)
    return int(noted[1].replace(",", "")) if noted else len(listed(text))


def file_to_read(text: str) -> str | None:
    """The file of a listing that tells most about a folder: its README, else the first one."""
    files = [entry for entry in listed(text) if re.search(r"[^/]\.\w{1,8}$", entry)]
    readmes = [entry for entry in files if re.search(r"(^|/)readme\.\w+$", entry, re.IGNORECASE)]
    return next(iter([*readmes, *files]), None)


# ------------------------------------------------------------------------------- the children


def _child_reply(request: ModelRequest, opening: str) -> DemoReply:
    scene = _Scene(request, 0)
    task = next(task for task in (*texts.CHILDREN, texts.ANY_CHILD) if task.marker in opening)
    if not scene.done and task.tool in scene.tools:
        return DemoReply(task.first, (PlannedCall(task.tool, task.input),))
    found = listed(scene.done[-1].text) if scene.done and scene.done[-1].worked else []
    return DemoReply(task.report(found), is_slow=True)
