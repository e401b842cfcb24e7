"""The workspace: open sessions of a folder behind one face.

Implements `WorkspaceApi`. Sessions are opened when they are first used: their tree is owned by this
process from then on, and recovered once if a process left it behind. Everything that is shared
between sessions (store, models, tools, rules, locks) is made here and nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tui_agent.gate.judge import check_mode
from tui_agent.loop.told import resolved_event
from tui_agent.loop.turn import StopKind, Turn, TurnServices
from tui_agent.processes.environment import child_environment
from tui_agent.providers.retry import DEFAULT_POLICY
from tui_agent.rules.syntax import Rule, parse_rule, parse_rules
from tui_agent.store import Store
from tui_agent.text import prose, truncate
from tui_agent.tools.base import Spawner
from tui_agent.tools.locks import PathLocks
from tui_agent.tools.registry import ToolRegistry, default_tools
from tui_agent.vocabulary.agents import Limits, ModelChoice
from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.decisions import Decision, Grant, PendingItem
from tui_agent.vocabulary.errors import (
    ConflictError,
    NotFoundError,
    StoreError,
    UsageError,
    UserError,
)
from tui_agent.vocabulary.events import Event, ModeChanged, QueuedMessage
from tui_agent.vocabulary.ids import SYSTEM_CLOCK, Clock, new_id
from tui_agent.vocabulary.inspection import InspectedRequest
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import SearchHit, SessionRecord, SessionSnapshot, SessionSummary
from tui_agent.vocabulary.states import LoopState, Mode, Phase, Trigger
from tui_agent.vocabulary.usage import Usage
from tui_agent.workspace.agents import MAIN, find_agent
from tui_agent.workspace.api import (
    Check,
    DecideResult,
    Match,
    OfferedModel,
    SessionOptions,
    SessionUsage,
)
from tui_agent.workspace.bus import BusSubscription, EventBus
from tui_agent.workspace.config import (
    HEADLESS_MAX_TURNS,
    WORKSPACE_MAX_TURNS,
    WorkspaceConfig,
)
from tui_agent.workspace.deciding import Deciding
from tui_agent.workspace.inspecting import SentRequests, next_one
from tui_agent.workspace.ledgers import rebuilt_ledger
from tui_agent.workspace.models import ModelBroker
from tui_agent.workspace.recovery import Recovery
from tui_agent.workspace.resting import agent_path
from tui_agent.workspace.runner import SessionRunner
from tui_agent.workspace.snapshots import take_snapshot
from tui_agent.workspace.subagents import DEEPEST, MOST_AT_ONCE, ChildSpawner
from tui_agent.workspace.tidying import tidy_spill
from tui_agent.workspace.watching import Watch

log = logging.getLogger(__name__)

HITS_OF_EACH = 3
"""Messages that a search shows of one session."""
LONGEST_TITLE = 200
OPEN_ELSEWHERE = "the session is open in another window: go on there, or close it first"
PREPARE_AFTER_SECONDS = 0.3
"""How long the first screen has for itself before heavy imports begin beside it."""


class Workspace:
    """The engine behind a folder. Made by `open`, ended by `close`."""

    def __init__(self, config: WorkspaceConfig, store: Store, clock: Clock) -> None:
        settings = config.loaded.settings
        self._config = config
        self.store = store
        self.clock = clock
        self.bus = EventBus(clock)
        self._broker = ModelBroker(settings, config.environ, store)
        self.tools = ToolRegistry(default_tools((store.path,)))
        self._runners: dict[str, SessionRunner] = {}
        self._places: dict[str, asyncio.Semaphore] = {}
        self._unsaved: dict[str, SessionRecord] = {}
        self._opened: set[str] = set()
        self._opening = asyncio.Lock()
        self._saving = asyncio.Lock()
        self._submitting: dict[str, asyncio.Lock] = {}
        self._is_closing = False
        self._preparing: asyncio.Task[None] | None = None
        self._requests = SentRequests(clock)
        self.services = TurnServices(
            store=store,
            models=self._broker,
            tools=self.tools,
            rules=parse_rules(
                allow=settings.permissions.allow,
                ask=settings.permissions.ask,
                deny=settings.permissions.deny,
            ),
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
    def folder(self) -> str:
        """The workspace folder, an absolute real path."""
        return str(self._config.folder)

    @property
    def is_attended(self) -> bool:
        """Whether somebody is there to decide."""
        return self._config.attended and not self._is_closing

    def subscribe(self, *, after: int | None = None) -> BusSubscription:
        """Every event from `after` (exclusive) on."""
        return self.bus.subscribe(after)

    def publish(self, event: Event) -> None:
        """Put an event on the bus."""
        self._watch.note(event)
        self.bus.publish(event)

    # --- sessions ---------------------------------------------------------------------------------

    async def create_session(self, options: SessionOptions | None = None) -> SessionRecord:
        """A new session, in memory until its first message."""
        options = options or SessionOptions()
        mode = options.mode or Mode.ASK
        check_mode(mode)
        agent = find_agent(options.agent)
        if agent is None:
            raise NotFoundError(f"there is no agent {options.agent!r}")
        parse_rules(allow=options.rules.allow, ask=options.rules.ask, deny=options.rules.deny)
        now = self.clock.wall()
        session_id = new_id("ses")
        record = SessionRecord(
            id=session_id,
            root_id=session_id,
            folder=self.folder,
            model=options.model or self._broker.default_choice(),
            created=now,
            updated=now,
            agent=agent.name,
            mode=mode,
            extra_folders=options.extra_folders,
            system_prompt=options.system_prompt,
            append_system_prompt=options.append_system_prompt,
            limits=options.limits or self._default_limits(),
            rules=options.rules,
        )
        self._unsaved[record.id] = record
        return record

    async def fork_session(self, session_id: str) -> SessionRecord:
        """A copy of the history up to the last closed batch."""
        original = await self.store.session(session_id)
        now = self.clock.wall()
        forked = new_id("ses")
        record = replace(
            original,
            id=forked,
            root_id=forked,
            parent_id=None,
            parent_tool_use_id=None,
            forked_from=session_id,
            title=f"{original.title} (fork)" if original.title else "",
            created=now,
            updated=now,
        )
        return await self.store.fork(session_id, record)

    async def sessions(
        self, *, everywhere: bool = False, search: str = "", limit: int = 200
    ) -> tuple[SessionSummary, ...]:
        """Root sessions, newest first, with their live state."""
        folder = None if everywhere else self.folder
        rows = await self.store.summaries(folder=folder, search=search, limit=limit)
        return tuple([await self._with_live_phase(row) for row in rows])

    async def search(
        self, text: str, *, everywhere: bool = False, limit: int = 200
    ) -> tuple[Match, ...]:
        """Sessions that hold `text`, newest first, each with its best messages."""
        found = await self.sessions(everywhere=everywhere, search=text, limit=limit)
        hits = await self.store.search(
            text,
            root_ids=tuple(session.id for session in found),
            each=HITS_OF_EACH,
            limit=limit * HITS_OF_EACH,
        )
        of_root: dict[str, list[SearchHit]] = {}
        for hit in hits:
            of_root.setdefault(hit.root_id, []).append(hit)
        return tuple(Match(session, tuple(of_root.get(session.id, ()))) for session in found)

    async def titles(self, session_ids: Iterable[str]) -> dict[str, str]:
        """The titles of stored sessions by id."""
        wanted = tuple(dict.fromkeys(session_ids))
        rows = await self.store.summaries(ids=wanted, limit=len(wanted))
        return {row.id: row.title for row in rows}

    async def usage(self, session_id: str) -> SessionUsage:
        """Tokens of a session and of what works for it."""
        if session_id in self._unsaved:
            return SessionUsage(Usage(), Usage())
        return SessionUsage(*await self.store.usage_below(session_id))

    async def latest_session(self) -> str | None:
        """The session of this folder that was used last."""
        return await self.store.latest_session(self.folder)

    async def resolve_id(self, prefix_or_id: str) -> str:
        """The whole id for a unique beginning of one. Raises `NotFoundError`."""
        if prefix_or_id in self._unsaved:
            return prefix_or_id
        return await self.store.resolve_id(prefix_or_id)

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
        )

    async def messages_before(
        self, session_id: str, seq: int, limit: int = 200
    ) -> tuple[Message, ...]:
        """Older messages, oldest first."""
        if session_id in self._unsaved:
            return ()
        return await self.store.messages(session_id, before=seq, limit=limit)

    async def rename(self, session_id: str, title: str) -> None:
        """Give the session a title; one bounded line is made of it."""
        line = truncate(" ".join(prose(title).split()), LONGEST_TITLE)
        if not line:
            raise UsageError("the title is empty: say how the session is to be called")
        await self._change(session_id, title=line)

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

    async def set_mode(self, session_id: str, mode: Mode) -> None:
        """Change the permission mode, of a session's subagents too: they have no wider rights."""
        check_mode(mode)
        record = await self._change(session_id, mode=mode)
        if record is None:
            alone = (session_id,)
            self.publish(ModeChanged(mode=mode, session_id=session_id, agent_path=alone))
            return
        for session in await self.store.tree(record.root_id):
            path = await agent_path(self.store, session)
            if session_id in path:
                await self.store.update_session(session.id, mode=mode)
                self.publish(ModeChanged(mode=mode, session_id=session.id, agent_path=path))

    async def set_model(self, session_id: str, model: ModelChoice) -> None:
        """Change the model. Raises `UserError` when it cannot be used."""
        self._broker.client(model)
        await self._change(session_id, model=model)

    async def edit_queue(self, session_id: str, message_ids: tuple[str, ...]) -> None:
        """Keep exactly these queued messages, in this order."""
        runner = await self._owned(session_id)
        await self.store.set_queue(session_id, message_ids)
        await runner.queue_changed()

    async def save_draft(self, session_id: str, text: str) -> None:
        """Keep what is typed but not sent."""
        await self.store.save_draft(session_id, text)

    async def save_view(self, session_id: str, view: JsonObject) -> None:
        """Keep where the person was."""
        await self.store.save_view(session_id, view)

    async def list_grants(self, *, everywhere: bool = False) -> tuple[Grant, ...]:
        """What a person allowed from then on."""
        return await self.store.all_grants(None if everywhere else self.folder)

    async def remove_grant(self, grant_id: int) -> Grant:
        """Take a standing permission back."""
        return await self.store.remove_grant(grant_id)

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
            agent = find_agent(record.agent) or MAIN
            ledger = rebuilt_ledger(await self.store.known_files(record.id), Path(record.folder))
            runner = SessionRunner(
                self,
                record,
                agent,
                path,
                ledger,
                policy_denies=self._config.unattended_denies,
            )
            self._runners[record.id] = runner
        return runner

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

    async def _change(self, session_id: str, **changes: Any) -> SessionRecord | None:
        """Change a session's row, or the record of one that is not stored yet (then `None`)."""
        async with self._saving:  # a change must not miss the row that is being made of the record
            unsaved = self._unsaved.get(session_id)
            if unsaved is not None:
                self._unsaved[session_id] = replace(unsaved, **changes)
                return None
        return await self.store.update_session(session_id, **changes)

    def _default_limits(self) -> Limits:
        limits = self._config.loaded.settings.limits
        usual = WORKSPACE_MAX_TURNS if self._config.attended else HEADLESS_MAX_TURNS
        return Limits(
            max_turns=usual if limits.max_turns is None else limits.max_turns,
            max_session_tokens=limits.max_session_tokens,
            repeat_limit=limits.repeat_limit,
        )

    async def _with_live_phase(self, row: SessionSummary) -> SessionSummary:
        """A turn without an end is cut, unless somebody has the session's lock: then it runs."""
        runner = self._runners.get(row.id)
        if runner is not None and (runner.is_busy or runner.phase is Phase.REQUIRES_ACTION):
            return replace(row, phase=runner.phase)
        if row.is_cut and not row.pending and row.id not in self._opened:
            is_run = await self.store.is_owned(row.id)
            return replace(row, phase=Phase.RUNNING) if is_run else row
        return row

    def _is_busy(self, session_id: str) -> bool:
        runner = self._runners.get(session_id)
        return runner is not None and runner.is_busy
