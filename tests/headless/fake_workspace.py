"""A workspace that plays back events, for tests of what a surface prints and returns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace

from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.blocks import Block, JsonObject, TextBlock
from tui_agent.vocabulary.decisions import Decision, Grant, PendingItem, PendingKind
from tui_agent.vocabulary.errors import NotFoundError
from tui_agent.vocabulary.events import (
    DoneEvent,
    Event,
    LoopDone,
    MessageStored,
    QueuedMessage,
    SessionEvent,
    SessionPhase,
)
from tui_agent.vocabulary.inspection import InspectedRequest
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import (
    SearchHit,
    SessionRecord,
    SessionSnapshot,
    SessionSummary,
    ToolRun,
)
from tui_agent.vocabulary.states import DoneReason, Mode, Phase, PhaseLabel, Trigger
from tui_agent.vocabulary.usage import Usage
from tui_agent.workspace.api import (
    Check,
    DecideResult,
    Match,
    OfferedModel,
    SessionOptions,
    SessionUsage,
)

SESSION = "ses_one"
MODEL = ModelChoice("anthropic", "claude-x")


def answer(text: str, *blocks: Block, session_id: str = SESSION) -> MessageStored:
    """The model's message was committed."""
    message = Message("msg_1", "assistant", (TextBlock(text), *blocks), Origin.ASSISTANT, 1.0)
    return MessageStored(session_id=session_id, agent_path=(SESSION,), message=message)


def ended(
    reason: DoneReason = DoneReason.MODEL_STOP, text: str = "", *, background_agents: int = 0
) -> DoneEvent:
    """The turn's last event."""
    return DoneEvent(
        session_id=SESSION,
        reason=reason,
        text=text,
        usage=Usage(input=10, output=5),
        rounds=1,
        background_agents=background_agents,
    )


def phase(now: Phase, session_id: str = SESSION) -> SessionPhase:
    """The session's state."""
    return SessionPhase(session_id=session_id, phase=now, label=PhaseLabel.IDLE)


def began() -> SessionEvent:
    """The turn's first event."""
    return SessionEvent(session_id=SESSION, trigger=Trigger.PROMPT)


def a_turn(text: str) -> list[Event]:
    """A turn that simply answers, until the session is idle."""
    return [
        phase(Phase.RUNNING),
        began(),
        answer(text),
        LoopDone(session_id=SESSION),
        ended(text=text),
        phase(Phase.IDLE),
    ]


def asked(
    pending_id: str = "pnd_1",
    *,
    tool: str = "Bash",
    values: JsonObject | None = None,
    path: tuple[str, ...] = (SESSION,),
) -> PendingItem:
    """An open item."""
    is_question = tool == "AskUserQuestion"
    return PendingItem(
        pending_id=pending_id,
        session_id=path[-1],
        agent_path=path,
        kind=PendingKind.QUESTION if is_question else PendingKind.APPROVAL,
        tool=tool,
        tool_use_id=f"call_{pending_id}",
        input={"command": "git push"} if values is None else values,
        preview={"kind": "shell"},
        reason="no rule allows it",
        digest="d",
        rule=None,
        folder="/work",
        created=1.0,
    )


