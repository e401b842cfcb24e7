"""What a tool is, what it is given, and what it says about its effects.

A tool gets a validated input and a `ToolContext`, and returns a `ToolResult` or raises `ToolError`
(an error result for the model). It decides nothing about permission and emits no event but its
progress. Paths in effects are real paths, so that two names of one file are one resource.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from tui_agent.vocabulary.agents import AgentConfig
from tui_agent.vocabulary.blocks import JsonObject, TextBlock, ToolResult
from tui_agent.vocabulary.states import DoneReason
from tui_agent.vocabulary.usage import Usage

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tui_agent.tools.ledger import ReadLedger


class ToolError(Exception):
    """The call failed in a way that the model should know about. `str()` is for the model: what,
    where and what to do next. `details` is for the screen."""

    def __init__(self, message: str, *, details: JsonObject | None = None) -> None:
        super().__init__(message)
        self.details: JsonObject = details or {}


class ToolInterrupted(Exception):  # noqa: N818 - a signal, not a failure
    """The call was cancelled; `result` keeps what it had done or printed until then."""

    def __init__(self, result: ToolResult) -> None:
        super().__init__("interrupted")
        self.result = result


@dataclass(frozen=True, slots=True)
class Effects:
    """What a call touches. `exclusive` conflicts with everything; nothing at all with nothing."""

    reads: frozenset[Path] = frozenset()
    writes: frozenset[Path] = frozenset()
    exclusive: bool = False

    def conflicts_with(self, other: Effects) -> bool:
        """Whether the two may not run at the same time."""
        if NO_EFFECTS in (self, other):
            return False
        if self.exclusive or other.exclusive:
            return True
        return bool(
            self.writes & other.writes or self.writes & other.reads or self.reads & other.writes
        )


NO_EFFECTS = Effects()
EXCLUSIVE = Effects(exclusive=True)


@dataclass(frozen=True, slots=True)
class ChildRequest:
    """A subagent to run for the call `tool_use_id`."""

    tool_use_id: str
    agent: str
    description: str
    prompt: str
    child_id: str | None = None
    """The paused or cut child session to go on with, instead of a new one."""


@dataclass(frozen=True, slots=True)
class ChildOutcome:
    """How a subagent's turn ended: its final text, or that it waits (`is_paused`)."""

    child_id: str
    reason: DoneReason
    text: str
    usage: Usage
    rounds: int

    @property
    def is_paused(self) -> bool:
        """Whether the child waits for a decision."""
        return self.reason.is_pause


class ChildPaused(Exception):  # noqa: N818 - a signal, not a failure
    """A Task call's child waits for a person: the call is `waiting`, it has no outcome yet."""

    def __init__(self, child_id: str) -> None:
        super().__init__(child_id)
        self.child_id = child_id


class Spawner(Protocol):
    """Runs subagents; implemented above this room."""

    def agents(self) -> tuple[AgentConfig, ...]:
        """The agents that may be named in a request."""
        ...

    async def run_child(self, request: ChildRequest) -> ChildOutcome:
        """Start or continue a child and wait for the end of its turn."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Where and for whom a call runs. `folder` is the workspace (an absolute real path);
    `spill_folder` is where output too large for the model goes; `progress(text, total_bytes)` may
    be called from the event loop at any rate. `environment` is what a child process gets. `judged`
    is what the gate was told that the call touches: a file tool that finds its path leading
    elsewhere by now does nothing. `hidden` are files that no search may show."""

    session_id: str
    tool_use_id: str
    folder: Path
    spill_folder: Path
    extra_folders: tuple[Path, ...] = ()
    ledger: ReadLedger
    environment: Mapping[str, str] = field(default_factory=dict)
    progress: Callable[[str, int], None] = lambda _text, _total: None
    note_pid: Callable[[int], None] = lambda _pid: None
    answers: JsonObject | None = None
    spawner: Spawner | None = None
    child_id: str | None = None
    judged: Effects | None = None
    hidden: frozenset[Path] = frozenset()


InputT = TypeVar("InputT", bound="BaseModel", contravariant=True)


class Tool(Protocol[InputT]):
    """One tool. `is_read_only`: it changes nothing and may be repeated after a crash."""

    name: ClassVar[str]
    description: ClassVar[str]
    input_model: ClassVar[type[Any]]
    is_read_only: ClassVar[bool]

    def effects(self, args: InputT, context: ToolContext) -> Effects:
        """What this call touches."""
        ...

    def subject(self, args: InputT) -> str:
        """One line that says what the call is about: a path, a command, a pattern."""
        ...

    def preview(self, args: InputT, context: ToolContext) -> JsonObject:
        """What a person sees before deciding. A JSON object with `kind`: `command` {command,
        description, timeout_seconds}, `diff` {path, diff (unified), added, removed, is_new},
        `questions` {questions}, `text` {text}. Must not change anything; reads at most what it
        needs for the diff."""
        ...

    async def run(self, args: InputT, context: ToolContext) -> ToolResult:
        """Do it. Raises `ToolError`, `ToolInterrupted` when cancelled, `ChildPaused`."""
        ...


def text_result(text: str, details: JsonObject | None = None) -> ToolResult:
    """An ok result of one text; an empty text becomes an explicit one, as providers refuse none."""
    return ToolResult((TextBlock(text if text.strip() else "(no output)"),), details or {})
