"""The workspace: conversation, activity, agents, sessions, the composer and the lines around them.

Knows where the panes stand and how a person moves between them. What they show comes from
`contents`; what is done in them is told, and done elsewhere. Everything that changes is drawn
through `sync` (the conversation, every frame) and `redraw` (the panes, a few times a second), both
driven by the application's ticker. The first screen is painted before there are contents, so
nothing that reads sessions or events is loaded here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen

from tui_agent.ui.arrangement import ALL_PANES, Pane, arrange
from tui_agent.ui.composer.completing import completion_lines
from tui_agent.ui.lines import Line, line
from tui_agent.ui.marks import Marks
from tui_agent.ui.panes import bars
from tui_agent.ui.panes.composer import PLACEHOLDER, SHORT_PLACEHOLDER, Composer
from tui_agent.ui.panes.conversation_pane import ConversationPane
from tui_agent.ui.widgets.line_bar import LineBar
from tui_agent.ui.widgets.row_list import RowList

if TYPE_CHECKING:
    from tui_agent.ui.projection.session import SessionView
    from tui_agent.vocabulary.blocks import JsonObject

_TITLES = {
    Pane.CONVERSATION: "Conversation",
    Pane.ACTIVITY: "Activity",
    Pane.AGENTS: "Agents",
    Pane.SESSIONS: "Sessions",
}


class Contents(Protocol):
    """What the panes show."""

    def draw(self, screen: WorkspaceScreen) -> None:
        """Put it into the panes."""
        ...


class WorkspaceScreen(Screen[None]):
    """The main screen; it stays below every other one."""

    AUTO_FOCUS = "Composer"

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__()
        self._marks = Marks(ascii_only)
        self._tab = Pane.CONVERSATION
        self.note = ""
        """A short note in place of the waiting line."""
        self.has_early_prompts = False
        """Whether something was sent before the first session is open."""
        self.contents: Contents | None = None
        """What the panes show, once the workspace is open."""
        self.header = LineBar(id="header")
        self.tabs = LineBar(id="tabs")
        self.sessions = RowList(empty="No session yet.", id="sessions")
        self.conversation = ConversationPane(self._marks, id="conversation")
        self.activity = RowList(
            empty="Every tool call appears here as it happens.", follows=True, id="activity"
        )
        self.agents = RowList(
            empty="Agents that help with the work appear here, live.", id="agents"
        )
        self.above = LineBar(id="above")
        self.composer = Composer(id="composer")
        self.status = LineBar(id="status")

    def compose(self) -> ComposeResult:
        """header / tabs / (sessions | (conversation | (activity / agents)) / composer) / status"""
        yield self.header
        yield self.tabs
        with Horizontal(id="body"):
            yield self.sessions
            with Vertical(id="desk"):
                with Horizontal(id="stage"):
                    yield self.conversation
                    with Vertical(id="side"):
                        yield self.activity
                        yield self.agents
                yield self.above
                yield self.composer
        yield self.status

    def on_mount(self) -> None:
        """Titles and places."""
        self._side = self.query_one("#side", Vertical)
        self._desk = self.query_one("#desk", Vertical)
        self.sessions.border_title = "Sessions"
        self.conversation.border_title = "Conversation"
        self.activity.border_title = "Activity"
        self.agents.border_title = "Agents"
        self.place_panes()

    def on_resize(self) -> None:
        """Other panes may fit now."""
        self.place_panes()

    def on_paste(self, event: events.Paste) -> None:
        """What is pasted while another pane has the focus can only be meant for the composer."""
        event.stop()
        self.go_to_composer()
        self.composer.take_down(event.text)

    @property
    def marks(self) -> Marks:
        """The marks at the frame of their spinner."""
        return self._marks

    @property
    def tab(self) -> Pane:
        """The pane that is shown where one fits."""
        return self._tab

    @property
    def has_tabs(self) -> bool:
        """Whether one pane is shown at a time."""
        return arrange(self.size.width, self._tab).has_tabs

    def spin(self, frame: int) -> None:
        """The next frame of every spinner."""
        self._marks = Marks(self._marks.ascii_only, frame)

    def show_tab(self, pane: Pane) -> None:
        """Show this pane where only one fits."""
        self._tab = pane
        self.place_panes()

    def focus_pane(self, pane: Pane) -> bool:
        """Go to a pane; `False` when the screen has no room for it beside the others."""
        shown = arrange(self.size.width, self._tab)
        if shown.has_tabs:
            self.show_tab(pane)
        elif pane not in shown.panes:
            return False
        match pane:
            case Pane.CONVERSATION:
                self.conversation.transcript.focus()
            case Pane.ACTIVITY:
                self.activity.focus()
            case Pane.AGENTS:
                self.agents.focus()
            case Pane.SESSIONS:
                self.sessions.focus()
        return True

    def go_to_composer(self) -> None:
        """Focus the composer, from wherever."""
        if self.has_tabs and self._tab is Pane.SESSIONS:
            self.show_tab(Pane.CONVERSATION)
        self.composer.focus()

    def next_pane(self) -> None:
        """The next pane: shown where one fits, else focused. After the last, the composer."""
        if self.has_tabs:
            following = ALL_PANES[(ALL_PANES.index(self._tab) + 1) % len(ALL_PANES)]
            self.show_tab(following)
            if following is Pane.CONVERSATION:
                self.composer.focus()
            else:
                self.focus_pane(following)
        else:
            self.focus_next("RowList, TranscriptView, Composer")

    def say(self, text: str) -> None:
        """A short note where the waiting line is, until the next key or `say`."""
        self.note = text
        self.redraw()

    def place_panes(self) -> None:
        """Show the panes that fit."""
        if not self.is_mounted:
            return
        plan = arrange(self.size.width, self._tab)
        is_shown = plan.panes.__contains__
        self.tabs.display = plan.has_tabs
        self.sessions.display = is_shown(Pane.SESSIONS)
        self.conversation.display = is_shown(Pane.CONVERSATION)
        self.activity.display = is_shown(Pane.ACTIVITY)
        self.agents.display = is_shown(Pane.AGENTS)
        self._side.display = is_shown(Pane.ACTIVITY) or is_shown(Pane.AGENTS)
        self._desk.display = not (plan.has_tabs and is_shown(Pane.SESSIONS))
        for pane in (self.sessions, self.conversation, self.activity, self.agents, self._side):
            pane.set_class(plan.has_tabs, "bare")
        self._fit_composer(self.size.width)
        self.sessions.styles.width = plan.sessions_width or "1fr"
        self._side.styles.width = plan.side_width or "1fr"
        self.redraw()

    def _fit_composer(self, width: int) -> None:
        """A placeholder that fits, and at least one column to write in."""
        if width >= 60:
            self.composer.placeholder = PLACEHOLDER
        else:
            self.composer.placeholder = SHORT_PLACEHOLDER if width >= 30 else ""
        self.composer.styles.padding = (0, 2) if width >= 12 else 0

    def show_session(self, session: SessionView | None) -> None:
        """Another session is shown."""
        self.conversation.show(session)
        if session is not None:
            self.composer.set_text(session.draft)
            tab = session.view.get("tab")
            self._tab = next((pane for pane in ALL_PANES if pane.value == tab), self._tab)
            self.place_panes()
        self.redraw()

    def show_anew(self, session: SessionView) -> None:
        """The session on screen was loaded anew; what is typed and which pane is shown stay."""
        self.conversation.show(session)

    def place_values(self) -> JsonObject:
        """Where the person is: scroll place, folds, the pane that is shown."""
        return {**self.conversation.place(), "tab": self._tab.value}

    def sync(self) -> None:
        """Take what the conversation got."""
        self.conversation.sync()

    def flush(self) -> bool:
        """Draw what the conversation got; whether there is more to draw."""
        return self.conversation.transcript.flush()

    def redraw(self) -> None:
        """Draw every pane but the conversation anew."""
        if not self.is_mounted:
            return
        if self.contents is not None:
            self.contents.draw(self)
            return
        width = self.size.width
        self.header.set_lines(bars.header_line("", None, 0, self._marks, width))
        self.tabs.set_lines(self.tab_line({}))
        starting = (
            "starting … · then what you sent goes" if self.has_early_prompts else "starting …"
        )
        self.status.set_lines(bars.status_line(line(self.note or starting).left, None, width))
        self.set_above(completion_lines(self.composer.completion, *self.size))

    def tab_line(self, counts: Mapping[Pane, int]) -> Line:
        """The strip of tabs; `counts` says how many rows a pane has."""
        named = tuple((pane.value, _TITLES[pane], counts.get(pane, 0)) for pane in ALL_PANES)
        return bars.tab_line(named, self._tab.value, self.size.width)

    def set_above(self, lines: tuple[Line, ...]) -> None:
        """What stands above the composer; nothing takes no room."""
        if self.above.display != bool(lines):
            self.above.display = bool(lines)
        self.above.set_lines(*lines)
