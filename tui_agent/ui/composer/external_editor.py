"""Writing a prompt in the person's own editor.

The screen is handed over to the editor of VISUAL or EDITOR and taken back when it ends, however it
ends. The text travels in a file that only the person can read, in a folder of its own, so that what
an editor leaves beside a file goes with it. The application's loop goes on meanwhile but paints
nothing: signals are still answered, and events of the engine are taken in.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from textual.app import App, SuspendNotSupported

FALLBACKS = ("nano", "vi")
"""Editors to look for when neither variable is set."""
END_WITHIN_SECONDS = 1.0
"""How long an editor has to end when the application leaves."""


@dataclass(frozen=True, slots=True)
class Edited:
    """What came of it. `text` is what the file held in the end, if it could be read; `problem` says
    in one line why it must not be taken, empty when it may."""

    text: str | None
    problem: str = ""


def editor_command(environ: Mapping[str, str]) -> list[str] | None:
    """Program and arguments of the editor; `None` when there is none. Raises `ValueError` for a
    variable that is no command line."""
    for name in ("VISUAL", "EDITOR"):
        value = environ.get(name, "").strip()
        if value:
            try:
                return shlex.split(value)
            except ValueError as error:
                raise ValueError(f"{name} is no command line ({error}): {value}") from error
    found = next((each for each in FALLBACKS if shutil.which(each)), None)
    return None if found is None else [found]


async def edit_outside(app: App[Any], text: str) -> Edited:
    """Let the person edit `text`. Whatever goes wrong is in the answer; when the application ends
    and cancels the task, the editor ends too."""
    try:
        command = editor_command(os.environ)
    except ValueError as error:
        return Edited(None, str(error))
    if command is None:
        return Edited(None, "No editor found: set EDITOR, for example to nano")
    try:
        with tempfile.TemporaryDirectory(prefix="tui-agent-", ignore_cleanup_errors=True) as folder:
            path = Path(folder, "prompt.md")
            _write(path, text)
            problem = await _run(app, [*command, str(path)], command[0])
            return Edited(_read(path), problem)
    except OSError as error:
        return Edited(None, f"The editor could not be used: {error.strerror or error}")


def _write(path: Path, text: str) -> None:
    """Readable by the person alone from its first moment."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w", encoding="utf-8", errors="replace", newline="") as stream:
        stream.write(f"{text}\n" if text else "")


def _read(path: Path) -> str | None:
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError:
        return None
    return text.removesuffix("\n").removesuffix("\r")


async def _run(app: App[Any], arguments: list[str], name: str) -> str:
    """Run the editor on the terminal; why it failed, or nothing."""
    try:
        # Batching keeps every screen from painting: the terminal is the editor's.
        with _signals_are_the_editors(), app.batch_update(), app.suspend():
            # An exception that left this block would leave the terminal as it is. Only the end of
            # the application cancels, and that is right then: it has put the terminal in order.
            try:
                return await _wait(arguments, name)
            except OSError as error:
                return f"{name} could not be started ({error.strerror}): check VISUAL or EDITOR"
    except SuspendNotSupported:
        return "Here the terminal cannot be handed over to an editor"


async def _wait(arguments: list[str], name: str) -> str:
    process = await asyncio.create_subprocess_exec(*arguments)
    try:
        code = await process.wait()
    finally:
        if process.returncode is None:
            await _end(process)
    if code < 0:
        return f"{name} was ended by {signal.Signals(-code).name}"
    return f"{name} ended with {code}" if code else ""


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
        try:
            async with asyncio.timeout(END_WITHIN_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()


@contextmanager
def _signals_are_the_editors() -> Iterator[None]:
    """Ctrl+C and Ctrl+\\ reach every process of the terminal; while the editor has it they are
    meant for the editor. A handler of ours does not pass on to it, "ignore" would."""

    def let_pass(_number: int, _frame: FrameType | None) -> None:
        return

    kept = {each: signal.signal(each, let_pass) for each in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
