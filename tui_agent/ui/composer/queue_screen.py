"""What is queued, in the order in which it goes out: to be moved, removed, taken back, put off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from tui_agent.ui.dialogs.sizes import ROOMY
from tui_agent.ui.lines import Line, Piece, Row, Tone, line
from tui_agent.ui.marks import Mark, Marks
from tui_agent.ui.panes.bars import when_words
from tui_agent.ui.screens.closing import ClosesOnce
from tui_agent.ui.widgets.keys_bar import KeysBar
from tui_agent.ui.widgets.line_bar import LineBar
from tui_agent.ui.widgets.row_list import RowList
from tui_agent.vocabulary.events import QueuedMessage

KEYS = (
    ("Enter", "edits in the composer"),
    ("Shift+Up/Down", "moves"),
    ("Space", "next step or after the turn"),
    ("Delete", "removes"),
    ("Esc", "closes"),
)


Change = Callable[[tuple[QueuedMessage, ...], tuple[str, ...]], None]
"""Has the queue changed: the messages in their order, and the ids of those that are dropped."""


def queue_rows(queue: tuple[QueuedMessage, ...], marks: Marks) -> tuple[Row, ...]:
    """One row a message, the first to go out on top."""
    return tuple(Row(each.id, (_message_line(each, marks),)) for each in queue)


def _message_line(message: QueuedMessage, marks: Marks) -> Line:
    text = " ".join(message.text[:500].split())
    return line(
        marks.piece(Mark.QUEUED),
        Piece(f" {text}"),
        right=(Piece(when_words(message), Tone.MUTED),),
    )


class QueueScreen(ModalScreen[QueuedMessage | None], ClosesOnce[QueuedMessage | None]):
    """Answers with the message to take back into the composer, or `None`. Shows `queue` as it is at
    each `redraw`. What a key changes is seen at once, so that the next key builds upon it, until
    the engine tells of another queue or `take_anew` is called."""

    def __init__(
        self,
        queue: Callable[[], tuple[QueuedMessage, ...]],
        change: Change,
        marks: Callable[[], Marks],
    ) -> None:
        super().__init__()
        self._queue = queue
        self._change = change
        self._marks = marks
        self._ahead: tuple[tuple[QueuedMessage, ...], tuple[QueuedMessage, ...]] | None = None
        self.rows = RowList(empty="Nothing is queued.", id="dialog-options")

    def compose(self) -> ComposeResult:
        """Title, list, keys."""
        with Vertical(id="dialog", classes="tall"):
            yield LineBar(line(Piece("Queued messages", Tone.STRONG)), id="dialog-head")
            yield self.rows
            yield KeysBar(*KEYS, id="dialog-choices")

    def on_mount(self) -> None:
        """Show what is there."""
        self.redraw()
        self.rows.focus()

    def on_resize(self) -> None:
        """Without blank lines where the screen is low."""
        self.query_one("#dialog").set_class(self.app.size.height < ROOMY, "tight")

    def redraw(self) -> None:
        """Take the queue anew."""
        self.rows.set_rows(queue_rows(self._now(), self._marks()))

    def take_anew(self) -> None:
        """What a key changed could not be done."""
        self._ahead = None
        self.redraw()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Take it back."""
        event.stop()
        _ = self.dismiss(next((each for each in self._now() if each.id == event.key), None))

    def on_key(self, event: events.Key) -> None:
        """What is done to the message under the cursor."""
        match event.key:
            case "escape" | "ctrl+q":
                event.stop()
                _ = self.dismiss(None)
            case "shift+up" | "alt+up" | "K":
                event.stop()
                self._move(-1)
            case "shift+down" | "alt+down" | "J":
                event.stop()
                self._move(1)
            case "space":
                event.stop()
                self._switch_when()
            case "delete" | "backspace" | "x":
                event.stop()
                self._remove()
            case _:
                pass

    def _now(self) -> tuple[QueuedMessage, ...]:
        """The queue with what keys have changed since the engine told of it."""
        queue = self._queue()
        return self._ahead[1] if self._ahead is not None and self._ahead[0] is queue else queue

    def _make(self, queue: list[QueuedMessage], dropped: tuple[str, ...] = ()) -> None:
        self._ahead = self._queue(), tuple(queue)
        self.redraw()
        self._change(tuple(queue), dropped)

    def _at(self) -> int | None:
        """The place of the message under the cursor; `None` when it has gone out meanwhile."""
        key = self.rows.cursor_key
        return next((at for at, each in enumerate(self._now()) if each.id == key), None)

    def _move(self, by: int) -> None:
        at = self._at()
        queue = list(self._now())
        if at is not None and 0 <= at + by < len(queue):
            queue[at], queue[at + by] = queue[at + by], queue[at]
            self._make(queue)

    def _switch_when(self) -> None:
        at = self._at()
        queue = list(self._now())
        if at is not None:
            queue[at] = replace(queue[at], after_turn=not queue[at].after_turn)
            self._make(queue)

    def _remove(self) -> None:
        at = self._at()
        queue = list(self._now())
        if at is not None:
            gone = queue.pop(at)
            self._make(queue, (gone.id,))
