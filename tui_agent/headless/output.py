"""What a run prints, in its three formats.

A `RunPrinter` is fed every event of the session's tree and, at the end, the `RunResult`. Answers
go to `out`; everything else goes to `err`. It holds no file of its own and decides nothing about
the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TextIO

from tui_agent.headless.request import OutputFormat
from tui_agent.headless.shapes import dumps, pending_shapes
from tui_agent.headless.words import ending_line, pending_lines, progress_line
from tui_agent.text import prose
from tui_agent.vocabulary.blocks import text_of, tool_uses
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.decisions import PendingItem
from tui_agent.vocabulary.events import (
    AgentStarted,
    DoneEvent,
    ErrorEvent,
    Event,
    LoopError,
    MessageStored,
)
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.usage import Usage


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended: its last turn, the tokens of all of its turns, what is open."""

    session_id: str
    done: DoneEvent
    usage: Usage
    pending: tuple[PendingItem, ...] = ()


class RunPrinter:
    """Prints one run of the session `session_id`."""

    def __init__(self, session_id: str, output: OutputFormat, out: TextIO, err: TextIO) -> None:
        self._session_id = session_id
        self._output = output
        self._out = out
        self._err = err
        self._answers: list[str] = []
        self._agents: dict[str, str] = {}
        self._has_told_error = False

    def event(self, event: Event) -> None:
        """Take one event, in order."""
        if self._output is OutputFormat.STREAM_JSON:
            self._out.write(dumps(to_json(event)) + "\n")
            return
        if isinstance(event, AgentStarted):
            self._agents[event.child_id] = event.agent
        if (line := progress_line(event, self._agents)) is not None:
            self._tell(line)
        if event.session_id != self._session_id:
            return
        # The failure of a turn comes as an error first and then as the way the turn stopped.
        is_told = isinstance(event, LoopError) and self._has_told_error
        if not is_told and (line := ending_line(event, self._session_id)) is not None:
            self._tell(line)
        self._has_told_error |= isinstance(event, ErrorEvent)
        if self._output is OutputFormat.TEXT:
            self._answer(event)

    def flush(self) -> None:
        """Hand on what was printed; called once a batch of events."""
        self._out.flush()

    def result(self, result: RunResult) -> None:
        """Print what the format prints at the end."""
        match self._output:
            case OutputFormat.JSON:
                self._out.write(dumps(_result_shape(result)) + "\n")
            case OutputFormat.STREAM_JSON:
                pass  # the events have said it all
            case OutputFormat.TEXT:
                pass  # the answers are out
        self._out.flush()
        tell_pending(result.pending, self._err)

    def _answer(self, event: Event) -> None:
        """Print a final answer when its message is committed: text before calls is none."""
        match event:
            case MessageStored(message=message) if message.origin is Origin.ASSISTANT:
                text = "" if tool_uses(message.blocks) else text_of(message.blocks)
            case DoneEvent(text=text) if text.strip() not in self._answers:
                # An end without a message of the model's own, as when a tool ends the turn.
                pass
            case _:
                return
        if text.strip():
            self._answers.append(text.strip())
            self._out.write(prose(text).rstrip("\n") + "\n")

    def _tell(self, line: str) -> None:
        self._err.write(line + "\n")
        self._err.flush()


def tell_pending(items: tuple[PendingItem, ...], err: TextIO) -> None:
    """List open items with the commands that answer them; nothing when there are none."""
    if items:
        err.write("waiting for a decision:\n" + "\n".join(pending_lines(items)) + "\n")
        err.flush()


def _result_shape(result: RunResult) -> dict[str, object]:
    done = result.done
    return {
        "session_id": result.session_id,
        "reason": done.reason.value,
        "text": done.text,
        "usage": to_json(result.usage),
        "pending": pending_shapes(result.pending),
        "counts": {
            "rounds": done.rounds,
            "pending_approvals": done.pending_approvals,
            "pending_questions": done.pending_questions,
            "background_agents": done.background_agents,
            "awaited_shells": done.awaited_shells,
            "queued": done.queued,
            "held_results": done.held_results,
        },
    }
