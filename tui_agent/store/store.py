"""The one face of this room: everything that is kept, as coroutines.

Each method is one unit on the database's own thread (see `connection.py`): a cancelled caller loses
the answer, never half of the work. Ids come from the caller. Times are seconds since the epoch,
from the caller or from the injected clock. What SQLite refuses is raised as `StoreError`, an
unknown id as `NotFoundError`, what is no longer possible as `ConflictError`.
"""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tui_agent.store import (
    batches,
    clearings,
    decisions,
    desk,
    messages,
    ownership,
    pending,
    schema,
    search,
    sessions,
    turns,
)
from tui_agent.store.connection import Database
from tui_agent.store.ownership import Locks, Ownership
from tui_agent.store.values import Closing, Decided, PendingEntry, TurnEnd
from tui_agent.vocabulary.blocks import ContentPart, JsonObject, Outcome
from tui_agent.vocabulary.decisions import Decision, Grant, PendingItem, Scope
from tui_agent.vocabulary.events import QueuedMessage
from tui_agent.vocabulary.ids import SYSTEM_CLOCK, Clock
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import (
    Boundary,
    Clearing,
    Partial,
    SearchHit,
    SessionRecord,
    SessionSummary,
    ToolRun,
    TurnRecord,
)
from tui_agent.vocabulary.states import CallState, DoneReason
from tui_agent.vocabulary.usage import Usage


