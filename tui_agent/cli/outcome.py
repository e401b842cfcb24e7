"""What a command ends in: one line and an exit code, never a traceback.

Everything a person can mend comes as `UserError` or as click's own error and becomes one line on
standard error. What is our fault is kept in the log, and the line says where.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final

import click

from tui_agent.headless.exits import ExitCode, exit_code_for
from tui_agent.vocabulary.errors import UserError

PROGRAM: Final = "tui-agent"
BROKEN_PIPE: Final = 128 + signal.SIGPIPE
LONGEST_LINE: Final = 1_000
"""Cells of a refusal."""

_log = logging.getLogger(__name__)


def exit_code_of_command(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    _write_what_the_terminal_can_show()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone, as `head` does. Python would complain once more when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return code


def _run(arguments: Sequence[str]) -> int:
    from tui_agent.cli.program import program

    try:
        # Not `program.main`: it takes a broken pipe for itself.
        with program.make_context(PROGRAM, list(arguments)) as context:
            result = program.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return ExitCode.USAGE
    except click.ClickException as error:
        return _refused(_with_help(error), ExitCode.USAGE)
    except UserError as error:
        return _refused(str(error), exit_code_for(error))
    except (KeyboardInterrupt, click.Abort):
        return _refused("interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the last place: a person gets a line, the log the rest
        _log.exception("the command failed")
        where = _log_file()
        kept = f"; details are in {where}" if where else ""
        return _refused(f"internal error: {type(error).__name__}: {error}{kept}", ExitCode.ERROR)
    return int(result or 0)


def _refused(text: str, code: int) -> int:
    from tui_agent.text import exact, truncate

    # Somebody may have typed a page into the argument that is refused.
    line = truncate(exact(" ".join(text.split())), LONGEST_LINE, keep="middle")
    sys.stderr.write(f"{PROGRAM}: {line}\n")
    return code


def _with_help(error: click.ClickException) -> str:
    message = error.format_message().rstrip(".")
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{message}: see {error.ctx.command_path} --help"
    return message


def _log_file() -> str | None:
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.FileHandler):
            return handler.baseFilename
    return None


def _write_what_the_terminal_can_show() -> None:
    """A character that the locale lacks is written as an escape, not answered with a traceback."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
