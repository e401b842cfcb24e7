"""Turns, messages and what a request is made from, as coroutines. See `store.py`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from tui_agent.store import (
    clearings,
    desk,
    messages,
    turns,
)
from tui_agent.store.part import StorePart
from tui_agent.store.values import TurnEnd
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import (
    Boundary,
    Clearing,
    Partial,
    TurnRecord,
)
from tui_agent.vocabulary.states import DoneReason
from tui_agent.vocabulary.usage import Usage


class HistoryPart(StorePart):
    """The append-only history and the turns that made it."""

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

    async def usage_by_model(self, session_id: str) -> tuple[tuple[str, str, Usage], ...]:
        """Tokens of a session's own replies by provider and model."""
        return await self._db.read(lambda c: turns.usage_by_model(c, session_id))

    async def save_turn_usage(self, turn_id: str, usage: Usage, rounds: int) -> None:
        """Store a running turn's totals so far (`append_reply` does it too)."""
        await self._db.write(lambda c: turns.save_usage(c, turn_id, usage, rounds))

    async def last_turn(self, session_id: str) -> TurnRecord | None:
        """The newest turn of a session."""
        return await self._db.read(lambda c: turns.last(c, session_id))

    async def sent_prompts(self, folder: str, limit: int) -> tuple[str, ...]:
        """What people sent in a folder, oldest first, the newest `limit`."""
        return await self._db.read(lambda c: messages.sent_prompts(c, folder, limit))

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

    async def first_seq(self, session_id: str) -> int:
        """The lowest message number that exists; 0 without messages."""
        return await self._db.read(lambda c: messages.first_seq(c, session_id))

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
