"""The conversation of one session: a transcript fed from a projection.

`show` takes a session, `sync` draws what changed since. Streamed text is made safe chunk by chunk,
so that an escape sequence cut in two is no way through.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from textual.app import ComposeResult
from textual.containers import Vertical

from tui_agent.text import StreamSanitizer
from tui_agent.ui.lines import Line, Piece, Tone, line, note
from tui_agent.ui.marks import Marks
from tui_agent.ui.panes.cards import transcript_item
from tui_agent.ui.projection.items import (
    Added,
    Change,
    Changed,
    ConversationItem,
    Gone,
    Grew,
    Reset,
    StreamItem,
)
from tui_agent.ui.projection.session import SessionView
from tui_agent.ui.transcript.blocks import Item, StreamingText
from tui_agent.ui.transcript.view import TranscriptView
from tui_agent.ui.widgets.line_bar import LineBar
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
        self._streams: dict[str, _Stream] = {}
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
        self._streams.clear()
        self._folds.clear()
        items: tuple[ConversationItem, ...] = ()
        if session is not None:
            session.conversation.take_changes()
            items = session.conversation.items
        self.transcript.set_items([self._item(item) for item in items])
        if session is not None:
            self._restore(session.view)
        self._show_what_there_is()
        self.transcript.flush()

    def sync(self) -> None:
        """Take the changes since the last time; the ticker's flush draws them."""
        if self._session is None:
            return
        changes = self._session.conversation.take_changes()
        if any(isinstance(change, Reset) for change in changes):
            self.show(self._session)
            return
        for change in changes:
            self._take(change)
        self._show_what_there_is()

    def prepend(self, items: tuple[ConversationItem, ...]) -> None:
        """Older items."""
        self.transcript.prepend([self._item(item) for item in items])

    def place(self) -> JsonObject:
        """Where the person is, to come back to."""
        return {"anchor": self.transcript.scroll_anchor(), "folds": dict(self._folds)}

    def on_transcript_view_card_toggled(self, event: TranscriptView.CardToggled) -> None:
        """What a person folds stays so when they come back."""
        event.stop()
        self._folds[event.item_id] = event.is_open

    def _restore(self, view: JsonObject) -> None:
        folds = view.get("folds")
        for key, is_open in folds.items() if isinstance(folds, dict) else ():
            self._folds[str(key)] = bool(is_open)
            self.transcript.fold(str(key), bool(is_open))
        anchor = view.get("anchor")
        if isinstance(anchor, dict):
            self.transcript.restore_anchor(anchor)

    def _take(self, change: Change) -> None:
        match change:
            case Added():
                self.transcript.append(self._item(change.item))
            case Changed():
                self._streams.pop(change.key, None)
                self.transcript.replace(change.key, self._item(change.item))
            case Grew():
                self._grow(change.key, change.text)
            case Gone():
                self._streams.pop(change.key, None)
                self.transcript.remove_item(change.key)
            case Reset():
                pass  # `sync` has taken everything anew
            case _:
                assert_never(change)

    def _item(self, item: ConversationItem) -> Item:
        if not isinstance(item, StreamItem):
            return transcript_item(item)
        stream = _Stream(StreamSanitizer())
        stream.shown = stream.sanitizer.feed(item.text)
        self._streams[item.key] = stream
        return StreamingText(item.key, stream.shown, is_thinking=item.is_thinking)

    def _grow(self, key: str, text: str) -> None:
        stream = self._streams.get(key)
        if stream is None:
            return
        added = stream.sanitizer.feed(text)
        taken_back = stream.sanitizer.retracted
        if taken_back:
            stream.shown = stream.shown[:-taken_back] + added
            self.transcript.replace(key, StreamingText(key, stream.shown))
        elif added:
            stream.shown += added
            self.transcript.stream_append(key, added)

    def _show_what_there_is(self) -> None:
        is_empty = self.transcript.item_count == 0
        if is_empty != self._is_empty:
            self._is_empty = is_empty
            self.transcript.display = not is_empty
            self._welcome.display = is_empty


@dataclass(slots=True)
class _Stream:
    """Text that is being written: what was made safe of it so far."""

    sanitizer: StreamSanitizer
    shown: str = ""
