"""Bash: one shell command, to its end or its time limit."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from tui_agent.processes.capture import CapturedOutput
from tui_agent.processes.shell import ShellCancelled, ShellOutcome, run_shell
from tui_agent.tools.base import EXCLUSIVE, Effects, ToolContext, ToolError, ToolInterrupted
from tui_agent.tools.errors import plain
from tui_agent.tools.results import clip, one_line
from tui_agent.tools.spill import spill_file
from tui_agent.vocabulary.blocks import JsonObject, Outcome, TextBlock, ToolResult

DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 600_000


class BashInput(BaseModel):
    """Input of Bash."""

    model_config = ConfigDict(extra="forbid")

    command: str = Field(min_length=1, description="The command")
    timeout: int | None = Field(
        None,
        ge=1,
        le=MAX_TIMEOUT_MS,
        description=f"Time limit in milliseconds, {DEFAULT_TIMEOUT_MS} if unset",
    )
    description: str | None = Field(
        None, description="What the command does, in five to ten words, for the person to read"
    )

    @property
    def seconds(self) -> float:
        """The time limit in seconds."""
        return (self.timeout or DEFAULT_TIMEOUT_MS) / 1000


class Bash:
    """Runs a command in the workspace folder."""

    name: ClassVar[str] = "Bash"
    description: ClassVar[str] = (
        "Run a shell command and get its output (standard output and error together) and exit code."
        " Each call starts anew in the workspace folder: a cd or a variable does not last. There is"
        " no keyboard input, so use options that ask nothing. Processes left in the background are"
        " ended with the call. Long output is cut in the middle; the whole of it is in a file that"
        " the result names. Use Read, Glob, Grep, Edit and Write for files."
    )
    input_model: ClassVar[type[BashInput]] = BashInput
    is_read_only: ClassVar[bool] = False

    def effects(self, args: BashInput, context: ToolContext) -> Effects:  # noqa: ARG002 - the contract
        """A command may touch anything."""
        return EXCLUSIVE

    def subject(self, args: BashInput) -> str:
        """The command on one line."""
        return one_line(args.command)

    def preview(self, args: BashInput, context: ToolContext) -> JsonObject:  # noqa: ARG002 - the contract
        """The command, whole."""
        return {
            "kind": "command",
            "command": args.command,
            "description": args.description or "",
            "timeout_seconds": args.seconds,
        }

    async def run(self, args: BashInput, context: ToolContext) -> ToolResult:
        """Run it; a command that failed is an error result with its output."""
        if "\0" in args.command:
            raise ToolError("The command contains a NUL character, which no shell can take.")
        try:
            outcome = await run_shell(
                args.command,
                cwd=context.folder,
                environment=context.environment,
                timeout=args.seconds,
                spill=spill_file(context),
                on_output=context.progress,
                note_pid=context.note_pid,
            )
        except ShellCancelled as cancelled:
            raise ToolInterrupted(_result(args, cancelled.outcome, Outcome.INTERRUPTED)) from None
        except (OSError, ValueError) as error:
            raise ToolError(f"The command could not be started: {error}") from None
        is_ok = outcome.exit_code == 0 and not outcome.timed_out
        return _result(args, outcome, Outcome.OK if is_ok else Outcome.ERROR)


def _result(args: BashInput, ran: ShellOutcome, outcome: Outcome) -> ToolResult:
    output = _clipped(ran.output)
    notes = _notes(args, ran, outcome)
    parts = [output.rstrip("\n"), *(f"[{note}]" for note in notes)]
    text = "\n".join(part for part in parts if part.strip())
    is_truncated = ran.output.omitted > 0 or len(output) < len(ran.output.text)
    details: dict[str, object] = {
        "kind": "shell",
        "command": args.command,
        "exit_code": ran.exit_code,
        "signal": ran.signal,
        "timed_out": ran.timed_out,
        "output": output,
        "total_bytes": ran.output.total_bytes,
        "duration": round(ran.duration, 3),
        "truncated": is_truncated,
        "background": ran.background,
        "survivors": list(ran.survivors),
    }
    if is_truncated and ran.output.spill_path is not None:
        details["spill_path"] = plain(str(ran.output.spill_path))
    return ToolResult((TextBlock(text or "(no output)"),), details, outcome)


def _notes(args: BashInput, ran: ShellOutcome, outcome: Outcome) -> list[str]:
    notes = []
    if outcome is Outcome.INTERRUPTED:
        notes.append(f"cancelled after {ran.duration:.1f} s; its processes were ended")
    elif ran.timed_out:
        notes.append(f"timed out after {args.seconds:g} s; its processes were ended")
    elif ran.signal is not None:
        notes.append(f"ended by signal {ran.signal}")
    elif ran.exit_code:
        notes.append(f"exit code {ran.exit_code}")
    if ran.background:
        were = "process" if ran.background == 1 else "processes"
        notes.append(f"{ran.background} {were} still ran in the background and had to end")
    if ran.survivors:
        notes.append(f"could not be ended and may still run: {', '.join(ran.survivors)}")
    if ran.output.note:
        notes.append(ran.output.note)
    return notes


def _clipped(output: CapturedOutput) -> str:
    """What the model gets of the output: all, or head and tail with what is missing between."""
    where = ""
    if output.spill_path is not None:
        what = "what could be kept of it" if output.note else "the whole output"
        where = f"; {what} is in {plain(str(output.spill_path))}"

    def notice(left_out: int) -> str:
        count = f"{left_out:,} characters"
        if output.omitted:
            count = f"about {left_out + output.omitted:,} characters"
        return f"[... {count} left out{where} ...]"

    return clip(output.text, notice)
