"""Where a person types: grows to a third of the screen, sends, queues, recalls, completes.

It knows no session: it tells what was typed and is told what to show. Drafts are kept by whoever
listens to `Typed` and `Loaded`.
"""

from __future__ import annotations

import re

from textual import events
from textual.message import Message
from textual.widgets import TextArea
from typing_extensions import override

from tui_agent.ui.commands import Command
from tui_agent.ui.composer.completing import Completion, taken
from tui_agent.ui.composer.history import History
from tui_agent.ui.composer.pastes import without_marks
from tui_agent.ui.composer.prompt_area import PromptArea
from tui_agent.ui.composer.terminal_keys import teach_keys

PLACEHOLDER = "Ask for a change, or type / for commands"
SHORT_PLACEHOLDER = "Type here; / for commands"
BUSY_HINT = "Enter steers · Alt+Enter after the turn"
SHORT_BUSY_HINT = "Alt+Enter: after the turn"
NARROW = 44
"""Columns below which hints are short."""

_BLANK_START = re.compile(r"\A\s*\n")


class Composer(PromptArea):
    """The input at the bottom of the workspace."""

    # Enter is taken in `_on_key`. As a priority binding it would overtake the letters before it:
    # over a slow line they arrive together, and the prompt would go without its end.
    class Sent(Message):
        """The person sends `text`. `draft` is the same with its chips, to be put back."""

        def __init__(self, text: str, *, after_turn: bool, draft: str | None = None) -> None:
            super().__init__()
            self.text = text
            self.draft = text if draft is None else draft
            self.after_turn = after_turn

    class Typed(Message):
        """The person changed the text; what counts for the draft."""

    class Loaded(Message):
        """Another text was put here by the program, or what was here was sent: nobody types."""

    class QueueWanted(Message):
        """The person wants the message back that was queued last."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        teach_keys()
        super().__init__(id=id)
        self.placeholder = PLACEHOLDER
        self.sent: tuple[str, ...] = ()
        """What was sent in this session, oldest first."""
        self.sent_elsewhere: tuple[str, ...] = ()
        """What was sent in earlier sessions of the folder, oldest first."""
        self.has_queue = False
        """Whether messages are queued."""
        self.is_busy = False
        """Whether a turn runs: then what is sent waits for its next step, or its end."""
        self.completion = Completion()
        self._history = History()
        self._is_editing_outside = False

    @override
    def set_text(self, draft: str) -> None:
        """Show a draft with the cursor at its end. It is another text: what was walked through and
        what could be undone is forgotten."""
        self._history.end()
        with self.prevent(TextArea.Changed):
            super().set_text(draft)
        self.completion.follow(self.text)
        self._show_hint()
        self.post_message(self.Loaded())

    def put_back(self, draft: str) -> None:
        """What could not be sent returns before what was typed since."""
        self.set_text(f"{draft}\n{self.draft}" if self.text else draft)

    def take_down(self, text: str) -> None:
        """Write at the cursor what was typed or pasted elsewhere but meant for here."""
        self.paste(text)

    def show_state(self, *, sent: tuple[str, ...], has_queue: bool, is_busy: bool) -> None:
        """What was sent in the session, whether something is queued, whether a turn runs."""
        self.sent = sent
        self.has_queue = has_queue
        self.is_busy = is_busy
        self._show_hint()

    def action_send(self, after_turn: bool = False) -> None:
        """Send what is typed, if there is something. It leaves the field here and now: what is
        typed next may come before anyone hears of this. What was typed before something sent
        earlier was recalled comes back."""
        text = _BLANK_START.sub("", self.text).rstrip()
        if text:
            draft, waiting = self.draft, self._history.waiting_draft
            self.set_text(waiting)
            self.post_message(self.Sent(text, after_turn=after_turn, draft=draft))

    def action_newline(self) -> None:
        """Break the line at the cursor."""
        self.replace("\n", *self.selection, maintain_selection_offset=False)

    @override
    def action_cursor_up(self, select: bool = False) -> None:
        """Up; on the first line, what was sent before."""
        if select or not self._is_on_first_row() or not self._recall_older():
            super().action_cursor_up(select)

    @override
    def action_cursor_down(self, select: bool = False) -> None:
        """Down; on the last line of something recalled, what was sent after it."""
        if select or not self._is_on_last_row() or not self._recall_newer():
            super().action_cursor_down(select)

    def edit_outside(self) -> None:
        """Open the text in the person's editor."""
        if not self._is_editing_outside:
            self._is_editing_outside = True
            self.run_worker(self._edit_outside())

    @override
    async def _on_key(self, event: events.Key) -> None:
        self.completion.follow(self.text)
        if self._complete(event.key) or self._act(event.key):
            self.break_run()
            event.stop()
            event.prevent_default()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Tell of changes."""
        event.stop()
        self.completion.follow(self.text)
        self._show_hint()
        self.post_message(self.Typed())

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        """What a key would do may be another thing here."""
        event.stop()
        self._show_hint()

    def _act(self, key: str) -> bool:
        """Keys of the composer that edit nothing; whether it was one."""
        match key:
            case "enter":
                self.action_send()
            case "alt+enter" | "alt+\r":
                self.action_send(after_turn=True)
            case "shift+enter" | "shift+\r" | "ctrl+j":
                self.action_newline()
            case "ctrl+g":
                self.edit_outside()
            case _:
                return False
        return True

    def _complete(self, key: str) -> bool:
        """Keys while commands are offered; whether it was one."""
        command = self.completion.command
        if command is None:
            return False
        match key:
            case "tab":
                self._take(command)
            case "enter" if self.completion.is_moved:
                self._take(command)
                if not command.arguments:
                    self.action_send()
            case "up" | "down":
                self.completion.move(-1 if key == "up" else 1)
                self.post_message(self.Typed())
            case "escape":
                self.completion.close(self.text)
                self.post_message(self.Typed())
            case _:
                return False
        return True

    def _take(self, command: Command) -> None:
        self.replace_text(taken(command))
        self.completion.close(self.text)

    def _recall_older(self) -> bool:
        if self.has_queue and not self.text:
            self.post_message(self.QueueWanted())
            return True
        sent = tuple(map(without_marks, (*self.sent_elsewhere, *self.sent)))
        recalled = self._history.older(self.draft, sent)
        if recalled is None:
            return False
        super().set_text(recalled)
        # on the first row, so that the same key goes on; at its end, so that one can write on
        self.move_cursor((0, len(self.document.get_line(0))))
        while not self._is_on_first_row():
            super().action_cursor_up()
        return True

    def _recall_newer(self) -> bool:
        recalled = self._history.newer(self.draft)
        if recalled is None:
            return False
        super().set_text(recalled)
        return True

    def _is_on_first_row(self) -> bool:
        return self.wrapped_document.location_to_offset(self.cursor_location).y == 0

    def _is_on_last_row(self) -> bool:
        row = self.wrapped_document.location_to_offset(self.cursor_location).y
        return row >= self.wrapped_document.height - 1

    def _show_hint(self) -> None:
        hint = self.chip_hint
        if not hint and self.is_busy and self.text and not self.completion.offered:
            hint = BUSY_HINT if self.size.width >= NARROW else SHORT_BUSY_HINT
        if self.border_title != hint:
            self.border_title = hint

    async def _edit_outside(self) -> None:
        # needs the parts of asyncio that start programs, which the first paint does not
        from tui_agent.ui.composer.external_editor import edit_outside

        before = self.text
        try:
            edited = await edit_outside(self.app, before)
        finally:
            self._is_editing_outside = False
        is_changed = edited.text is not None and edited.text != before.rstrip("\n")
        if edited.text is not None and is_changed and not edited.problem:
            self.take_edited(edited.text)
        elif edited.problem:
            kept = "the draft is as it was"
            if edited.text is not None and is_changed:
                self.keep_killed(edited.text)
                kept += "; Ctrl+Y brings what was written"
            self.notify(f"{edited.problem} · {kept}", severity="error", markup=False)
        self.focus()
