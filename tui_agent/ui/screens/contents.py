"""What the panes of the workspace screen show, made from the state; the conversation apart."""

from __future__ import annotations

from tui_agent.ui.arrangement import Pane
from tui_agent.ui.composer.completing import completion_lines
from tui_agent.ui.lines import Line, Row, line
from tui_agent.ui.marks import Marks
from tui_agent.ui.panes import bars
from tui_agent.ui.projection.activity import ActivityRows
from tui_agent.ui.projection.agents import agent_rows
from tui_agent.ui.projection.inbox import title_of
from tui_agent.ui.projection.lamps import followed, waiting_for, waiting_line
from tui_agent.ui.projection.session import SessionView
from tui_agent.ui.projection.sessions import session_rows
from tui_agent.ui.projection.todo import todo_line
from tui_agent.ui.screens.workspace import WorkspaceScreen
from tui_agent.ui.state import WorkspaceState
from tui_agent.vocabulary.ids import Clock


class PaneContents:
    """Reads the state whenever the screen is drawn."""

    def __init__(self, state: WorkspaceState, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._activity_rows = ActivityRows()
        self._session: SessionView | None = None

    def draw(self, screen: WorkspaceScreen) -> None:
        """Put it into the panes."""
        session = self._state.shown
        if session is not self._session:
            self._session = session
            self._activity_rows = ActivityRows()
        now = self._clock.wall()
        screen.header.set_lines(
            bars.header_line(
                self._state.folder,
                session,
                len(self._state.inbox),
                screen.marks,
                screen.size.width,
            )
        )
        self._draw_lists(screen, session, now)
        self._draw_status(screen, session, now)
        self._draw_above(screen, session)
        if session is not None:
            screen.composer.show_state(
                sent=tuple(session.sent),
                has_queue=bool(session.queue),
                is_busy=session.is_running,
            )

    def _draw_lists(self, screen: WorkspaceScreen, session: SessionView | None, now: float) -> None:
        listed = self._state.sessions.all()
        marks = screen.marks
        screen.sessions.set_rows(session_rows(listed, self._state.shown_id, marks, now))
        calls: tuple[Row, ...] = ()
        agents: tuple[Row, ...] = ()
        if session is not None:
            calls = self._activity_rows.rows(session.calls.all(), marks, now)
            agents = agent_rows(session.agents.all(), marks, now)
        screen.activity.set_rows(calls)
        screen.agents.set_rows(agents)
        counts = {
            Pane.ACTIVITY: len(calls),
            Pane.AGENTS: len(agents),
            Pane.SESSIONS: len(listed),
        }
        screen.tabs.set_lines(screen.tab_line(counts))

    def _draw_status(
        self, screen: WorkspaceScreen, session: SessionView | None, now: float
    ) -> None:
        width = screen.size.width
        if screen.note or session is None:
            words = line(screen.note or "starting …").left
            screen.status.set_lines(bars.status_line(words, session, width))
            return
        asked = self._state.inbox.of_tree(session.id)
        running = session.calls.running()
        if session.is_followed and not asked:
            what = followed(session.lamps)
            screen.status.set_lines(bars.status_line(waiting_line(what, now), session, width))
            return
        what = waiting_for(
            session.lamps,
            asked=title_of(asked[0]) if asked else None,
            asked_since=asked[0].created if asked else None,
            running=f"{running[0].tool} {running[0].subject}" if running else "",
            now=now,
        )
        screen.status.set_lines(bars.status_line(waiting_line(what, now), session, width))

    def _draw_above(self, screen: WorkspaceScreen, session: SessionView | None) -> None:
        if offered := completion_lines(screen.composer.completion, *screen.size):
            screen.set_above(offered)
        else:
            above = _above(session, screen.marks) if session is not None else ()
            screen.set_above(above)


def _above(session: SessionView, marks: Marks) -> tuple[Line, ...]:
    """What is to be done, then what is queued."""
    return (*todo_line(session.todo, marks), *bars.queue_lines(session.queue, marks))
