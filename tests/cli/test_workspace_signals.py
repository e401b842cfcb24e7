"""The full-screen workspace in a real pseudo terminal: a signal ends it and gives the terminal
back."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import struct
import termios
from fcntl import ioctl

import pytest

from tests.cli.conftest import Command

ENTERS_SCREEN = b"\x1b[?1049h"
LEAVES_SCREEN = b"\x1b[?1049l"


class Terminal:
    """A pseudo terminal whose output is read all the time and kept."""

    def __init__(self) -> None:
        self._master, self.slave = pty.openpty()
        ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.output = b""
        os.set_blocking(self._master, False)
        asyncio.get_running_loop().add_reader(self._master, self._read)

    def _read(self) -> None:
        try:
            self.output += os.read(self._master, 65536)
        except OSError:
            asyncio.get_running_loop().remove_reader(self._master)

    async def shows(self, text: bytes) -> None:
        while text not in self.output:
            await asyncio.sleep(0.02)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._master)
        os.close(self._master)
        os.close(self.slave)


@pytest.mark.pty
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_gives_the_terminal_back(command: Command, number: signal.Signals) -> None:
    command.environ |= {"TERM": "xterm-256color", "TUI_AGENT_PROVIDER": "demo"}
    terminal = Terminal()
    try:
        streams = {"stdin": terminal.slave, "stdout": terminal.slave, "stderr": terminal.slave}
        process = await command.start(**streams)
        await terminal.shows(ENTERS_SCREEN)
        await terminal.shows(b"project")
        process.send_signal(number)
        assert await process.wait() == 128 + number
        await terminal.shows(LEAVES_SCREEN)
        assert b"Traceback" not in terminal.output
    finally:
        terminal.close()
