"""The one table of commands.

Key bindings, the hints at the foot, the command palette, completion of `/` and the help
screen are all made from it: a command is described once. A command acts on the desk; what that does
is not known here. Pure data: no Textual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_agent.ui.desk.desk import Desk


class When(StrEnum):
    """When a command may run."""

    IDLE = "idle"
    RUNNING = "running"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `slash` is its name after `/`, empty without one; `arguments` hints at what may
    follow it. `hint` is its short name in the footer, empty when it is not shown there."""

    id: str
    title: str
    handler: Callable[[Desk, str], None]
    keys: tuple[str, ...] = ()
    slash: str = ""
    arguments: str = ""
    when: When = When.ALWAYS
    hint: str = ""

    def may_run(self, *, is_running: bool) -> bool:
        """Whether the command makes sense now."""
        match self.when:
            case When.ALWAYS:
                return True
            case When.RUNNING:
                return is_running
            case When.IDLE:
                return not is_running


COMMANDS: tuple[Command, ...] = (
    Command(
        "help", "Help: keys and commands", lambda desk, _: desk.pages.show_help(), ("f1",), "help"
    ),
    Command(
        "inbox",
        "Inbox: every open approval and question",
        lambda desk, _: desk.pages.show_inbox(),
        ("f2",),
        "inbox",
        hint="inbox",
    ),
    Command("sessions", "Go to the sessions", lambda desk, _: desk.go_to_sessions(), ("f3",)),
    Command(
        "switch",
        "Switch to another session",
        lambda desk, _: desk.sessions.show_switcher(),
        ("ctrl+o",),
        "sessions",
        hint="sessions",
    ),
    Command("activity", "Go to the activity", lambda desk, _: desk.go_to_activity(), ("f4",)),
    Command("agents", "Go to the agents", lambda desk, _: desk.go_to_agents(), ("f5",)),
    Command("next-pane", "Next pane", lambda desk, _: desk.next_pane(), ("f6",)),
    Command("composer", "Go to the composer", lambda desk, _: desk.go_to_composer(), ("f7",)),
    Command(
        "new",
        "New session",
        lambda desk, _: desk.sessions.new(),
        ("ctrl+n",),
        "new",
        hint="new",
    ),
    Command("fork", "Fork the session", lambda desk, _: desk.sessions.fork(), (), "fork"),
    Command(
        "rename",
        "Rename the session",
        lambda desk, text: desk.sessions.rename(text),
        (),
        "rename",
        "TITLE",
    ),
    Command(
        "delete",
        "Delete the session",
        lambda desk, _: desk.sessions.delete(),
        (),
        "delete",
        "",
        When.IDLE,
    ),
    Command(
        "resume",
        "Go on with what is open or queued",
        lambda desk, _: desk.turns.resume(),
        ("ctrl+r",),
        "resume",
        "",
        When.IDLE,
    ),
    Command(
        "discard",
        "Close the open calls without running them",
        lambda desk, _: desk.turns.discard_open(),
        (),
        "discard",
    ),
    Command(
        "interrupt",
        "Interrupt the turn",
        lambda desk, _: desk.turns.interrupt(),
        ("escape",),
        "",
        "",
        When.RUNNING,
    ),
    Command(
        "copy-or-leave",
        "Copy, interrupt, clear the draft, or quit",
        lambda desk, _: desk.copy_or_leave(),
        ("ctrl+c",),
    ),
    Command(
        "cycle-mode",
        "Next permission mode",
        lambda desk, _: desk.choices.cycle_mode(),
        ("shift+tab",),
        hint="mode",
    ),
    Command(
        "mode",
        "Set the permission mode",
        lambda desk, text: desk.choices.set_mode(text),
        (),
        "mode",
        "[MODE]",
    ),
    Command(
        "model",
        "Choose the model",
        lambda desk, text: desk.choices.pick_model(text),
        (),
        "model",
        "[NAME]",
    ),
    Command(
        "compact",
        "Summarise older messages",
        lambda desk, text: desk.turns.compact(text),
        (),
        "compact",
        "[FOCUS]",
    ),
    Command(
        "queue",
        "Queued messages: edit, move, remove",
        lambda desk, _: desk.queue.show(),
        ("ctrl+q",),
        "queue",
    ),
    Command(
        "retry",
        "Try the failed model call again now",
        lambda desk, _: desk.turns.retry_now(),
        ("f9",),
        "retry",
        "",
        When.RUNNING,
    ),
    Command("todo", "The model's todo list", lambda desk, _: desk.overviews.todo(), (), "todo"),
    Command(
        "request",
        "Look into the next request and the last ones",
        lambda desk, _: desk.overviews.requests(),
        (),
        "request",
    ),
    Command(
        "permissions",
        "Standing permissions: see them, take them back",
        lambda desk, _: desk.overviews.permissions(),
        (),
        "permissions",
    ),
    Command("theme", "Dark or light", lambda desk, _: desk.switch_theme(), (), "theme"),
    Command(
        "doctor",
        "Check keys, servers, folders and the database",
        lambda desk, _: desk.pages.run_doctor(),
        (),
        "doctor",
    ),
    Command("quit", "Quit; what is open stays open", lambda desk, _: desk.quit_app(), (), "quit"),
)

