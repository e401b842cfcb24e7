"""Calls of a batch and the decisions about them, as coroutines. See `store.py`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from tui_agent.store import (
    batches,
    decisions,
    messages,
    pending,
    turns,
)
from tui_agent.store.part import StorePart
from tui_agent.store.values import Closing, Decided, PendingEntry, TurnEnd
from tui_agent.vocabulary.blocks import ContentPart, JsonObject, Outcome
from tui_agent.vocabulary.decisions import Decision, Grant, PendingItem
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import (
    ToolRun,
)
from tui_agent.vocabulary.states import CallState


class BatchPart(StorePart):
    """The open batch, from planned calls to their answers."""

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
        started: float | None = None,
        at: float,
    ) -> bool:
        """Store a call's outcome and close its ask. False, and nothing changed, when it already
        had one. `started` is when it began, of a call whose beginning was not worth a write."""
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
                started=started,
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


def _close(connection: sqlite3.Connection, closing: Closing, now: float) -> list[Message]:
    for run in closing.settled:
        batches.settle(connection, run, batches.UNSETTLED, "the batch was closed")
    batches.check_answers(connection, closing.session_id, closing.message)
    appended = [messages.put(connection, closing.session_id, closing.message, now)]
    if closing.note is not None:
        appended.append(messages.put(connection, closing.session_id, closing.note, now))
    return appended
