"""What the engine itself costs: CPU above the bare SDK that makes the same calls in the same run,
how long it keeps a token, and what a long history adds.

The model server runs in a process of its own, so that only this process's CPU is counted. Nothing
is judged; the figures are printed. Of several runs the best is told too: what else the machine does
only ever adds.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import pytest

from tests.store.kit import said, session
from tui_agent.settings.load import load_settings
from tui_agent.store import Store
from tui_agent.store.rows import insert, message_row
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.states import Phase
from tui_agent.workspace.config import WorkspaceConfig
from tui_agent.workspace.workspace import Workspace

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]

Wire = Literal["anthropic", "chat"]

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 20
REPEATS = 5
TOKENS = 2_000
FIRSTS = 40
SHORT, LONG = 10, 10_000
RECENT = 10
MODEL = "mock-model"

SCRIPT = f"""
from tests.scripted.script import Call, Reply, Say, by_prompt
rounds = [Reply((Call("Read", {{"file_path": "note.txt"}}),)) for _ in range({ROUNDS})]
script = by_prompt({{
    "warm": [Reply((Say("ready"),))],
    "rounds": [*rounds, Reply((Say("done"),))],
    "tokens": [Reply((Say("word " * {TOKENS}, chunk=5),))],
    "first": [Reply((Say("one two", chunk=4, delay=0.02),))],
}})
"""


@contextmanager
def model_server(folder: Path) -> Iterator[dict[Wire, str]]:
    """The scripted server in a process of its own; yields its address for each wire."""
    script = folder / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-u", "-m", "tests.scripted", str(script)]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        found: list[str] = []
        while len(found) < 2:
            line = server.stdout.readline()
            assert line, "the model server did not start"
            found += [word for word in line.split() if word.startswith("TUI_AGENT_BASE_URL=")]
        messages, chat = (word.partition("=")[2] for word in found)
        yield {"anthropic": messages, "chat": chat}
    finally:
        server.terminate()
        server.communicate()


async def cpu_of(work: Awaitable[None]) -> float:
    """CPU milliseconds of this process while `work` runs."""
    gc.collect()
    began = time.process_time()
    await work
    return (time.process_time() - began) * 1000


# --- the two sides -------------------------------------------------------------------------------


class Side(Protocol):
    """Someone who carries a prompt to its end."""

    async def run(self, prompt: str) -> None: ...


class Engine:
    """A workspace on the server."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.first_text = 0.0

    async def run(self, prompt: str, session_id: str | None = None) -> None:
        """A prompt to its end, in a new session unless one is named; notes when its first text came
        to a subscriber."""
        if session_id is None:
            session_id = (await self.workspace.create_session()).id
        events = self.workspace.subscribe()
        await self.workspace.submit(session_id, prompt)
        is_first = True
        async for batch in events:
            if is_first and any(event.type == "text:delta" for event in batch):
                self.first_text, is_first = time.perf_counter(), False
            if any(e.type == "session:phase" and e.phase is Phase.IDLE for e in batch):
                break
        events.close()


