"""What every part of the store is made with."""

from __future__ import annotations

from tui_agent.store.connection import Database
from tui_agent.store.ownership import Locks, Ownership
from tui_agent.vocabulary.ids import Clock


class StorePart:
    """One group of the store's calls, on the connections and the clock that all share."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database
        self._clock = clock
        self._locks = Locks(database.path)
        self._owned: dict[str, Ownership] = {}
