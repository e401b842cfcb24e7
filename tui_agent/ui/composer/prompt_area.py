"""The multi-line editor of the composer: a text area that knows the keys of readline and of other
editors, keeps what is killed, and treats a folded paste as one character.

All keys are taken as keys and none as a binding: a binding runs when the key has gone its way up to
the application, and letters that came in the same burst would overtake it.
"""

from __future__ import annotations

from enum import Enum, auto

from rich.text import Text
from textual import events
from textual.document._document import EditResult, Location, Selection
from textual.document._edit import Edit
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import TextArea
from typing_extensions import override

from tui_agent.text import prose
from tui_agent.ui.composer import pastes
from tui_agent.ui.composer.editing_keys import EDITING_KEYS
from tui_agent.ui.composer.kills import KillRing
from tui_agent.ui.composer.pastes import Chips, Opened

MOST_PASTED = 8_000_000
"""Characters of one paste; what is larger belongs into a file."""
FOLD_LOADED = 20_000
"""A text without chips that is loaded (a prompt sent before, a file of an editor) is folded as a
whole from so many characters on: the area would lay out every line of it."""


class _Last(Enum):
    """What the last key did, where that changes what the next one means."""

    OTHER = auto()
    KILL = auto()
    YANK = auto()
    UNDO = auto()


