"""One open session: its turns one after the other, its queue, its phase.

At most one turn runs. What it emits goes to the bus; what the session as a whole is doing is told
as `session:phase`, computed from the turn, the open asks and the children, and told only when it
changes. Nothing here decides anything about a call.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from tui_agent.context.request import request_overhead
from tui_agent.loop.machine import begin_turn, run_turn
from tui_agent.loop.turn import StopKind, Turn, TurnServices
from tui_agent.store import Store
from tui_agent.tools.base import Spawner
from tui_agent.tools.ledger import ReadLedger
from tui_agent.vocabulary.agents import AgentConfig
from tui_agent.vocabulary.blocks import TextBlock
from tui_agent.vocabulary.errors import ConflictError, UserError
from tui_agent.vocabulary.events import (
    DoneEvent,
    ErrorEvent,
    Event,
    MessageStored,
    ProviderRetry,
    ProviderStarted,
    QueueChanged,
    QueuedMessage,
    TextDelta,
    ThinkingDelta,
)
from tui_agent.vocabulary.ids import new_id
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import Partial, SessionRecord
from tui_agent.vocabulary.states import DoneReason, LoopState, Phase, PhaseLabel, Trigger
from tui_agent.workspace.idle_compaction import IdleCompaction
from tui_agent.workspace.phases import LivePhase
from tui_agent.workspace.resting import close_open_batch, resting_reason

log = logging.getLogger(__name__)

GO_ON = "The turn limit was reached and the person wants you to go on."
GO_ON_SPEAKING = "Your last reply was cut short. Go on from where it stopped."

MOST_TURNS_IN_A_ROW = 10
"""Turns that a queue may start without a person."""


class Home(Protocol):
    """What a runner needs of the workspace it belongs to."""

    services: TurnServices

    def publish(self, event: Event) -> None:
        """Put an event on the bus."""
        ...

    def spawner_for(self, runner: SessionRunner) -> Spawner | None:
        """What runs this session's subagents, if it may have any."""
        ...

    def phase_changed(self, runner: SessionRunner) -> None:
        """A session's phase changed; its parent's may follow."""
        ...

    def runner_of_call(self, session_id: str, tool_use_id: str) -> SessionRunner | None:
        """The child that a Task call of that session runs."""
        ...