@dataclass(slots=True)
class BareChat:
    """The same calls through OpenAI's SDK alone, with the tool's file read by hand."""

    client: Any
    file: Path
    tools: list[dict[str, Any]]

    async def run(self, prompt: str) -> None:
        messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
        while calls := await self.ask(messages):
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            for made in calls:
                result = {"role": "tool", "tool_call_id": made["id"]}
                messages.append({**result, "content": self.file.read_text()})

    async def ask(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        body = {
            "messages": messages,
            "tools": self.tools,
            "stream_options": {"include_usage": True},
        }
        stream = await self.client.chat.completions.create(
            model=MODEL, messages=[], stream=True, extra_body=body
        )
        calls: list[dict[str, Any]] = []
        async for chunk in stream:
            for piece in (chunk.choices[0].delta.tool_calls or []) if chunk.choices else []:
                name, arguments = (
                    (piece.function.name, piece.function.arguments) if piece.function else ("", "")
                )
                if piece.id:
                    function = {"name": name, "arguments": ""}
                    calls.append({"id": piece.id, "type": "function", "function": function})
                calls[-1]["function"]["arguments"] += arguments or ""
        return calls


@dataclass(slots=True)
class BareMessages:
    """The same calls through Anthropic's SDK alone."""

    client: Any
    file: Path
    tools: list[dict[str, Any]]

    async def run(self, prompt: str) -> None:
        messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
        while calls := await self.ask(messages):
            messages.append({"role": "assistant", "content": calls})
            results = [
                {"type": "tool_result", "tool_use_id": made["id"], "content": self.file.read_text()}
                for made in calls
            ]
            messages.append({"role": "user", "content": results})

    async def ask(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        stream = await self.client.messages.create(
            model=MODEL, max_tokens=8_192, messages=messages, tools=self.tools, stream=True
        )
        calls: list[dict[str, Any]] = []
        arguments = ""
        async for event in stream:
            match event.type:
                case "content_block_start" if event.content_block.type == "tool_use":
                    made = event.content_block
                    calls.append({"type": "tool_use", "id": made.id, "name": made.name})
                    arguments = ""
                case "content_block_delta" if event.delta.type == "input_json_delta":
                    arguments += event.delta.partial_json
                case "content_block_stop" if calls:
                    calls[-1]["input"] = json.loads(arguments or "{}")
        return calls


@asynccontextmanager
async def opened(home: Path, folder: Path, wire: Wire, url: str) -> AsyncIterator[Engine]:
    """The engine on this server, with a home of its own."""
    environ = {
        "TUI_AGENT_HOME": str(home),
        "TUI_AGENT_PROVIDER": "anthropic" if wire == "anthropic" else "compatible",
        "TUI_AGENT_API_KEY": "k",
        "TUI_AGENT_BASE_URL": url,
        "TUI_AGENT_MODEL": MODEL,
        "PATH": os.environ["PATH"],
    }
    config = WorkspaceConfig(folder.resolve(), load_settings(folder, environ), environ)
    engine = Engine(await Workspace.open(config))
    try:
        await engine.run("warm")
        yield engine
    finally:
        await engine.workspace.close()


@asynccontextmanager
async def bare(engine: Engine, folder: Path, wire: Wire, url: str) -> AsyncIterator[Side]:
    """The SDK on the same server, with the same tools."""
    schemas = [
        (schema.name, schema.description, json.loads(json.dumps(schema.input_schema)))
        for schema in engine.workspace.tools.schemas()
    ]
    file = folder / "note.txt"
    client: Any
    side: Side
    if wire == "anthropic":
        from anthropic import AsyncAnthropic

        tools = [{"name": n, "description": d, "input_schema": s} for n, d, s in schemas]
        client = AsyncAnthropic(base_url=url, api_key="k", max_retries=0)
        side = BareMessages(client, file, tools)
    else:
        from openai import AsyncOpenAI

        functions = [{"name": n, "description": d, "parameters": s} for n, d, s in schemas]
        tools = [{"type": "function", "function": function} for function in functions]
        client = AsyncOpenAI(base_url=url, api_key="k", max_retries=0)
        side = BareChat(client, file, tools)
    await side.run("warm")
    yield side
    await client.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    (made / "note.txt").write_text("line of a small file\n" * 30)
    return made


both_wires = pytest.mark.parametrize("wire", ["anthropic", "chat"])


# --- what is measured ----------------------------------------------------------------------------


@both_wires
async def test_cpu_per_tool_round_and_per_token(tmp_path: Path, folder: Path, wire: Wire) -> None:
    rounds: list[float] = []
    tokens: list[float] = []
    with model_server(tmp_path) as urls:
        url = urls[wire]
        async with (
            opened(tmp_path / "home", folder, wire, url) as engine,
            bare(engine, folder, wire, url) as sdk,
        ):
            for _ in range(REPEATS):
                floor = await cpu_of(sdk.run("rounds"))
                rounds.append((await cpu_of(engine.run("rounds")) - floor) / ROUNDS)
                floor = await cpu_of(sdk.run("tokens"))
                tokens.append((await cpu_of(engine.run("tokens")) - floor) * 1000 / TOKENS)
    show(f"{wire}: CPU per tool round above the SDK (aim 10 ms)", rounds)
    show(f"{wire}: CPU per 1,000 streamed tokens above the SDK (aim 60 ms)", tokens)


@both_wires
async def test_how_long_the_first_token_is_kept(
    tmp_path: Path, folder: Path, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the moment the SDK hands it over until a subscriber has it."""
    handed: list[float] = []
    note_first_text(wire, monkeypatch, lambda: handed.append(time.perf_counter()))
    kept: list[float] = []
    with model_server(tmp_path) as urls:
        async with opened(tmp_path / "home", folder, wire, urls[wire]) as engine:
            for _ in range(FIRSTS):
                handed.clear()
                await engine.run("first")
                kept.append((engine.first_text - handed[0]) * 1000)
    show(f"{wire}: the first token is passed on after (aim 5 ms)", kept)


def note_first_text(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, note: Callable[[], object]
) -> None:
    """Let the SDK tell of each event with text, before anybody reads it."""
    if wire == "anthropic":
        from anthropic import AsyncStream as Stream

        def has_text(event: Any) -> bool:
            return getattr(getattr(event, "delta", None), "type", "") == "text_delta"

    else:
        from openai import AsyncStream as Stream  # type: ignore[assignment]

        def has_text(event: Any) -> bool:
            return bool(event.choices and event.choices[0].delta.content)

    original = Stream.__aiter__

    async def noting(stream: Any) -> AsyncIterator[Any]:
        async for event in original(stream):
            if has_text(event):
                note()
            yield event

    monkeypatch.setattr(Stream, "__aiter__", noting)


async def test_a_long_history_behind_a_summary(tmp_path: Path, folder: Path) -> None:
    """Equally long requests in sessions of 10 and of 10,000 messages, in a database of each."""
    cpu: dict[int, list[float]] = {SHORT: [], LONG: []}
    wall: dict[int, list[float]] = {SHORT: [], LONG: []}
    with model_server(tmp_path) as urls:
        url = urls["chat"]
        for home, messages in ((tmp_path / "short", SHORT), (tmp_path / "long", LONG)):
            await fill(home, folder, url, messages)
        async with (
            opened(tmp_path / "short", folder, "chat", url) as short,
            opened(tmp_path / "long", folder, "chat", url) as long,
        ):
            for repeat in range(REPEATS):
                for engine, messages in ((short, SHORT), (long, LONG)):
                    began = time.perf_counter()
                    cpu[messages].append(await cpu_of(engine.run("rounds", f"ses_{repeat}")))
                    wall[messages].append((time.perf_counter() - began) * 1000)
    for what, values in (("CPU", cpu), ("time", wall)):
        for messages in (SHORT, LONG):
            show(f"{what} of {ROUNDS} tool rounds after {messages:,} messages", values[messages])
        growth = min(values[LONG]) / min(values[SHORT])
        middle = statistics.median(values[LONG]) / statistics.median(values[SHORT])
        print(f"{what} grows by (aim 1.3): best {growth:.2f}, median {middle:.2f}")


async def fill(home: Path, folder: Path, url: str, messages: int) -> None:
    """Sessions with so many messages that a summary stands for, and the same few after it. Closed
    at the end, so that no log of these writes is left to those that are measured."""
    store = await Store.open(home / "data" / "sessions.db")
    for name in (f"ses_{repeat}" for repeat in range(REPEATS)):
        record = replace(
            session(name),
            folder=str(folder.resolve()),
            model=ModelChoice("compatible", MODEL, url),
        )
        await store.create_session(record)
        await store._db.write(functools.partial(insert_messages, name, messages + RECENT))
        await store.store_summary(
            name,
            said(f"{name}_summary", "what was before", Origin.SUMMARY),
            kept_from=messages + 1,
            trigger="manual",
            tokens_before=100_000,
            tokens_after=1_000,
        )
    await store.close()


def insert_messages(name: str, messages: int, connection: sqlite3.Connection) -> None:
    for seq in range(1, messages + 1):
        insert(connection, "messages", message_row(name, one_of(name, seq)))


def one_of(name: str, seq: int) -> Message:
    origin = Origin.USER if seq % 2 else Origin.ASSISTANT
    return replace(said(f"{name}_{seq}", f"message {seq:05} " * 40, origin), seq=seq)


def show(what: str, values: list[float]) -> None:
    ordered = sorted(values)
    print(
        f"\n{what}: best {ordered[0]:.2f}, median {statistics.median(ordered):.2f}, "
        f"worst {ordered[-1]:.2f} ms"
    )
