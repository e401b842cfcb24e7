"""Where a person types: grows to a third of the screen, sends, queues, recalls, completes.

It knows no session: it tells what was typed and is told what to show. Drafts are kept by whoever
listens to `Changed`.
"""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from tui_agent.text import prose
from tui_agent.ui.commands import completions

PLACEHOLDER = "Ask for a change, or type / for commands"
SHORT_PLACEHOLDER = "Type here; / for commands"


class Composer(TextArea):
    """The input at the bottom of the workspace."""

    # Enter is taken in `_on_key`. As a priority binding it would overtake the letters before it:
    # over a slow line they arrive together, and the prompt would go without its end.
    class Sent(Message):
        """The person sends `text`."""

        def __init__(self, text: str, *, after_turn: bool) -> None:
            super().__init__()
            self.text = text
            self.after_turn = after_turn

    class Typed(Message):
        """A key changed the text; what counts for the typing pause and the draft."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(
            id=id,
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            compact=True,
            placeholder=PLACEHOLDER,
        )
        self.sent: tuple[str, ...] = ()
        """What was sent in this session, oldest first."""
        self._recalled: int | None = None
        self._kept = ""
        self._setting = False

    def set_text(self, text: str) -> None:
        """Show `text` with the cursor at its end."""
        self._setting = True
        self.load_text(prose(text))
        self.move_cursor(self.document.end)
        self._recalled = None

    def action_send(self, after_turn: bool = False) -> None:
        """Send what is typed, if there is something. It leaves the field here and now: what is
        typed next may come before anyone hears of this."""
        text = self.text.strip()
        if text:
            self.set_text("")
            self.post_message(self.Sent(text, after_turn=after_turn))

    def action_newline(self) -> None:
        """Break the line at the cursor."""
        self.insert("\n")

    def action_cursor_up(self, select: bool = False) -> None:
        """Up; on the first line, what was sent before."""
        if select or self.cursor_location[0] > 0 or not self._recall(-1):
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down; on the last line of something recalled, what was sent after it."""
        is_last = self.cursor_location[0] == self.document.line_count - 1
        if select or not is_last or not self._recall(1):
            super().action_cursor_down(select)

    async def _on_key(self, event: events.Key) -> None:
        # As keys and not as bindings, which would overtake the letters typed before them.
        if event.key in ("enter", "alt+enter"):
            event.stop()
            event.prevent_default()
            self.action_send(after_turn=event.key == "alt+enter")
            return
        if event.key in ("shift+enter", "ctrl+j"):
            event.stop()
            event.prevent_default()
            self.action_newline()
            return
        if event.key == "tab":
            found = completions(self.text)
            if found:
                event.stop()
                event.prevent_default()
                self.set_text(f"/{found[0].slash} " if found[0].arguments else f"/{found[0].slash}")
                return
        await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        """What is pasted may come from anywhere: controls are left out before it is drawn. In a
        paste a carriage return ends a line; in output it would overwrite one."""
        event.stop()
        event.prevent_default()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        await super()._on_paste(events.Paste(prose(text)))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Tell of changes by the person only."""
        event.stop()
        if self._setting:
            self._setting = False
        else:
            self._recalled = None
        self.post_message(self.Typed())

    def _recall(self, step: int) -> bool:
        if self._recalled is None:
            if step > 0 or not self.sent:
                return False
            self._kept = self.text
            at = len(self.sent) - 1
        else:
            at = self._recalled + step
        if at < 0:
            return True
        text = self._kept if at >= len(self.sent) else self.sent[at]
        self.set_text(text)
        self.move_cursor((0, 0) if step < 0 else self.document.end)
        self._recalled = at if at < len(self.sent) else None
        return True
