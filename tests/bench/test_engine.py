"""What the engine itself costs: CPU above the bare SDK that makes the same calls in the same run.

The model server runs in a process of its own, so that only this process's CPU is counted. Nothing
is judged; the figures are printed.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tui_agent.settings.load import load_settings
from tui_agent.vocabulary.states import Phase
from tui_agent.workspace.config import WorkspaceConfig
from tui_agent.workspace.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 20
REPEATS = 5
TOKENS = 2_000

SCRIPT = f"""
from tests.scripted.script import Call, Reply, Say, by_prompt
rounds = [Reply((Call("Read", {{"file_path": "note.txt"}}),)) for _ in range({ROUNDS})]
script = by_prompt({{
    "warm": [Reply((Say("ready"),))],
    "rounds": [*rounds, Reply((Say("done"),))],
    "tokens": [Reply((Say("word " * {TOKENS}, chunk=5),))],
}})
"""


@contextmanager
def model_server(folder: Path) -> Iterator[str]:
    """The scripted server in a process of its own; yields its Chat Completions address."""
    script = folder / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-u", "-m", "tests.scripted", str(script)]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        for line in server.stdout:
            if "TUI_AGENT_BASE_URL=" in line and line.rstrip().endswith("/v1"):
                yield line.split("TUI_AGENT_BASE_URL=")[1].split()[0]
                break
    finally:
        server.terminate()
        server.communicate()


async def cpu_of(work: Any) -> float:
    """CPU milliseconds of this process while `work` runs."""
    gc.collect()
    began = time.process_time()
    await work
    return (time.process_time() - began) * 1000


class Engine:
    """A workspace on the server, and one prompt run to its end."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    async def run(self, prompt: str) -> None:
        session = await self.workspace.create_session()
        events = self.workspace.subscribe()
        await self.workspace.submit(session.id, prompt)
        async for batch in events:
            if any(e.type == "session:phase" and e.phase is Phase.IDLE for e in batch):
                break
        events.close()


class Bare:
    """The same calls through the SDK alone, with the tools' file read by hand."""

    def __init__(self, url: str, folder: Path, tools: list[dict[str, Any]]) -> None:
        from openai import AsyncOpenAI

        self.client = AsyncOpenAI(base_url=url, api_key="k", max_retries=0)
        self.file = folder / "note.txt"
        self.tools = tools

    async def run(self, prompt: str) -> None:
        messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
        while calls := await self.ask(messages):
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            for made in calls:
                result = {"role": "tool", "tool_call_id": made["id"]}
                messages.append({**result, "content": self.file.read_text()})

    async def ask(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        stream = await self.client.chat.completions.create(
            model="mock-model",
            messages=[],
            stream=True,
            extra_body={
                "messages": messages,
                "tools": self.tools,
                "stream_options": {"include_usage": True},
            },
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


@pytest.mark.bench
async def test_engine_overhead_per_tool_round_and_per_token(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "note.txt").write_text("line of a small file\n" * 30)
    with model_server(tmp_path) as url:
        environ = {
            "TUI_AGENT_HOME": str(tmp_path / "home"),
            "TUI_AGENT_BASE_URL": url,
            "TUI_AGENT_MODEL": "mock-model",
            "PATH": os.environ["PATH"],
        }
        config = WorkspaceConfig(folder.resolve(), load_settings(folder, environ), environ)
        workspace = await Workspace.open(config)
        schemas = [
            {
                "type": "function",
                "function": {
                    "name": schema.name,
                    "description": schema.description,
                    "parameters": json.loads(json.dumps(schema.input_schema)),
                },
            }
            for schema in workspace.tools.schemas()
        ]
        engine, bare = Engine(workspace), Bare(url, folder, schemas)
        await engine.run("warm")
        await bare.run("warm")
        rounds: list[float] = []
        tokens: list[float] = []
        for _ in range(REPEATS):
            floor = await cpu_of(bare.run("rounds"))
            rounds.append((await cpu_of(engine.run("rounds")) - floor) / ROUNDS)
            floor = await cpu_of(bare.run("tokens"))
            tokens.append((await cpu_of(engine.run("tokens")) - floor) * 1000 / TOKENS)
        await workspace.close()
        await bare.client.close()
    await asyncio.sleep(0)
    show("CPU per tool round above the SDK", rounds)
    show("CPU per 1,000 streamed tokens above the SDK", tokens)


def show(what: str, values: list[float]) -> None:
    ordered = sorted(values)
    print(
        f"{what}: median {statistics.median(ordered):.2f} ms "
        f"(from {ordered[0]:.2f} to {ordered[-1]:.2f})"
    )
