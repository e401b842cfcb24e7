"""Running subagents: a child is a session of its own with a link to the call that started it.

Foreground, first form: the Task call waits for the end of the child's turn. A child that pauses
leaves its call waiting; going on with the call goes on with the child. A child never has more tools
than its parent, and nobody can ask a person through it: its own calls meet the gate.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Protocol

from tui_agent.loop.turn import StopKind
from tui_agent.store import Store
from tui_agent.tools.base import (
    ChildOutcome,
    ChildPaused,
    ChildRequest,
    ToolError,
    ToolInterrupted,
)
from tui_agent.vocabulary.agents import AgentConfig
from tui_agent.vocabulary.blocks import TextBlock, ToolResult, text_of
from tui_agent.vocabulary.events import AgentFinished, AgentStarted, DoneEvent, Event
from tui_agent.vocabulary.ids import Clock, new_id
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.records import PROCESS_ENDED, SessionRecord
from tui_agent.vocabulary.states import DoneReason, Phase
from tui_agent.vocabulary.usage import Usage
from tui_agent.workspace.agents import BUILT_IN, find_agent
from tui_agent.workspace.runner import SessionRunner

DEEPEST = 3
MOST_AT_ONCE = 8
TITLE_LENGTH = 60


class Nursery(Protocol):
    """What the supervisor needs of the workspace."""

    store: Store
    clock: Clock

    def publish(self, event: Event) -> None:
        """Put an event on the bus."""
        ...

    async def adopt(self, record: SessionRecord, path: tuple[str, ...]) -> SessionRunner:
        """The runner of a child session."""
        ...

    def release(self, runner: SessionRunner) -> None:
        """The child's turn has ended."""
        ...


@dataclass(frozen=True, slots=True)
class ChildSpawner:
    """Runs the children of one session."""

    nursery: Nursery
    parent: SessionRunner
    places: asyncio.Semaphore

    def agents(self) -> tuple[AgentConfig, ...]:
        """The agents that a request may name."""
        return BUILT_IN

    async def run_child(self, request: ChildRequest) -> ChildOutcome:
        """Start or go on with a child; returns at the end of its turn. Cancelling it ends the
        child's turn first."""
        async with self.places:
            if request.child_id is None:
                child = await self._start(request)
                begin = child.submit(request.prompt)
            else:
                record = await self.nursery.store.session(request.child_id)
                if (ended := await self._ended(record)) is not None:
                    self._tell_finished(record.id, request, ended.reason, ended.usage)
                    return ended
                child = await self.nursery.adopt(record, (*self.parent.agent_path, record.id))
                begin = self._go_on(child, request)
            try:
                await begin
                done = await child.finished()
            except asyncio.CancelledError:
                raise await self._stopped(child, request) from None
            except Exception:
                self._tell_finished(child.id, request, DoneReason.ERROR, Usage())
                raise
            finally:
                self.nursery.release(child)
            return await self._told(child, request, done)

    async def _start(self, request: ChildRequest) -> SessionRunner:
        agent = find_agent(request.agent)
        if agent is None or agent not in BUILT_IN:
            names = ", ".join(known.name for known in BUILT_IN)
            raise ToolError(f"there is no agent {request.agent!r}: the agents are {names}")
        parent = await self.nursery.store.session(self.parent.id)  # its mode may have changed
        now = self.nursery.clock.wall()
        record = replace(
            parent,
            id=new_id("ses"),
            parent_id=parent.id,
            parent_tool_use_id=request.tool_use_id,
            forked_from=None,
            title=request.description[:TITLE_LENGTH],
            agent=agent.name,
            system_prompt=None,
            limits=replace(agent.limits, max_session_tokens=parent.limits.max_session_tokens),
            created=now,
            updated=now,
        )
        await self.nursery.store.create_child(
            record,
            parent_run=(parent.id, request.tool_use_id),
            started=now,
            turn_id=self.parent.turn.id if self.parent.turn else None,
        )
        child = await self.nursery.adopt(record, (*self.parent.agent_path, record.id))
        self._tell(
            AgentStarted(
                child_id=record.id,
                tool_use_id=request.tool_use_id,
                agent=agent.name,
                description=request.description,
            )
        )
        return child

    async def _go_on(self, child: SessionRunner, request: ChildRequest) -> None:
        """Continue a child that paused, was cut, or never got its prompt."""
        if await self.nursery.store.messages(child.id, last=1):
            await child.resume()
        else:
            await child.submit(request.prompt)

    async def _ended(self, record: SessionRecord) -> ChildOutcome | None:
        """What a child that had already ended says; `None` when it has something to go on with."""
        store = self.nursery.store
        last = await store.last_turn(record.id)
        if last is None or last.reason is None or await store.open_batch(record.id) is not None:
            return None
        reason = last.reason
        if last.cause == PROCESS_ENDED:
            newest = await store.messages(record.id, last=1)
            if not newest or newest[0].role == "user":
                return None
            reason = DoneReason.MODEL_STOP  # only the note of its end was lost
        elif reason.is_pause:
            reason = DoneReason.USER_ABORT  # what it waited for was discarded
        text = await self._last_text(record.id)
        return ChildOutcome(record.id, reason, text, last.usage, last.rounds)

    async def _last_text(self, session_id: str) -> str:
        for message in reversed(await self.nursery.store.messages(session_id, last=20)):
            if message.origin is Origin.ASSISTANT and (text := text_of(message.blocks)).strip():
                return text
        return ""

    async def _stopped(
        self, child: SessionRunner, request: ChildRequest
    ) -> ChildPaused | ToolInterrupted:
        """The call was cancelled: end the child the way its parent ends; what to raise for it."""
        turn = self.parent.turn
        kind = turn.stop if turn is not None and turn.stop is not None else StopKind.INTERRUPT
        await child.stop(kind)
        done = child.last_done
        reason = done.reason if done is not None else DoneReason.USER_ABORT
        self._tell_finished(child.id, request, reason, done.usage if done is not None else Usage())
        if kind is StopKind.CLOSING and child.phase is Phase.REQUIRES_ACTION:
            return ChildPaused(child.id)
        text = await self._last_text(child.id)
        said = f" It had said: {text}" if text else ""
        return ToolInterrupted(
            ToolResult(
                (TextBlock(f"The subagent was interrupted.{said}"),),
                {"kind": "agent", "child_id": child.id},
            )
        )

    async def _told(
        self, child: SessionRunner, request: ChildRequest, done: DoneEvent | None
    ) -> ChildOutcome:
        reason = done.reason if done is not None else DoneReason.ERROR
        usage = done.usage if done is not None else Usage()
        self._tell_finished(child.id, request, reason, usage)
        text = "" if done is None else done.text
        if reason is not DoneReason.MODEL_STOP:
            said = await self._last_text(child.id)
            cause = f"[{done.cause}]" if done is not None and done.cause else ""
            text = "\n".join(part for part in (said, cause) if part)
        return ChildOutcome(child.id, reason, text, usage, done.rounds if done else 0)

    def _tell_finished(
        self, child_id: str, request: ChildRequest, reason: DoneReason, usage: Usage
    ) -> None:
        self._tell(
            AgentFinished(
                child_id=child_id, tool_use_id=request.tool_use_id, reason=reason, usage=usage
            )
        )

    def _tell(self, event: Event) -> None:
        turn = self.parent.turn
        self.nursery.publish(
            replace(
                event,
                session_id=self.parent.id,
                turn_id=turn.id if turn else None,
                agent_path=self.parent.agent_path,
            )
        )
