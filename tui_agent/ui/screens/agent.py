"""One subagent in place of its parent: its conversation, live, with a line to send it a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from textual import events
from textual.app import ComposeResult
from textual.widgets import Input

from tui_agent.ui.lines import Line, Piece, Tone, keys_line
from tui_agent.ui.marks import Marks
from tui_agent.ui.panes.conversation_pane import ConversationPane
from tui_agent.ui.projection.session import SessionView
from tui_agent.ui.projection.words import plural, spent
from tui_agent.ui.screens.closing import ClosesOnce
from tui_agent.ui.state import WorkspaceState
from tui_agent.ui.transcript.view import TranscriptView
from tui_agent.ui.widgets.line_bar import LineBar
from tui_agent.vocabulary.decisions import PendingItem


class AgentKeeper(Protocol):
    """What can be done with an agent."""

    def interrupt_agent(self, session_id: str) -> None:
        """End its turn."""
        ...

    def message_agent(self, session_id: str, text: str) -> None:
        """Send it a message."""
        ...

    def open_item(self, item: PendingItem) -> None:
        """Bring up an open item."""
        ...

    def show_call(self, tool_use_id: str, session: SessionView | None = None) -> None:
        """Open everything about a call."""
        ...


class AgentScreen(ClosesOnce[None]):
    """Follows an agent until Esc."""

    def __init__(
        self,
        view: SessionView,
        state: WorkspaceState,
        keeper: AgentKeeper,
        marks: Callable[[], Marks],
    ) -> None:
        super().__init__()
        self._view = view
        self._marks = marks
        self._state = state
        self._keeper = keeper
        self._pane = ConversationPane(marks(), id="conversation")
        self._head = LineBar(id="header")

    def compose(self) -> ComposeResult:
        """Who, what it says, a field, the keys."""
        yield self._head
        yield self._pane
        yield Input(placeholder="message to this agent", id="agent-field")
        keys = keys_line(("Esc", "back"), ("F8", "interrupt"), ("F2", "decide"))
        yield LineBar(Line((Piece(" "), *keys.left)), id="status")

    def on_mount(self) -> None:
        """Show what there is."""
        self._pane.show(self._view)
        self.redraw()
        self._pane.transcript.focus()

    def sync(self) -> None:
        """Take what came. A session that was loaded anew is followed in its new view."""
        view = self._state.view(self._view.id)
        if view is not None and view is not self._view:
            self._view = view
            self._pane.show(view)
        self._pane.sync()

    def flush(self) -> bool:
        """Draw what came; whether there is more."""
        return self._pane.transcript.flush()

    def redraw(self) -> None:
        """The head line."""
        view = self._view
        facts = [view.record.agent, plural(len(view.calls), "tool call")]
        if view.usage.total:
            facts.append(spent(view.usage))
        left = (Piece(f" {' · '.join(facts)}", Tone.STRONG), Piece(f"  {view.title}", Tone.MUTED))
        is_wide = self.size.width >= 100
        self._head.set_lines(
            Line(left, (*view.lamps.now().pieces(self._marks(), with_words=is_wide), Piece(" ")))
        )

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A message to the agent."""
        event.stop()
        if event.value.strip():
            self._keeper.message_agent(self._view.id, event.value.strip())
            event.input.value = ""

    def on_transcript_view_card_opened(self, event: TranscriptView.CardOpened) -> None:
        """Everything about one of its calls."""
        event.stop()
        self._keeper.show_call(event.tool_use_id, self._view)

    def on_key(self, event: events.Key) -> None:
        """Back, interrupt, decide."""
        match event.key:
            case "escape":
                event.stop()
                _ = self.dismiss(None)
            case "f8":
                event.stop()
                self._keeper.interrupt_agent(self._view.id)
            case "f2":
                items = self._state.inbox.of_tree(self._view.id)
                if items:
                    event.stop()
                    self._keeper.open_item(items[0])
            case _:
                pass
