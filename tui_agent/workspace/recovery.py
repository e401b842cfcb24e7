"""Opening a session that a process left behind.

What was cut is told, never repeated: half-streamed text is kept and marked, a call that was running
gets the outcome unknown unless it only read, a Task takes its state from its child, and a turn
without an end gets one. Nothing is stripped. A pause is not a crash: open asks stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tui_agent.loop.settling import Place, close_batch, unknown
from tui_agent.store import Store
from tui_agent.store.values import TurnEnd
from tui_agent.tools.base import ToolError
from tui_agent.tools.names import TASK
from tui_agent.tools.registry import ToolRegistry
from tui_agent.vocabulary.blocks import Block, Outcome, TextBlock
from tui_agent.vocabulary.decisions import PendingKind
from tui_agent.vocabulary.ids import Clock, new_id
from tui_agent.vocabulary.messages import Message, Origin, Role
from tui_agent.vocabulary.records import PROCESS_ENDED, SessionRecord, ToolRun, TurnRecord
from tui_agent.vocabulary.states import CallState, DoneReason

CUT_NOTE = (
    "[Recovery] The program ended while this answer was being written; what stands above is all "
    "that was kept of it."
)


@dataclass(frozen=True, slots=True)
class Recovery:
    """Recovers sessions; used by the process that owns their tree."""

    store: Store
    tools: ToolRegistry
    clock: Clock

    async def recover_tree(self, root_id: str) -> None:
        """Recover a session and its descendants, children first: a parent reads their state."""
        for session in reversed(await self.store.tree(root_id)):
            await self._recover(session)

    async def _recover(self, session: SessionRecord) -> None:
        """Also a turn that has its end may have left a call without an outcome, when the store
        could not take one: it is not run again either."""
        turn = await self.store.last_turn(session.id)
        if turn is None:
            return
        was_cut = turn.reason is None
        if was_cut:
            await self._keep_partial(session, turn.id)
        batch = await self.store.open_batch(session.id)
        for run in batch[1] if batch is not None else ():
            await self._settle_if_cut(session, run)
        batch = await self.store.open_batch(session.id)
        runs = batch[1] if batch is not None else ()
        if runs and all(run.state.is_settled for run in runs) and not _is_stopped(runs):
            await self._close(session, runs, turn)
        elif was_cut and any(run.state in (CallState.ASKED, CallState.WAITING) for run in runs):
            await self._end(turn, await self._pause_reason(session))
        elif was_cut:
            await self._end(turn, DoneReason.ERROR)

    async def _keep_partial(self, session: SessionRecord, turn_id: str) -> None:
        partial = await self.store.partial(session.id)
        if partial is None:
            return
        message = note = None
        if partial.text.strip():
            note = self._message("user", (TextBlock(CUT_NOTE),), Origin.RECOVERY, turn_id)
            message = self._message(
                "assistant", (TextBlock(partial.text),), Origin.ASSISTANT, turn_id
            )
            message = replace(
                message,
                provider=session.model.provider,
                model=session.model.model,
                cut=True,
            )
        await self.store.end_cut_stream(session.id, message, note=note)

    async def _settle_if_cut(self, session: SessionRecord, run: ToolRun) -> None:
        if run.state is not CallState.STARTED:
            return
        if run.name == TASK and run.child_id is not None:
            await self.store.note_waiting(session.id, run.tool_use_id, run.child_id)
        elif not self._only_reads(run):
            cut = unknown(run, session.folder, self.clock.wall())
            await self.store.record_outcome(
                session.id,
                run.tool_use_id,
                state=cut.state,
                outcome=Outcome.UNKNOWN,
                content=cut.content,
                details=run.details,
                at=self.clock.wall(),
            )

    def _only_reads(self, run: ToolRun) -> bool:
        try:
            return self.tools.get(run.name).is_read_only
        except ToolError:
            return False

    async def _pause_reason(self, session: SessionRecord) -> DoneReason:
        items = await self.store.pending(root_id=session.root_id)
        mine = [item for item in items if item.is_below(session.id)]
        if mine and all(item.kind is PendingKind.QUESTION for item in mine):
            return DoneReason.PENDING_QUESTION
        return DoneReason.PENDING_APPROVAL

    async def _close(
        self, session: SessionRecord, runs: tuple[ToolRun, ...], turn: TurnRecord
    ) -> None:
        """Nobody looks at the session yet, so nothing is told: its rows say it all."""
        place = Place(session.id, (session.id,), session.folder, turn.id)
        ends = None
        if turn.reason is None:
            ends = TurnEnd(
                turn.id, DoneReason.ERROR, self.clock.wall(), turn.usage, turn.rounds, PROCESS_ENDED
            )
        await close_batch(
            self.store,
            place,
            runs,
            why="the program ended.",
            now=self.clock.wall(),
            tell=lambda _event: None,
            ends=ends,
        )

    async def _end(self, turn: TurnRecord, reason: DoneReason) -> None:
        await self.store.end_turn(
            turn.id,
            reason=reason,
            cause=PROCESS_ENDED,
            usage=turn.usage,
            rounds=turn.rounds,
            ended=self.clock.wall(),
        )

    def _message(
        self, role: Role, blocks: tuple[Block, ...], origin: Origin, turn_id: str
    ) -> Message:
        return Message(
            id=new_id("msg"),
            role=role,
            blocks=blocks,
            origin=origin,
            created=self.clock.wall(),
            turn_id=turn_id,
        )


def _is_stopped(runs: tuple[ToolRun, ...]) -> bool:
    """Whether a plain No is in the batch: it stays open, for the turn that goes on with it must end
    as denied, like one that was there to hear it."""
    return any(run.verdict is not None and run.verdict.stop for run in runs)
