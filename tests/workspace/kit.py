"""A workspace on real parts, the way a surface has it: a folder, a database, tools, a scripted
model behind a real socket, and a trace of everything it told."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.scripted.server import ScriptedServer
from tests.workspace.trace import PATIENCE, Trace, dishonesties
from tui_agent.settings.load import Overrides, load_settings
from tui_agent.vocabulary.blocks import JsonObject, ToolResultBlock, text_of
from tui_agent.vocabulary.decisions import Choice, Decision, PendingItem, Scope
from tui_agent.vocabulary.events import (
    ApprovalPending,
    DoneEvent,
    Event,
    QuestionPending,
    SessionPhase,
)
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import SessionRecord, SessionSnapshot, ToolRun
from tui_agent.vocabulary.states import Mode, Phase
from tui_agent.workspace.api import DecideResult, SessionOptions
from tui_agent.workspace.config import WorkspaceConfig
from tui_agent.workspace.workspace import Workspace

APPROVE = Decision(Choice.APPROVE)
PLAIN_NO = Decision(Choice.DENY)


def no_because(comment: str) -> Decision:
    """A No that goes back to the model."""
    return Decision(Choice.DENY, comment=comment)


def answers(**given: Any) -> Decision:
    """Answers by question; underscores of the names stand for blanks."""
    texts = {f"{name.replace('_', ' ')}?": answer for name, answer in given.items()}
    return Decision(Choice.ANSWER, answers=texts)


@dataclass
class Place:
    """A project folder, a home for the program's files, and what the environment says."""

    folder: Path
    home: Path
    environ: dict[str, str]

    @classmethod
    def under(cls, root: Path, **environ: str) -> Place:
        folder = root / "project"
        folder.mkdir(exist_ok=True)
        home = root / "home-of-tui-agent"
        return cls(
            folder.resolve(),
            home,
            {
                "PATH": os.environ["PATH"],
                "HOME": os.environ["HOME"],
                "TUI_AGENT_HOME": str(home),
                **environ,
            },
        )

    def speak(self, server: ScriptedServer, wire: str = "anthropic") -> Place:
        """Let this server be the model."""
        self.environ.update(addresses(server.url, wire))
        return self

    def config(
        self,
        *,
        attended: bool = True,
        unattended_denies: bool = False,
        flags: Overrides | None = None,
    ) -> WorkspaceConfig:
        loaded = load_settings(self.folder, self.environ, flags)
        return WorkspaceConfig(self.folder, loaded, self.environ, attended, unattended_denies)

    @asynccontextmanager
    async def opened(self, *, honest: bool = True, **options: Any) -> AsyncIterator[Desk]:
        """A workspace on this place, closed at the end; its trace is judged then."""
        workspace = await Workspace.open(self.config(**options))
        desk = Desk(workspace, Trace(workspace.subscribe()))
        try:
            yield desk
        finally:
            async with asyncio.timeout(PATIENCE):
                await workspace.close()
            await desk.trace.close()
        wrong = dishonesties(desk.trace.events) if honest else []
        assert not wrong, "\n".join(wrong)

    def put(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


def addresses(url: str, wire: str) -> Mapping[str, str]:
    """The environment in which the server at `url` is the model."""
    if wire == "anthropic":
        return {
            "TUI_AGENT_PROVIDER": "anthropic",
            "TUI_AGENT_MODEL": "scripted-1",
            "ANTHROPIC_API_KEY": "sk-test",
            "ANTHROPIC_BASE_URL": url,
        }
    return {"TUI_AGENT_MODEL": "scripted-1", "TUI_AGENT_BASE_URL": f"{url}/v1"}


@dataclass
class Desk:
    """A workspace with somebody at it."""

    workspace: Workspace
    trace: Trace
    seen: set[str] = field(default_factory=set)

    async def session(self, **options: Any) -> SessionRecord:
        return await self.workspace.create_session(SessionOptions(**options))

    async def begin(self, text: str, **options: Any) -> str:
        """A new session with its first prompt; returns its id."""
        record = await self.session(**options)
        await self.workspace.submit(record.id, text)
        return record.id

    async def asked(self, tool: str | None = None, session_id: str | None = None) -> PendingItem:
        """The next ask that this desk has not taken up yet."""

        def is_new(event: Event) -> bool:
            return (
                isinstance(event, ApprovalPending | QuestionPending)
                and event.pending_id not in self.seen
                and tool in (None, event.item.tool)
                and session_id in (None, event.session_id)
            )

        event = await self.trace.until(is_new)
        assert isinstance(event, ApprovalPending | QuestionPending)
        self.seen.add(event.pending_id)
        return event.item

    async def decide(self, item: PendingItem | str, decision: Decision = APPROVE) -> DecideResult:
        pending_id = item if isinstance(item, str) else item.pending_id
        return await self.workspace.decide(pending_id, decision)

    async def done(self, session_id: str, count: int = 1) -> DoneEvent:
        """The `count`-th end of a turn of this session."""
        found: list[DoneEvent] = []

        def is_it(event: Event) -> bool:
            if isinstance(event, DoneEvent) and event.session_id == session_id:
                found.append(event)
            return len(found) == count

        await self.trace.until(is_it)
        return found[-1]

    async def rest(self, session_id: str, count: int = 1) -> DoneEvent:
        """That end, and the phase after it."""
        done = await self.done(session_id, count)
        place = self.trace.events.index(done)
        await self.trace.next(
            SessionPhase,
            lambda e: e.session_id == session_id and e.phase is not Phase.RUNNING,
            after=place,
        )
        return done

    async def snapshot(self, session_id: str) -> SessionSnapshot:
        return await self.workspace.snapshot(session_id)

    async def messages(self, session_id: str) -> tuple[Message, ...]:
        return (await self.snapshot(session_id)).messages

    async def runs(self, session_id: str) -> tuple[ToolRun, ...]:
        return (await self.snapshot(session_id)).tool_runs

    async def results(self, session_id: str) -> list[tuple[str, str]]:
        """Outcome and text of every answered call, oldest first."""
        return [
            (str(block.outcome), text_of(block.content))
            for message in await self.messages(session_id)
            for block in message.blocks
            if isinstance(block, ToolResultBlock)
        ]


def bash(command: str) -> JsonObject:
    return {"command": command}


async def eventually(holds: Callable[[], bool]) -> None:
    """Wait for something that no event tells of, such as the end of a process."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.02)


__all__ = ["APPROVE", "PLAIN_NO", "Desk", "Mode", "Place", "Scope", "bash", "eventually"]
