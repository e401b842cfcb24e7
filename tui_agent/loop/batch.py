"""The open batch as the store has it, and what a handler wants to know of it.

Read anew at every step and never kept: the rows are the checkpoint, also for decisions that another
process took meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass

from tui_agent.loop.turn import Turn
from tui_agent.tools.lane import Standing
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.states import CallState


@dataclass(frozen=True, slots=True)
class Batch:
    """The reply whose calls are not answered yet, and those calls in order."""

    message: Message
    runs: tuple[ToolRun, ...]

    @property
    def is_settled(self) -> bool:
        """Whether every call has its outcome."""
        return all(run.state.is_settled for run in self.runs)

    @property
    def planned(self) -> tuple[ToolRun, ...]:
        """The calls that have not met the gate."""
        return tuple(run for run in self.runs if run.state is CallState.PLANNED)

    @property
    def denied_for_good(self) -> tuple[ToolRun, ...]:
        """The calls whose denial ends the turn."""
        return tuple(run for run in self.runs if run.verdict is not None and run.verdict.stop)

    @property
    def open_asks(self) -> tuple[ToolRun, ...]:
        """The calls that wait for a person, in this session or in a child's."""
        return tuple(run for run in self.runs if run.state in (CallState.ASKED, CallState.WAITING))


async def load_batch(turn: Turn) -> Batch | None:
    """The session's open batch."""
    found = await turn.store.open_batch(turn.session.id)
    return None if found is None else Batch(*found)


def standing(turn: Turn, run: ToolRun) -> Standing:
    """How far a call is, for the lane. A waiting Task is gone back to once in a turn."""
    if run.state.is_settled:
        return Standing.SETTLED  # even while its task is still telling so
    if run.tool_use_id in turn.running:
        return Standing.RUNNING
    if run.state in (CallState.APPROVED, CallState.STARTED):
        return Standing.READY
    if run.state is CallState.WAITING and run.tool_use_id not in turn.rejoined:
        return Standing.READY
    return Standing.UNDECIDED