class PromptArea(TextArea, inherit_bindings=False):
    """Edits a prompt. `text` is what would be sent, `draft` what `set_text` takes back with its
    chips."""

    COMPONENT_CLASSES = {"prompt-area--chip"}  # noqa: RUF012 - Textual collects it from the class

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        self._chips = Chips()
        self._kills = KillRing()
        self._last = self._now = _Last.OTHER
        self._yanked: tuple[Location, Location] = ((0, 0), (0, 0))
        self._whole: str | None = None
        self._marked: pastes.Rows | None = None
        super().__init__(
            id=id,
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            compact=True,
        )

    # --- text --------------------------------------------------------------------------------

    @property
    @override
    def text(self) -> str:
        """The whole text, with what is behind every chip."""
        # asked for at every painted line: Textual looks whether the placeholder is due
        if self._whole is None:
            self._whole = self._chips.sent(self.document.lines)
        return self._whole

    @text.setter
    def text(self, value: str) -> None:
        self.set_text(value)

    @property
    def draft(self) -> str:
        """The text with its chips, to be kept or put back."""
        return self._chips.draft(self.document.lines)

    @property
    @override
    def selected_text(self) -> str:
        """The selected text, with what is behind its chips."""
        return self._chips.sent(super().selected_text.split("\n"))

    def set_text(self, draft: str) -> None:
        """Show a draft with the cursor at its end; what was undone or could be is forgotten."""
        self._chips.clear()
        self.load_text(self._document_of(draft))
        self.move_cursor(self.document.end)

    def replace_text(self, draft: str) -> None:
        """Show another draft instead; undo brings this one back."""
        self.history.checkpoint()
        document = self._document_of(draft)
        self.replace(document, (0, 0), self.document.end, maintain_selection_offset=False)
        self.history.checkpoint()

    def take_edited(self, text: str) -> None:
        """The text as it was changed elsewhere; what is left of its chips stays folded."""
        lines = self.document.lines
        self.replace_text(self._chips.refold(lines, _from_outside(text)))

    def paste(self, text: str) -> None:
        """Insert what comes from outside, folded when it is long."""
        if len(text) > MOST_PASTED:
            most = f"{MOST_PASTED // 1_000_000} million characters"
            self.notify(
                f"A paste of more than {most} was not taken: save it to a file and name the file.",
                severity="error",
                markup=False,
            )
            return
        clean = _from_outside(text)
        self._exchange(self._chips.fold(clean) if pastes.is_long(clean) else clean, *self.selection)

    def toggle_paste(self) -> None:
        """Open the chip at the cursor; inside an opened paste, fold it. With the cursor at neither,
        the chip before it, or the next."""
        if (opened := self._opened_here()) is not None:
            start, end = opened.start, (opened.end[0], opened.end[1] + 1)
            inner = self.document.get_text_range(start, end).split("\n")
            self._exchange(self._chips.fold(self._chips.sent(inner)), start, end)
        elif (chip := self._nearest_chip()) is not None:
            row, start_column, end_column = chip
            start, end = (row, start_column), (row, end_column)
            text = self._chips.behind(self.document.get_text_range(start, end))
            self._exchange(self._chips.open(text), start, end)

    @property
    def chip_hint(self) -> str:
        """What the key for pastes does here; empty when it does nothing."""
        if not self._chips:
            return ""
        if self._opened_here() is not None:
            return "Ctrl+T folds the paste"
        row, column = self.cursor_location
        if any(column in span for span in pastes.labels(self.document.get_line(row))):
            return "Ctrl+T opens · Backspace deletes"
        return "Ctrl+T opens the paste" if self._nearest_chip() is not None else ""

    # --- editing -----------------------------------------------------------------------------

    @override
    def edit(self, edit: Edit) -> EditResult:
        """Perform an edit. One that touches a chip takes the whole of it; one that takes an edge of
        an opened paste takes the other edge too."""
        if self._chips and edit.top != edit.bottom:
            edit.from_location, edit.to_location = self._widened(edit.top, edit.bottom)
        self._forget_derived()
        result = super().edit(edit)
        self._forget_derived()
        if pastes.has_marks(result.replaced_text):
            for row, column in reversed(self._strays()):
                super().edit(Edit("", (row, column), (row, column + 1), True))
            self._forget_derived()
        return result

    @override
    def undo(self) -> None:
        """Undo the last step, and with it what was done to edges of pastes in its course."""
        super().undo()
        self._forget_derived()
        while self._strays() and self.history.undo_stack:
            super().undo()
            self._forget_derived()

    @override
    def redo(self) -> None:
        """Redo what was undone last, as a whole."""
        super().redo()
        self._forget_derived()
        while self._strays() and self.history.redo_stack:
            super().redo()
            self._forget_derived()

    @override
    def load_text(self, text: str) -> None:
        self._forget_derived()
        super().load_text(text)
        self._forget_derived()

    def kill(self, start: Location, end: Location) -> None:
        """Delete to where `end` is from the cursor at `start`, and keep it for a yank. A selection
        is killed instead."""
        if not self.selection.is_empty:
            start, end = self.selection
        if start == end:
            return
        is_backwards = end < start
        top, bottom = self._widened(*sorted((start, end)))
        killed = self._chips.draft(self.document.get_text_range(top, bottom).split("\n"))
        self._kills.add(killed, backwards=is_backwards, goes_on=self._last is _Last.KILL)
        self._now = _Last.KILL
        self._exchange("", top, bottom)

    def kill_to_line_start(self) -> None:
        """Kill to the start of the line; at the start, the line's end before it."""
        row, column = self.cursor_location
        end = (row, 0) if column else self.get_cursor_left_location()
        self.kill(self.cursor_location, end)

    def kill_to_line_end(self) -> None:
        """Kill to the end of the line; at the end, the line's end itself."""
        row, column = self.cursor_location
        length = len(self.document.get_line(row))
        end = (row, length) if column < length else self.get_cursor_right_location()
        self.kill(self.cursor_location, end)

    def kill_line(self) -> None:
        """Kill the line with its end."""
        row, _ = self.cursor_location
        is_last = row == self.document.line_count - 1
        self.kill((row, 0), self.document.end if is_last else (row + 1, 0))

    def kill_word_left(self) -> None:
        """Kill to the start of the word."""
        self.kill(self.cursor_location, self.get_cursor_word_left_location())

    def kill_blank_word_left(self) -> None:
        """Kill to the blank before the cursor, as Ctrl+W does in a shell."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column].rstrip()
        start = max(before.rfind(" "), before.rfind("\t")) + 1
        self.kill(self.cursor_location, (row, start) if column else self.get_cursor_left_location())

    def kill_word_right(self) -> None:
        """Kill to the end of the word."""
        self.kill(self.cursor_location, self.get_cursor_word_right_location())

    def cut(self) -> None:
        """Cut the selection, else the line, to the clipboard as well."""
        row, _ = self.cursor_location
        line = self.document.get_line(row)
        self.app.copy_to_clipboard(self.selected_text or self._chips.sent([line]))
        if self.selection.is_empty:
            self.kill_line()
        else:
            self.kill(*self.selection)

    def yank_or_redo(self) -> None:
        """Put back what was killed last; right after an undo, redo, as editors have it."""
        if self._last is _Last.UNDO:
            self.redo_last()
        else:
            self._yank(self._kills.newest(), self.selection)

    def yank_before(self) -> None:
        """Right after a yank: put the kill before it in its place."""
        if self._last is _Last.YANK:
            self._yank(self._kills.before(), Selection(*self._yanked))

    def undo_last(self) -> None:
        """Undo; the next Ctrl+Y redoes."""
        self.undo()
        self._now = _Last.UNDO

    def redo_last(self) -> None:
        """Redo, if something was undone; the next Ctrl+Y goes on."""
        self.redo()
        self._now = _Last.UNDO

    def go_to_column(self, column: int | None) -> None:
        """Go to the start or end of the line as it was typed, however it is wrapped."""
        row, _ = self.cursor_location
        self.move_cursor((row, len(self.document.get_line(row)) if column is None else column))

    def break_run(self) -> None:
        """Something else was done: the next kill is one of its own."""
        self._last = _Last.OTHER

    def keep_killed(self, text: str) -> None:
        """Have `text` ready to be yanked."""
        self._kills.add(text, backwards=False, goes_on=False)

    # Textual calls the handlers of `TextArea` after these, unless the default is prevented.

    @override
    async def _on_key(self, event: events.Key) -> None:
        self._now = _Last.OTHER
        if (does := EDITING_KEYS.get(event.key)) is not None:
            event.stop()
            event.prevent_default()
            self._restart_blink()
            does(self)
        elif event.is_printable and pastes.has_marks(event.character or ""):
            event.stop()
            event.prevent_default()
        self._last = self._now

    @override
    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.break_run()
        self.paste(event.text)
        self.focus()

    @override
    async def _on_mouse_down(self, event: events.MouseDown) -> None:
        self.break_run()

    # --- drawing -----------------------------------------------------------------------------

    @override
    def get_line(self, line_index: int) -> Text:
        """A line as it is drawn."""
        line = self.document.get_line(line_index)
        if not pastes.has_marks(line):
            return Text(line, end="", no_wrap=True)
        drawn = Text(pastes.shown(line), end="", no_wrap=True)
        style = self.get_component_rich_style("prompt-area--chip")
        for start, end in pastes.drawn_marks(line):
            drawn.stylize(style, start, end)
        return drawn

    @override
    def render_line(self, y: int) -> Strip:
        """A row as it is drawn. Without a column Textual could not lay out a placeholder."""
        return super().render_line(y) if self.content_size.width else Strip([])

    @override
    def render_lines(self, crop: Region) -> list[Strip]:
        # Textual moves the terminal's cursor with ours, but not with the widget: what the person
        # composes in an input method is shown there.
        if self.has_focus:
            self.app.cursor_position = self.cursor_screen_offset
        return super().render_lines(crop)

    @override
    def _recompute_cursor_offset(self) -> None:
        # When an undo takes the scrollbar away, Textual 8.2 looks for the cursor in the shorter
        # document before it has moved it there, and fails.
        cursor = self.clamp_visitable(self.cursor_location)
        self._cursor_offset = self.wrapped_document.location_to_offset(cursor)

    # --- places ------------------------------------------------------------------------------

    def validate_selection(self, selection: Selection) -> Selection:
        """The cursor is never inside a chip."""
        if not self._chips:
            return selection
        was = self.selection.end
        end = self._outside(selection.end, was)
        if selection.is_empty:
            return Selection.cursor(end)
        return Selection(self._outside(selection.start, end), end)

    def _outside(self, location: Location, coming_from: Location) -> Location:
        row, column = location
        for start, end in pastes.labels(self.document.get_line(row)):
            if start < column < end:
                if coming_from >= (row, end):
                    return row, start
                if coming_from <= (row, start) or column - start > end - column:
                    return row, end
                return row, start
        return location

    def _widened(self, top: Location, bottom: Location) -> tuple[Location, Location]:
        """The range with the whole of every chip that is touched by it."""
        return self._outside(top, (top[0] + 1, 0)), self._outside(bottom, (0, 0))

    def _marked_rows(self) -> pastes.Rows:
        if self._marked is None:
            self._marked = pastes.marked_rows(self.document.lines)
        return self._marked

    def _forget_derived(self) -> None:
        """The document changes: what was derived from it is derived anew when it is asked for."""
        self._whole = self._marked = None

    def _opened_here(self) -> Opened | None:
        """The innermost opened paste around the cursor."""
        cursor = self.cursor_location
        for each in pastes.opened_pastes(self._marked_rows())[0]:
            if each.start <= cursor <= (each.end[0], each.end[1] + 1):
                return each
        return None

    def _strays(self) -> tuple[Location, ...]:
        """Edges of opened pastes that have no other edge."""
        return pastes.opened_pastes(self._marked_rows())[1] if self._chips else ()

    def _nearest_chip(self) -> tuple[int, int, int] | None:
        """Row and columns of the chip at or before the cursor, else of the next one."""
        cursor = self.cursor_location
        found: tuple[int, int, int] | None = None
        for row, line in self._marked_rows():
            for start, end in pastes.labels(line):
                if found is not None and (row, start) > cursor:
                    return found
                found = row, start, end
        return found

    # --- changes -----------------------------------------------------------------------------

    def _document_of(self, draft: str) -> str:
        if len(draft) > FOLD_LOADED and not pastes.has_marks(draft):
            return self._chips.fold(prose(draft))
        return self._chips.document(prose(draft))

    def _exchange(self, document: str, start: Location, end: Location) -> Location:
        """One step for undo; where the inserted text ends."""
        self.history.checkpoint()
        result = self.replace(document, start, end, maintain_selection_offset=False)
        self.history.checkpoint()
        return result.end_location

    def _yank(self, killed: str, place: Selection) -> None:
        if killed:
            start, end = sorted(place)
            self._yanked = start, self._exchange(self._chips.document(killed), start, end)
            self._now = _Last.YANK


def _from_outside(text: str) -> str:
    """Without control characters and marks. A carriage return ends a line here; in output it would
    overwrite one."""
    return pastes.without_marks(prose(text.replace("\r\n", "\n").replace("\r", "\n")))
