"""What is kept.

Sessions, turns, messages, tool runs, pending decisions and search in SQLite. In come frozen values,
one closed transaction a write; out come the same values. Nothing else in the process opens the
database.

The names below are loaded on use, so that importing the room costs nothing before a database is
opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_agent.store.ownership import Ownership
    from tui_agent.store.store import Store
    from tui_agent.store.values import Decided, PendingEntry, TurnEnd

__all__ = ["Decided", "Ownership", "PendingEntry", "Store", "TurnEnd"]


def __getattr__(name: str) -> Any:
    match name:
        case "Store":
            from tui_agent.store.store import Store

            return Store
        case "Ownership":
            from tui_agent.store.ownership import Ownership

            return Ownership
        case "Decided" | "PendingEntry" | "TurnEnd":
            from tui_agent.store import values

            return getattr(values, name)
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
