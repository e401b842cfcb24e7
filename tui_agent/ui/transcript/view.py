"""The widget: shows the part of the transcript that is on screen, and lets a person move in it.

Items come in by `append`, `replace`, `stream_append` and their like; nothing is drawn until
`flush`, which the app's ticker calls at most once a frame. What a person does goes out as messages:
a card was opened, a link was clicked, the top is near. Links are never opened here, and nothing
that came from outside is ever read as markup.

Drawing goes around Textual's own line cache: the compositor gets ready strips of the exact width,
remembered from paint to paint. Which rows are on screen is decided by `viewport`; `scroll_y` only
follows, for the benefit of Textual's own machinery.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from tui_agent.text import cell_width
from tui_agent.ui.marks import Marks
from tui_agent.ui.transcript import copying
from tui_agent.ui.transcript.blocks import Item, StreamingText, ToolCard
from tui_agent.ui.transcript.glyphs import UNICODE_GLYPHS, glyphs_for
from tui_agent.ui.transcript.model import Entry, Place
from tui_agent.ui.transcript.render import is_foldable
from tui_agent.ui.transcript.viewport import Viewport

DUTY: Final = 0.2
"""The share of its time that one stream may take for drawing."""
WHEEL_ROWS: Final = 3
NEAR_TOP_ROWS: Final = 40


class TranscriptView(ScrollView, can_focus=True):
    """One conversation. `clock` is monotonic seconds; `marks` chooses Unicode or ASCII."""

    DEFAULT_CSS = """
    TranscriptView { overflow: hidden hidden; scrollbar-size: 0 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_rows(-1)", "Up", show=False),
        Binding("down", "scroll_rows(1)", "Down", show=False),
        Binding("pageup", "scroll_page(-1)", "Page up", show=False),
        Binding("pagedown", "scroll_page(1)", "Page down", show=False),
        Binding("home", "scroll_top", "Oldest", show=False),
        Binding("end", "scroll_bottom", "Newest", show=False),
        Binding("space", "toggle_last", "Fold", show=False),
        Binding("enter", "open_last", "Open", show=False),
    ]

    class CardToggled(Message):
        """A person folded or unfolded an item."""

        def __init__(self, view: TranscriptView, item_id: str, is_open: bool) -> None:
            super().__init__()
            self.view = view
            self.item_id = item_id
            self.is_open = is_open

    class CardOpened(Message):
        """A person wants all there is about a call."""

        def __init__(self, view: TranscriptView, tool_use_id: str) -> None:
            super().__init__()
            self.view = view
            self.tool_use_id = tool_use_id

    class LinkClicked(Message):
        """A person clicked a link; nothing was opened."""

        def __init__(self, view: TranscriptView, href: str) -> None:
            super().__init__()
            self.view = view
            self.href = href

    class NearTop(Message):
        """The oldest item is nearly on screen: the time to `prepend` older ones. Posted once until
        then."""

        def __init__(self, view: TranscriptView) -> None:
            super().__init__()
            self.view = view

    def __init__(
        self,
        *,
        marks: Marks | None = None,
        clock: Callable[[], float] = time.perf_counter,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.viewport = Viewport(UNICODE_GLYPHS if marks is None else glyphs_for(marks))
        self._model = self.viewport.model
        self._clock = clock
        self._is_stale = True
        self._painted: dict[tuple[object, ...], list[Strip]] = {}
        self._pending: dict[str, list[str]] = {}
        """Text of streams that is not drawn yet."""
        self._due: dict[str, float] = {}
        """When a stream that is costly to draw may be drawn again."""
        self._asked_for_older = False
        self._told_offset = 0

    # ---------------------------------------------------------------- items

    @property
    def item_count(self) -> int:
        """Items there are."""
        return len(self._model)

    @property
    def new_count(self) -> int:
        """Items that came while the person was reading further up."""
        return self.viewport.new_count

    def set_items(self, items: Sequence[Item]) -> None:
        """Shows these items and no others, at their end unless a place is restored."""
        self._model.set_items(items)
        self.viewport.cache.clear()
        self.viewport.follow_end()
        self._pending.clear()
        self._due.clear()
        self._asked_for_older = False
        self._is_stale = True

    def append(self, item: Item) -> None:
        """A new item at the end."""
        self._model.append(item)
        if not self.viewport.is_following:
            self.viewport.new_count += 1
        self._is_stale = True

    def prepend(self, items: Sequence[Item]) -> None:
        """Older items above; what is on screen stays where it is."""
        self._model.prepend(items)
        self._asked_for_older = False
        self._is_stale = True

    def replace(self, item_id: str, item: Item) -> None:
        """The item changed, or became another one in the same place."""
        self.viewport.name_by_item(item_id)
        self._model.replace(item_id, item)
        self._forget_stream(item_id)
        self._is_stale = True

    def remove_item(self, item_id: str) -> None:
        """Takes the item away."""
        self.viewport.leave(self._model.remove(item_id))
        self._forget_stream(item_id)
        self._is_stale = True

    def stream_append(self, item_id: str, text: str) -> None:
        """More text of a `StreamingText`; drawn at the next flush that is due."""
        self._pending.setdefault(item_id, []).append(text)

    def stream_end(self, item_id: str, item: Item | None = None) -> None:
        """The stream is finished: it is drawn once more as a whole, as `item` if that is given."""
        entry = self._model.get(item_id)
        if entry is not None:
            self._feed(entry, item_id)
            self.replace(item_id, item if item is not None else entry.item)

    def fold(self, item_id: str, is_open: bool) -> None:
        """Folds or unfolds an item as if a person had."""
        entry = self._model.get(item_id)
        if entry is None or not is_foldable(entry.item) or entry.is_open == is_open:
            return
        top = self.viewport.top
        if top is not None and top.entry is entry and not is_open:
            self.viewport.top = Place(entry, 0, min(top.row, entry.gap))
        self._model.fold(entry, is_open)
        self._is_stale = True
        self.call_next(lambda: self.post_message(self.CardToggled(self, item_id, is_open)))

    def _forget_stream(self, item_id: str) -> None:
        self._pending.pop(item_id, None)
        self._due.pop(item_id, None)

    def _feed(self, entry: Entry, item_id: str) -> None:
        text = "".join(self._pending.pop(item_id, ()))
        if isinstance(entry.item, StreamingText) and text:
            entry.item = replace(entry.item, text=entry.item.text + text)
            if entry.stream is not None:
                entry.stream.feed(text)

    # ---------------------------------------------------------------- frames

    @property
    def is_waiting_to_draw(self) -> bool:
        """Whether a flush has something to do, now or when a costly stream is due again."""
        return self._is_stale or bool(self._pending)

    def flush(self) -> bool:
        """Draws what came since the last flush; returns whether another flush is needed."""
        for item_id in list(self._pending):
            entry = self._model.get(item_id)
            if entry is None:
                self._forget_stream(item_id)
            elif self._clock() >= self._due.get(item_id, 0.0):
                self._grow(entry, item_id)
        if self._is_stale:
            self._show()
        return self.is_waiting_to_draw

    def _grow(self, entry: Entry, item_id: str) -> None:
        """Takes over the new text of a stream and measures what it changed."""
        started = self._clock()
        self._feed(entry, item_id)
        self._model.grow(entry)
        cost = self._clock() - started
        # A long open block may cost more than its share of a frame: it is then drawn less often.
        self._due[item_id] = started + cost / DUTY
        self.viewport.is_grown_below = not self.viewport.is_following
        self._is_stale = True

    def _show(self) -> None:
        """Settles the rows on screen and asks for a paint. Before there is a screen it waits."""
        self._is_stale = True
        if self.is_mounted and self.size.height > 0:
            self._settle()
            self.refresh()

    def _settle(self) -> None:
        self._is_stale = False
        self._painted.clear()
        self._configure()
        self.viewport.settle(self.size.height)
        self._tell_textual()
        if self.viewport.top is not None and self._told_offset < NEAR_TOP_ROWS:
            self._ask_for_older()

    def _configure(self) -> None:
        app = self.app
        self.viewport.configure(
            self.size.width,
            self.visual_style.rich_style,
            app.theme_variables,
            app.get_line_filters(),
            app.theme,
        )

    def _tell_textual(self) -> None:
        """Keeps `scroll_y` and `virtual_size` in step, without a layout."""
        size = Size(self.size.width, max(self.size.height, self._model.total))
        if size != self.virtual_size:
            self.set_reactive(ScrollView.virtual_size, size)
        self._told_offset = self.viewport.offset
        self.set_reactive(ScrollView.scroll_y, float(self._told_offset))
        self.set_reactive(ScrollView.scroll_target_y, float(self._told_offset))

    def _ask_for_older(self) -> None:
        if not self._asked_for_older:
            self._asked_for_older = True
            # A message belongs to whoever runs when it is made, and never reaches that one: during
            # a flush or a paint this would be the app or the screen. So it is made in our own turn.
            self.call_next(lambda: self.post_message(self.NearTop(self)))

    # ---------------------------------------------------------------- painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips of a region of the widget, remembered until something changes."""
        is_other = (
            len(self.viewport.rows) != self.size.height
            or self.viewport.width != max(1, self.size.width)
            or self.viewport.setting.palette.base != self.visual_style.rich_style
        )
        if is_other:
            self._settle()
        selection = self.text_selection
        key = (crop, selection)
        strips = self._painted.get(key)
        if strips is None:
            strips = [self._strip(y, selection) for y in range(crop.y, crop.bottom)]
            if crop.x or crop.width != self.size.width:
                strips = [strip.crop(crop.x, crop.right) for strip in strips]
            if len(self._painted) > 8:
                self._painted.clear()
            self._painted[key] = strips
        return strips

    def render_line(self, y: int) -> Strip:
        """One row with the places of its characters, which Textual asks for to find a selection."""
        strip = self._strip(y, self.text_selection)
        position = self.viewport.row(y).position
        if position is None:
            return strip
        # The margin has no characters of the line: it counts as the place before the first.
        margin = self.viewport.setting.margin
        return Strip.join([strip.crop(0, margin), strip.crop(margin).apply_offsets(0, position)])

    def _strip(self, y: int, selection: Selection | None) -> Strip:
        style = self.screen.get_component_rich_style("screen--selection")
        return self.viewport.strip(y, selection, style)

    # ---------------------------------------------------------------- moving

    @property
    def follow(self) -> bool:
        """Whether the end stays on screen, whatever comes."""
        return self.viewport.is_following

    @follow.setter
    def follow(self, value: bool) -> None:
        if value:
            self.viewport.follow_end()
        else:
            self.viewport.is_following = False
        self._show()

    def scroll_rows(self, rows: int) -> None:
        """Moves by rows, up below zero. At the end it is followed again."""
        self.viewport.move(rows, self.size.height)
        self._show()

    def scroll_anchor(self) -> dict[str, Any]:
        """The place on screen as JSON: the item at the top and how far it is scrolled."""
        return self.viewport.anchor()

    def restore_anchor(self, anchor: Mapping[str, Any]) -> None:
        """Goes back to a place; to the end when its item is not here any more."""
        self.viewport.restore(anchor)
        self._show()

    def action_scroll_rows(self, rows: int) -> None:
        """A step up or down."""
        self.scroll_rows(rows)

    def action_scroll_page(self, direction: int) -> None:
        """A screen up or down, less two rows to keep one's place."""
        self.scroll_rows(direction * max(1, self.size.height - 2))

    def action_scroll_top(self) -> None:
        """The oldest item."""
        if self._model.entries:
            self.viewport.go_to(Place(self._model.entries[0], 0, 0))
            self._show()

    def action_scroll_bottom(self) -> None:
        """The newest item, followed from here on."""
        self.follow = True

    @property
    def allow_vertical_scroll(self) -> bool:
        """Selecting beyond the edge scrolls, although there is no scroll bar."""
        return not self._check_disabled()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:  # noqa: ARG002
        """Textual moved the view by itself: when a selection is dragged beyond the edge."""
        rows = round(new_value) - self._told_offset
        if rows:
            self.scroll_rows(rows)

    def on_resize(self) -> None:
        """Another size: the place stays."""
        self._show()

    def on_mount(self) -> None:
        """Colours follow the theme."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._show())

    # ---------------------------------------------------------------- mouse and keys

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel."""
        event.stop()
        event.prevent_default()
        self.scroll_rows(-WHEEL_ROWS)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel."""
        event.stop()
        event.prevent_default()
        self.scroll_rows(WHEEL_ROWS)

    def on_click(self, event: events.Click) -> None:
        """A link, the head of what can be folded, the body of a call; twice for a word, three times
        for the item."""
        if event.chain > 1:
            # Textual's own answer would be to select the whole history, or the whole screen.
            event.prevent_default()
            event.stop()
            self._select_around(event.x, event.y, is_word=event.chain == 2)
            return
        if self.text_selection is not None:
            return
        if self._is_on_badge(event.x, event.y):
            self.follow = True
            return
        row = self.viewport.row(event.y)
        if row.place is None or row.line is None:
            return
        item = row.place.entry.item
        run = self.viewport.run_at(event.x, event.y)
        if run is not None and run.href is not None:
            self.post_message(self.LinkClicked(self, run.href))
        elif row.place.part == 0 and row.number == 0 and is_foldable(item):
            self.fold(item.item_id, not row.place.entry.is_open)
        elif isinstance(item, ToolCard):
            self.post_message(self.CardOpened(self, item.tool_use_id))

    def _is_on_badge(self, x: int, y: int) -> bool:
        width = cell_width(self.viewport.badge())
        return width > 0 and y == self.size.height - 1 and x >= self.size.width - width

    def action_toggle_last(self) -> None:
        """Folds or unfolds the lowest item on screen that can be."""
        entry = self._lowest(is_foldable)
        if entry is not None:
            self.fold(entry.item.item_id, not entry.is_open)

    def action_open_last(self) -> None:
        """Asks for all there is about the lowest call on screen."""
        entry = self._lowest(lambda item: isinstance(item, ToolCard))
        if entry is not None and isinstance(entry.item, ToolCard):
            self.post_message(self.CardOpened(self, entry.item.tool_use_id))

    def _lowest(self, wanted: Callable[[Item], bool]) -> Entry | None:
        for row in reversed(self.viewport.rows):
            if row.place is not None and row.line is not None and wanted(row.place.entry.item):
                return row.place.entry
        return None

    # ---------------------------------------------------------------- selection

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as it was written: without wrapping, gutters and padding."""
        text = copying.selected_text(
            self._model, lambda entry, part: self.viewport.rendered(entry, part).lines, selection
        )
        return text, "\n"

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002
        """Draws the selection."""
        self._painted.clear()
        self.refresh()

    def _select_around(self, x: int, y: int, *, is_word: bool) -> None:
        """Selects the word at a cell, or the item that it belongs to."""
        row = self.viewport.row(y)
        if row.place is None or row.line is None or row.position is None:
            return
        if is_word:
            first, last = copying.word_at(row.line.text, x - self.viewport.setting.margin)
            start, end = Offset(first, row.position), Offset(last, row.position)
        else:
            ordinal = row.place.entry.ordinal
            start = Offset(0, copying.position(ordinal, 0, 0))
            end = Offset(0, copying.position(ordinal + 1, 0, 0) - 1)
        self.screen.selections = {self: Selection(start, end)}
