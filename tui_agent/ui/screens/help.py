"""The help screen, made from the table of commands."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from tui_agent.ui.commands import COMMANDS, COMPOSER_KEYS, DIALOG_KEYS, key_words
from tui_agent.ui.dialogs.sizes import ROOMY
from tui_agent.ui.lines import Line, Piece, Tone, line, note
from tui_agent.ui.marks import Mark, Marks
from tui_agent.ui.screens.closing import ClosesOnce
from tui_agent.ui.widgets.keys_bar import KeysBar
from tui_agent.ui.widgets.line_bar import LineBar
from tui_agent.ui.widgets.pager import Pager

_MARK_WORDS = {
    Mark.RUNNING: "running",
    Mark.WAITING: "waits for you",
    Mark.DONE: "done",
    Mark.FAILED: "failed",
    Mark.DENIED: "denied, not run",
    Mark.UNKNOWN: "unknown outcome",
    Mark.QUEUED: "planned or queued",
    Mark.IDLE: "idle",
}


def help_lines(marks: Marks, width: int = 80) -> list[Line]:
    """Keys, slash commands, the keys of composer and dialogs, the marks. In columns where there is
    room for them, else one below the other."""
    is_wide = width >= 70
    lines = [_title("Commands")]
    for command in COMMANDS:
        keys = ", ".join(key_words(key) for key in command.keys)
        slash = f"/{command.slash} {command.arguments}".rstrip() if command.slash else ""
        lines.extend(_command(keys, slash, command.title, is_wide=is_wide))
    lines.extend([line(), _title("Composer")])
    for keys, does in COMPOSER_KEYS:
        lines.extend(_key(keys, does, is_wide=is_wide))
    lines.extend([line(), _title("Approval")])
    for keys, does in DIALOG_KEYS:
        lines.extend(_key(keys, does, is_wide=is_wide))
    lines.extend([line(), _title("Marks")])
    for mark, words in _MARK_WORDS.items():
        lines.append(line(" ", marks.piece(mark), f"  {words}"))
    lines.extend([line(), _title("Lamps")])
    lines.append(note(" provider: the model's response · turn: the work on your message"))
    lines.append(note(" session: everything, agents in the background included"))
    return lines


class HelpScreen(ModalScreen[None], ClosesOnce[None]):
    """Shows the help; Esc closes it."""

    def __init__(self, marks: Marks) -> None:
        super().__init__()
        self._marks = marks

    def compose(self) -> ComposeResult:
        """Title, text, keys."""
        with Vertical(id="dialog", classes="wide tall"):
            yield LineBar(line(Piece("Help", Tone.STRONG)), id="dialog-head")
            yield Pager(help_lines(self._marks, self.app.size.width), id="dialog-body")
            yield KeysBar(("Ctrl+P", "searches commands"), ("Esc", "closes"), id="dialog-choices")

    def on_mount(self) -> None:
        """Ready to scroll."""
        self.query_one(Pager).focus()

    def on_resize(self) -> None:
        """Without blank lines where the screen is low."""
        self.query_one("#dialog").set_class(self.app.size.height < ROOMY, "tight")

    def on_key(self, event: events.Key) -> None:
        """Esc, F1 and q close."""
        if event.key in ("escape", "f1", "q"):
            event.stop()
            _ = self.dismiss(None)


def _title(text: str) -> Line:
    return line(Piece(text, Tone.STRONG))


def _key(keys: str, does: str, *, is_wide: bool) -> list[Line]:
    if is_wide:
        return [line(Piece(f" {keys:<24}", Tone.ACCENT), Piece(f" {does}"))]
    return [line(Piece(f" {keys}", Tone.ACCENT)), line(f"   {does}")]


def _command(keys: str, slash: str, does: str, *, is_wide: bool) -> list[Line]:
    if is_wide:
        return [line(Piece(f" {keys:<10}", Tone.ACCENT), f" {slash:<18}", Piece(f" {does}"))]
    names = [name for name in (keys, slash) if name]
    return [line(Piece(f" {'  '.join(names)}", Tone.ACCENT)), line(f"   {does}")]
