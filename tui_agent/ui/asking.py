"""When an open item comes up as a dialog by itself.

Only items of the session on screen do, one at a time, when nothing else is open and typing has
rested, in a dialog too. What a person closed without an answer stays closed until they open it from
the inbox.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from tui_agent.ui.state import WorkspaceState
from tui_agent.vocabulary.decisions import PendingItem


class Asker:
    """Chooses the item to open next. `clock` is monotonic seconds."""

    def __init__(
        self, state: WorkspaceState, typing_pause: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self._state = state
        self._typing_pause = typing_pause
        self._clock = clock
        self._last_key = float("-inf")
        self._put_aside: set[str] = set()

    def typed(self) -> None:
        """A key was pressed, wherever it went."""
        self._last_key = self._clock()

    def put_aside(self, item: PendingItem) -> None:
        """The dialog of the item is open or was closed: it does not come up by itself again."""
        self._put_aside.add(item.pending_id)

    @property
    def is_waiting(self) -> bool:
        """Whether an item only waits for the typing to rest."""
        return self._candidate() is not None

    def next_item(self) -> PendingItem | None:
        """The item to open now, if one is to be."""
        if self._clock() - self._last_key < self._typing_pause:
            return None
        return self._candidate()

    def _candidate(self) -> PendingItem | None:
        if self._state.shown_id is None:
            return None
        for item in self._state.inbox.of_tree(self._state.shown_id):
            if item.pending_id not in self._put_aside:
                return item
        return None
