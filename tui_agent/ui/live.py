"""What follows the engine: takes events in, draws what changed, brings up what needs a decision.

Events come in batches, at most one a frame, and go into the state; at a tick the screens that are
open draw what they got. Calls nothing and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from textual.screen import Screen

from tui_agent.ui.asking import Asker
from tui_agent.ui.composer.queue_screen import QueueScreen
from tui_agent.ui.dialogs.approval import ApprovalDialog
from tui_agent.ui.dialogs.picker import Picker
from tui_agent.ui.dialogs.question import QuestionDialog
from tui_agent.ui.screens.agent import AgentScreen
from tui_agent.ui.screens.reading import ReadingScreen
from tui_agent.ui.screens.workspace import WorkspaceScreen
from tui_agent.ui.state import WorkspaceState
from tui_agent.vocabulary.decisions import PendingItem
from tui_agent.vocabulary.events import Event
from tui_agent.vocabulary.states import Phase

REDRAW_EVERY = 4
"""Ticks between two drawings of the panes; the conversation is drawn at every tick."""
TICKS_UNDER_A_DIALOG = 5
"""Ticks between two drawings while something lies over the workspace: all of it is repainted."""


class Screens(Protocol):
    """The screens that are open, the topmost last."""

    @property
    def screen_stack(self) -> Sequence[Screen[Any]]:
        """All of them."""
        ...

    @property
    def screen(self) -> Screen[Any]:
        """The topmost."""
        ...


class Live:
    """Keeps the screens true to the events. `learn_of_sessions` is called when a session is alive
    that the list does not know, `open_item` with an item whose time has come, `reload` with a
    session whose view cannot be right any more."""

    def __init__(
        self,
        state: WorkspaceState,
        screens: Screens,
        workspace: WorkspaceScreen,
        asker: Asker,
        *,
        learn_of_sessions: Callable[[], None],
        open_item: Callable[[PendingItem], None],
        reload: Callable[[str], None],
    ) -> None:
        self._state = state
        self._screens = screens
        self._workspace = workspace
        self._asker = asker
        self._learn_of_sessions = learn_of_sessions
        self._open_item = open_item
        self._reload = reload
        self._needs_redraw = False
        self._unknown: set[str] = set()

    def take(self, batch: tuple[Event, ...]) -> None:
        """Fold a batch into the state and what is shown of it."""
        if self._state.apply(batch):
            self._learn_of(batch)
        for session_id in tuple(self._state.broken):
            self._state.broken.discard(session_id)
            self._reload(session_id)
        self._needs_redraw = True
        for screen in self._screens.screen_stack:
            if isinstance(screen, WorkspaceScreen | AgentScreen):
                screen.sync()

    def draw(self) -> bool:
        """Draw everything that changed now; whether there is more to draw."""
        self._needs_redraw = False
        self._close_resolved()
        for screen in self._screens.screen_stack:
            if isinstance(
                screen, WorkspaceScreen | AgentScreen | ReadingScreen | Picker | QueueScreen
            ):
                screen.redraw()
        return self._flush_all()

    @property
    def is_counting(self) -> bool:
        """Whether the waiting line counts how long it waits for the person."""
        session = self._state.shown
        return session is not None and (
            session.lamps.phase is Phase.REQUIRES_ACTION
            or bool(self._state.inbox.of_tree(session.id))
        )

    def draw_soon(self) -> None:
        """Something that is shown is old: draw at one of the next ticks."""
        self._needs_redraw = True

    def tick(self, count: int) -> bool:
        """One step of everything that moves; whether another one is needed."""
        is_covered = self._screens.screen is not self._workspace
        session = self._state.shown
        is_alive = session is not None and session.is_alive
        has_more = False
        is_due = count % (TICKS_UNDER_A_DIALOG if is_covered else REDRAW_EVERY) == 0
        if is_alive and is_due:
            self._workspace.spin(count // REDRAW_EVERY)
        if is_due and (self._needs_redraw or is_alive):
            has_more = self.draw()
        elif is_due or not is_covered:
            has_more = self._flush_all()
        if not is_covered:
            self._ask_if_due()
        waits = self._asker.is_waiting and not is_covered
        return is_alive or has_more or self._needs_redraw or waits

    def _flush_all(self) -> bool:
        drawn = [
            screen.flush()
            for screen in self._screens.screen_stack
            if isinstance(screen, WorkspaceScreen | AgentScreen)
        ]
        return any(drawn)

    def _ask_if_due(self) -> None:
        item = self._asker.next_item()
        if item is not None:
            self._open_item(item)

    def _close_resolved(self) -> None:
        """A dialog whose item was answered elsewhere has nothing left to ask."""
        top = self._screens.screen
        if not isinstance(top, ApprovalDialog | QuestionDialog) or not top.is_mounted:
            return
        if self._state.inbox.get(top.item.pending_id) is None:
            top.leave()

    def _learn_of(self, batch: tuple[Event, ...]) -> None:
        roots = {event.agent_path[0] for event in batch if event.agent_path}
        if roots - self._unknown:
            self._unknown |= roots
            self._learn_of_sessions()
