"""The workspace: open sessions of a folder behind one face.

Implements `WorkspaceApi`; what needs no open session is in `listing.py` and `keeping.py`. Sessions
are opened when they are first used: their tree is owned by this process from then on, and recovered
once if a process left it behind. Everything that is shared between sessions (store, models, tools,
rules, locks) is made here and in `shared.py` and nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from tui_agent.loop.told import resolved_event
from tui_agent.loop.turn import StopKind, Turn, TurnServices
from tui_agent.processes.environment import child_environment
from tui_agent.providers.retry import DEFAULT_POLICY
from tui_agent.rules.syntax import Rule, RuleSet, parse_rule
from tui_agent.settings import LoadedSettings
from tui_agent.store import Store
from tui_agent.tools.base import Spawner
from tui_agent.tools.locks import PathLocks
from tui_agent.vocabulary.decisions import Decision, PendingItem
from tui_agent.vocabulary.errors import (
    ConflictError,
    StoreError,
    UserError,
)
from tui_agent.vocabulary.events import QueuedMessage
from tui_agent.vocabulary.ids import SYSTEM_CLOCK, Clock
from tui_agent.vocabulary.inspection import InspectedRequest
from tui_agent.vocabulary.records import SessionRecord, SessionSnapshot
from tui_agent.vocabulary.states import LoopState, Phase, Trigger
from tui_agent.workspace.agents import MAIN, find_agent
from tui_agent.workspace.api import (
    Check,
    DecideResult,
    OfferedModel,
)
from tui_agent.workspace.bus import BusSubscription
from tui_agent.workspace.config import (
    WorkspaceConfig,
)
from tui_agent.workspace.deciding import Deciding
from tui_agent.workspace.inspecting import SentRequests, next_one
from tui_agent.workspace.keeping import Keeping
from tui_agent.workspace.ledgers import rebuilt_ledger
from tui_agent.workspace.listing import Listing
from tui_agent.workspace.recovery import Recovery
from tui_agent.workspace.resting import agent_path
from tui_agent.workspace.runner import SessionRunner
from tui_agent.workspace.snapshots import take_snapshot
from tui_agent.workspace.subagents import DEEPEST, MOST_AT_ONCE, ChildSpawner
from tui_agent.workspace.tidying import tidy_spill
from tui_agent.workspace.watching import Watch

log = logging.getLogger(__name__)

OPEN_ELSEWHERE = "the session is open in another window: go on there, or close it first"
PREPARE_AFTER_SECONDS = 0.3
"""How long the first screen has for itself before heavy imports begin beside it."""


class Workspace(Listing, Keeping):
    """The engine behind a folder. Made by `open`, ended by `close`."""

    def __init__(self, config: WorkspaceConfig, store: Store, clock: Clock) -> None:
        super().__init__(config, store, clock)
        self._places: dict[str, asyncio.Semaphore] = {}
        self._opening = asyncio.Lock()
        self._submitting: dict[str, asyncio.Lock] = {}
        self._is_closing = False
        self._preparing: asyncio.Task[None] | None = None
        self._requests = SentRequests(clock)
        self.services = TurnServices(
            store=store,
            models=self._broker,
            tools=self.tools,
            rules=_rules_of(config.loaded),
            grants=self,
            steering=self,
            presence=self,
            decisions=self,
            requests=self._requests,
            spill_folder=config.loaded.paths.spill,
            environment=child_environment(config.environ),
            retry=DEFAULT_POLICY,
            locks=PathLocks(),
            clock=clock,
        )
        self._deciding = Deciding(self)
        self._watch = Watch(store, self._deciding.hear)

    @classmethod
    async def open(cls, config: WorkspaceConfig, *, clock: Clock = SYSTEM_CLOCK) -> Workspace:
        """Open the database and be ready. Raises `UserError` in one line."""
        if not config.folder.is_dir():
            raise UserError(f"{config.folder} is not a folder: name one that exists with --cwd")
        config.loaded.paths.ensure()
        store = await Store.open(config.loaded.paths.database, clock=clock)
        try:
            workspace = cls(config, store, clock)
        except BaseException:
            await store.close()
            raise
        workspace._watch.start()
        workspace._preparing = asyncio.create_task(workspace._prepare(), name="prepare")
        return workspace

    async def _prepare(self) -> None:
        """Load the model's SDK while the person is still typing, then tidy up."""
        await asyncio.sleep(PREPARE_AFTER_SECONDS)
        if self._config.attended:
            await self._broker.prepare()
        await tidy_spill(self.store, self._config.loaded.paths.spill, self.clock.wall())

    async def close(self) -> None:
        """Pause what runs, end children, close connections and the database."""
        self._is_closing = True
        try:
            await self._watch.close()
            if self._preparing is not None:
                self._preparing.cancel()
                await asyncio.gather(self._preparing, return_exceptions=True)
            await self._stop_sessions()
            await self._broker.aclose()
        finally:
            await self.store.close()

    async def _stop_sessions(self) -> None:
        """Roots first, as they end their children with them; then who runs on its own."""
        for wanted in (True, False):
            runners = [r for r in self._runners.values() if (r.session.parent_id is None) is wanted]
            stops = (runner.stop(StopKind.CLOSING) for runner in runners)
            for failed in await asyncio.gather(*stops, return_exceptions=True):
                if isinstance(failed, Exception):
                    log.error("a session did not stop cleanly", exc_info=failed)

    # --- facts ------------------------------------------------------------------------------------

    @property
    def is_attended(self) -> bool:
        """Whether somebody is there to decide."""
        return self._config.attended and not self._is_closing

    def subscribe(self, *, after: int | None = None) -> BusSubscription:
        """Every event from `after` (exclusive) on."""
        return self.bus.subscribe(after)

    # --- sessions ---------------------------------------------------------------------------------

    async def snapshot(self, session_id: str, *, last: int = 200) -> SessionSnapshot:
        """A session as it is now."""
        record = self._unsaved.get(session_id)
        if record is None:
            await self._open_tree(session_id)
        return await take_snapshot(
            self.store,
            self.bus,
            session_id,
            last=last,
            unsaved=record,
            runners=self._runners,
            owned=self._opened,
            price=self._broker.price,
        )

    async def delete(self, session_id: str) -> None:
        """Delete a session with its subagents."""
        if self._unsaved.pop(session_id, None) is not None:
            return
        # of whatever folder: nothing of it is run, and the folder may be gone
        record = await self._open_tree(session_id)
        if record.root_id not in self._opened:
            raise ConflictError(OPEN_ELSEWHERE)
        tree = await self.store.tree(record.root_id)
        if any(self._is_busy(session.id) for session in tree):
            raise ConflictError("the session is running: interrupt it before you delete it")
        asks = await self.store.pending(root_id=record.root_id)
        await self.store.delete_session(session_id)
        for item in asks:
            self.publish(resolved_event(item, None, None))
        for session in tree:
            self._runners.pop(session.id, None)
            self._submitting.pop(session.id, None)
        self._opened.discard(record.root_id)
        await self.store.release(record.root_id)

    # --- what happens in a session ----------------------------------------------------------------

    async def submit(self, session_id: str, text: str, *, after_turn: bool = False) -> None:
        """A prompt: starts a turn, or is queued while one runs."""
        if not text.strip():
            raise UserError("the prompt is empty: type what you want")
        # one after the other: while the first prompt opens the session, no later one overtakes it
        async with self._submitting.setdefault(session_id, asyncio.Lock()):
            async with self._saving:
                record = self._unsaved.get(session_id)
                if record is not None:
                    await self.store.create_session(record)
                    self._unsaved.pop(session_id, None)
            runner = await self._owned(session_id)
            await runner.submit(text, after_turn=after_turn)

    async def resume(self, session_id: str) -> None:
        """Go on with what was left open, cut or queued; of a subagent that others wait for, with
        the whole of what waits."""
        runner = await self._owned(await self._waiting_above(session_id))
        await runner.resume()

    async def _waiting_above(self, session_id: str) -> str:
        """The topmost session that waits for this one through its open calls; else itself."""
        record = await self.store.session(session_id)
        while record.parent_id is not None:
            batch = await self.store.open_batch(record.parent_id)
            runs = batch[1] if batch is not None else ()
            if not any(run.child_id == record.id and not run.state.is_settled for run in runs):
                break
            record = await self.store.session(record.parent_id)
        return record.id

    async def discard_open(self, session_id: str) -> None:
        """Close the open batch: what is undecided or unstarted becomes "not run"."""
        runner = await self._owned(session_id)
        await runner.discard_open("the person went on without it.")

    async def interrupt(self, session_id: str) -> None:
        """End the foreground turn of this session and of its children."""
        runner = self._runners.get(session_id)
        if runner is not None:
            await runner.stop(StopKind.INTERRUPT)

    async def retry_now(self, session_id: str) -> None:
        """End the wait before a failed model call is tried again."""
        runner = self._runners.get(session_id)
        if runner is not None:
            runner.retry_now()

    async def decide(self, pending_id: str, decision: Decision) -> DecideResult:
        """Answer an open item."""
        return await self._deciding.decide(pending_id, decision)

    async def pending(self, *, everywhere: bool = True) -> tuple[PendingItem, ...]:
        """Every open item, oldest first."""
        items = await self.store.pending()
        return items if everywhere else tuple(i for i in items if i.folder == self.folder)

    async def compact(self, session_id: str, focus: str = "") -> None:
        """Summarise older messages."""
        if session_id in self._unsaved:
            raise ConflictError("there is nothing to compact yet")
        runner = await self._owned(session_id)
        await runner.compact(focus)

    async def edit_queue(
        self,
        session_id: str,
        messages: tuple[QueuedMessage, ...],
        *,
        dropped: tuple[str, ...] = (),
    ) -> tuple[QueuedMessage, ...]:
        """Order queued messages, say when each is delivered, drop some; those that were dropped."""
        runner = await self._owned(session_id)
        gone = await self.store.edit_queue(session_id, messages, dropped=dropped)
        await runner.queue_changed()
        return gone

    async def requests(self, session_id: str, prompt: str = "") -> tuple[InspectedRequest, ...]:
        """The request that `prompt` would cause now, then those that were sent last."""
        record = self._unsaved.get(session_id) or await self.store.session(session_id)
        upcoming = await next_one(await self.probe(record), prompt)
        return (upcoming, *self._requests.last(session_id))

    async def models(self) -> tuple[OfferedModel, ...]:
        """What can be picked now."""
        return await self._broker.offered()

    async def doctor(self) -> tuple[Check, ...]:
        """Keys, reachability, folders, database."""
        from tui_agent.workspace.doctor import examine

        return await examine(self._config, self.store, self._broker)

    # --- what turns and runners need --------------------------------------------------------------

    async def granted(self, session: SessionRecord) -> Sequence[Rule]:
        """What a person allowed for this session's tree so far."""
        grants = await self.store.grants(session.root_id, session.folder)
        return tuple(parse_rule(grant.rule) for grant in grants)

    async def next_steering(self, session_id: str) -> QueuedMessage | None:
        """The oldest queued message that does not wait for the turn's end."""
        queue = await self.store.queue(session_id)
        return next((message for message in queue if not message.after_turn), None)

    async def catch_up(self) -> None:
        """Tell what other processes decided and nobody here has told yet."""
        await self._watch.look()

    async def queue_changed(self, session_id: str) -> None:
        """A queued message was delivered."""
        if (runner := self._runners.get(session_id)) is not None:
            await runner.queue_changed()

    def spawner_for(self, runner: SessionRunner) -> Spawner | None:
        """What runs the children of a session; nothing at the deepest level."""
        if len(runner.agent_path) > DEEPEST:
            return None
        places = self._places.setdefault(runner.id, asyncio.Semaphore(MOST_AT_ONCE))
        return ChildSpawner(self, runner, places)

    def phase_changed(self, runner: SessionRunner) -> None:
        """A child's phase may be its parent's."""
        parent = self._runners.get(runner.session.parent_id or "")
        if parent is not None:
            parent.reconsider()

    def runner_of_call(self, session_id: str, tool_use_id: str) -> SessionRunner | None:
        """The child that a call of that session runs."""
        for runner in self._runners.values():
            record = runner.session
            if (record.parent_id, record.parent_tool_use_id) == (session_id, tool_use_id):
                return runner
        return None

    async def adopt(self, record: SessionRecord, path: tuple[str, ...]) -> SessionRunner:
        """The runner of a session, made when there is none."""
        runner = self._runners.get(record.id)
        if runner is None:
            made = await self._new_runner(record, path)
            # who came first during the wait stays: two runners would run two turns at once
            runner = self._runners.setdefault(record.id, made)
        return runner

    async def _new_runner(self, record: SessionRecord, path: tuple[str, ...]) -> SessionRunner:
        known = await self.store.known_files(record.id)
        return SessionRunner(
            self,
            record,
            find_agent(record.agent) or MAIN,
            path,
            rebuilt_ledger(known, Path(record.folder)),
            policy_denies=self._config.unattended_denies,
        )

    def release(self, runner: SessionRunner) -> None:
        """A child at rest with nothing open needs no runner."""
        if runner.phase is Phase.IDLE and not runner.is_busy:
            self._runners.pop(runner.id, None)
            self._places.pop(runner.id, None)

    async def probe(self, record: SessionRecord) -> Turn:
        """A turn that is never run: the context in which an edited input is judged."""
        path = await agent_path(self.store, record)
        runner = await self.adopt(record, path)
        return runner.make_turn(Trigger.DECISION, LoopState.EXECUTING, None, record)

    def runner(self, session_id: str) -> SessionRunner | None:
        """The live side of a session, if it has one."""
        return self._runners.get(session_id)

    async def try_resume(self, session_id: str) -> bool:
        """Go on where the last decision is in; false when another process runs the tree. Raises
        `UserError` for what stands in the way.

        With nobody there, a model that cannot be asked stands in the way beforehand: what was
        approved would run, and the turn would then fail for want of a key."""
        record = await self._open_tree(session_id)
        if record.root_id not in self._opened:
            return False
        if not self._config.attended:
            above = await self.store.session(await self._waiting_above(session_id))
            self._broker.client(above.model)
        await self.resume(session_id)
        return True

    # --- opening ----------------------------------------------------------------------------------

    async def _owned(self, session_id: str) -> SessionRunner:
        """The runner of a session whose tree this process owns. Raises `ConflictError`; so it does
        for a session of another folder, whose own rules are not loaded here."""
        record = await self._open_tree(session_id)
        if record.folder != self.folder:
            raise ConflictError(f"the session belongs to {record.folder}: start tui-agent there")
        if record.root_id not in self._opened:
            raise ConflictError(OPEN_ELSEWHERE)
        runner = await self.adopt(record, await agent_path(self.store, record))
        if self._is_closing:
            raise ConflictError("the program is closing: start it again to go on")
        return runner

    async def _open_tree(self, session_id: str) -> SessionRecord:
        """Own and recover the tree of a session, if nobody else runs it."""
        record = await self.store.session(session_id)
        async with self._opening:
            if record.root_id in self._opened or self._is_closing:
                return record
            try:
                owned = await self.store.acquire(record.root_id)
            except StoreError as error:
                log.warning("session %s can only be read: %s", record.root_id, error)
                return record
            if owned is None:
                return record
            await Recovery(self.store, self.tools, self.clock).recover_tree(record.root_id)
            self._opened.add(record.root_id)
            self._watch.add(await self.store.pending(root_id=record.root_id))
        root = await self.store.session(record.root_id)
        runner = await self.adopt(root, (root.id,))
        await runner.refresh_phase()
        return await self.store.session(session_id)

    # --- small things -----------------------------------------------------------------------------

    def _is_busy(self, session_id: str) -> bool:
        runner = self._runners.get(session_id)
        return runner is not None and runner.is_busy


def _rules_of(loaded: LoadedSettings) -> RuleSet:
    """The rules of the settings. Raises `UserError` that names the file of one that is none."""
    found: dict[str, tuple[Rule, ...]] = {}
    for kind in ("allow", "ask", "deny"):
        try:
            found[kind] = tuple(map(parse_rule, getattr(loaded.settings.permissions, kind)))
        except UserError as error:
            where = loaded.sources.get(f"permissions.{kind}", "settings")
            raise UserError(f"{where}: permissions.{kind}: {error}") from error
    return RuleSet(**found)
