"""How the application is started and how it behaves; what tests replace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui_agent.ui.dialogs.guarded import GUARD_SECONDS
from tui_agent.ui.ticker import Ticker
from tui_agent.vocabulary.ids import SYSTEM_CLOCK, Clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_agent.workspace.api import SessionOptions


@dataclass(frozen=True, slots=True)
class Start:
    """What is shown first: an earlier session, a new one with a prompt, or a new empty one.

    `named_session` gives the id of an earlier session that is only known once the workspace is
    open; without that session there is nothing to show."""

    session_id: str | None = None
    named_session: Callable[[], str] | None = None
    prompt: str | None = None
    options: SessionOptions | None = None


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Times, marks and theme. `typing_pause` and `guard` are seconds; `ticker` of `None` makes one
    that the application drives itself. `alone` is how many seconds the first screen has for itself
    before the engine is loaded beside it, which would slow down the first keys."""

    theme: str = "tui-agent-dark"
    ascii_only: bool = False
    guard: float = GUARD_SECONDS
    typing_pause: float = GUARD_SECONDS
    alone: float = 0.1
    clock: Clock = field(default=SYSTEM_CLOCK)
    ticker: Ticker | None = None
    blinks: bool = True
