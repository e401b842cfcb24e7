"""A terminal for a program under test: a pseudo terminal, a thread that reads it, and a screen.

What the program writes is kept twice: as the bytes that arrived, and drawn by an emulator. Waiting
is always for a condition, looked at whenever something arrived, until a deadline; a test that waits
in vain fails with the screen as it stood. Nothing here knows the program.
"""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Mapping, Sequence
from fcntl import ioctl
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self

import pyte

DEADLINE: Final = 20.0
"""Seconds that anything may take; far more than it should, for machines that do other work too."""

KEYS: Final = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "backspace": "\x7f",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "f1": "\x1bOP",
    "f2": "\x1bOQ",
    "f6": "\x1b[17~",
    "ctrl+c": "\x03",
    "ctrl+n": "\x0e",
    "ctrl+o": "\x0f",
}
"""What a terminal without the newer keyboard protocols sends."""

_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07)")

# The program must own its terminal, as under a shell: only then does a change of size reach it.
# Taking it needs code in the child, and code between fork and exec is unsafe beside our threads.
_TAKES_TERMINAL: Final = (
    "import fcntl, os, sys, termios; "
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """A program that runs in a terminal of the given size until it ends or `close` is called."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environ: Mapping[str, str],
        size: tuple[int, int] = (100, 30),
    ) -> None:
        columns, lines = size
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._output = bytearray()
        self._news = threading.Condition()
        self._seen = 0
        self._has_hung_up = False
        self._master, slave = pty.openpty()
        _set_size(slave, columns, lines)
        self.modes_before = self.modes
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _TAKES_TERMINAL, *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=folder,
            env=dict(environ),
            start_new_session=True,
        )
        os.close(slave)
        self._woken, self._wakes_reader = os.pipe()
        self._reader = threading.Thread(target=self._read, name="terminal", daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- what is there -----------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """The program's process."""
        return self._process.pid

    @property
    def text(self) -> str:
        """The screen, a line per row, without the blanks at their ends."""
        with self._news:
            return self._drawn()

    @property
    def output(self) -> bytes:
        """Every byte that arrived."""
        with self._news:
            return bytes(self._output)

    @property
    def output_text(self) -> str:
        """Every character that was drawn, in the order it came, without what is no text."""
        return _SEQUENCE.sub("", self.output.decode(errors="replace"))

    @property
    def modes(self) -> list[Any]:
        """The line settings of the terminal, as `termios` gives them."""
        return termios.tcgetattr(self._master)

    # --- what a person does ------------------------------------------------------------------

    def type(self, text: str) -> None:
        """Send characters as they are."""
        os.write(self._master, text.encode())

    def press(self, *keys: str) -> None:
        """Send keys by their names; a name that is not in `KEYS` is a character."""
        for key in keys:
            self.type(KEYS.get(key, key))

    def resize(self, columns: int, lines: int) -> None:
        """Change the size; the kernel tells the program."""
        with self._news:
            self._screen.resize(lines, columns)
            self._seen = len(self._output)
        _set_size(self._master, columns, lines)

    def hang_up(self) -> None:
        """Close the window: the program hears of it and has no terminal any more."""
        if self._master >= 0:
            # As long as the reader waits for it, it is not closed.
            os.close(self._wakes_reader)
            self._reader.join()
            os.close(self._woken)
            os.close(self._master)
            self._master = -1

    def send_signal(self, number: signal.Signals) -> None:
        """Send the program a signal."""
        self._process.send_signal(number)

    # --- waiting -----------------------------------------------------------------------------

    def until(self, holds: Callable[[str], bool], what: str, within: float = DEADLINE) -> str:
        """Wait until the screen's text fulfils `holds`; the text."""
        end = monotonic() + within
        with self._news:
            while not holds(text := self._drawn()):
                assert not self._has_hung_up, f"{what}: the program has ended\n{self._tail()}"
                left = end - monotonic()
                assert left > 0, f"{what}: not within {within:.0f} s\n{text}"
                self._news.wait(left)
            return text

    def shows(self, *texts: str, within: float = DEADLINE) -> str:
        """Wait until the screen shows all of these; the screen."""
        return self.until(lambda t: all(text in t for text in texts), f"shows {texts}", within)

    def shows_no(self, text: str, within: float = DEADLINE) -> str:
        """Wait until the screen shows this no longer; the screen."""
        return self.until(lambda t: text not in t, f"shows no {text!r}", within)

    def has_drawn_since_resize(self, within: float = DEADLINE) -> None:
        """Wait until the program has written something since the size last changed."""
        self.until(lambda _: len(self._output) > self._seen, "draws after a resize", within)

    def ended(self, within: float = DEADLINE) -> int:
        """Wait for the end and for everything that was written until then; the exit code, for a
        death by signal the negative number."""
        code = self._process.wait(within)
        self._reader.join(within)
        assert not self._reader.is_alive(), "a child of the program still holds the terminal"
        return code

    def close(self) -> None:
        """End the program, whatever it does, and give the terminal back."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self.hang_up()

    # --- reading -----------------------------------------------------------------------------

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._master, self._woken], [], [])
            try:
                data = os.read(ready[0], 65536)
            except OSError:  # nobody has the other side open any more
                data = b""
            with self._news:
                self._output += data
                # The emulator knows this one not and would draw its last character.
                self._stream.feed(data.replace(b"\x1b[<u", b""))
                self._has_hung_up = not data
                self._news.notify_all()
            if not data:
                return

    def _drawn(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    def _tail(self) -> str:
        return self._output[-2000:].decode(errors="backslashreplace")


def _set_size(descriptor: int, columns: int, lines: int) -> None:
    ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
