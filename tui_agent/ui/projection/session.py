"""One session as the screen shows it: conversation, calls, agents, lamps and meters together.

`load` a snapshot, then `apply` every event whose path leads through the session and whose number is
higher than the snapshot's. The parts fold what concerns them.
"""

from __future__ import annotations

from dataclasses import replace

from tui_agent.ui.projection.agents import AgentTree
from tui_agent.ui.projection.calls import CallBook
from tui_agent.ui.projection.conversation import Conversation
from tui_agent.ui.projection.lamps import Lamps
from tui_agent.ui.projection.todo import TodoList
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.blocks import JsonObject, text_of
from tui_agent.vocabulary.events import (
    BudgetCheck,
    Event,
    MessageStored,
    ModeChanged,
    PromptCompaction,
    ProviderComplete,
    QueueChanged,
    QueuedMessage,
)
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.records import SessionRecord, SessionSnapshot
from tui_agent.vocabulary.states import Mode, Phase
from tui_agent.vocabulary.usage import Usage


class SessionView:
    """Everything shown of one session."""

    def __init__(self, snapshot: SessionSnapshot) -> None:
        self.record: SessionRecord = snapshot.session
        self.agent_path = snapshot.agent_path
        self.seq = snapshot.seq
        self.snapshot = snapshot
        """What it was loaded from."""
        self.is_followed = not snapshot.is_ours
        """Whether another window owns it: what happens there comes with a new snapshot."""
        self.calls = CallBook()
        self.conversation = Conversation(self.calls)
        self.agents = AgentTree(snapshot.session.id)
        self.lamps = Lamps()
        self.todo = TodoList()
        self.queue: tuple[QueuedMessage, ...] = ()
        self.sent: list[str] = []
        self.view: JsonObject = {}
        self.draft = ""
        self.usage = Usage()
        self.cost: float | None = None
        self.context_used: int | None = None
        self.window: int | None = None
        self._load(snapshot)

    @property
    def id(self) -> str:
        """The session's id."""
        return self.record.id

    @property
    def title(self) -> str:
        """The session's title, or the start of its first message."""
        return self.record.title or (self.sent[0].split("\n")[0] if self.sent else "")

    @property
    def mode(self) -> Mode:
        """The permission mode."""
        return self.record.mode

    @property
    def model(self) -> ModelChoice:
        """The model that answers."""
        return self.record.model

    @property
    def is_running(self) -> bool:
        """Whether the foreground turn runs (or a compaction)."""
        return self.lamps.phase is Phase.RUNNING

    @property
    def can_be_interrupted(self) -> bool:
        """Whether there is a turn to end, also one that only waits for a person."""
        return self.is_running or self.lamps.has_live_turn

    @property
    def is_alive(self) -> bool:
        """Whether something on screen moves."""
        return self.lamps.phase in (Phase.RUNNING, Phase.DRAINING) or self.agents.is_any_running()

    def set_title(self, title: str) -> None:
        """The session was renamed."""
        self.record = replace(self.record, title=title)

    def set_model(self, model: ModelChoice) -> None:
        """Another model was chosen."""
        self.record = replace(self.record, model=model)

    def set_mode(self, mode: Mode) -> None:
        """Another mode was chosen."""
        self.record = replace(self.record, mode=mode)

    def covers(self, event: Event) -> bool:
        """Whether the event concerns the session or something below it."""
        return event.session_id == self.id or self.id in event.agent_path

    def crosses(self, event: Event) -> bool:
        """Whether the event was merged from some that the snapshot holds and some that it does
        not: then only a newer snapshot is right."""
        begin = getattr(event, "seq_from", None)
        return begin is not None and begin <= self.seq < event.seq

    def apply(self, event: Event) -> None:
        """Fold one event. One that the snapshot already holds changes nothing."""
        if event.seq <= self.seq or not self.covers(event):
            return
        self.seq = event.seq
        self.agents.apply(event)
        if event.session_id != self.id:
            return
        self.lamps.apply(event)
        self.todo.apply(event)
        call = self.calls.apply(event)
        if call is not None:
            self.conversation.show_call(call)
        self.conversation.apply(event)
        self._meters(event)

    def _load(self, snapshot: SessionSnapshot) -> None:
        for run in snapshot.tool_runs:
            self.calls.add_run(run)
        for item in snapshot.pending:
            if item.session_id == self.id:
                self.calls.add_pending(item)
        self.conversation.load(snapshot)
        self.agents.load(snapshot.children)
        self.lamps.load(snapshot)
        self.todo.load(snapshot.tool_runs)
        self.queue = snapshot.queue
        self.view = snapshot.view
        self.draft = snapshot.draft
        self.cost = snapshot.cost
        for turn in snapshot.turns:
            self.usage = self.usage + turn.usage
        for message in snapshot.messages:
            if message.origin is Origin.USER:
                self.sent.append(text_of(message.blocks))
            if message.usage is not None:
                self.context_used = message.usage.total
                if message.usage.estimated:  # rows of turns do not say so
                    self.usage = replace(self.usage, estimated=True)

    def _meters(self, event: Event) -> None:
        match event:
            case BudgetCheck():
                self.context_used, self.window = event.context_used, event.window
            case ProviderComplete():
                self.usage = self.usage + event.usage
                if event.usage.total:
                    self.context_used = event.usage.total
                if event.cost is not None:
                    self.cost = (self.cost or 0.0) + event.cost
            case PromptCompaction(phase="completed"):
                self.context_used = event.tokens_after or self.context_used
            case QueueChanged():
                self.queue = event.items
            case ModeChanged():
                self.set_mode(event.mode)
            case MessageStored():
                if event.message.origin is Origin.USER:
                    self.sent.append(text_of(event.message.blocks))
            case _:
                pass  # moves no meter
