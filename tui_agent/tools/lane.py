"""Which calls of a batch may start now.

A call waits for every earlier call that is not settled and that it conflicts with, decided or not,
and for every running one; it runs beside all others. Order is that in which the model asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tui_agent.tools.base import Effects


class Standing(Enum):
    """How far a call is, as the lane sees it."""

    UNDECIDED = "undecided"
    READY = "ready"
    RUNNING = "running"
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class LaneCall:
    """One call of the batch, in batch order."""

    id: str
    standing: Standing


def startable(calls: Sequence[LaneCall], effects: Mapping[str, Effects]) -> tuple[str, ...]:
    """The ids of the ready calls that conflict with no unsettled earlier call and no running one.
    A call without an entry in `effects` conflicts with nothing: it will not run."""
    started: list[str] = []
    ahead: list[Effects] = []
    running = [effects[call.id] for call in calls if call.standing is Standing.RUNNING]
    for call in calls:
        if call.standing is Standing.SETTLED or call.id not in effects:
            continue
        touched = effects[call.id]
        blocked = any(touched.conflicts_with(other) for other in (*ahead, *running))
        if call.standing is Standing.READY and not blocked:
            started.append(call.id)
        ahead.append(touched)
    return tuple(started)