class SessionRunner:
    """The live side of one session."""

    def __init__(
        self,
        home: Home,
        session: SessionRecord,
        agent: AgentConfig,
        agent_path: tuple[str, ...],
        ledger: ReadLedger,
        *,
        policy_denies: bool = False,
    ) -> None:
        self.session = session
        self.agent = agent
        self.agent_path = agent_path
        self.turn: Turn | None = None
        self._home = home
        self._ledger = ledger
        self._policy_denies = policy_denies
        self._task: asyncio.Task[None] | None = None
        self._is_active = False
        self._stop: StopKind | None = None
        self._phase = LivePhase(self._publish, self._child_phase, lambda: home.phase_changed(self))
        self._compaction = IdleCompaction(session.id, self._publish, self._after_compaction)
        self._compaction_wish: str | None = None
        self._failed_compactions = (0, session.model)
        """In a row, over turns; with another model it may go better."""
        self._streamed: tuple[str, list[str], list[str]] | None = None
        self._starting = asyncio.Lock()
        self._last_done: DoneEvent | None = None
        self._was_decided = False

    # --- what it is asked -----------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The session's id."""
        return self.session.id

    @property
    def is_busy(self) -> bool:
        """Whether a turn or a compaction runs, or is about to."""
        return self._is_active or self._compaction.is_running

    @property
    def last_done(self) -> DoneEvent | None:
        """How the last turn here ended; `None` while one runs."""
        return self._last_done

    async def submit(self, text: str, *, after_turn: bool = False) -> None:
        """A prompt; queued while something runs. Raises `ConflictError` when a batch is open."""
        async with self._starting:
            if self.is_busy:
                queued = QueuedMessage(new_id("que"), text, after_turn)
                await self._store.enqueue(self.id, queued)
                await self.queue_changed()
                return
            if await self._store.open_batch(self.id) is not None:
                raise ConflictError(
                    "calls of the last reply are still open: decide them, go on, or discard them "
                    "before the next prompt"
                )
            await self._begin(text, Trigger.PROMPT)

    async def resume(self) -> None:
        """Go on: with the open batch, with what is queued, or with a turn that was cut or failed.
        Raises `ConflictError` when there is nothing to go on with."""
        async with self._starting:
            if self.is_busy:
                return
            last = await self._store.last_turn(self.id)
            resumes = last.id if last is not None else None
            if await self._store.open_batch(self.id) is not None:
                self._launch(await self._turn(Trigger.DECISION, LoopState.EXECUTING, resumes))
                return
            queued = await self._store.queue(self.id)
            if queued:
                await self._begin(queued[0].text, Trigger.QUEUE, dequeue=queued[0].id)
                return
            if last is not None and last.reason is DoneReason.MAX_TURNS:
                # a turn that continued this one would have no rounds left
                await self._begin(GO_ON, Trigger.RESUME, origin=Origin.NOTIFICATION)
                return
            messages = await self._store.messages(self.id, last=1)
            if messages and messages[-1].role == "user":
                self._launch(await self._turn(Trigger.RESUME, LoopState.THINKING, resumes))
                return
            if messages and messages[-1].cut:
                # no request may end with a reply, not even with half of one
                await self._begin(GO_ON_SPEAKING, Trigger.RESUME, origin=Origin.NOTIFICATION)
                return
            raise ConflictError("there is nothing to go on with: type a prompt")

    async def discard_open(self, text: str) -> None:
        """Close the open batch without running what is undecided or unstarted in it."""
        async with self._starting:
            if self.is_busy:
                raise ConflictError("a turn is running: interrupt it first")
            await close_open_batch(
                self._store, self._services.clock, self.session, text, self._home.publish
            )
        await self.refresh_phase()

    async def compact(self, focus: str) -> None:
        """Summarise older messages: at the next boundary of a running turn, else now."""
        async with self._starting:
            if self.turn is not None:
                self.turn.ask_compaction(focus)
                return
            if self._is_active:  # between two turns
                self._compaction_wish = focus
                return
            if self.is_busy:
                raise ConflictError("the session is being compacted already")
            if await self._store.open_batch(self.id) is not None:
                raise ConflictError("calls of the last reply are still open: decide them first")
            self._stop = None
            self._start_compaction(focus)

    async def stop(self, kind: StopKind) -> None:
        """End what runs, and return when it has ended."""
        async with self._starting:  # what was just beginning has begun, or has not yet
            self._stop = kind
        if self._compaction.is_running:
            await self._compaction.stop()
            if kind is StopKind.INTERRUPT:
                return  # what was queued meanwhile may run now: it is not what was to be stopped
        if self.turn is not None:
            self.turn.request_stop(kind)
        if self._task is not None:
            await asyncio.shield(asyncio.gather(self._task, return_exceptions=True))

    def retry_now(self) -> None:
        """End the wait before a model call is tried again; nothing when none waits."""
        if self.turn is None or not self.turn.retry_wait.skip():
            self._compaction.retry_wait.skip()

    def wake(self) -> bool:
        """A decision about a call of this session or of its children was stored; tells whether what
        runs here takes it up, also when it is just about to end as pending."""
        if not self._is_active:
            return False
        if self.turn is not None:
            self.turn.wake.set()
        self._was_decided = True
        return True

    def streamed(self) -> Partial | None:
        """The reply that streams now, as far as it has been told."""
        if self._streamed is None or self.turn is None:
            return None
        model_call_id, text, thinking = self._streamed
        now = self._services.clock.wall()
        return Partial(self.id, self.turn.id, model_call_id, "".join(text), "".join(thinking), now)

    async def finished(self) -> DoneEvent | None:
        """Wait until nothing runs any more; the last turn's end."""
        if self._task is not None:
            await asyncio.shield(self._task)
        return self._last_done

    async def queue_changed(self) -> None:
        """Tell what is queued now."""
        self._publish(QueueChanged(items=await self._store.queue(self.id)))

    # --- turns ----------------------------------------------------------------------------------

    async def _begin(
        self,
        text: str,
        trigger: Trigger,
        *,
        dequeue: str | None = None,
        origin: Origin = Origin.USER,
    ) -> None:
        turn = await self._turn(trigger, LoopState.THINKING, None)
        await self._begin_with(turn, text, dequeue, origin)
        self._launch(turn)
        if dequeue is not None:
            await self.queue_changed()

    async def _begin_with(
        self, turn: Turn, text: str, dequeue: str | None, origin: Origin = Origin.USER
    ) -> None:
        """Store the turn and the message that starts it, in one unit."""
        prompt = Message(
            id=new_id("msg"),
            role="user",
            blocks=(TextBlock(text),),
            origin=origin,
            created=self._services.clock.wall(),
            turn_id=turn.id,
        )
        await begin_turn(turn, prompt, dequeue)

    async def _turn(self, trigger: Trigger, entry: LoopState, resumes: str | None) -> Turn:
        self.session = await self._store.session(self.id)
        turn = self.make_turn(trigger, entry, resumes, self.session)
        failures, model = self._failed_compactions
        turn.failed_compactions = failures if model == self.session.model else 0
        turn.rounds_before = 0 if resumes is None else await self._store.chain_rounds(resumes)
        return turn

    def make_turn(
        self, trigger: Trigger, entry: LoopState, resumes: str | None, session: SessionRecord
    ) -> Turn:
        """A turn of this session, not yet running."""
        return Turn(
            id=new_id("turn"),
            session=session,
            agent=self.agent,
            agent_path=self.agent_path,
            trigger=trigger,
            services=self._services,
            ledger=self._ledger,
            entry=entry,
            resumes=resumes,
            spawner=self._home.spawner_for(self),
            policy_denies=self._policy_denies,
        )

    def _launch(self, turn: Turn) -> None:
        self.turn = turn
        self._is_active, self._stop = True, None
        self._last_done = None
        self._phase.set(Phase.RUNNING, PhaseLabel.PREPARING)
        self._task = asyncio.create_task(self._run(turn), name=f"session {self.id}")

    async def _run(self, turn: Turn) -> None:
        """Turn after turn while the queue goes on by itself."""
        following: Turn | None = turn
        in_a_row = 0
        try:
            while following is not None:
                in_a_row += 1
                await self._follow(following)
                async with self._starting:  # a prompt comes before this look, or after the end
                    following = await self._next_turn(in_a_row)
                    if following is None:
                        await self._grant_compaction()
                        self._is_active = False
        except Exception as error:  # the session must come to rest and say why, whatever failed
            log.exception("session %s failed", self.id)
            self._publish(ErrorEvent(message=f"the session failed: {error}"))
        finally:
            self.turn, self._is_active = None, False
            self._phase.turns_are_over()
            await self.refresh_phase()

    async def _follow(self, turn: Turn) -> None:
        self.turn = turn
        self._was_decided = False
        if self._stop is not None:
            turn.request_stop(self._stop)  # it came while this turn was being prepared
        if turn.compact_focus is None:
            turn.compact_focus, self._compaction_wish = self._compaction_wish, None
        async with aclosing(run_turn(turn)) as events:
            async for event in events:
                self._home.publish(event)
                self._observe(event)
        self.turn, self._compaction_wish = None, turn.compact_focus
        self._failed_compactions = (turn.failed_compactions, turn.session.model)

    async def _next_turn(self, in_a_row: int) -> Turn | None:
        """The turn that starts by itself: with a queued message after a genuine end, or with a
        batch whose last decision came while its turn was ending as pending."""
        ended = self._last_done
        if ended is None or self._stop is not None:
            return None
        while ended.reason.is_pause and self._was_decided:
            if (turn := await self._decided_turn()) is not None:
                return turn
        if ended.reason is not DoneReason.MODEL_STOP:
            return None
        queued = await self._store.queue(self.id)
        if not queued or in_a_row >= MOST_TURNS_IN_A_ROW:
            return None
        turn = await self._turn(Trigger.QUEUE, LoopState.THINKING, None)
        await self._begin_with(turn, queued[0].text, queued[0].id)
        await self.queue_changed()
        return turn

    async def _decided_turn(self) -> Turn | None:
        self._was_decided = False
        items = await self._store.pending(root_id=self.session.root_id)
        if any(item.is_below(self.id) for item in items):
            return None
        last = await self._store.last_turn(self.id)
        return await self._turn(Trigger.DECISION, LoopState.EXECUTING, last.id if last else None)

    async def _grant_compaction(self) -> None:
        """Begin a compaction that a turn was asked for and found no boundary for."""
        wish, self._compaction_wish = self._compaction_wish, None
        if wish is None or self._stop is not None:
            return
        if await self._store.open_batch(self.id) is None:
            self._start_compaction(wish)

    def _start_compaction(self, focus: str) -> None:
        self._failed_compactions = (0, self.session.model)  # a person wants it tried again
        self._phase.set(Phase.RUNNING, PhaseLabel.COMPACTING)
        tools = self.make_turn(
            Trigger.PROMPT, LoopState.THINKING, None, self.session
        ).tool_schemas()
        overhead = request_overhead(self.session, self.agent, tools)
        self._compaction.start(self._services, focus, overhead)

    async def _after_compaction(self) -> None:
        async with self._starting:
            if self._stop is not StopKind.CLOSING:
                await self._start_queued()
            self._compaction.ended()
        await self.refresh_phase()

    async def _start_queued(self) -> None:
        """What was queued while the session was compacted starts now."""
        queued = await self._store.queue(self.id)
        if queued:
            await self._begin(queued[0].text, Trigger.QUEUE, dequeue=queued[0].id)

    # --- the phase ------------------------------------------------------------------------------

    @property
    def phase(self) -> Phase:
        """What the session as a whole is doing."""
        return self._phase.phase

    @property
    def waiting_for(self) -> str:
        """What only a person can do for it, in words."""
        return self._phase.waiting_for

    def _observe(self, event: Event) -> None:
        self._phase.observe(event, self.turn, is_attended=self._is_attended)
        match event:
            case ProviderStarted() if event.purpose == "round":
                self._streamed = (event.model_call_id, [], [])
            case TextDelta() if self._streamed is not None:
                self._streamed[1].append(event.text)
            case ThinkingDelta() if self._streamed is not None:
                self._streamed[2].append(event.text)
            case ProviderRetry():
                self._streamed = None
            case MessageStored() if event.message.role == "assistant":
                self._streamed = None
            case DoneEvent():
                self._last_done = event
                self._streamed = None
            case _:
                pass

    def reconsider(self) -> None:
        """A child's phase changed: this one's may follow."""
        self._phase.reconsider(self.turn, is_attended=self._is_attended)

    def _child_phase(self, tool_use_id: str) -> Phase | None:
        child = self._home.runner_of_call(self.id, tool_use_id)
        return None if child is None else child.phase

    async def refresh_phase(self) -> None:
        """Compute the phase of a session in which nothing runs."""
        try:
            waiting_for = await resting_reason(self._store, self.id)
        except UserError as error:
            log.warning("the phase of %s could not be computed: %s", self.id, error)
            waiting_for = ""
        if self.is_busy:
            return  # something began while the rows were read, and tells its own phase
        self._phase.rest(waiting_for)

    def _publish(self, event: Event, turn_id: str | None = None) -> None:
        self._home.publish(
            replace(event, session_id=self.id, turn_id=turn_id, agent_path=self.agent_path)
        )

    @property
    def _is_attended(self) -> bool:
        return self._services.presence.is_attended

    @property
    def _services(self) -> TurnServices:
        return self._home.services

    @property
    def _store(self) -> Store:
        return self._home.services.store