BY_ID = {command.id: command for command in COMMANDS}
BY_SLASH = {command.slash: command for command in COMMANDS if command.slash}

COMPOSER_KEYS: tuple[tuple[str, str], ...] = (
    ("Enter", "send; while a turn runs, queue for its next step"),
    ("Alt+Enter", "queue for after the turn"),
    ("Shift+Enter, Ctrl+J", "new line"),
    ("Up on the first line", "take back what is queued, else recall what was sent and begins so"),
    ("Down on the last line", "go back towards what was typed"),
    ("/ then Up, Down, Tab", "choose a command and complete it; Esc closes the list"),
    ("Ctrl+T", "open or fold a long paste"),
    ("Ctrl+G", "write in the editor of VISUAL or EDITOR"),
    ("Ctrl+W, Ctrl+U, Ctrl+K", "kill the word, to the start, to the end of the line"),
    ("Ctrl+Y, then Alt+Y", "put back what was killed, then what was killed before it"),
    ("Ctrl+Z, then Ctrl+Y", "undo, then redo"),
    ("Alt+B, Alt+F, Alt+D", "word left, word right, kill the word to the right"),
)
"""Keys of the composer for the help screen; they edit text and are no commands."""

DIALOG_KEYS: tuple[tuple[str, str], ...] = (
    ("y", "allow this call once"),
    ("s", "allow the like for this session"),
    ("a", "always allow, by the rule that is shown"),
    ("e", "edit the input first"),
    ("n", "deny; the turn stops"),
    ("c", "deny and say why; the turn goes on"),
    ("Esc", "close; it stays in the inbox"),
)
"""Keys of the approval dialog for the help screen."""

_KEY_WORDS = {
    "escape": "Esc",
    "enter": "Enter",
    "tab": "Tab",
    "up": "Up",
    "down": "Down",
    "ctrl": "Ctrl",
    "shift": "Shift",
    "alt": "Alt",
}


def key_words(key: str) -> str:
    """A key as people write it: `Ctrl+O`, `F2`."""
    return "+".join(_KEY_WORDS.get(part, part.upper()) for part in key.split("+"))


def parse_slash(text: str) -> tuple[Command, str] | None:
    """The command that a composer text names, and what follows it; `None` when it names none."""
    if not text.startswith("/") or "\n" in text.strip():
        return None
    name, _, rest = text[1:].strip().partition(" ")
    command = BY_SLASH.get(name)
    return None if command is None else (command, rest.strip())


def mistyped(text: str) -> str | None:
    """The name in a text that can only be meant as a command and is none: one word behind a slash,
    without a further slash as a path would have."""
    name = text[1:].strip()
    is_word = text.startswith("/") and name.replace("-", "").isalpha()
    return name if is_word and name not in BY_SLASH else None


def completions(text: str) -> tuple[Command, ...]:
    """The commands whose slash name begins as `text` does; none when it is no command name."""
    if not text.startswith("/") or any(blank in text for blank in " \n\t"):
        return ()
    return tuple(command for name, command in sorted(BY_SLASH.items()) if name.startswith(text[1:]))
