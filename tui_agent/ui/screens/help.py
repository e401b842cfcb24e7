"""The help screen, made from the table of commands."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from tui_agent.ui.commands import COMMANDS, COMPOSER_KEYS, DIALOG_KEYS, key_words
from tui_agent.ui.lines import Line, Piece, Tone, keys_line, line, note
from tui_agent.ui.marks import Mark, Marks
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


def help_lines(marks: Marks) -> list[Line]:
    """Keys, slash commands, the keys of composer and dialogs, the marks."""
    lines = [_title("Commands")]
    for command in COMMANDS:
        keys = ", ".join(key_words(key) for key in command.keys)
        slash = f"/{command.slash} {command.arguments}".rstrip() if command.slash else ""
        lines.append(_two(keys, slash, command.title))
    lines.extend([line(), _title("Composer")])
    lines.extend(_one(keys, does) for keys, does in COMPOSER_KEYS)
    lines.extend([line(), _title("Approval")])
    lines.extend(_one(keys, does) for keys, does in DIALOG_KEYS)
    lines.extend([line(), _title("Marks")])
    for mark, words in _MARK_WORDS.items():
        lines.append(line(" ", marks.piece(mark), f"  {words}"))
    lines.extend([line(), _title("Lamps")])
    lines.append(note(" provider: the model's response · turn: the work on your message"))
    lines.append(note(" session: everything, agents in the background included"))
    return lines


class HelpScreen(ModalScreen[None]):
    """Shows the help; Esc closes it."""

    def __init__(self, marks: Marks) -> None:
        super().__init__()
        self._marks = marks

    def compose(self) -> ComposeResult:
        """Title, text, keys."""
        with Vertical(id="dialog", classes="wide tall"):
            yield LineBar(line(Piece("Help", Tone.STRONG)), id="dialog-head")
            yield Pager(help_lines(self._marks), id="dialog-body")
            yield LineBar(
                keys_line(("Ctrl+P", "searches commands"), ("Esc", "closes")), id="dialog-choices"
            )

    def on_mount(self) -> None:
        """Ready to scroll."""
        self.query_one(Pager).focus()

    def on_key(self, event: events.Key) -> None:
        """Esc, F1 and q close."""
        if event.key in ("escape", "f1", "q"):
            event.stop()
            _ = self.dismiss(None)


def _title(text: str) -> Line:
    return line(Piece(text, Tone.STRONG))


def _one(keys: str, does: str) -> Line:
    return line(Piece(f" {keys:<24}", Tone.ACCENT), Piece(f" {does}"))


def _two(keys: str, slash: str, does: str) -> Line:
    return line(
        Piece(f" {keys:<10}", Tone.ACCENT), Piece(f" {slash:<18}", Tone.TEXT), Piece(f" {does}")
    )
