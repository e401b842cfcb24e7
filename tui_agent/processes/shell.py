"""Running one command to its end, and never leaving anything of it behind.

In come a command, a folder, an environment and limits; out comes how it ended and what it printed.
A child has no standard input, a session of its own and an environment that the caller chose. The
call returns when the command itself exits, even if a process in the background still holds the
pipe; whatever it left running is ended then. A cancelled call cleans up first and then raises
`ShellCancelled`, which carries what was printed until then.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_agent.processes.capture import CapturedOutput, HeadAndTail, PipeReader, SpillFile
from tui_agent.processes.environment import CALL_MARKER, conceal_secrets
from tui_agent.processes.guardian import GUARDIAN, PROGRAM_MARK
from tui_agent.processes.tree import Ended, Kin, end_now

DRAIN = 0.2
"""Seconds that a pipe may stay open after the command exited, before it is read no further."""

_LAST_WAIT = 0.5
"""Seconds for the exit of a child that was ended to be known."""


@dataclass(frozen=True, slots=True)
class ShellOutcome:
    """How a command ended. One of `exit_code` and `signal` is set, unless it was ended by us and
    its status is not known. `background` counts processes that it left running and we ended;
    `survivors` names what could not be ended, as `name (pid)`; `errors` is its standard error when
    that was asked for apart; `duration` is in seconds."""

    exit_code: int | None
    signal: int | None
    timed_out: bool
    output: CapturedOutput
    errors: CapturedOutput
    background: int
    survivors: tuple[str, ...]
    duration: float


class ShellCancelled(asyncio.CancelledError):
    """The call was cancelled and its processes are gone; `outcome` has what they printed."""

    def __init__(self, outcome: ShellOutcome) -> None:
        super().__init__()
        self.outcome = outcome


def shell_arguments(command: str) -> list[str]:
    """The argument list that runs `command` in a shell which reads no start-up files."""
    bash = shutil.which("bash")
    if bash is not None:
        return [bash, "--noprofile", "--norc", "-c", command]
    return ["/bin/sh", "-c", command]


async def run_shell(
    command: str,
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout: float,
    spill: SpillFile | None = None,
    on_output: Callable[[str, int], None] | None = None,
    note_pid: Callable[[int], None] | None = None,
) -> ShellOutcome:
    """Run `command` with its two outputs in one stream. See `run_program`."""
    return await run_program(
        shell_arguments(command),
        cwd=cwd,
        environment=environment,
        timeout=timeout,
        spill=spill,
        on_output=on_output,
        note_pid=note_pid,
    )


async def run_program(
    arguments: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout: float,
    spill: SpillFile | None = None,
    on_output: Callable[[str, int], None] | None = None,
    note_pid: Callable[[int], None] | None = None,
    output: HeadAndTail | None = None,
    merge_errors: bool = True,
) -> ShellOutcome:
    """Run a program for at most `timeout` seconds.

    `on_output(piece, total_bytes)` is called on the loop, at most ten times a second; `note_pid` as
    soon as there is a process. Raises `OSError` when the program cannot be started, and
    `ShellCancelled` when the call is cancelled.
    """
    run = _Run(output or HeadAndTail(spill), is_merged=merge_errors)
    # The run is a task of its own: however often the caller is cancelled, it is cleaned up once.
    task = asyncio.create_task(
        run.go(arguments, cwd, environment, timeout, on_output=on_output, note_pid=note_pid)
    )
    is_cancelled = False
    while True:
        try:
            outcome = await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            is_cancelled = True
            run.stop.set()
        except OSError:
            if is_cancelled:
                raise asyncio.CancelledError from None
            raise
        else:
            if is_cancelled:
                raise ShellCancelled(outcome)
            return outcome


class _Run:
    """One child from start to the end of everything it started."""

    def __init__(self, output: HeadAndTail, *, is_merged: bool) -> None:
        self.stop = asyncio.Event()
        self._output = output
        self._errors = HeadAndTail()
        self._is_merged = is_merged
        self._marker = f"{PROGRAM_MARK}:{secrets.token_hex(8)}"
        self._started = time.monotonic()

    async def go(
        self,
        arguments: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        timeout: float,
        *,
        on_output: Callable[[str, int], None] | None,
        note_pid: Callable[[int], None] | None,
    ) -> ShellOutcome:
        """Start, wait, end what is left, and say how it went."""
        process, pipes = await self._start(arguments, cwd, environment)
        GUARDIAN.watch(process.pid)
        reader = PipeReader(pipes, on_output=on_output)
        kin = Kin(frozenset({process.pid}), self._marker)
        is_over = False
        try:
            if note_pid is not None:
                note_pid(process.pid)
            exit_task = asyncio.create_task(process.wait())
            timed_out = await self._wait(exit_task, timeout)
            was_running = not exit_task.done()
            ended = await self._end(kin, exit_task, reader)
            is_over = True
        finally:
            reader.stop()
            if not is_over:
                # we are being torn down, with no time for manners
                end_now(kin, grace=0)
            GUARDIAN.forget(process.pid)
        await reader.done.wait()
        code = process.returncode
        return ShellOutcome(
            exit_code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            timed_out=timed_out,
            output=self._output.result(),
            errors=self._errors.result(),
            background=0 if was_running else ended.count,
            survivors=ended.survivors,
            duration=time.monotonic() - self._started,
        )

    async def _start(
        self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str]
    ) -> tuple[asyncio.subprocess.Process, dict[int, HeadAndTail]]:
        await asyncio.to_thread(_before_a_child)
        # Pipes of our own: waiting for the exit must not wait for whoever else holds one.
        reading, writing = os.pipe()
        pipes = {reading: self._output}
        ends = [writing]
        if not self._is_merged:
            errors_reading, errors_writing = os.pipe()
            pipes[errors_reading] = self._errors
            ends.append(errors_writing)
        try:
            process = await asyncio.create_subprocess_exec(
                # as bytes: a locale of ASCII must not refuse a command that has other characters
                *(word.encode("utf-8", "surrogateescape") for word in arguments),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=ends[0],
                stderr=ends[-1],
                cwd=cwd,
                env={**environment, CALL_MARKER: self._marker},
                start_new_session=True,
            )
        except BaseException:
            for pipe in pipes:
                os.close(pipe)
            raise
        finally:
            for end in ends:
                os.close(end)
        return process, pipes

    async def _wait(self, exit_task: asyncio.Task[int], timeout: float) -> bool:
        """Wait for the exit, the time limit or a request to stop; whether it was the limit."""
        stop_task = asyncio.create_task(self.stop.wait())
        try:
            done, _ = await asyncio.wait(
                {exit_task, stop_task}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            stop_task.cancel()
        return not done

    async def _end(self, kin: Kin, exit_task: asyncio.Task[int], reader: PipeReader) -> Ended:
        """End what still runs, and take the last of what it printed."""
        if exit_task.done():
            await _wait_for(asyncio.create_task(reader.done.wait()), DRAIN)
            return await asyncio.to_thread(end_now, kin)
        ended = await asyncio.to_thread(end_now, kin)
        # a child that is not gone by then hangs in the kernel: nothing in user space can end it
        await _wait_for(exit_task, _LAST_WAIT)
        await _wait_for(asyncio.create_task(reader.done.wait()), DRAIN)
        return ended


def _before_a_child() -> None:
    """What has to be in place before any child runs. Blocks."""
    conceal_secrets()
    GUARDIAN.start()


async def _wait_for(task: asyncio.Task[Any], seconds: float) -> None:
    done, _ = await asyncio.wait({task}, timeout=seconds)
    if not done:
        task.cancel()
