"""Exit codes, and which end of a turn means which."""

from __future__ import annotations

from enum import IntEnum
from typing import assert_never

from tui_agent.vocabulary.errors import NotFoundError, UsageError, UserError
from tui_agent.vocabulary.states import DoneReason


class ExitCode(IntEnum):
    """What the command says to the script that called it. A signal is 128 and its number."""

    FINISHED = 0
    ERROR = 1
    USAGE = 2
    WAITING = 3
    LIMIT = 4
    DENIED = 5
    INTERRUPTED = 130


def exit_code_of(reason: DoneReason) -> ExitCode:
    """How a run whose turn ended for `reason` exits."""
    match reason:
        case DoneReason.MODEL_STOP:
            return ExitCode.FINISHED
        case DoneReason.ERROR:
            return ExitCode.ERROR
        case DoneReason.PENDING_APPROVAL | DoneReason.PENDING_QUESTION:
            return ExitCode.WAITING
        case (
            DoneReason.MAX_TURNS
            | DoneReason.BUDGET_EXCEEDED
            | DoneReason.LOOP_DETECTED
            | DoneReason.HOOK_STOPPED
        ):
            return ExitCode.LIMIT
        case DoneReason.DENIED:
            return ExitCode.DENIED
        case DoneReason.USER_ABORT:
            return ExitCode.INTERRUPTED
        case _:
            assert_never(reason)


def exit_code_for(error: UserError) -> ExitCode:
    """How a command that could not be done exits: 2 when other words would help."""
    return ExitCode.USAGE if isinstance(error, UsageError | NotFoundError) else ExitCode.ERROR