class Store:
    """An open database. Made by `open`, ended by `close`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database
        self._clock = clock
        self._locks = Locks(database.path)
        self._owned: dict[str, Ownership] = {}

    @classmethod
    async def open(cls, path: Path, *, clock: Clock = SYSTEM_CLOCK) -> Store:
        """Open the database at `path`; it and its folder are made when missing. Raises
        `StoreError` in one line when it is unusable; then nothing about it has changed."""
        return cls(await Database.open(path, schema.prepare), clock)

    @property
    def path(self) -> Path:
        """The database file. Nothing but SQLite may open it."""
        return self._db.path

    async def close(self) -> None:
        """Finish what was begun, let go of owned sessions and disconnect."""
        owned = list(self._owned.values())
        try:
            if owned:
                await self._db.write(lambda c: _note_releases(c, owned, self._clock.wall()))
        finally:
            for held in owned:
                held.release()
            self._owned.clear()
            await self._db.close()

    # --- sessions --------------------------------------------------------------------------------

    async def create_session(self, record: SessionRecord) -> None:
        """Store a new session."""
        await self._db.write(lambda c: sessions.create(c, record))

    async def create_child(
        self,
        record: SessionRecord,
        *,
        parent_run: tuple[str, str],
        started: float,
        turn_id: str | None,
    ) -> None:
        """Store a subagent's session and mark the call that starts it, (session id, tool use id),
        as started with the child's id, in one unit. The call must be approved, or started without
        a child; else `ConflictError`."""
        await self._db.write(
            lambda c: sessions.create_child(c, record, parent_run, started, turn_id)
        )

    async def session(self, session_id: str) -> SessionRecord:
        """One session. Raises `NotFoundError`."""
        return await self._db.read(lambda c: sessions.get(c, session_id))

    async def update_session(self, session_id: str, **changes: Any) -> SessionRecord:
        """Change fields of a session (`sessions.CHANGEABLE`) and return it as it is now."""
        now = self._clock.wall()
        return await self._db.write(lambda c: sessions.change(c, session_id, changes, now))

    async def summaries(
        self,
        *,
        folder: str | None = None,
        search: str = "",
        ids: Sequence[str] | None = None,
        parent_id: str | None = None,
        limit: int = 200,
    ) -> tuple[SessionSummary, ...]:
        """Listings, the last used first; only roots, unless `parent_id` or `ids` is given. A root's
        usage and pending count cover its tree. `phase` is what the rows tell: never running."""
        chosen = None if ids is None else tuple(ids)
        return await self._db.read(
            lambda c: sessions.summaries(
                c, folder=folder, search=search, ids=chosen, parent_id=parent_id, limit=limit
            )
        )

    async def latest_session(self, folder: str) -> str | None:
        """The root session of `folder` that was used last."""
        return await self._db.read(lambda c: sessions.latest(c, folder))

    async def children(self, session_id: str) -> tuple[SessionRecord, ...]:
        """The direct subagents of a session, oldest first."""
        return await self._db.read(lambda c: sessions.children(c, session_id))

    async def tree(self, root_id: str) -> tuple[SessionRecord, ...]:
        """A root session, then all its descendants, oldest first."""
        return await self._db.read(lambda c: sessions.tree(c, root_id))

    async def fork(self, session_id: str, new_record: SessionRecord) -> SessionRecord:
        """Store `new_record` as a root with the history of `session_id` up to the last closed
        batch. Message ids are unique within a session only: the copies keep theirs."""
        now = self._clock.wall()
        return await self._db.write(lambda c: sessions.fork(c, session_id, new_record, now))

    async def delete_session(self, session_id: str) -> None:
        """Delete a session, its descendants and everything of theirs."""
        await self._db.write(lambda c: sessions.delete(c, session_id))

    async def resolve_id(self, prefix_or_id: str) -> str:
        """The id that `prefix_or_id` stands for. Raises `NotFoundError` unless it is just one."""
        return await self._db.read(lambda c: sessions.resolve_id(c, prefix_or_id))

    # --- turns -----------------------------------------------------------------------------------

    async def begin_turn(
        self, turn: TurnRecord, *, prompt: Message | None = None, dequeue: str | None = None
    ) -> Message | None:
        """Store that a turn starts, with the message that starts it and, when that was queued, its
        row of the queue gone, in one unit; returns the message as stored."""
        now = self._clock.wall()

        def unit(connection: sqlite3.Connection) -> Message | None:
            turns.begin(connection, turn)
            if prompt is None:
                return None
            return messages.append(connection, turn.session_id, prompt, now=now, dequeue=dequeue)

        return await self._db.write(unit)

    async def end_turn(
        self,
        turn_id: str,
        *,
        reason: DoneReason,
        cause: str | None = None,
        usage: Usage,
        rounds: int,
        ended: float,
    ) -> None:
        """Store how a turn ended; `usage` and `rounds` are the turn's own totals."""
        how = TurnEnd(turn_id, reason, ended, usage, rounds, cause)
        await self._db.write(lambda c: turns.end(c, how))

    async def save_turn_usage(self, turn_id: str, usage: Usage, rounds: int) -> None:
        """Store a running turn's totals so far (`append_reply` does it too)."""
        await self._db.write(lambda c: turns.save_usage(c, turn_id, usage, rounds))

    async def last_turn(self, session_id: str) -> TurnRecord | None:
        """The newest turn of a session."""
        return await self._db.read(lambda c: turns.last(c, session_id))

    async def turns(self, session_id: str) -> tuple[TurnRecord, ...]:
        """All turns of a session, oldest first."""
        return await self._db.read(lambda c: turns.of_session(c, session_id))

    async def chain_rounds(self, turn_id: str) -> int:
        """Rounds of a turn together with the turns that it continues."""
        return await self._db.read(lambda c: turns.chain_rounds(c, turn_id))

    async def tree_usage(self, root_id: str) -> Usage:
        """Tokens of all turns and stored compactions of a root session and its descendants."""
        return await self._db.read(lambda c: turns.tree_usage(c, root_id))

    async def usage_below(self, session_id: str) -> tuple[Usage, Usage]:
        """Tokens of a session alone, and of it with all that works for it."""
        return await self._db.read(lambda c: turns.usage_below(c, session_id))

    # --- messages --------------------------------------------------------------------------------

    async def append_message(
        self, session_id: str, message: Message, *, dequeue: str | None = None
    ) -> Message:
        """Append a message that holds no calls and no results; returns it as stored, with its
        number. `dequeue` is the id of the queued message that it was: both in one unit. The first
        user message names an unnamed session. `ConflictError` while a batch is open."""
        now = self._clock.wall()
        return await self._db.write(
            lambda c: messages.append(c, session_id, message, now=now, dequeue=dequeue)
        )

    async def append_reply(
        self, session_id: str, message: Message, *, turn_id: str, usage: Usage, rounds: int
    ) -> Message:
        """Append the model's reply: the message, its calls as planned, the partial reply dropped
        and the turn's totals, in one unit. `ConflictError` when a batch is open, or a call's id
        was used before in the session."""
        now = self._clock.wall()
        return await self._db.write(
            lambda c: messages.append_reply(
                c, session_id, message, turn_id=turn_id, usage=usage, rounds=rounds, now=now
            )
        )

    async def end_cut_stream(
        self,
        session_id: str,
        message: Message | None,
        *,
        note: Message | None = None,
        ends: TurnEnd | None = None,
    ) -> Message | None:
        """Store half-streamed text (without calls; it is marked cut) and `note` behind it, drop the
        partial reply and, with `ends`, end the turn, in one unit. Returns the text as stored."""
        now = self._clock.wall()
        return await self._db.write(
            lambda c: messages.end_cut_stream(c, session_id, message, note=note, ends=ends, now=now)
        )

    async def messages(
        self,
        session_id: str,
        *,
        last: int | None = None,
        before: int | None = None,
        limit: int | None = None,
        from_seq: int | None = None,
    ) -> tuple[Message, ...]:
        """Messages, oldest first: all, the `last` ones, up to `limit` ones right before number
        `before`, or from number `from_seq` on."""
        return await self._db.read(
            lambda c: messages.read(
                c, session_id, last=last, before=before, limit=limit, from_seq=from_seq
            )
        )

    async def history(self, session_id: str) -> tuple[Boundary | None, tuple[Message, ...]]:
        """What a request is projected from: the newest summary first, then the messages from its
        boundary on; without a boundary all messages."""
        return await self._db.read(lambda c: messages.history(c, session_id))

    async def save_partials(self, partials: Sequence[Partial]) -> None:
        """Keep what has streamed so far, of all sessions in one unit."""
        kept = tuple(partials)
        await self._db.write(lambda c: desk.save_partials(c, kept))

    async def partial(self, session_id: str) -> Partial | None:
        """The reply that was streaming when it was last saved."""
        return await self._db.read(lambda c: desk.partial(c, session_id))

    async def drop_partial(self, session_id: str) -> None:
        """Forget the reply that was streaming (a retry begins it anew)."""
        await self._db.write(lambda c: messages.drop_partial(c, session_id))

    # --- the batch -------------------------------------------------------------------------------

    async def open_batch(self, session_id: str) -> tuple[Message, tuple[ToolRun, ...]] | None:
        """The reply whose calls are not answered yet, and those calls in order."""
        return await self._db.read(lambda c: batches.open_batch(c, session_id))

    async def tool_runs(
        self, session_id: str, *, message_ids: Sequence[str] | None = None
    ) -> tuple[ToolRun, ...]:
        """Calls of a session, or of some of its messages, in the order they were made."""
        chosen = None if message_ids is None else tuple(message_ids)
        return await self._db.read(lambda c: batches.runs(c, session_id, chosen))

    async def tool_run(self, session_id: str, tool_use_id: str) -> ToolRun:
        """One call. Raises `NotFoundError`."""
        return await self._db.read(lambda c: batches.get(c, session_id, tool_use_id))

    async def known_files(self, session_id: str) -> tuple[tuple[str, str], ...]:
        """The files that results of a session name with their digest, as (path, digest), oldest
        first."""
        return await self._db.read(lambda c: batches.known_files(c, session_id))

    async def taken_call_ids(self, session_id: str, ids: Sequence[str]) -> frozenset[str]:
        """Those of `ids` that a call of the session already has."""
        wanted = tuple(ids)
        return await self._db.read(lambda c: batches.taken_ids(c, session_id, wanted))

    async def record_review(
        self, session_id: str, runs: Sequence[ToolRun], pending: Sequence[PendingItem] = ()
    ) -> tuple[ToolRun, ...]:
        """Store what the gate made of calls that have not started, and the asks: one item for each
        call that is now asked. Returns those calls as they are now; one that was decided or
        settled elsewhere meanwhile is left as it is."""
        now, reviewed, asks = self._clock.wall(), tuple(runs), tuple(pending)
        return await self._db.write(
            lambda c: batches.record_review(c, session_id, reviewed, asks, now)
        )

    async def mark_started(
        self,
        session_id: str,
        tool_use_id: str,
        *,
        at: float,
        turn_id: str | None,
        again: bool = False,
    ) -> ToolRun:
        """Store that an approved call runs from now on, as its next attempt. `again` also admits a
        call that was started or waits. Any other raises `ConflictError`: do not run it."""
        return await self._db.write(
            lambda c: batches.mark_started(
                c, session_id, tool_use_id, at=at, turn_id=turn_id, again=again
            )
        )

    async def note_waiting(self, session_id: str, tool_use_id: str, child_id: str) -> bool:
        """Store that a started call waits for its paused child; false when it does not run."""
        return await self._db.write(
            lambda c: batches.note_waiting(c, session_id, tool_use_id, child_id)
        )

    async def record_outcome(
        self,
        session_id: str,
        tool_use_id: str,
        *,
        state: CallState,
        outcome: Outcome,
        content: Sequence[ContentPart],
        details: JsonObject | None = None,
        ends_turn: bool = False,
        at: float,
    ) -> bool:
        """Store a call's outcome and close its ask. False, and nothing changed, when it already
        had one."""
        return await self._db.write(
            lambda c: batches.record_outcome(
                c,
                session_id,
                tool_use_id,
                state=state,
                outcome=outcome,
                content=tuple(content),
                details=details or {},
                ends_turn=ends_turn,
                at=at,
            )
        )

    async def close_batch(
        self,
        session_id: str,
        message: Message,
        *,
        settled: Sequence[ToolRun] = (),
        ends: TurnEnd | None = None,
    ) -> Message:
        """Answer one open batch; see `close_batches`."""
        closing = Closing(session_id, message, tuple(settled))
        return (await self.close_batches((closing,), ends=ends))[0]

    async def close_batches(
        self, closings: Sequence[Closing], *, ends: TurnEnd | None = None
    ) -> tuple[Message, ...]:
        """Answer the open batches of a session and of its subagents, in one unit: for each, settle
        the calls in `settled` that have no outcome yet (their asks close), append the results and
        the note; with `ends` end the turn. Returns what was appended, in that order. Raises
        `StoreError`, and changes nothing, unless then every call of each batch has its outcome and
        is answered exactly once, in call order."""
        now, wanted = self._clock.wall(), tuple(closings)

        def unit(connection: sqlite3.Connection) -> tuple[Message, ...]:
            appended: list[Message] = []
            for closing in wanted:
                appended += _close(connection, closing, now)
            if ends is not None:
                turns.end(connection, ends)
            return tuple(appended)

        return await self._db.write(unit)

    # --- pending decisions -----------------------------------------------------------------------

    async def pending(
        self,
        *,
        session_id: str | None = None,
        root_id: str | None = None,
        open_only: bool = True,
    ) -> tuple[PendingItem, ...]:
        """Items of a session, of a tree or of all, oldest first."""
        return await self._db.read(
            lambda c: pending.listing(
                c, session_id=session_id, root_id=root_id, open_only=open_only
            )
        )

    async def pending_item(self, pending_id: str) -> PendingEntry:
        """One item and what became of it. Raises `NotFoundError`."""
        return await self._db.read(lambda c: pending.entry(c, pending_id))

    async def decide(
        self,
        pending_id: str,
        decision: Decision,
        *,
        at: float,
        settle_siblings: bool = True,
        digest: str | None = None,
        content: Sequence[ContentPart] = (),
        sibling_content: Sequence[ContentPart] = (),
        grants: Sequence[Grant] = (),
    ) -> Decided:
        """Take an answer, in one unit and only once: the item is resolved; its call becomes
        approved (`edited_input` and then `digest` replace what it had, `answers` are kept) or
        denied with `content` as its result; a denial that stops the turn settles every undecided
        call beside it as not run; `grants` are stored. Already resolved or dead: `applied` is
        false and nothing changed. Raises `NotFoundError`, and `UsageError` for an approval of a
        question or an answer to an approval."""
        return await self._db.write(
            lambda c: decisions.decide(
                c,
                pending_id,
                decision,
                at=at,
                settle_siblings=settle_siblings,
                digest=digest,
                content=tuple(content),
                sibling_content=tuple(sibling_content),
                grants=tuple(grants),
            )
        )

    # --- queue, drafts, views, grants -------------------------------------------------------------

    async def enqueue(self, session_id: str, message: QueuedMessage) -> None:
        """Put a message at the end of the queue."""
        await self._db.write(lambda c: desk.enqueue(c, session_id, message))

    async def queue(self, session_id: str) -> tuple[QueuedMessage, ...]:
        """The queued messages, in order."""
        return await self._db.read(lambda c: desk.queue(c, session_id))

    async def set_queue(
        self, session_id: str, message_ids: Sequence[str]
    ) -> tuple[QueuedMessage, ...]:
        """Keep exactly these queued messages, in this order; returns the queue as it is now."""
        wanted = tuple(message_ids)
        return await self._db.write(lambda c: desk.set_queue(c, session_id, wanted))

    async def save_draft(self, session_id: str, text: str) -> None:
        """Keep what is typed, also for a session that is not stored yet; empty forgets it."""
        now = self._clock.wall()
        await self._db.write(lambda c: desk.save_draft(c, session_id, text, now))

    async def draft(self, session_id: str) -> str:
        """What was typed and not sent; empty when nothing was."""
        return await self._db.read(lambda c: desk.draft(c, session_id))

    async def save_view(self, session_id: str, view: JsonObject) -> None:
        """Keep where the person was."""
        now = self._clock.wall()
        await self._db.write(lambda c: desk.save_view(c, session_id, view, now))

    async def view(self, session_id: str) -> JsonObject:
        """Where the person was; empty when unknown."""
        return await self._db.read(lambda c: desk.view(c, session_id))

    async def add_grant(
        self, session_id: str | None, folder: str, rule: str, scope: Scope, at: float
    ) -> None:
        """Keep a standing permission, for one session or (`None`) for every one of the folder."""
        grant = Grant(session_id, folder, rule, scope, at)
        await self._db.write(lambda c: desk.add_grant(c, grant))

    async def grants(self, session_id: str, folder: str) -> tuple[Grant, ...]:
        """What holds for a session in a folder, oldest first."""
        return await self._db.read(lambda c: desk.grants(c, session_id, folder))

    async def all_grants(self, folder: str | None = None) -> tuple[Grant, ...]:
        """Every standing permission, oldest first; with `folder` those that hold there."""
        return await self._db.read(lambda c: desk.all_grants(c, folder))

    async def remove_grant(self, number: int) -> Grant:
        """Take a standing permission back; returns what it was. Raises `NotFoundError`."""
        return await self._db.write(lambda c: desk.remove_grant(c, number))

    # --- compaction and search -------------------------------------------------------------------

    async def store_summary(
        self,
        session_id: str,
        message: Message,
        *,
        kept_from: int,
        trigger: str,
        tokens_before: int,
        tokens_after: int,
        usage: Usage | None = None,
    ) -> Message:
        """Append a summary and the boundary that makes requests start with it, in one unit.
        `usage` counts in `tree_usage`: leave it out of the turn's. Raises `StoreError` when the
        cut would part a call from its result."""
        now = self._clock.wall()
        return await self._db.write(
            lambda c: messages.store_summary(
                c,
                session_id,
                message,
                kept_from=kept_from,
                trigger=trigger,
                tokens_before=tokens_before,
                tokens_after=tokens_after,
                usage=usage,
                now=now,
            )
        )

    async def boundaries(self, session_id: str) -> tuple[Boundary, ...]:
        """Every stored compaction of a session, oldest first."""
        return await self._db.read(lambda c: messages.boundaries(c, session_id))

    async def clear_results(self, session_id: str, clearing: Clearing) -> None:
        """Let these results stand as markers from the next request on."""
        await self._db.write(lambda c: clearings.note(c, session_id, clearing))

    async def clearings(self, session_id: str) -> tuple[Clearing, ...]:
        """Every clearing of a session, oldest first."""
        return await self._db.read(lambda c: clearings.of_session(c, session_id))

    async def search(
        self,
        text: str,
        *,
        folder: str | None = None,
        limit: int = 50,
        root_ids: Sequence[str] | None = None,
        each: int | None = None,
    ) -> tuple[SearchHit, ...]:
        """Messages that hold every word of `text`, best first: in every session, in those of
        `folder`, or in the trees of `root_ids`, and then at most `each` of one tree."""
        roots = None if root_ids is None else tuple(root_ids)
        return await self._db.read(
            lambda c: search.search(c, text, folder=folder, limit=limit, root_ids=roots, each=each)
        )

    # --- ownership and health --------------------------------------------------------------------

    async def acquire(self, root_id: str) -> Ownership | None:
        """Become the one who runs a session's tree, until `release` or `close`; `None` when
        someone else is. Asking again while it is ours gives the same `Ownership`."""
        for attempt in range(ownership.TRIES):
            if attempt:
                await asyncio.sleep(ownership.PAUSE_SECONDS)
            held = self._owned.get(root_id)
            if held is not None:
                return held
            taken = self._locks.take(root_id)
            if taken is not None:
                return await self._note_owner(taken)
        return None

    async def _note_owner(self, taken: Ownership) -> Ownership:
        root_id = taken.root_id
        self._owned[root_id] = taken
        now = self._clock.wall()
        try:
            taken.epoch = await self._db.write(lambda c: ownership.note_owner(c, root_id, now))
        except BaseException:
            self._owned.pop(root_id, None)
            taken.release()
            raise
        return taken

    async def release(self, root_id: str) -> None:
        """Let others run the tree. Nothing happens when it is not ours."""
        held = self._owned.pop(root_id, None)
        if held is None:
            return
        now = self._clock.wall()
        try:
            await self._db.write(lambda c: _note_releases(c, [held], now))
        finally:
            held.release()

    async def is_owned(self, root_id: str) -> bool:
        """Whether any process, this one included, runs the tree."""
        return root_id in self._owned or self._locks.is_taken(root_id)

    async def data_version(self) -> int:
        """A number that changes when another process has committed something."""
        return await self._db.data_version()

    async def quick_check(self) -> tuple[str, ...]:
        """What is wrong with the database, in words; empty when nothing is. Reads all of it."""
        return await self._db.read(lambda c: _problems(c, self.path))


def _close(connection: sqlite3.Connection, closing: Closing, now: float) -> list[Message]:
    for run in closing.settled:
        batches.settle(connection, run, batches.UNSETTLED, "the batch was closed")
    batches.check_answers(connection, closing.session_id, closing.message)
    appended = [messages.put(connection, closing.session_id, closing.message, now)]
    if closing.note is not None:
        appended.append(messages.put(connection, closing.session_id, closing.note, now))
    return appended


def _note_releases(connection: sqlite3.Connection, owned: Sequence[Ownership], now: float) -> None:
    for held in owned:
        ownership.note_release(connection, held.root_id, held.epoch, now)


def _problems(connection: sqlite3.Connection, path: Path) -> tuple[str, ...]:
    found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(20)")]
    problems = [] if found == ["ok"] else found
    for row in connection.execute("PRAGMA foreign_key_check").fetchmany(20):
        problems.append(f"a row of {row['table']} refers to a missing row of {row['parent']}")
    for place in (path, path.parent):
        mode = stat.S_IMODE(place.stat().st_mode)
        if mode & 0o077:
            problems.append(f"{place} is open to other users (mode {mode:04o})")
    return tuple(problems)
