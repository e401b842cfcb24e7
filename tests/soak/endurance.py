"""Working for many turns, and what the program is as large as meanwhile.

A person who prompts, steers, decides, interrupts, compacts and changes the model at random; both
wires in turn; a new session every so often, old ones deleted.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

from tests.workspace.kit import APPROVE, PLAIN_NO, Place, no_because
from tui_agent.providers.retry import DEFAULT_POLICY
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.events import ApprovalPending, DoneEvent, Event
from tui_agent.vocabulary.rules import Rules
from tui_agent.vocabulary.states import Mode
from tui_agent.workspace.api import SessionOptions
from tui_agent.workspace.bus import BusSubscription
from tui_agent.workspace.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0
TURNS_OF_A_SESSION = 25
SESSIONS_KEPT = 3
ALLOWED = ("Bash(echo hi)", "Bash(seq 1 3000)")


@dataclass(frozen=True, slots=True)
class Size:
    """What the process holds; `memory` is resident bytes."""

    memory: int
    files: int
    threads: int
    tasks: int


@dataclass(slots=True)
class Figures:
    """What came of a soak."""

    warm: Size
    end: Size
    reasons: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    refused: list[str] = field(default_factory=list)
    unsendable: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        def mib(size: Size) -> str:
            return f"{size.memory / 2**20:.1f} MiB"

        return (
            f"{sum(self.reasons.values())} turns, {self.requests} requests, "
            f"{len(self.refused)} refused; ends: {dict(self.reasons.most_common())}; "
            f"memory {mib(self.warm)} → {mib(self.end)}, "
            f"files {self.warm.files} → {self.end.files}, "
            f"threads {self.warm.threads} → {self.end.threads}, "
            f"tasks {self.warm.tasks} → {self.end.tasks}"
        )


def measure() -> Size:
    """The process as it is now."""
    gc.collect()
    process = psutil.Process()
    return Size(
        process.memory_info().rss,
        process.num_fds(),
        threading.active_count(),
        len(asyncio.all_tasks()),
    )


async def endure(root: Path, turns: int, *, warm_up: int, seed: int = 1) -> Figures:
    """Work for so many turns and measure after `warm_up` of them and at the end."""
    async with _model(seed) as (url, said), _person(root, url, seed) as person:
        for _ in range(warm_up):
            await person.turn()
        warm = measure()
        for _ in range(turns - warm_up):
            await person.turn()
        figures = Figures(warm, measure(), person.reasons, unsendable=person.unsendable)
    figures.requests, figures.refused = said["requests"], said["refused"]
    return figures


@asynccontextmanager
async def _model(seed: int) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.soak.server",
        str(seed),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    said: dict[str, Any] = {}
    try:
        yield (await child.stdout.readline()).decode().strip(), said
    finally:
        child.stdin.close()
        said.update(json.loads(await child.stdout.readline()))
        await child.wait()


@asynccontextmanager
async def _person(root: Path, url: str, seed: int) -> AsyncIterator[Person]:
    place = Place.under(root, ANTHROPIC_API_KEY="sk-test")
    place.put("notes", "milk\n")
    for number in range(3):
        place.put(f"large{number}", f"line of {number} with milk\n" * 300)
    workspace = await Workspace.open(place.config())
    quick = replace(DEFAULT_POLICY, first_delay=0.0, longest_delay=0.0)
    workspace.services = replace(workspace.services, retry=quick)
    person = Person(workspace, url, random.Random(seed), workspace.subscribe())
    watching = asyncio.create_task(person.watch())
    try:
        yield person
    finally:
        await workspace.close()
        person.events.close()
        await watching


@dataclass
class Person:
    """Somebody who works with the program, and never looks back."""

    workspace: Workspace
    url: str
    dice: random.Random
    events: BusSubscription
    reasons: Counter[str] = field(default_factory=Counter)
    unsendable: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    turns: int = 0
    deciding: set[asyncio.Task[None]] = field(default_factory=set)

    async def watch(self) -> None:
        """Count how turns end and answer what is asked."""
        async for batch in self.events:
            for event in batch:
                self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, DoneEvent):
            self.reasons[event.reason] += 1
            if "cannot be sent" in (event.cause or ""):
                self.unsendable.append(event.cause or "")
        elif isinstance(event, ApprovalPending):
            task = asyncio.create_task(self._decide(event.pending_id))
            self.deciding.add(task)
            task.add_done_callback(self.deciding.discard)

    async def _decide(self, pending_id: str) -> None:
        choice = self.dice.choices((APPROVE, no_because("not now"), PLAIN_NO), (4, 2, 1))[0]
        await self.workspace.decide(pending_id, choice)

    async def turn(self) -> None:
        """One prompt and all that comes of it."""
        if self.turns % TURNS_OF_A_SESSION == 0:
            await self._new_session()
        self.turns += 1
        session = self.sessions[-1]
        await self._perhaps_change(session)
        await self.workspace.submit(session, f"prompt {self.turns}")
        if self.dice.random() < 0.1:
            await self.workspace.submit(session, "and hurry", after_turn=self.dice.random() < 0.5)
        if self.dice.random() < 0.1:
            await asyncio.sleep(self.dice.random() * 0.05)
            await self.workspace.interrupt(session)
        runner = self.workspace.runner(session)
        assert runner is not None
        async with asyncio.timeout(PATIENCE):
            await runner.finished()
        assert await self.workspace.store.open_batch(session) is None

    async def _new_session(self) -> None:
        options = SessionOptions(
            model=self._model(), mode=Mode.ACCEPT_EDITS, rules=Rules(allow=ALLOWED)
        )
        self.sessions.append((await self.workspace.create_session(options)).id)
        for old in self.sessions[:-SESSIONS_KEPT]:
            await self.workspace.delete(old)
        del self.sessions[:-SESSIONS_KEPT]

    def _model(self) -> ModelChoice:
        wire = self.dice.choice(("anthropic", "compatible"))
        address = self.url if wire == "anthropic" else f"{self.url}/v1"
        return ModelChoice(wire, "scripted-1", address)

    async def _perhaps_change(self, session: str) -> None:
        """Now and then another model, or a compaction."""
        if self.turns % TURNS_OF_A_SESSION <= 1:
            return
        if self.dice.random() < 0.05:
            await self.workspace.set_model(session, self._model())
        if self.dice.random() < 0.05:
            await self.workspace.compact(session)
            runner = self.workspace.runner(session)
            async with asyncio.timeout(PATIENCE):
                while runner is not None and runner.is_busy:
                    await asyncio.sleep(0.01)
