"""What the application knows: the sessions that were opened, the list of all, the inbox.

Fed with batches of events. A session is opened with a snapshot; the events that came while it was
fetched are kept and replayed, so that there is no gap and nothing counts twice. Draws nothing,
asks nobody.
"""

from __future__ import annotations

import logging
from typing import Protocol

from tui_agent.ui.projection.inbox import Inbox
from tui_agent.ui.projection.session import SessionView
from tui_agent.ui.projection.sessions import SessionList
from tui_agent.vocabulary.events import Event
from tui_agent.vocabulary.records import SessionSnapshot

log = logging.getLogger(__name__)


class Folding(Protocol):
    """What events are folded into."""

    def apply(self, event: Event) -> object:
        """Take one event."""
        ...


class WorkspaceState:
    """Sessions, inbox, and which session is shown."""

    def __init__(self) -> None:
        self.folder = ""
        self.sessions = SessionList()
        self.inbox = Inbox()
        self.shown_id: str | None = None
        self.broken: set[str] = set()
        """Sessions that failed to take an event: only a new snapshot can be right."""
        self._views: dict[str, SessionView] = {}
        self._arriving: dict[str, list[Event]] = {}

    @property
    def shown(self) -> SessionView | None:
        """The session on screen."""
        return self._views.get(self.shown_id or "")

    def view(self, session_id: str) -> SessionView | None:
        """A session that was opened."""
        return self._views.get(session_id)

    def expect(self, session_id: str) -> None:
        """A snapshot of the session is being fetched: keep its events until it is here."""
        self._arriving.setdefault(session_id, [])

    def forget(self, session_id: str) -> None:
        """The snapshot will not come, or the session is gone."""
        self._arriving.pop(session_id, None)
        self._views.pop(session_id, None)

    def keep(self, session_id: str) -> None:
        """No new snapshot is needed, or none comes: the view that is here goes on."""
        for event in self._arriving.pop(session_id, []):
            if (view := self._views.get(session_id)) is not None:
                self._fold_into_view(event, view)

    def has_news(self, session_id: str) -> bool:
        """Whether events came for a session that is being fetched."""
        view = self._views.get(session_id)
        return view is None or any(map(view.covers, self._arriving.get(session_id, ())))

    def open(self, snapshot: SessionSnapshot) -> SessionView | None:
        """The session of a snapshot that was expected; `None` if only a newer snapshot can be
        right."""
        session_id = snapshot.session.id
        view = SessionView(snapshot)
        events = self._arriving.get(session_id, [])
        if any(view.crosses(event) for event in events if view.covers(event)):
            self._arriving[session_id] = []
            return None
        self._arriving.pop(session_id, None)
        for event in events:
            self._fold_into_view(event, view)
        self._views[session_id] = view
        still_open = {item.pending_id for item in snapshot.pending}
        for item in self.inbox.of_tree(session_id):
            # asked since then is known by its event; all others were decided elsewhere
            if item.pending_id not in still_open and not _is_asked(item.pending_id, events):
                self.inbox.drop(item.pending_id)
        self.inbox.add(
            tuple(item for item in snapshot.pending if not _is_resolved(item.pending_id, events))
        )
        return view

    def close_view(self, session_id: str) -> None:
        """Nobody looks at the session any more; it is opened anew when somebody does."""
        if session_id != self.shown_id:
            self._views.pop(session_id, None)

    def apply(self, batch: tuple[Event, ...]) -> bool:
        """Fold a batch; whether the list of sessions should be asked for anew, because one is in
        it that is not known."""
        unknown = False
        for event in batch:
            root = event.agent_path[0] if event.agent_path else event.session_id
            unknown = unknown or (bool(root) and self.sessions.get(root) is None)
            self._fold(event, self.inbox)
            self._fold(event, self.sessions)
            for arriving in self._arriving.values():
                arriving.append(event)
            for session_id, view in self._views.items():
                if session_id not in self._arriving:
                    self._fold_into_view(event, view)
        return unknown

    def _fold_into_view(self, event: Event, view: SessionView) -> None:
        if not self._fold(event, view):
            self.broken.add(view.id)

    def _fold(self, event: Event, into: Folding) -> bool:
        """One fold that fails must not keep the others, or the next events, from what is theirs."""
        try:
            into.apply(event)
        except Exception:  # whatever it is, the log keeps it and the rest goes on
            log.exception("%s was not shown", event.type)
            return False
        return True


def _is_asked(pending_id: str, events: list[Event]) -> bool:
    return any(
        event.type in ("approval:pending", "question:pending")
        and getattr(event, "pending_id", None) == pending_id
        for event in events
    )


def _is_resolved(pending_id: str, events: list[Event]) -> bool:
    return any(
        event.type in ("approval:resolved", "question:resolved")
        and getattr(event, "pending_id", None) == pending_id
        for event in events
    )
