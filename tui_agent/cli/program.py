"""The commands, their arguments and their help.

`tui-agent` without a command is the workspace; its first word is the prompt unless it names a
command. Every function here turns arguments into values and hands them to `compose`.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import click

from tui_agent import __version__
from tui_agent.cli.options import given_from, shared_options
from tui_agent.headless.request import OutputFormat, RunRequest, Unattended
from tui_agent.text import safe_surrogates
from tui_agent.vocabulary.decisions import Choice, Scope
from tui_agent.vocabulary.errors import UsageError, UserError

DEFAULT_COMMAND = "workspace"
_HELP = {"help_option_names": ["-h", "--help"]}
_OUTPUTS = click.Choice([form.value for form in OutputFormat])
_json = click.option("--json", "as_json", is_flag=True, help="For scripts.")
_session_id = click.argument("session_id", metavar="ID")
_output = click.option("--output", type=_OUTPUTS, default="text", help="What is printed.")


class Program(click.Group):
    """A group that takes everything which does not begin with a command for the workspace."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command first, whatever options stand before it."""
        return super().parse_args(ctx, self._with_command_first(ctx, args))

    def _with_command_first(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and (args[0] in self.commands or args[0] in ("-h", "--help", "--version")):
            return args
        workspace = self.commands[DEFAULT_COMMAND]
        options = [item for item in workspace.params if isinstance(item, click.Option)]
        probe = click.Command(DEFAULT_COMMAND, params=list(options), add_help_option=False)
        parser = probe.make_parser(ctx)
        parser.allow_interspersed_args = False
        parser.ignore_unknown_options = True
        _, words, _ = parser.parse_args(list(args))
        before = args[: len(args) - len(words)]
        if words and words[0] in self.commands and "--" not in before:
            return [words[0], *before, *words[1:]]
        if words and "--" not in args:
            self._refuse_mistyped(words[0])
        return [DEFAULT_COMMAND, *args]

    def _refuse_mistyped(self, word: str) -> None:
        """A word that is nearly a command is not sent to a model as a prompt."""
        from difflib import get_close_matches

        names = [name for name in self.commands if name != DEFAULT_COMMAND]
        if near := get_close_matches(word, names, n=1, cutoff=0.8):
            raise UsageError(
                f"there is no command {word!r}: did you mean {near[0]}? "
                f"To send it as a prompt, type tui-agent -- {word}"
            )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options of the default command too: they are the program's own."""
        with formatter.section("Options of the workspace"):
            records = [item.get_help_record(ctx) for item in self.commands[DEFAULT_COMMAND].params]
            formatter.write_dl([record for record in records if record is not None])
        super().format_commands(ctx, formatter)


@click.group(
    cls=Program,
    context_settings=_HELP,
    options_metavar="[OPTIONS]",
    subcommand_metavar="[PROMPT] | COMMAND",
)
@click.version_option(__version__, prog_name="tui-agent")
def program() -> None:
    """Work with LLM agents from a terminal.

    Without a command: the full-screen workspace in the current folder.
    """


@program.command(DEFAULT_COMMAND, hidden=True, context_settings=_HELP)
@click.argument("prompt", required=False)
@shared_options
def workspace(prompt: str | None, **values: Any) -> int:
    """The full-screen workspace."""
    from tui_agent.cli.compose import show_workspace

    given = given_from(values)
    return show_workspace(given, None if prompt is None else safe_surrogates(prompt))


@program.command(context_settings=_HELP)
@click.argument("prompt", required=False)
@shared_options
@_output
@click.option(
    "--unattended",
    type=click.Choice([way.value for way in Unattended]),
    default="pend",
    help="What becomes of a question to a person: it waits, or is answered with no.",
)
@click.option("--no-wait", is_flag=True, help="End with the turn, without background agents.")
def run(prompt: str | None, output: str, unattended: str, no_wait: bool, **values: Any) -> int:
    """Do one prompt without a screen; - reads it from standard input.

    Exit codes: 0 finished, 1 error, 2 usage, 3 waiting for a decision, 4 a limit or a hook stopped
    it, 5 denied, 130 interrupted.
    """
    from tui_agent.cli.compose import run_headless

    given = given_from(values)
    request = RunRequest(
        _prompt(prompt, may_be_missing=given.names_session),
        output=OutputFormat(output),
        unattended=Unattended(unattended),
        wait=not no_wait,
    )
    return run_headless(given, request)


@program.group(context_settings=_HELP)
def sessions() -> None:
    """List, show and change what is kept."""


@sessions.command("list")
@_json
def sessions_list(as_json: bool) -> int:
    """Every session, newest first."""
    from tui_agent.cli.compose import list_headless
    from tui_agent.headless.sessions import list_sessions

    return list_headless(lambda api: list_sessions(api, sys.stdout, as_json=as_json))


@sessions.command("search")
@click.argument("text")
@_json
def sessions_search(text: str, as_json: bool) -> int:
    """The sessions of all folders that hold every word of TEXT, and where."""
    from tui_agent.cli.compose import list_headless
    from tui_agent.headless.sessions import search_sessions

    wanted = safe_surrogates(text)
    if not wanted.strip():
        raise UsageError("there is nothing to search for: give a word")
    return list_headless(lambda api: search_sessions(api, wanted, sys.stdout, as_json=as_json))


@sessions.command("show")
@_session_id
@_json
def sessions_show(session_id: str, as_json: bool) -> int:
    """One session with its history."""
    from tui_agent.headless.sessions import show_session

    return _with_session(
        session_id, lambda api, whole: show_session(api, whole, sys.stdout, as_json=as_json)
    )


@sessions.command("export")
@_session_id
@click.option("--format", "form", type=click.Choice(["md", "json"]), default="md")
def sessions_export(session_id: str, form: Any) -> int:
    """One session as a document on standard output: Markdown, or all of it as JSON."""
    from tui_agent.headless.sessions import export_session

    return _with_session(
        session_id, lambda api, whole: export_session(api, whole, sys.stdout, form=form)
    )


@sessions.command("fork")
@_session_id
def sessions_fork(session_id: str) -> int:
    """Copy a session and print the copy's id."""
    from tui_agent.headless.sessions import fork_session

    return _with_session(session_id, lambda api, whole: fork_session(api, whole, sys.stdout))


@sessions.command("rename")
@_session_id
@click.argument("title")
def sessions_rename(session_id: str, title: str) -> int:
    """Give a session a title."""
    from tui_agent.headless.sessions import rename_session

    named = safe_surrogates(title)
    return _with_session(session_id, lambda api, whole: rename_session(api, whole, named))


@sessions.command("delete")
@click.argument("session_ids", metavar="ID...", nargs=-1, required=True)
def sessions_delete(session_ids: tuple[str, ...]) -> int:
    """Delete sessions with their subagents, at once and for good."""
    from tui_agent.cli.compose import list_headless
    from tui_agent.headless.sessions import delete_sessions

    async def work(workspace: Any) -> int:
        # All must be known before the first is gone.
        whole = [await workspace.resolve_id(session_id) for session_id in session_ids]
        return await delete_sessions(workspace, whole, sys.stdout, sys.stderr)

    return list_headless(work)


@program.group(context_settings=_HELP)
def approvals() -> None:
    """What waits for a person."""


@approvals.command("list")
@_json
def approvals_list(as_json: bool) -> int:
    """Every open item, oldest first."""
    from tui_agent.cli.compose import list_headless
    from tui_agent.headless.listings import list_approvals

    return list_headless(lambda api: list_approvals(api, sys.stdout, as_json=as_json))


@approvals.command("resolve")
@click.argument("pending_id", metavar="PENDING_ID")
@click.argument("choice", type=click.Choice([choice.value for choice in Choice]))
@click.option("--message", metavar="TEXT", help="A comment, or the answer to a question.")
@click.option("--stop", is_flag=True, help="With deny: end the turn, comment or not.")
@click.option("--input", "edited", metavar="JSON", help="The edited input, or the answers.")
@click.option("--scope", type=click.Choice([scope.value for scope in Scope]), default="once")
@_output
def approvals_resolve(
    pending_id: str,
    choice: str,
    *,
    message: str | None,
    stop: bool,
    edited: str | None,
    scope: str,
    output: str,
) -> int:
    """Answer an item; after the last one the turn goes on here, as run does."""
    from tui_agent.cli.compose import resolve_headless
    from tui_agent.headless.decisions import Resolution

    resolution = Resolution(
        pending_id,
        Choice(choice),
        None if message is None else safe_surrogates(message),
        stop,
        edited,
        Scope(scope),
    )
    return resolve_headless(resolution, OutputFormat(output))


@program.command(context_settings=_HELP)
@_json
def models(as_json: bool) -> int:
    """Which models can be picked now."""
    from tui_agent.cli.compose import list_headless
    from tui_agent.headless.listings import list_models

    return list_headless(lambda api: list_models(api, sys.stdout, as_json=as_json))


@program.command(context_settings=_HELP)
@click.option("--database", is_flag=True, help="Look at the database only.")
@_json
def doctor(database: bool, as_json: bool) -> int:
    """What is configured, reachable and missing, and what to type next."""
    from tui_agent.cli.diagnosis import doctor as examine

    return examine(database_only=database, as_json=as_json)


@program.group(context_settings=_HELP)
def permissions() -> None:
    """Permission rules."""


@permissions.command("list")
@_json
def permissions_list(as_json: bool) -> int:
    """What you allowed for longer than once, in every folder."""
    from tui_agent.cli.compose import list_headless
    from tui_agent.headless.listings import list_grants

    return list_headless(lambda api: list_grants(api, sys.stdout, as_json=as_json))


@permissions.command("remove")
@click.argument("grant_ids", metavar="ID...", nargs=-1, required=True, type=click.IntRange(min=1))
def permissions_remove(grant_ids: tuple[int, ...]) -> int:
    """Take back what you allowed; the next such call asks again."""
    from tui_agent.cli.compose import list_headless
    from tui_agent.headless.listings import remove_grants

    return list_headless(lambda api: remove_grants(api, grant_ids, sys.stdout))


@permissions.command("check")
@click.argument("command")
def permissions_check(command: str) -> int:
    """How a shell command would be judged (coming)."""
    raise UserError(f"permissions check is coming and cannot judge {command!r} yet")


def _with_session(session_id: str, work: Callable[[Any, str], Awaitable[int]]) -> int:
    """Do `work` with the session that `session_id`, or the beginning of it, names."""
    from tui_agent.cli.compose import list_headless

    async def found(workspace: Any) -> int:
        return await work(workspace, await workspace.resolve_id(safe_surrogates(session_id)))

    return list_headless(found)


def _prompt(typed: str | None, *, may_be_missing: bool) -> str | None:
    """The prompt as text: typed, or read from standard input. Raises `UsageError`."""
    if typed is None and may_be_missing:
        return None
    if typed is None and sys.stdin.isatty():
        raise UsageError("there is no prompt: give one, or - to read it from standard input")
    text = _standard_input() if typed in (None, "-") else safe_surrogates(typed or "")
    if not text.strip():
        raise UsageError("the prompt is empty: say what is to be done")
    return text


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError("standard input is not UTF-8 text: convert it first") from error
