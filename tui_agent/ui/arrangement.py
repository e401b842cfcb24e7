"""Which panes are shown and how wide they are, for a size of the screen. A pure function."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Pane(StrEnum):
    """The panes of the workspace."""

    CONVERSATION = "conversation"
    ACTIVITY = "activity"
    AGENTS = "agents"
    SESSIONS = "sessions"


ALL_PANES = (Pane.CONVERSATION, Pane.ACTIVITY, Pane.AGENTS, Pane.SESSIONS)

WIDE = 120
"""Columns from which the sessions have a place."""
MEDIUM = 100
"""Columns from which activity and agents stand beside the conversation."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What is on screen. `has_tabs`: one pane at a time, with a strip that names them all."""

    panes: frozenset[Pane]
    has_tabs: bool
    sessions_width: int = 0
    side_width: int = 0


def arrange(width: int, tab: Pane) -> Arrangement:
    """The panes for a screen `width` columns wide; `tab` is the one to show where one fits."""
    if width < MEDIUM:
        return Arrangement(frozenset({tab}), has_tabs=True)
    side = max(34, min(52, width * 3 // 10))
    if width < WIDE:
        panes = frozenset({Pane.CONVERSATION, Pane.ACTIVITY, Pane.AGENTS})
        return Arrangement(panes, has_tabs=False, side_width=side)
    sessions = max(22, min(32, width // 6))
    return Arrangement(frozenset(ALL_PANES), False, sessions_width=sessions, side_width=side)
