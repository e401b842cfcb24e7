"""The conversation of one session: a transcript, or how to begin where there is nothing yet.

`show` takes a session, `sync` takes what changed since; the ticker's flush draws it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical

from tui_agent.ui.lines import Line, Piece, Tone, line, note
from tui_agent.ui.marks import Marks
from tui_agent.ui.transcript.view import TranscriptView
from tui_agent.ui.widgets.line_bar import LineBar

if TYPE_CHECKING:
    from tui_agent.ui.panes.feed import Feed
    from tui_agent.ui.projection.items import ConversationItem
    from tui_agent.ui.projection.session import SessionView
    from tui_agent.vocabulary.blocks import JsonObject

WELCOME: tuple[Line, ...] = (
    line(),
    line(Piece("  What should be done in this folder?", Tone.STRONG)),
    line(),
    line(Piece("  Type it below and press ", Tone.MUTED), Piece("Enter", Tone.ACCENT)),
    note("  Nothing is changed and nothing is run before you allow it."),
    line(),
    line(Piece("  /", Tone.ACCENT), Piece("         commands", Tone.MUTED)),
    line(Piece("  Ctrl+O", Tone.ACCENT), Piece("    earlier sessions", Tone.MUTED)),
    line(Piece("  Shift+Tab", Tone.ACCENT), Piece(" how much may run unasked", Tone.MUTED)),
    line(Piece("  F1", Tone.ACCENT), Piece("        help", Tone.MUTED)),
)
"""An empty session shows how to begin."""


class ConversationPane(Vertical):
    """A transcript, or how to begin where there is nothing yet."""

    def __init__(self, marks: Marks, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.transcript = TranscriptView(marks=marks)
        self._welcome = LineBar(*WELCOME, id="welcome")
        self._session: SessionView | None = None
        self._feed: Feed | None = None
        self._folds: dict[str, bool] = {}
        self._is_empty: bool | None = None

    def compose(self) -> ComposeResult:
        """Both; one of them is shown."""
        yield self.transcript
        yield self._welcome

    @property
    def session(self) -> SessionView | None:
        """The session that is shown."""
        return self._session

    def show(self, session: SessionView | None) -> None:
        """Show another session, at the place where the person left it."""
        self._session = session
        self._feed = None
        if session is None:
            self.transcript.set_items([])
        else:
            # What draws a session is loaded with the first one: the first screen has none.
            from tui_agent.ui.panes.feed import Feed

            self._feed = Feed(session, self.transcript)
            self._restore(session.view)
        self._show_what_there_is()
        self.transcript.flush()

    def sync(self) -> None:
        """Take the changes since the last time; the ticker's flush draws them."""
        if self._feed is not None and self._session is not None:
            if not self._feed.take():
                self._restore(self._session.view)
            self._show_what_there_is()

    def prepend(self, items: tuple[ConversationItem, ...]) -> None:
        """Older items."""
        if self._feed is not None:
            self._feed.prepend(items)

    def place(self) -> JsonObject:
        """Where the person is, to come back to."""
        return {"anchor": self.transcript.scroll_anchor(), "folds": dict(self._folds)}

    def on_transcript_view_card_toggled(self, event: TranscriptView.CardToggled) -> None:
        """What a person folds stays so when they come back."""
        event.stop()
        self._folds[event.item_id] = event.is_open

    def _restore(self, view: JsonObject) -> None:
        self._folds.clear()
        folds = view.get("folds")
        for key, is_open in folds.items() if isinstance(folds, dict) else ():
            self._folds[str(key)] = bool(is_open)
            self.transcript.fold(str(key), bool(is_open))
        anchor = view.get("anchor")
        if isinstance(anchor, dict):
            self.transcript.restore_anchor(anchor)

    def _show_what_there_is(self) -> None:
        is_empty = self.transcript.item_count == 0
        if is_empty != self._is_empty:
            self._is_empty = is_empty
            self.transcript.display = not is_empty
            self._welcome.display = is_empty
