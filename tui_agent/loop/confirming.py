"""State confirming: only asks are left. With somebody there it waits, with nobody it ends pending.

Holds nothing but an asyncio event; the asks are rows, and so are the answers.
"""

from __future__ import annotations

import asyncio
import contextlib

from tui_agent.loop.batch import Batch, load_batch
from tui_agent.loop.executing import ready_calls
from tui_agent.loop.observing import observe
from tui_agent.loop.turn import Turn
from tui_agent.vocabulary.decisions import PendingKind
from tui_agent.vocabulary.events import LoopPendingApproval, LoopPendingQuestion
from tui_agent.vocabulary.states import DoneReason, LoopState

LOOK_AGAIN_SECONDS = 2.0
"""How often it is checked whether another process has decided; whoever runs the turn may notice
earlier, tell of it, and wake it."""


async def confirm(turn: Turn) -> LoopState:
    """Wait until a decision makes something possible."""
    version = await turn.store.data_version()  # before the look, so that no decision falls between
    while (batch := await load_batch(turn)) is not None:
        if ready_calls(turn, batch):
            return LoopState.EXECUTING
        if batch.is_settled or batch.denied_for_good:
            if turn.compact_focus is not None or any(run.ends_turn for run in batch.runs):
                return LoopState.EXECUTING
            following = await observe(turn, batch)
            # asked for in this very moment: the next state looks for it too
            return LoopState.THINKING if following is LoopState.COMPACTING else following
        if not turn.services.presence.is_attended:
            return await pause(turn, batch)
        version = await _decision(turn, version)
    return LoopState.THINKING


async def pause(turn: Turn, batch: Batch) -> LoopState:
    """End the turn with its batch open, to be decided another day."""
    del batch
    items = await turn.store.pending(root_id=turn.session.root_id)
    mine = [item for item in items if item.is_below(turn.session.id)]
    ids = tuple(item.pending_id for item in mine)
    if any(item.kind is PendingKind.APPROVAL for item in mine) or not mine:
        turn.ended_by = LoopPendingApproval(pending_ids=ids)
        return turn.end(DoneReason.PENDING_APPROVAL)
    turn.ended_by = LoopPendingQuestion(pending_ids=ids)
    return turn.end(DoneReason.PENDING_QUESTION)


async def _decision(turn: Turn, version: int) -> int:
    """Return when something was decided, here or, since the database was at `version`, by another
    process; the version it is at now."""
    now = await turn.store.data_version()
    while not turn.wake.is_set() and now == version:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                await turn.wake.wait()
        now = await turn.store.data_version()
    turn.wake.clear()
    return now
