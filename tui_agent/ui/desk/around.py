"""What every part of the desk works with, and what it needs of the application."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from textual.screen import Screen

from tui_agent.ui.operations import Operations
from tui_agent.ui.projection.session import SessionView
from tui_agent.ui.screens.workspace import WorkspaceScreen
from tui_agent.ui.state import WorkspaceState
from tui_agent.vocabulary.decisions import PendingItem
from tui_agent.vocabulary.ids import Clock


class Stage(Protocol):
    """What the desk needs of the application."""

    @property
    def guard_seconds(self) -> float:
        """How long dialogs ignore keys."""
        ...

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in a worker; a `UserError` is told to the person."""
        ...

    def open_screen(self, screen: Screen[Any], then: Callable[[Any], None] | None = None) -> None:
        """Show a screen over the others."""
        ...

    def draw(self) -> bool:
        """Draw everything that changed now; whether there is more to draw."""
        ...

    def put_aside(self, item: PendingItem) -> None:
        """The item was brought up; it does not come up by itself again."""
        ...

    def copy_selection(self) -> bool:
        """Copy what is selected; whether something was."""
        ...

    def close_top(self) -> bool:
        """Close the screen over the workspace; whether there was one."""
        ...

    def toggle_theme(self) -> None:
        """Dark to light and back."""
        ...

    def leave(self) -> None:
        """Quit."""
        ...


@dataclass(frozen=True, slots=True)
class Around:
    """State, calls, screen and application, as the parts of the desk share them."""

    state: WorkspaceState
    operations: Operations
    screen: WorkspaceScreen
    stage: Stage
    clock: Clock

    def shown(self) -> SessionView | None:
        """The session on screen; while there is none yet, the person is told."""
        if self.state.shown is None:
            self.screen.say("Still starting; try again in a moment")
        return self.state.shown

    def newest(self, view: SessionView) -> SessionView:
        """What is known of the session of `view` now: it may have been loaded anew since. The view
        itself, once nothing is known any more."""
        return self.state.view(view.id) or view

    async def reload(self, session_id: str, *, is_broken: bool = False) -> None:
        """Take the session anew from the store, if there is something new or what is here is
        broken; the place stays."""
        before = self.state.view(session_id)
        is_shown = session_id == self.state.shown_id
        if before is not None and is_shown:
            before.view = self.screen.place_values()
        after = await self.operations.reload(session_id, is_broken=is_broken)
        if after is None or session_id != self.state.shown_id:
            return
        if before is not None and is_shown:
            after.view = before.view
        self.screen.show_anew(after)
        self.stage.draw()

    async def take_over(self, session_id: str) -> None:
        """Before something is done in a session that was only followed: own it, if the window that
        ran it is gone, and have all of its turns on screen."""
        view = self.state.view(session_id)
        if view is not None and view.is_followed:
            await self.reload(session_id)

    def give_back(self, draft: str) -> None:
        """Put `draft` into the composer: nothing typed is ever lost, and what was typed since comes
        after it."""
        self.screen.composer.put_back(draft)
