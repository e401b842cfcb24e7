"""The one table of commands.

Key bindings, the hints at the foot, the command palette, completion of `/` and the help
screen are all made from it: a command is described once. A command acts on a
`CommandTarget`; what that does is not known here. Pure data: no Textual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class When(StrEnum):
    """When a command may run."""

    IDLE = "idle"
    RUNNING = "running"
    ALWAYS = "always"


class CommandTarget(Protocol):
    """What commands act on: the operations of the workspace screen."""

    def show_help(self) -> None:
        """Open the help screen."""
        ...

    def show_inbox(self) -> None:
        """Open the inbox."""
        ...

    def go_to_sessions(self) -> None:
        """Focus the sessions pane, or open the switcher where it is hidden."""
        ...

    def show_switcher(self) -> None:
        """Open the session switcher."""
        ...

    def go_to_activity(self) -> None:
        """Focus the activity pane."""
        ...

    def go_to_agents(self) -> None:
        """Focus the agents pane."""
        ...

    def next_pane(self) -> None:
        """Focus the next pane, or show it where only one fits."""
        ...

    def go_to_composer(self) -> None:
        """Focus the composer."""
        ...

    def new_session(self) -> None:
        """Begin a new session."""
        ...

    def fork_session(self) -> None:
        """Fork the shown session."""
        ...

    def rename_session(self, title: str) -> None:
        """Rename the shown session; without a title, ask for one."""
        ...

    def delete_session(self) -> None:
        """Delete the shown session, after asking."""
        ...

    def resume(self) -> None:
        """Go on with what is open, cut or queued."""
        ...

    def discard_open(self) -> None:
        """Close the open batch without running it."""
        ...

    def interrupt(self) -> None:
        """End the foreground turn."""
        ...

    def copy_or_leave(self) -> None:
        """Copy, else interrupt, else clear the draft, else ask to press again to quit."""
        ...

    def cycle_mode(self) -> None:
        """The next permission mode."""
        ...

    def set_mode(self, name: str) -> None:
        """The permission mode of that name; without one, the next."""
        ...

    def pick_model(self, name: str) -> None:
        """Choose the model; without a name, from a list."""
        ...

    def compact(self, focus: str) -> None:
        """Summarise older messages."""
        ...

    def edit_queue(self) -> None:
        """Edit what is queued."""
        ...

    def switch_theme(self) -> None:
        """Dark to light and back."""
        ...

    def run_doctor(self) -> None:
        """Check keys, servers, folders and the database."""
        ...

    def quit_app(self) -> None:
        """Leave; what is open stays open."""
        ...


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `slash` is its name after `/`, empty without one; `arguments` hints at what may
    follow it. `hint` is its short name in the footer, empty when it is not shown there."""

    id: str
    title: str
    handler: Callable[[CommandTarget, str], None]
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
    Command("help", "Help: keys and commands", lambda t, _: t.show_help(), ("f1",), "help"),
    Command(
        "inbox",
        "Inbox: every open approval and question",
        lambda t, _: t.show_inbox(),
        ("f2",),
        "inbox",
        hint="inbox",
    ),
    Command("sessions", "Go to the sessions", lambda t, _: t.go_to_sessions(), ("f3",)),
    Command(
        "switch",
        "Switch to another session",
        lambda t, _: t.show_switcher(),
        ("ctrl+o",),
        "sessions",
        hint="sessions",
    ),
    Command("activity", "Go to the activity", lambda t, _: t.go_to_activity(), ("f4",)),
    Command("agents", "Go to the agents", lambda t, _: t.go_to_agents(), ("f5",)),
    Command("next-pane", "Next pane", lambda t, _: t.next_pane(), ("f6",)),
    Command("composer", "Go to the composer", lambda t, _: t.go_to_composer(), ("f7",)),
    Command(
        "new",
        "New session",
        lambda t, _: t.new_session(),
        ("ctrl+n",),
        "new",
        hint="new",
    ),
    Command("fork", "Fork the session", lambda t, _: t.fork_session(), (), "fork"),
    Command(
        "rename",
        "Rename the session",
        lambda t, text: t.rename_session(text),
        (),
        "rename",
        "TITLE",
    ),
    Command(
        "delete", "Delete the session", lambda t, _: t.delete_session(), (), "delete", "", When.IDLE
    ),
    Command(
        "resume",
        "Go on with what is open or queued",
        lambda t, _: t.resume(),
        ("ctrl+r",),
        "resume",
        "",
        When.IDLE,
    ),
    Command(
        "discard",
        "Close the open calls without running them",
        lambda t, _: t.discard_open(),
        (),
        "discard",
    ),
    Command(
        "interrupt",
        "Interrupt the turn",
        lambda t, _: t.interrupt(),
        ("escape",),
        "",
        "",
        When.RUNNING,
    ),
    Command(
        "copy-or-leave",
        "Copy, interrupt, clear the draft, or quit",
        lambda t, _: t.copy_or_leave(),
        ("ctrl+c",),
    ),
    Command(
        "cycle-mode",
        "Next permission mode",
        lambda t, _: t.cycle_mode(),
        ("shift+tab",),
        hint="mode",
    ),
    Command(
        "mode",
        "Set the permission mode",
        lambda t, text: t.set_mode(text),
        (),
        "mode",
        "MODE",
    ),
    Command("model", "Choose the model", lambda t, text: t.pick_model(text), (), "model", "[NAME]"),
    Command(
        "compact",
        "Summarise older messages",
        lambda t, text: t.compact(text),
        (),
        "compact",
        "[FOCUS]",
    ),
    Command("queue", "Edit the queued messages", lambda t, _: t.edit_queue(), ("ctrl+q",), "queue"),
    Command("theme", "Dark or light", lambda t, _: t.switch_theme(), (), "theme"),
    Command(
        "doctor",
        "Check keys, servers, folders and the database",
        lambda t, _: t.run_doctor(),
        (),
        "doctor",
    ),
    Command("quit", "Quit; what is open stays open", lambda t, _: t.quit_app(), (), "quit"),
)

BY_ID = {command.id: command for command in COMMANDS}
BY_SLASH = {command.slash: command for command in COMMANDS if command.slash}

COMPOSER_KEYS: tuple[tuple[str, str], ...] = (
    ("Enter", "send; while a turn runs, queue for its next step"),
    ("Alt+Enter", "queue for after the turn"),
    ("Shift+Enter, Ctrl+J", "new line"),
    ("Up on the first line", "recall what was sent"),
    ("/ then Tab", "complete a command"),
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
