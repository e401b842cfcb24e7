"""The options that `tui-agent` and `tui-agent run` share, as click options and as one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from tui_agent.settings import LoadedSettings, Overrides
from tui_agent.text import safe_surrogates
from tui_agent.vocabulary.agents import Limits
from tui_agent.vocabulary.errors import UsageError, UserError
from tui_agent.vocabulary.rules import Rules
from tui_agent.vocabulary.states import Mode
from tui_agent.workspace.api import SessionOptions

F = TypeVar("F", bound=Callable[..., Any])

POSITIVE: Final = click.IntRange(min=1)
# Read by us, so that every problem is one line of the same form.
_NAME: Final = click.STRING


@dataclass(frozen=True, slots=True)
class Given:
    """What was typed, checked for what can be checked without a workspace."""

    model: Overrides
    agent: str | None
    mode: Mode | None
    is_continue: bool
    resume: str | None
    fork: str | None
    folder: Path | None
    extra_folders: tuple[str, ...]
    rules: Rules
    max_turns: int | None
    max_session_tokens: int | None
    system_prompt: str | None
    append_system_prompt: str | None

    @property
    def names_session(self) -> bool:
        """Whether an existing session is meant."""
        return self.is_continue or self.resume is not None or self.fork is not None

    def session_options(self, loaded: LoadedSettings, usual_max_turns: int) -> SessionOptions:
        """A new session as typed; what was not typed is as the settings say."""
        limits = loaded.settings.limits
        return SessionOptions(
            mode=self.mode,
            agent=self.agent or "main",
            extra_folders=self.extra_folders,
            system_prompt=self.system_prompt,
            append_system_prompt=self.append_system_prompt,
            limits=Limits(
                self.max_turns or limits.max_turns or usual_max_turns,
                self.max_session_tokens or limits.max_session_tokens,
                limits.repeat_limit,
            ),
            rules=self.rules,
        )


_SHARED: Final = (
    click.option("--provider", metavar="NAME", help="Whose model answers."),
    click.option("--model", metavar="ID", help="Which model answers."),
    click.option("--base-url", metavar="URL", help="Address of the model's API."),
    click.option("--agent", metavar="NAME", help="Which agent works."),
    click.option(
        "--mode",
        type=click.Choice([mode.value for mode in Mode]),
        help="How much runs without asking.",
    ),
    click.option(
        "--continue", "is_continue", is_flag=True, help="Go on with this folder's last session."
    ),
    click.option("--resume", metavar="ID", help="Go on with a session."),
    click.option("--fork", metavar="ID", help="Go on in a copy of a session."),
    click.option("--cwd", metavar="DIR", help="Work in this folder."),
    click.option("--add-dir", metavar="DIR", multiple=True, help="A folder to work in as well."),
    click.option("--allow", metavar="RULE", multiple=True, help="Runs without asking."),
    click.option("--ask", metavar="RULE", multiple=True, help="Asks, whatever the mode."),
    click.option("--deny", metavar="RULE", multiple=True, help="Never runs."),
    click.option("--max-turns", metavar="N", type=POSITIVE, help="Most model responses."),
    click.option("--max-session-tokens", metavar="N", type=POSITIVE, help="Most tokens."),
    click.option("--system-prompt", metavar="TEXT", help="Instead of our system prompt."),
    click.option("--system-prompt-file", metavar="FILE", help="The same, from a file."),
    click.option("--append-system-prompt", metavar="TEXT", help="After our system prompt."),
    click.option("--append-system-prompt-file", metavar="FILE", help="The same, from a file."),
    click.option("--agents", metavar="JSON", help="More agents (coming)."),
)


def shared_options(command: F) -> F:
    """Adds the options that both surfaces take; the command gets them as keywords."""
    for option in reversed(_SHARED):
        command = option(command)
    return command


def given_from(values: dict[str, Any]) -> Given:
    """The typed options as one value. Raises `UsageError`."""
    if values["agents"] is not None:
        raise UsageError("--agents is coming and not available yet: leave it out")
    sessions = [name for name in ("resume", "fork") if values[name] is not None]
    if values["is_continue"]:
        sessions.insert(0, "continue")
    if len(sessions) > 1:
        raise UsageError(f"--{sessions[0]} and --{sessions[1]} exclude each other: give one")
    mode = Mode(values["mode"]) if values["mode"] else None
    if mode is Mode.AUTO:
        raise UsageError("--mode auto is coming: use ask, accept-edits or plan")
    given = Given(
        model=Overrides(*(_said(values[name]) for name in ("provider", "model", "base_url"))),
        agent=values["agent"],
        mode=mode,
        is_continue=values["is_continue"],
        resume=values["resume"],
        fork=values["fork"],
        folder=None if values["cwd"] is None else existing_folder(values["cwd"], "--cwd"),
        extra_folders=tuple(str(existing_folder(name, "--add-dir")) for name in values["add_dir"]),
        rules=_rules(values),
        max_turns=values["max_turns"],
        max_session_tokens=values["max_session_tokens"],
        system_prompt=_text_or_file(values, "system_prompt"),
        append_system_prompt=_text_or_file(values, "append_system_prompt"),
    )
    if given.names_session:
        _refuse_what_a_session_keeps(values)
    return given


def _rules(values: dict[str, Any]) -> Rules:
    """The permission rules as typed, each of them one that can be read. Raises `UsageError`."""
    kinds = ("allow", "ask", "deny")
    if any(values[kind] for kind in kinds):
        from tui_agent.rules.syntax import parse_rule

        for kind in kinds:
            for rule in values[kind]:
                try:
                    parse_rule(rule)
                except UserError as error:
                    raise UsageError(f"--{kind}: {error}") from error
    return Rules(*(values[kind] for kind in kinds))


def existing_folder(name: str, flag: str) -> Path:
    """The real path of a folder. Raises `UsageError`."""
    path = Path(name).expanduser()
    if not path.is_dir():
        raise UsageError(f"{flag}: {name!r} is not a folder: name one that exists")
    return path.resolve()


def _said(value: str | None) -> str | None:
    return (value or "").strip() or None


def _text_or_file(values: dict[str, Any], name: str) -> str | None:
    text, file = values[name], values[f"{name}_file"]
    flag = f"--{name.replace('_', '-')}"
    if file is None:
        return None if text is None else safe_surrogates(text)
    if text is not None:
        raise UsageError(f"{flag} and {flag}-file exclude each other: give one")
    try:
        return Path(file).expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UsageError(f"{flag}-file: {file!r} cannot be read: {reason}") from error


def _refuse_what_a_session_keeps(values: dict[str, Any]) -> None:
    """A session goes on with what it was begun with; only model and mode can be changed."""
    kept = (
        *("agent", "add_dir", "allow", "ask", "deny", "max_turns", "max_session_tokens"),
        *("system_prompt", "system_prompt_file"),
        *("append_system_prompt", "append_system_prompt_file"),
    )
    for name in kept:
        if values[name]:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} counts for a new session only: this one keeps what it has")
