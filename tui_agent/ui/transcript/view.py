"""The widget: shows the part of the transcript that is on screen, and lets a person move in it.

Items come in by `append`, `replace`, `stream_append` and their like; nothing is drawn until
`flush`, which the app's ticker calls at most once a frame. What a person does goes out as messages:
a card was opened, a link was clicked, the top is near. Links are never opened here, and nothing
that came from outside is ever read as markup.

Drawing goes around Textual's own line cache: the compositor gets ready strips of the exact width,
remembered from paint to paint. The rows on screen are named by item, part and row (`model.Place`);
`scroll_y` only follows, for the benefit of Textual's own machinery.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from rich.style import Style
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
from tui_agent.ui.transcript.glyphs import UNICODE_GLYPHS, Glyphs, glyphs_for
from tui_agent.ui.transcript.lines import EMPTY, Line, Run
from tui_agent.ui.transcript.model import Entry, Place, Transcript
from tui_agent.ui.transcript.render import WIDEST, is_foldable, lines_of
from tui_agent.ui.transcript.strips import Rendered, Setting, StripCache
from tui_agent.ui.transcript.theme import Palette

DUTY: Final = 0.2
"""The share of its time that one stream may take for drawing."""
WHEEL_ROWS: Final = 3
NEAR_TOP_ROWS: Final = 40


@dataclass(frozen=True, slots=True)
class _Row:
    """What stands in a row of the screen: a line of a part, or nothing."""

    place: Place | None
    rendered: Rendered | None = None
    line: int = -1


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
        self.glyphs: Glyphs = UNICODE_GLYPHS if marks is None else glyphs_for(marks)
        self.new_count = 0
        """Items that came while the person was reading further up."""
        self._clock = clock
        self._model = Transcript(self._measure)
        self._cache = StripCache()
        self._setting: Setting | None = None
        self._setting_key: tuple[object, ...] = ()
        self._following = True
        self._top: Place | None = None
        self._rows: list[_Row] = []
        self._is_stale = True
        self._paint = 0
        self._painted: dict[tuple[object, ...], list[Strip]] = {}
        self._growing: dict[str, float] = {}
        """Streams with text that is not drawn yet, and when the next drawing is due."""
        self._is_grown_below = False
        self._asked_for_older = False
        self._own_scroll_y = 0

    # ---------------------------------------------------------------- items

    def set_items(self, items: Sequence[Item]) -> None:
        """Shows these items and no others, at their end unless a place is restored."""
        self._model.set_items(items)
        self._cache.clear()
        self._growing.clear()
        self._asked_for_older = False
        self._follow_end()
        self._changed()

    def append(self, item: Item) -> None:
        """A new item at the end."""
        self._model.append(item)
        if not self._following:
            self.new_count += 1
        self._changed()

    def prepend(self, items: Sequence[Item]) -> None:
        """Older items above; what is on screen stays where it is."""
        self._model.prepend(items)
        self._asked_for_older = False
        self._changed()

    def replace(self, item_id: str, item: Item) -> None:
        """The item changed, or became another one in the same place."""
        place = self._top
        above = 0
        is_top = place is not None and place.entry.item.item_id == item_id
        if place is not None and is_top:
            above = sum(place.entry.part_height(number) for number in range(place.part)) + place.row
        entry = self._model.replace(item_id, item)
        self._growing.pop(item_id, None)
        if is_top:
            self._top = Place(entry, 0, above)
        self._changed()

    def remove_item(self, item_id: str) -> None:
        """Takes the item away."""
        entry = self._model.remove(item_id)
        self._growing.pop(item_id, None)
        if self._top is not None and self._top.entry is entry:
            entries = self._model.entries
            below = entries[min(entry.index, len(entries) - 1)] if entries else None
            self._top = Place(below, 0, 0) if below is not None else None
        self._changed()

    def stream_append(self, item_id: str, text: str) -> None:
        """More text of a `StreamingText`; drawn at the next flush that is due."""
        entry = self._model.get(item_id)
        if entry is None or not isinstance(entry.item, StreamingText):
            return
        entry.item = replace(entry.item, text=entry.item.text + text)
        if entry.stream is not None:
            entry.stream.feed(text)
        self._growing.setdefault(item_id, 0.0)
        if not self._following:
            self._is_grown_below = True

    def stream_end(self, item_id: str, item: Item | None = None) -> None:
        """The stream is finished: it is drawn once more as a whole, as `item` if that is given."""
        entry = self._model.get(item_id)
        if entry is not None:
            self.replace(item_id, item if item is not None else entry.item)

    @property
    def item_count(self) -> int:
        """Items there are."""
        return len(self._model)

    def fold(self, item_id: str, is_open: bool) -> None:
        """Folds or unfolds an item as if a person had."""
        entry = self._model.get(item_id)
        if entry is None or not is_foldable(entry.item) or entry.is_open == is_open:
            return
        top = self._top
        if top is not None and top.entry is entry and not is_open:
            self._top = Place(entry, 0, min(top.row, entry.gap))
        self._model.fold(entry, is_open)
        self._changed()
        self.call_next(lambda: self.post_message(self.CardToggled(self, item_id, is_open)))

    # ---------------------------------------------------------------- frames

    @property
    def is_waiting_to_draw(self) -> bool:
        """Whether a flush has something to do, now or when a stream may draw again."""
        return self._is_stale or bool(self._growing)

    def flush(self) -> bool:
        """Draws what came since the last flush; returns whether another flush is needed."""
        for item_id, due in list(self._growing.items()):
            entry = self._model.get(item_id)
            started = self._clock()
            if entry is None or started < due:
                continue
            if entry.stream is not None:
                self._model.grow(entry)
            else:
                self._model.regrow(entry)
            cost = self._clock() - started
            del self._growing[item_id]
            # A long open block may cost more than a frame: it is then drawn less often.
            if cost * (1 / DUTY - 1) > 1 / 30:
                self._growing[item_id] = self._clock() + cost * (1 / DUTY - 1)
            self._is_stale = True
        if self._is_stale and self.is_mounted and self.size.height > 0:
            self._settle()
            self.refresh()
        return self.is_waiting_to_draw

    def _changed(self) -> None:
        self._is_stale = True

    def _settle(self) -> None:
        """Decides which rows are on screen, making their heights exact."""
        self._is_stale = False
        self._refresh_setting()
        height = self.size.height
        model = self._model
        model_top = self._top
        if self._following or model_top is None:
            top = model.bottom(height)
        else:
            top = model.settled(model_top)
        places = list(model.rows(top, height)) if top is not None else []
        if top is not None and len(places) < height and not self._following:
            # The end is on screen: from here on it is followed.
            top = model.bottom(height)
            places = list(model.rows(top, height)) if top is not None else []
            self._follow_end()
        self._top = top
        self._rows = [self._row(place) for place in places]
        self._rows += [_Row(None)] * (height - len(self._rows))
        self._paint += 1
        self._painted.clear()
        self._tell_textual()
        self._look_for_older()

    def _row(self, place: Place) -> _Row:
        line = place.row - place.entry.lead(place.part)
        if line < 0:
            return _Row(place)
        return _Row(place, self._rendered(place.entry, place.part), line)

    def _tell_textual(self) -> None:
        """Keeps `scroll_y` and `virtual_size` in step, without a layout."""
        size = Size(self.size.width, max(self.size.height, self._model.total))
        if size != self.virtual_size:
            self.set_reactive(ScrollView.virtual_size, size)
        self._own_scroll_y = self._model.offset(self._top) if self._top is not None else 0
        self.set_reactive(ScrollView.scroll_y, float(self._own_scroll_y))
        self.set_reactive(ScrollView.scroll_target_y, float(self._own_scroll_y))

    def _look_for_older(self) -> None:
        if self._asked_for_older or self._top is None:
            return
        if self._own_scroll_y < NEAR_TOP_ROWS:
            self._asked_for_older = True
            # A message belongs to whoever runs when it is made, and never reaches that one: during
            # a flush or a paint this would be the app or the screen. So it is made in our own turn.
            self.call_next(lambda: self.post_message(self.NearTop(self)))

    def _measure(self, entry: Entry, number: int) -> int:
        return len(self._rendered(entry, number).lines)

    def _rendered(self, entry: Entry, number: int) -> Rendered:
        parts = self._model.resolve(entry)
        is_last = number == len(parts) - 1
        key = (entry.ordinal, number)
        revision = (entry.revision, entry.tail_revision if is_last or parts[number].is_tail else -1)
        found = self._cache.get(key, revision)
        if found is None:
            lines = lines_of(
                entry.item,
                parts,
                number,
                width=self._model.width,
                glyphs=self.glyphs,
                references=entry.references,
                is_open=entry.is_open,
            )
            found = self._cache.put(key, revision, lines)
        return found

    def _refresh_setting(self) -> Setting:
        """The current width, colours and filters; a change of them empties the cache."""
        base = self.visual_style.rich_style
        filters = self.app.get_line_filters()
        key = (self.size.width, base, self.app.theme, tuple(map(id, filters)))
        if self._setting is None or key != self._setting_key:
            width = max(1, self.size.width)
            # One cell for the thumb and one beside it, where there is room for such niceties.
            spare = 3 if width >= 24 else 1 if width > 1 else 0
            column = min(WIDEST, width - spare)
            margin = max(spare // 2, (width - column) // 2) if spare > 1 else 0
            palette = Palette(base, self.app.theme_variables)
            if self._setting is None or column != self._setting.column:
                self._model.width = max(1, column)
                self._cache.clear()
                self._keep_place_while_estimating()
            else:
                self._cache.forget_strips()
            self._setting = Setting(width, margin, column, palette, filters)
            self._setting_key = key
        return self._setting

    def _keep_place_while_estimating(self) -> None:
        """A new width: the same item stays at the top, as far down in it as before."""
        top = self._top
        share = 0.0
        if top is not None and not self._following:
            above = sum(top.entry.part_height(number) for number in range(top.part)) + top.row
            share = above / max(1, top.entry.height)
        self._model.estimate()
        if top is not None and not self._following:
            parts = self._model.resolve(top.entry)
            height = sum(self._model.measured(top.entry, number) for number in range(len(parts)))
            self._top = Place(top.entry, 0, int(share * height))

    # ---------------------------------------------------------------- painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips of a region of the widget, remembered until something changes."""
        if self._is_stale or len(self._rows) != self.size.height or self._is_setting_old():
            self._settle()
        key = (crop, self._selection_key())
        strips = self._painted.get(key)
        if strips is None:
            strips = [self._strip(y) for y in range(crop.y, crop.bottom)]
            if crop.x or crop.width != self.size.width:
                strips = [strip.crop(crop.x, crop.right) for strip in strips]
            if len(self._painted) > 8:
                self._painted.clear()
            self._painted[key] = strips
        return strips

    def render_line(self, y: int) -> Strip:
        """One row with the places of its characters, which Textual asks for to find a selection."""
        row = self._rows[y] if 0 <= y < len(self._rows) else _Row(None)
        strip = self._strip(y)
        if row.place is None:
            return strip
        position = copying.position(row.place.entry.ordinal, row.place.part, max(0, row.line))
        setting = self._refresh_setting()
        # The margin has no characters of the line: it counts as the place before the first.
        margin, rest = strip.crop(0, setting.margin), strip.crop(setting.margin)
        return Strip.join([margin, rest.apply_offsets(0, position)])

    def _is_setting_old(self) -> bool:
        setting = self._setting
        return (
            setting is None
            or setting.width != max(1, self.size.width)
            or (setting.palette.base != self.visual_style.rich_style)
        )

    def _selection_key(self) -> object:
        return self.text_selection if self.is_attached else None

    def _strip(self, y: int) -> Strip:
        setting = self._setting or self._refresh_setting()
        if not 0 <= y < len(self._rows):
            return setting.strip(EMPTY)
        row = self._rows[y]
        has_thumb = y in self._thumb_rows()
        strip = self._row_strip(row, setting, has_thumb=has_thumb)
        if y == len(self._rows) - 1 and (words := self._badge()):
            strip = setting.with_badge(strip, words)
        return strip

    def _row_strip(self, row: _Row, setting: Setting, *, has_thumb: bool) -> Strip:
        rendered = row.rendered
        if rendered is None or row.place is None:
            strip = setting.strip(EMPTY)
            return setting.with_thumb(strip, self.glyphs.thumb) if has_thumb else strip
        selection = self.text_selection
        if selection is not None:
            at = copying.position(row.place.entry.ordinal, row.place.part, row.line)
            span = selection.get_span(at)
            if span is not None:
                start, end = span
                line = rendered.lines[row.line]
                end = len(line.text) if end < 0 else end
                strip = setting.selected(line, start, end, self._selection_style())
                return setting.with_thumb(strip, self.glyphs.thumb) if has_thumb else strip
        strip = rendered.strips[row.line] or setting.strip(rendered.lines[row.line])
        rendered.strips[row.line] = strip
        if has_thumb:
            if row.line not in rendered.thumbs:
                rendered.thumbs[row.line] = setting.with_thumb(strip, self.glyphs.thumb)
            strip = rendered.thumbs[row.line]
        return strip

    def _selection_style(self) -> Style:
        return self.screen.get_component_rich_style("screen--selection")

    def _thumb_rows(self) -> range:
        """The rows of the screen that the thumb covers; none when everything is on screen."""
        height, total = self.size.height, self._model.total
        if total <= height or height < 4 or self.size.width < 8:
            return range(0)
        size = max(1, height * height // total)
        room = height - size
        at = room if self._following else min(room, self._own_scroll_y * room // (total - height))
        return range(at, at + size)

    def _badge(self) -> str:
        if self._following:
            return ""
        if self.new_count:
            return f" {self.new_count} new "
        return " more below " if self._is_grown_below else ""

    # ---------------------------------------------------------------- moving

    @property
    def follow(self) -> bool:
        """Whether the end stays on screen, whatever comes."""
        return self._following

    @follow.setter
    def follow(self, value: bool) -> None:
        if value:
            self._follow_end()
        else:
            self._following = False
        self._show_now()

    def scroll_rows(self, rows: int) -> None:
        """Moves by rows, up below zero. At the end it is followed again."""
        if self._top is None:
            return
        if rows < 0:
            self._following = False
        elif self._following:
            return
        self._top = self._model.moved(self._top, rows)
        bottom = self._model.bottom(self.size.height)
        if bottom is not None and self._model.offset(self._top) >= self._model.offset(bottom):
            self._follow_end()
        self._show_now()

    def scroll_anchor(self) -> dict[str, Any]:
        """The place on screen as JSON: the item at the top and how far it is scrolled."""
        if self._following or self._top is None:
            return {"follow": True}
        top = self._top
        above = sum(top.entry.part_height(number) for number in range(top.part)) + top.row
        return {"follow": False, "item_id": top.entry.item.item_id, "row": above}

    def restore_anchor(self, anchor: dict[str, Any]) -> None:
        """Goes back to a place; to the end when its item is not here any more."""
        entry = self._model.get(str(anchor.get("item_id", "")))
        if anchor.get("follow", True) or entry is None:
            self._follow_end()
        else:
            self._following = False
            self._top = Place(entry, 0, max(0, int(anchor.get("row", 0))))
        self._show_now()

    def action_scroll_rows(self, rows: int) -> None:
        """A step up or down."""
        self.scroll_rows(rows)

    def action_scroll_page(self, direction: int) -> None:
        """A screen up or down, less two rows to keep one's place."""
        self.scroll_rows(direction * max(1, self.size.height - 2))

    def action_scroll_top(self) -> None:
        """The oldest item."""
        if self._model.entries:
            self._following = False
            self._top = Place(self._model.entries[0], 0, 0)
            self._show_now()

    def action_scroll_bottom(self) -> None:
        """The newest item, followed from here on."""
        self.follow = True

    def _follow_end(self) -> None:
        self._following = True
        self._is_grown_below = False
        self.new_count = 0

    def _show_now(self) -> None:
        """A person moved: no waiting for the next frame."""
        self._is_stale = True
        if self.is_mounted and self.size.height > 0:
            self._settle()
            self.refresh()

    @property
    def allow_vertical_scroll(self) -> bool:
        """Selecting beyond the edge scrolls, although there is no scroll bar."""
        return not self._check_disabled()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:  # noqa: ARG002
        """Textual moved the view by itself: when a selection is dragged beyond the edge."""
        rows = round(new_value) - self._own_scroll_y
        if rows and self._top is not None:
            self.scroll_rows(rows)

    def on_resize(self) -> None:
        """Another size: the place stays."""
        self._show_now()

    def on_mount(self) -> None:
        """Colours follow the theme."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._theme_changed())

    def _theme_changed(self) -> None:
        self._setting_key = ()
        self._show_now()

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
        badge = cell_width(self._badge()) if event.y == len(self._rows) - 1 else 0
        if badge and event.x >= self.size.width - badge:
            self.follow = True
            return
        row = self._rows[event.y] if 0 <= event.y < len(self._rows) else _Row(None)
        if row.place is None or row.rendered is None:
            return
        entry = row.place.entry
        run = self._run_at(row.rendered.lines[row.line], event.x)
        if run is not None and run.href is not None:
            self.post_message(self.LinkClicked(self, run.href))
        elif row.place.part == 0 and row.line == 0 and is_foldable(entry.item):
            self.fold(entry.item.item_id, not entry.is_open)
        elif isinstance(entry.item, ToolCard):
            self.post_message(self.CardOpened(self, entry.item.tool_use_id))

    def _run_at(self, line: Line, x: int) -> Run | None:
        end = self._setting.margin if self._setting is not None else 0
        for run in line.runs:
            end += cell_width(run.text)
            if x < end:
                return run
        return None

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
        for row in reversed(self._rows):
            if row.place is not None and row.line >= 0 and wanted(row.place.entry.item):
                return row.place.entry
        return None

    # ---------------------------------------------------------------- selection

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as it was written: without wrapping, gutters and padding."""
        return copying.selected_text(self._model, self._lines_of, selection), "\n"

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002
        """Draws the selection."""
        self._painted.clear()
        self.refresh()

    def _select_around(self, x: int, y: int, *, is_word: bool) -> None:
        """Selects the word at a cell, or the item that it belongs to."""
        row = self._rows[y] if 0 <= y < len(self._rows) else _Row(None)
        if row.place is None or row.rendered is None:
            return
        ordinal, part = row.place.entry.ordinal, row.place.part
        if is_word:
            margin = self._setting.margin if self._setting is not None else 0
            span = copying.word_at(row.rendered.lines[row.line].text, x - margin)
            line = copying.position(ordinal, part, row.line)
            start, end = Offset(span[0], line), Offset(span[1], line)
        else:
            start = Offset(0, copying.position(ordinal, 0, 0))
            end = Offset(0, copying.position(ordinal + 1, 0, 0) - 1)
        self.screen.selections = {self: Selection(start, end)}

    def _lines_of(self, entry: Entry, number: int) -> Sequence[Line]:
        return self._rendered(entry, number).lines
