"""The real command in a process of its own, with a home and a project folder of the test's own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.scripted.plugin import scripted
from tests.scripted.server import ScriptedServer

__all__ = ["scripted"]

ROOT = Path(__file__).resolve().parents[2]
Wire = Literal["anthropic", "chat"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """Standard output as one event a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def one_line(self) -> str:
        """Standard error, which must be one line without a traceback."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        return lines[0]


@dataclass(slots=True)
class Command:
    """Runs `python -m tui_agent` in `folder`."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    def connect(self, server: ScriptedServer, wire: Wire) -> None:
        """Point the program at a scripted server."""
        is_messages = wire == "anthropic"
        self.environ |= {
            "TUI_AGENT_PROVIDER": "anthropic" if is_messages else "compatible",
            "TUI_AGENT_API_KEY": "k",
            "TUI_AGENT_MODEL": server.models[0],
            "TUI_AGENT_BASE_URL": server.url if is_messages else server.chat_url,
        }

    async def start(self, *arguments: str, **options: Any) -> asyncio.subprocess.Process:
        """Start it, its standard streams connected."""
        settings: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "cwd": self.folder,
            "env": {**os.environ, "PYTHONPATH": str(ROOT), **self.environ},
        }
        command = (sys.executable, "-m", "tui_agent", *arguments)
        return await asyncio.create_subprocess_exec(*command, **{**settings, **options})

    async def __call__(self, *arguments: str, text: str | None = None, **options: Any) -> Ended:
        """Run it to its end."""
        if text is not None:
            options["stdin"] = subprocess.PIPE
        process = await self.start(*arguments, **options)
        out, err = await process.communicate(None if text is None else text.encode())
        return ended(process, out, err)


def ended(process: asyncio.subprocess.Process, out: bytes, err: bytes) -> Ended:
    """The end of a process; a death by signal counts as a shell counts it."""
    assert process.returncode is not None
    code = process.returncode
    return Ended(code if code >= 0 else 128 - code, out.decode(), err.decode())


async def stopped_by(process: asyncio.subprocess.Process, number: signal.Signals) -> Ended:
    """Send a signal and wait for the end."""
    process.send_signal(number)
    out, err = await process.communicate()
    return ended(process, out, err)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    folder = tmp_path / "project"
    folder.mkdir()
    return Command(folder)
