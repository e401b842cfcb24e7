"""The program as a person starts it, with a home and a folder of the test's own, and its model."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from tests.conftest import ROOT
from tests.pty.terminal import Terminal
from tests.scripted.script import Script
from tests.scripted.server import ThreadedServer

Wire = Literal["anthropic", "chat"]
Serve = Callable[[Script, Wire], ThreadedServer]

READY = "ready · F1"
"""What the status line says once the session is open and nothing runs."""


@dataclass(slots=True)
class Program:
    """Starts `tui-agent` in `folder`, each time in a new terminal that is closed with the test."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    _terminals: list[Terminal] = field(default_factory=list)

    def connect(self, server: ThreadedServer, wire: Wire) -> None:
        """Let the server be its model, over this wire."""
        is_messages = wire == "anthropic"
        self.environ |= {
            "TUI_AGENT_PROVIDER": "anthropic" if is_messages else "compatible",
            "TUI_AGENT_API_KEY": "k",
            "TUI_AGENT_MODEL": server.server.models[0],
            "TUI_AGENT_BASE_URL": server.url if is_messages else server.chat_url,
        }

    def start(self, *arguments: str, size: tuple[int, int] = (100, 30)) -> Terminal:
        """Start it; returns at once."""
        terminal = Terminal(
            [sys.executable, "-m", "tui_agent", *arguments],
            folder=self.folder,
            environ={
                # these two would speak of the terminal of the tests, and be believed
                **{k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")},
                "PYTHONPATH": str(ROOT),
                "TERM": "xterm-256color",
                "COLORTERM": "truecolor",
                "LANG": "C.UTF-8",
                **self.environ,
            },
            size=size,
        )
        self._terminals.append(terminal)
        return terminal

    def opened(self, *arguments: str, size: tuple[int, int] = (100, 30)) -> Terminal:
        """Start it and wait until its session is open and it can be typed to."""
        terminal = self.start(*arguments, size=size)
        terminal.shows(READY)
        return terminal

    def close(self) -> None:
        """End what still runs."""
        for terminal in self._terminals:
            terminal.close()


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    folder = tmp_path / "project"
    folder.mkdir()
    started = Program(folder)
    yield started
    started.close()


@pytest.fixture
def serve(program: Program) -> Iterator[Serve]:
    """Start a scripted model for the program; at the end no request may have broken a rule."""
    servers: list[ThreadedServer] = []

    def start(script: Script, wire: Wire) -> ThreadedServer:
        server = ThreadedServer(script).start()
        servers.append(server)
        program.connect(server, wire)
        return server

    yield start
    for server in servers:
        server.stop()
    broken = [text for server in servers for text in server.violations]
    assert not broken, "requests a strict provider refuses:\n" + "\n".join(broken)
