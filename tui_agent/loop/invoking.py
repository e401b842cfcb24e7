"""One run of a tool: its result, its failure as a result, its interruption as a result."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from tui_agent.loop.review import CheckedCall, context_for
from tui_agent.loop.turn import Turn
from tui_agent.tools.base import ChildPaused, ToolError, ToolInterrupted
from tui_agent.tools.ledger import ReadLedger
from tui_agent.vocabulary.blocks import Outcome, TextBlock, ToolResult
from tui_agent.vocabulary.events import ToolProgress
from tui_agent.vocabulary.records import ToolRun

log = logging.getLogger(__name__)

INTERRUPTED = ToolResult(
    (TextBlock("Interrupted: the call was stopped before it had ended."),),
    outcome=Outcome.INTERRUPTED,
)


async def invoke(
    turn: Turn, run: ToolRun, checked: CheckedCall, ledger: ReadLedger | None = None
) -> ToolResult:
    """Run the tool. `ledger` takes what it reads in place of the turn's. Cancelled, it still
    returns what the call had done. Raises `ChildPaused`."""

    def progress(text: str, total: int) -> None:
        turn.emit(ToolProgress(tool_use_id=run.tool_use_id, text=text, total_bytes=total))

    context = replace(context_for(turn, run), progress=progress, judged=checked.effects)
    if ledger is not None:
        context = replace(context, ledger=ledger)
    try:
        async with turn.services.locks.hold(checked.effects):
            return await checked.tool.run(checked.args, context)
    except ToolError as error:
        return error_result(error)
    except ToolInterrupted as interrupted:
        return replace(interrupted.result, outcome=Outcome.INTERRUPTED)
    except asyncio.CancelledError:
        return INTERRUPTED
    except ChildPaused:
        raise
    except Exception as error:  # a tool's fault is the call's result, never the turn's end
        log.exception("%s failed", run.name)
        text = f"The tool {run.name} failed: {error!r}"
        return ToolResult((TextBlock(text),), outcome=Outcome.ERROR)


def error_result(error: ToolError) -> ToolResult:
    """What the model is told of a call that could not be done."""
    return ToolResult((TextBlock(str(error)),), error.details, Outcome.ERROR)