class PlayedSubscription:
    """The events that were played since, in batches of one."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[tuple[Event, ...] | None] = asyncio.Queue()

    async def __aiter__(self) -> AsyncIterator[tuple[Event, ...]]:
        while (batch := await self.queue.get()) is not None:
            yield batch

    def close(self) -> None:
        self.queue.put_nowait(None)


class FakeWorkspace:
    """`script` is played when a prompt is submitted or a turn resumed; `calls` says what was asked
    of the workspace, in order."""

    folder = "/work"

    def __init__(self, script: Iterable[Event] = ()) -> None:
        self.script = list(script)
        self.calls: list[tuple[object, ...]] = []
        self.hits: tuple[SearchHit, ...] = ()
        self.granted: list[Grant] = []
        self.items: list[PendingItem] = []
        self.tool_runs: tuple[ToolRun, ...] = ()
        self.messages: tuple[Message, ...] = ()
        self.summaries: tuple[SessionSummary, ...] = ()
        self.on_interrupt: list[Event] = []
        self.decides: Callable[[PendingItem, Decision], DecideResult] | None = None
        self.known = {SESSION}
        self.latest: str | None = SESSION
        self.checks: tuple[Check, ...] = ()
        self.inspected: tuple[InspectedRequest, ...] = ()
        self.offered: tuple[OfferedModel, ...] = ()
        self._subscriptions: list[PlayedSubscription] = []

    def play(self, events: Iterable[Event]) -> None:
        for event in events:
            for subscription in self._subscriptions:
                subscription.queue.put_nowait((event,))

    def subscribe(self, *, after: int | None = None) -> PlayedSubscription:
        subscription = PlayedSubscription()
        self._subscriptions.append(subscription)
        return subscription

    def record(self, session_id: str = SESSION) -> SessionRecord:
        return SessionRecord(
            id=session_id,
            folder="/work",
            model=MODEL,
            root_id=session_id,
            created=1.0,
            updated=2.0,
            title="a title",
        )

    async def create_session(self, options: SessionOptions | None = None) -> SessionRecord:
        self.calls.append(("create", options))
        return self.record()

    async def fork_session(self, session_id: str) -> SessionRecord:
        self.calls.append(("fork", session_id))
        self.known.add("ses_fork")
        return self.record("ses_fork")

    async def sessions(
        self, *, everywhere: bool = False, search: str = "", limit: int = 200
    ) -> tuple[SessionSummary, ...]:
        self.calls.append(("sessions", everywhere, search))
        return self.summaries

    async def search(
        self, text: str, *, everywhere: bool = False, limit: int = 200
    ) -> tuple[Match, ...]:
        found = await self.sessions(everywhere=everywhere, search=text, limit=limit)
        return tuple(Match(session, self.hits) for session in found)

    async def titles(self, session_ids: Iterable[str]) -> dict[str, str]:
        return dict.fromkeys(session_ids, "a title")

    async def usage(self, session_id: str) -> SessionUsage:
        return SessionUsage(Usage(input=10, output=5), Usage(input=100, output=50))

    async def latest_session(self) -> str | None:
        return self.latest

    async def snapshot(self, session_id: str, *, last: int = 200) -> SessionSnapshot:
        if session_id not in self.known:
            raise NotFoundError(f"there is no session {session_id}")
        return SessionSnapshot(
            seq=0,
            session=self.record(session_id),
            agent_path=(session_id,),
            messages=self.messages[-last:],
            first_seq=1,
            tool_runs=self.tool_runs,
            pending=tuple(self.items),
            turns=(),
            children=(),
            queue=(),
            partial=None,
            draft="",
            view={},
            phase=Phase.IDLE,
            waiting_for="",
        )

    async def commits_elsewhere(self, since: int | None = None) -> int:
        return 0

    async def messages_before(
        self, session_id: str, seq: int, limit: int = 200
    ) -> tuple[Message, ...]:
        return tuple(message for message in self.messages if message.seq < seq)[-limit:]

    async def submit(self, session_id: str, text: str, *, after_turn: bool = False) -> None:
        self.calls.append(("submit", session_id, text))
        self.play(self.script)

    async def resume(self, session_id: str) -> None:
        self.calls.append(("resume", session_id))
        self.play(self.script)

    async def discard_open(self, session_id: str) -> None:
        self.calls.append(("discard_open", session_id))
        self.items.clear()

    async def interrupt(self, session_id: str) -> None:
        self.calls.append(("interrupt", session_id))
        self.play(self.on_interrupt)

    async def retry_now(self, session_id: str) -> None:
        self.calls.append(("retry_now", session_id))

    async def decide(self, pending_id: str, decision: Decision) -> DecideResult:
        self.calls.append(("decide", pending_id, decision))
        found = next((item for item in self.items if item.pending_id == pending_id), None)
        if found is None:
            raise NotFoundError(f"there is no item {pending_id}")
        if self.decides is not None:
            return self.decides(found, decision)
        self.items.remove(found)
        if not self.items:
            self.play(self.script)
        return DecideResult(True, "done", found, tuple(self.items), goes_on=not self.items)

    async def pending(self, *, everywhere: bool = True) -> tuple[PendingItem, ...]:
        return tuple(self.items)

    async def compact(self, session_id: str, focus: str = "") -> None:
        self.calls.append(("compact", session_id))

    async def set_mode(self, session_id: str, mode: Mode) -> None:
        self.calls.append(("set_mode", session_id, mode))

    async def set_model(self, session_id: str, model: ModelChoice) -> None:
        self.calls.append(("set_model", session_id, model))

    async def rename(self, session_id: str, title: str) -> None:
        self.calls.append(("rename", session_id, title))

    async def delete(self, session_id: str) -> None:
        self.calls.append(("delete", session_id))

    async def edit_queue(
        self,
        session_id: str,
        messages: tuple[QueuedMessage, ...],
        *,
        dropped: tuple[str, ...] = (),
    ) -> tuple[QueuedMessage, ...]:
        self.calls.append(("edit_queue", session_id))
        return ()

    async def sent_prompts(self, limit: int = 500) -> tuple[str, ...]:
        return ()

    async def save_draft(self, session_id: str, text: str) -> None:
        self.calls.append(("save_draft", session_id))

    async def save_view(self, session_id: str, view: JsonObject) -> None:
        self.calls.append(("save_view", session_id))

    async def list_grants(self, *, everywhere: bool = False) -> tuple[Grant, ...]:
        return tuple(self.granted)

    async def remove_grant(self, grant_id: int) -> Grant:
        found = next((grant for grant in self.granted if grant.id == grant_id), None)
        if found is None:
            raise NotFoundError(f"there is no standing permission {grant_id}")
        self.granted.remove(found)
        return found

    async def requests(self, session_id: str, prompt: str = "") -> tuple[InspectedRequest, ...]:
        return self.inspected

    async def models(self) -> tuple[OfferedModel, ...]:
        return self.offered

    async def doctor(self) -> tuple[Check, ...]:
        return self.checks

    async def close(self) -> None:
        self.calls.append(("close",))


def numbered(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages with their places in the session."""
    return tuple(replace(message, seq=number) for number, message in enumerate(messages, 1))
