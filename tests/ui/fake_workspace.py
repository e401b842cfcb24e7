"""A workspace without an engine: sessions in memory, events that a test publishes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace

from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.decisions import Choice, Decision, Grant, PendingItem, PendingKind
from tui_agent.vocabulary.errors import ConflictError, NotFoundError
from tui_agent.vocabulary.events import (
    ApprovalPending,
    ApprovalResolved,
    Event,
    QuestionPending,
    QuestionResolved,
    QueuedMessage,
)
from tui_agent.vocabulary.inspection import InspectedRequest
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import (
    SearchHit,
    SessionRecord,
    SessionSnapshot,
    SessionSummary,
)
from tui_agent.vocabulary.states import Mode, Phase
from tui_agent.vocabulary.usage import Usage
from tui_agent.workspace.api import (
    Check,
    DecideResult,
    Match,
    OfferedModel,
    SessionOptions,
    SessionUsage,
)

FOLDER = "/home/ada/code/shop"
MODEL = ModelChoice("anthropic", "claude-sonnet-5-5")
START = 1_800_000_000.0


@dataclass
class FakeSubscription:
    """Every event published after it was made, one batch each time."""

    queue: asyncio.Queue[tuple[Event, ...] | None] = field(default_factory=asyncio.Queue)

    async def __aiter__(self) -> AsyncIterator[tuple[Event, ...]]:
        while (batch := await self.queue.get()) is not None:
            yield batch

    def close(self) -> None:
        self.queue.put_nowait(None)


class FakeWorkspace:
    """Implements `WorkspaceApi`; `calls` lists what the screen asked for."""

    def __init__(self) -> None:
        self.folder = FOLDER
        self.snapshots: dict[str, SessionSnapshot] = {}
        self.items: dict[str, PendingItem] = {}
        self.calls: list[tuple[object, ...]] = []
        self.hits: tuple[SearchHit, ...] = ()
        self.granted: list[Grant] = []
        self.subscriptions: list[FakeSubscription] = []
        self.refuse_decision = ""
        self.refuse_submit = ""
        self.refuse_queue = ""
        self.queued: tuple[QueuedMessage, ...] = ()
        self.prompts: tuple[str, ...] = ()
        self.inspected: tuple[InspectedRequest, ...] = ()
        self.offered: tuple[OfferedModel, ...] = (
            OfferedModel(MODEL, "Claude Sonnet 5.5", 200_000, "$3 in, $15 out"),
            OfferedModel(ModelChoice("openai", "gpt-6"), "GPT-6", 400_000, "$2 in, $10 out"),
            OfferedModel(
                ModelChoice("gemini", "gemini-3"), "Gemini 3", problem="No key: set GEMINI_API_KEY."
            ),
            OfferedModel(ModelChoice("demo", "demo"), "Demo (offline)", 200_000),
        )
        self.checks: tuple[Check, ...] = (
            Check("Database", True, "/home/ada/.local/share/tui-agent/sessions.db, 4 sessions"),
            Check("Anthropic", True, "key found, server answers"),
            Check("OpenAI", False, "no key", "export OPENAI_API_KEY=… or add it to the keyring"),
        )
        self.is_closed = False
        self.foreign_commits = 0
        self.loop: asyncio.AbstractEventLoop | None = None
        self._seq = 0
        self._count = 0

    async def open(self) -> FakeWorkspace:
        """The factory of an engine thread: notes the loop it lives on."""
        self.loop = asyncio.get_running_loop()
        return self

    def add(self, snapshot: SessionSnapshot) -> None:
        self.snapshots[snapshot.session.id] = snapshot
        self.items.update({item.pending_id: item for item in snapshot.pending})

    def publish(self, *events: Event) -> None:
        """From the test's thread: stamp and send. The events count from the last one on."""
        stamped: list[Event] = []
        for event in events:
            self._seq += 1
            path = event.agent_path or (event.session_id,)
            time = event.time or START + self._seq
            stamped.append(replace(event, seq=self._seq, agent_path=path, time=time))
        assert self.loop is not None
        self.loop.call_soon_threadsafe(self._send, tuple(stamped))

    def ask(self, item: PendingItem) -> None:
        """An item opens."""
        self.items[item.pending_id] = item
        kind = ApprovalPending if item.kind is PendingKind.APPROVAL else QuestionPending
        self.publish(
            kind(
                pending_id=item.pending_id,
                item=item,
                session_id=item.session_id,
                agent_path=item.agent_path,
            )
        )

    def asked(self, name: str) -> list[tuple[object, ...]]:
        """The calls of that name."""
        return [call for call in self.calls if call[0] == name]

    def _send(self, batch: tuple[Event, ...]) -> None:
        for subscription in self.subscriptions:
            subscription.queue.put_nowait(batch)

    # --- WorkspaceApi ------------------------------------------------------------------------

    def subscribe(self, *, after: int | None = None) -> FakeSubscription:
        subscription = FakeSubscription()
        self.subscriptions.append(subscription)
        return subscription

    async def create_session(self, options: SessionOptions | None = None) -> SessionRecord:
        self._count += 1
        record = SessionRecord(
            f"ses_new{self._count}", FOLDER, MODEL, f"ses_new{self._count}", START, START
        )
        self.add(empty_snapshot(record))
        self.calls.append(("create_session",))
        return record

    async def fork_session(self, session_id: str) -> SessionRecord:
        self.calls.append(("fork_session", session_id))
        return await self.create_session()

    async def sessions(
        self, *, everywhere: bool = False, search: str = "", limit: int = 200
    ) -> tuple[SessionSummary, ...]:
        return tuple(
            SessionSummary(
                id=each.session.id,
                title=each.session.title,
                folder=FOLDER,
                phase=each.phase,
                created=each.session.created,
                updated=each.session.updated,
                messages=len(each.messages),
                usage=Usage(),
                pending=len(each.pending),
                model=each.session.model.model,
            )
            for each in self.snapshots.values()
            if each.session.parent_id is None and each.messages
        )

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
        return next(iter(self.snapshots), None)

    async def snapshot(self, session_id: str, *, last: int = 200) -> SessionSnapshot:
        self.calls.append(("snapshot", session_id))
        if session_id not in self.snapshots:
            raise NotFoundError(f"There is no session {session_id}.")
        return replace(self.snapshots[session_id], seq=self._seq)

    async def commits_elsewhere(self, since: int | None = None) -> int:
        while self.foreign_commits == since:
            await asyncio.sleep(0.005)
        return self.foreign_commits

    async def messages_before(
        self, session_id: str, seq: int, limit: int = 200
    ) -> tuple[Message, ...]:
        return ()

    async def submit(self, session_id: str, text: str, *, after_turn: bool = False) -> None:
        self.calls.append(("submit", session_id, text, after_turn))
        if self.refuse_submit:
            raise ConflictError(self.refuse_submit)

    async def resume(self, session_id: str) -> None:
        self.calls.append(("resume", session_id))

    async def discard_open(self, session_id: str) -> None:
        self.calls.append(("discard_open", session_id))

    async def interrupt(self, session_id: str) -> None:
        self.calls.append(("interrupt", session_id))

    async def retry_now(self, session_id: str) -> None:
        self.calls.append(("retry_now", session_id))

    async def decide(self, pending_id: str, decision: Decision) -> DecideResult:
        self.calls.append(("decide", pending_id, decision))
        if self.refuse_decision:
            raise ConflictError(self.refuse_decision)
        item = self.items.pop(pending_id)
        is_answer = decision.choice is Choice.ANSWER
        kind = QuestionResolved if is_answer else ApprovalResolved
        self.publish(
            kind(
                pending_id=pending_id,
                tool_use_id=item.tool_use_id,
                choice=decision.choice.value,
                session_id=item.session_id,
                agent_path=item.agent_path,
            )
        )
        return DecideResult(True, "", item)

    async def pending(self, *, everywhere: bool = True) -> tuple[PendingItem, ...]:
        return tuple(self.items.values())

    async def compact(self, session_id: str, focus: str = "") -> None:
        self.calls.append(("compact", session_id, focus))

    async def set_mode(self, session_id: str, mode: Mode) -> None:
        self.calls.append(("set_mode", session_id, mode))

    async def set_model(self, session_id: str, model: ModelChoice) -> None:
        self.calls.append(("set_model", session_id, model))

    async def rename(self, session_id: str, title: str) -> None:
        self.calls.append(("rename", session_id, title))

    async def delete(self, session_id: str) -> None:
        self.calls.append(("delete", session_id))
        del self.snapshots[session_id]

    async def edit_queue(
        self,
        session_id: str,
        messages: tuple[QueuedMessage, ...],
        *,
        dropped: tuple[str, ...] = (),
    ) -> tuple[QueuedMessage, ...]:
        self.calls.append(("edit_queue", session_id, tuple(m.id for m in messages), dropped))
        if self.refuse_queue:
            raise ConflictError(self.refuse_queue)
        return tuple(each for each in self.queued if each.id in dropped)

    async def sent_prompts(self, limit: int = 500) -> tuple[str, ...]:
        return self.prompts

    async def save_draft(self, session_id: str, text: str) -> None:
        self.calls.append(("save_draft", session_id, text))
        self.snapshots[session_id] = replace(self.snapshots[session_id], draft=text)

    async def save_view(self, session_id: str, view: JsonObject) -> None:
        self.calls.append(("save_view", session_id, view))
        self.snapshots[session_id] = replace(self.snapshots[session_id], view=view)

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
        self.is_closed = True


def empty_snapshot(record: SessionRecord) -> SessionSnapshot:
    """A session in which nothing happened yet."""
    return SessionSnapshot(
        seq=0,
        session=record,
        agent_path=(record.id,),
        messages=(),
        first_seq=0,
        tool_runs=(),
        pending=(),
        turns=(),
        children=(),
        queue=(),
        partial=None,
        draft="",
        view={},
        phase=Phase.IDLE,
        waiting_for="",
    )
