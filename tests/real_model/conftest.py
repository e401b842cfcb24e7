"""The real model, served once for all tests, and the program connected to it.

The model lives in an environment of its own, which `make real-model` installs; nothing of the
program depends on it. Without it these tests are skipped, unless they are required.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from tests.cli.conftest import Command, Ended, Wire
from tests.pty.conftest import Program
from tui_agent.headless.schema import event_adapter

HERE = Path(__file__).parent
TEMPLATE = HERE / "tools.jinja"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
# Read now: a test sees neither our variables nor the person's home.
PLACE = Path(os.environ.get("TUI_AGENT_REAL_MODEL") or _CACHE / "tui-agent" / "real-model")
IS_REQUIRED = "TUI_AGENT_REQUIRE_REAL_MODEL" in os.environ

WINDOW = 8192
"""Tokens; our system prompt and tools take about 2,300 of them."""
NARROW = 1024
"""A window that a short conversation fills."""
PATIENCE = 300
"""Seconds that a test may take: a busy machine reads our prompt and tools for a minute."""
TOLD = "The cat is called Minka."
"""What `notes.txt` in the project folder says."""

GROUP = pytest.mark.xdist_group("real model")
"""All on one worker: two would serve the model twice."""

SETTINGS = f"""\
[models.steady]
window = {WINDOW}
max_output = 128
options = {{ temperature = 0 }}

[models.curt]
window = {WINDOW}
max_output = 8
options = {{ temperature = 0 }}

[models.verbose]
window = {WINDOW}
max_output = 1024
options = {{ temperature = 0 }}
"""
"""The server takes any model name; the names here only carry settings."""


@dataclass(frozen=True, slots=True)
class Served:
    """A server that runs."""

    url: str

    def environ(self, wire: Wire, model: str = "steady") -> dict[str, str]:
        """What connects the program to it."""
        is_messages = wire == "anthropic"
        return {
            "TUI_AGENT_PROVIDER": "anthropic" if is_messages else "compatible",
            "TUI_AGENT_API_KEY": "k",
            "TUI_AGENT_MODEL": model,
            "TUI_AGENT_BASE_URL": self.url if is_messages else f"{self.url}/v1",
        }


@contextmanager
def serve(log: Path, *arguments: str) -> Iterator[Served]:
    """The model on a free port; it ends with us, however we end."""
    python = PLACE / "bin" / "python"
    if not python.exists():
        problem = f"no real model in {PLACE}: `make real-model` installs one"
        if IS_REQUIRED:
            pytest.fail(problem)
        pytest.skip(problem)
    with log.open("w") as errors:
        server = subprocess.Popen(
            [str(python), "-I", str(HERE / "serve.py"), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield Served(_address(server.stdout, log))
        finally:
            server.stdin.close()
            server.stdout.close()
            server.wait(30)


def _address(printed: IO[str], log: Path) -> str:
    line = printed.readline().strip()
    assert line.startswith("http://"), f"the model did not start:\n{log.read_text()[-2000:]}"
    return line


@pytest.fixture(scope="session", params=["anthropic", "chat"])
def wire(request: pytest.FixtureRequest) -> Wire:
    """All tests of one wire, then all of the other: the server keeps what the last prompt had."""
    chosen: Wire = request.param
    return chosen


@pytest.fixture(scope="session")
def obedient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The model with a template that makes it call the tool a prompt names, once a prompt."""
    log = tmp_path_factory.mktemp("obedient") / "log"
    with serve(log, str(WINDOW), str(TEMPLATE)) as served:
        yield served


@pytest.fixture(scope="session")
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The model with its own template, which knows no tools."""
    log = tmp_path_factory.mktemp("talkative") / "log"
    with serve(log, str(WINDOW)) as served:
        yield served


@pytest.fixture(scope="session")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The same in a window smaller than the program is told."""
    log = tmp_path_factory.mktemp("forgetful") / "log"
    with serve(log, str(NARROW)) as served:
        yield served


@pytest.fixture(scope="session")
def folder() -> Path:
    """One project folder for all, the same in every run. Its path stands in the system prompt,
    before the tools: with a new one the model reads them all again, and may answer otherwise."""
    made = Path(tempfile.gettempdir()) / f"tui-agent-real-model-{os.getuid()}"
    made.mkdir(mode=0o700, exist_ok=True)
    (made / "notes.txt").write_text(f"{TOLD}\n")
    return made


@pytest.fixture(autouse=True)
def _settings() -> None:
    home = Path(os.environ["TUI_AGENT_HOME"])
    home.mkdir()
    (home / "settings.toml").write_text(SETTINGS)


@pytest.fixture
def command(folder: Path) -> Command:
    return Command(folder)


@pytest.fixture
def program(folder: Path) -> Iterator[Program]:
    started = Program(folder)
    yield started
    started.close()


def story(ended: Ended) -> dict[str, list[dict[str, object]]]:
    """The events of one turn by type, after what must hold of any turn was checked."""
    for line in ended.out.splitlines():
        event_adapter().validate_json(line)
    by_type: dict[str, list[dict[str, object]]] = {}
    for event in ended.events:
        by_type.setdefault(event["type"], []).append(event)
    started = [event["model_call_id"] for event in by_type.get("provider:started", [])]
    ends = by_type.get("provider:retry", []) + by_type.get("provider:complete", [])
    assert sorted(map(str, started)) == sorted(str(event["model_call_id"]) for event in ends)
    assert len(by_type["done"]) == 1
    return by_type
