"""What a person waits for, beside a floor measured in the same run: start, key echo, memory, idle.

Both programs run in a real pseudo terminal, compiled, in the same environment, in turn. Nothing is
judged; the figures are printed.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from tests.bench.long_session import store_long_session
from tests.pty.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]
STARTS = 7
KEYS = 100
SIZE = (160, 45)
IDLE_SECONDS = 8.0
PATIENCE = 20.0


@dataclass(slots=True)
class Figures:
    """Milliseconds, MiB, and percent of a core."""

    ready: list[float] = field(default_factory=list)
    echo: list[float] = field(default_factory=list)
    memory: float = 0.0
    idle: float = 0.0


def opened(command: list[str], home: Path, waits_for: str) -> tuple[Terminal, float]:
    """The program with a letter typed and shown, and how long that took."""
    began = time.perf_counter()
    terminal = Terminal(
        command,
        folder=home,
        environ={
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "TUI_AGENT_HOME": str(home / "data"),
            "TUI_AGENT_PROVIDER": "demo",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
        },
        size=SIZE,
    )
    wait_for_bytes(terminal, waits_for.encode(), 0)
    echoed(terminal, "Q")
    return terminal, (time.perf_counter() - began) * 1000


def wait_for_bytes(terminal: Terminal, wanted: bytes, after: int) -> None:
    """Until the program has written `wanted`. The bytes are looked at as they come: drawing them
    here, in Python, would take longer than what is measured."""
    end = time.perf_counter() + PATIENCE
    while wanted not in terminal.output[after:]:
        assert time.perf_counter() < end, f"{wanted!r} was not written"
        time.sleep(0.0005)


def echoed(terminal: Terminal, key: str) -> float:
    """Milliseconds from a key to its letter in what the program writes."""
    seen = len(terminal.output)
    began = time.perf_counter()
    terminal.type(key)
    wait_for_bytes(terminal, key.encode(), seen)
    return (time.perf_counter() - began) * 1000


def measured_in_turn(
    programs: dict[str, Callable[[], tuple[Terminal, float]]],
) -> dict[str, Figures]:
    """Every figure of every program; starts alternate, so that a slow moment meets them all."""
    figures = {name: Figures() for name in programs}
    for _ in range(STARTS):
        for name, start in programs.items():
            terminal, ready = start()
            figures[name].ready.append(ready)
            terminal.close()
    for name, start in programs.items():
        terminal, _ready = start()
        _measure_at_rest(terminal, figures[name])
        terminal.close()
    return figures


def _measure_at_rest(terminal: Terminal, into: Figures) -> None:
    time.sleep(3)  # what is loaded after the first paint is not counted
    for number in range(KEYS):
        into.echo.append(echoed(terminal, "ZXKJV"[number % 5]))
        time.sleep(0.03)
    process = psutil.Process(terminal.pid)
    into.memory = process.memory_info().rss / 2**20
    before = sum(process.cpu_times()[:2])
    time.sleep(IDLE_SECONDS)
    into.idle = (sum(process.cpu_times()[:2]) - before) / IDLE_SECONDS * 100


@pytest.mark.bench
@pytest.mark.timeout(300)
def test_start_echo_memory_and_idle_beside_the_floor(tmp_path: Path) -> None:
    home, long_home = tmp_path / "short", tmp_path / "long"
    home.mkdir()
    long_home.mkdir()
    asyncio.run(store_long_session(long_home, long_home / "data" / "data" / "sessions.db"))
    ours = [sys.executable, "-m", "tui_agent"]
    floor = [sys.executable, str(ROOT / "tests" / "bench" / "floor_app.py")]
    figures = measured_in_turn(
        {
            "floor": lambda: opened(floor, home, "floor ready"),
            "workspace": lambda: opened(ours, home, "session"),
            "10,000 messages": lambda: opened([*ours, "--continue"], long_home, "session"),
        }
    )
    base = figures["floor"]
    for name, each in figures.items():
        ready, echo = statistics.median(each.ready), statistics.median(each.echo)
        print(
            f"\n{name}: input ready {ready:.0f} ms"
            f" ({ready / statistics.median(base.ready):.2f} × floor),"
            f" key echo p50 {echo:.1f} p99 {sorted(each.echo)[-2]:.1f} ms"
            f" ({echo / statistics.median(base.echo):.2f} × floor),"
            f" {each.memory:.0f} MiB, idle {each.idle:.2f} %",
            end="",
        )
    print()
