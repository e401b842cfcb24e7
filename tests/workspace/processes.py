"""Starting the engine in a process of its own, following what it tells, and killing it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.workspace.kit import Place
from tests.workspace.trace import PATIENCE

ROOT = Path(__file__).resolve().parents[2]

Told = dict[str, Any]


@dataclass
class Program:
    """A running engine."""

    process: asyncio.subprocess.Process
    events: list[Told] = field(default_factory=list)
    _answers: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            told = json.loads(line)
            if "answer" in told:
                self._answers.put_nowait(told["answer"])
            else:
                self.events.append(told["event"])
                news, self._news = self._news, asyncio.Event()
                news.set()

    async def do(self, command: str, **arguments: Any) -> Any:
        """Run a command and return its answer."""
        assert self.process.stdin is not None
        line = json.dumps({"do": command, **arguments}) + "\n"
        self.process.stdin.write(line.encode())
        async with asyncio.timeout(PATIENCE):
            return await self._answers.get()

    async def until(self, holds: Callable[[Told], bool], count: int = 1) -> Told:
        """The `count`-th event for which this holds."""
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    news = self._news
                    found = [event for event in self.events if holds(event)]
                    if len(found) >= count:
                        return found[count - 1]
                    await news.wait()
        except TimeoutError:
            told = "\n".join(str(event)[:200] for event in self.events[-30:])
            raise AssertionError(f"the awaited event never came; told so far:\n{told}") from None

    async def told(self, kind: str, count: int = 1, **fields: Any) -> Told:
        """The `count`-th event of a type with these fields."""
        return await self.until(
            lambda e: e["type"] == kind and all(e.get(k) == v for k, v in fields.items()), count
        )

    async def kill(self) -> None:
        """End it the way a power cut does."""
        self.process.kill()
        await self.process.wait()

    async def quit(self) -> None:
        """Let it close as it would."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(PATIENCE):
            await self.process.wait()


@asynccontextmanager
async def program(place: Place) -> AsyncIterator[Program]:
    """An engine on this place; killed at the end if it still runs."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.workspace.program",
        str(place.folder),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=place.environ,
        cwd=ROOT,
        limit=2**24,
    )
    running = Program(process)
    reading = asyncio.create_task(running.read())
    try:
        yield running
    finally:
        if process.returncode is None:
            await running.kill()
        await reading
