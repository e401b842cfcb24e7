"""What a session as a whole is doing, told as `session:phase` and only when it changes.

While a turn runs the phase follows the turn's events and the phases of its children; at rest it is
what the runner finds in the rows.
"""

from __future__ import annotations

from collections.abc import Callable

from tui_agent.loop.turn import Turn
from tui_agent.vocabulary.events import (
    Event,
    SessionPhase,
    StateEvent,
    ToolResultEvent,
    ToolStarted,
)
from tui_agent.vocabulary.states import LoopState, Phase, PhaseLabel

_LABELS = {
    LoopState.THINKING: PhaseLabel.PREPARING,
    LoopState.STREAMING: PhaseLabel.REQUESTING,
    LoopState.EXECUTING: PhaseLabel.TOOL_REVIEW,
    LoopState.CONFIRMING: PhaseLabel.CONFIRMING,
    LoopState.COMPACTING: PhaseLabel.COMPACTING,
    LoopState.DONE: PhaseLabel.DRAINING,
}


class LivePhase:
    """The phase of one session. `child_phase` gives the phase of the child that a call runs;
    `changed` is called when the phase, and not only its label, became another."""

    def __init__(
        self,
        publish: Callable[[Event], None],
        child_phase: Callable[[str], Phase | None],
        changed: Callable[[], None],
    ) -> None:
        self.phase = Phase.IDLE
        self.label = PhaseLabel.IDLE
        self.waiting_for = ""
        self._publish = publish
        self._child_phase = child_phase
        self._changed = changed
        self._running_calls: set[str] = set()

    def set(self, phase: Phase, label: PhaseLabel, waiting_for: str = "") -> None:
        """Be in this phase from now on."""
        if (phase, label, waiting_for) == (self.phase, self.label, self.waiting_for):
            return
        has_changed = phase is not self.phase
        self.phase, self.label, self.waiting_for = phase, label, waiting_for
        self._publish(SessionPhase(phase=phase, label=label, waiting_for=waiting_for))
        if has_changed:
            self._changed()

    def rest(self, waiting_for: str) -> None:
        """Nothing runs; `waiting_for` is what only a person can do, if anything."""
        if waiting_for:
            self.set(Phase.REQUIRES_ACTION, PhaseLabel.CONFIRMING, waiting_for)
        else:
            self.set(Phase.IDLE, PhaseLabel.IDLE)

    def turns_are_over(self) -> None:
        """No call runs any more."""
        self._running_calls.clear()

    def observe(self, event: Event, turn: Turn | None, *, is_attended: bool) -> None:
        """Follow one event of the turn."""
        match event:
            case StateEvent():
                self.set(Phase.RUNNING, _LABELS[event.to])
                self.reconsider(turn, is_attended=is_attended)
            case ToolStarted():
                self._running_calls.add(event.tool_use_id)
                self.set(Phase.RUNNING, PhaseLabel.TOOL_RUNNING)
                self.reconsider(turn, is_attended=is_attended)
            case ToolResultEvent():
                self._running_calls.discard(event.tool_use_id)
            case _:
                pass

    def reconsider(self, turn: Turn | None, *, is_attended: bool) -> None:
        """While a turn runs: only a person can move it when it confirms, or when all that runs are
        children of which that is true. With nobody there the turn is about to end as pending, and
        says so then."""
        if turn is None or not is_attended:
            return
        if turn.state is LoopState.CONFIRMING:
            self.set(Phase.REQUIRES_ACTION, PhaseLabel.CONFIRMING, "your decision")
            return
        children = [self._child_phase(call) for call in self._running_calls]
        if children and all(phase is Phase.REQUIRES_ACTION for phase in children):
            self.set(Phase.REQUIRES_ACTION, PhaseLabel.CONFIRMING, "a subagent's decision")
        elif self.phase is Phase.REQUIRES_ACTION:
            self.set(Phase.RUNNING, _LABELS[turn.state])
