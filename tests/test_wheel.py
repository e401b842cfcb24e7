"""The built wheel, in an environment that has nothing of the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.pty.terminal import Terminal

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and its dependencies."""
    place = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place / "env")], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = place / "env" / "lib" / version / "site-packages"
    zipfile.ZipFile(wheel).extractall(packages)
    # The dependencies come from here; a plain path line does not bring the checkout with it.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place / "env" / "bin" / "python"


def test_it_brings_its_command_and_its_styles(installed: Path) -> None:
    code = (
        "import tui_agent, importlib.metadata as m;"
        "from tui_agent.ui.stylesheets import stylesheets;"
        "e = [x for x in m.distribution('tui-agent').entry_points if x.name == 'tui-agent'];"
        "print(tui_agent.__file__); print(e[0].value); print(*stylesheets(), sep='\\n')"
    )
    done = subprocess.run(
        [installed, "-c", code], cwd="/", capture_output=True, text=True, check=True
    )
    file, entry, *sheets = done.stdout.split()
    assert Path(file).is_relative_to(installed.parents[1])
    assert entry == "tui_agent.cli:main"
    assert sheets
    assert all(Path(sheet).is_relative_to(installed.parents[1]) for sheet in sheets)


@pytest.mark.pty
def test_it_starts(installed: Path, tmp_path: Path) -> None:
    kept = ("PATH", "HOME", "LANG")
    terminal = Terminal(
        [str(installed), "-m", "tui_agent"],
        folder=tmp_path,
        environ={
            **{name: os.environ[name] for name in kept if name in os.environ},
            "TERM": "xterm-256color",
            "TUI_AGENT_HOME": str(tmp_path / "home"),
            "TUI_AGENT_PROVIDER": "demo",
        },
    )
    with terminal:
        terminal.shows("ready", "session")
        terminal.press("ctrl+c")
        terminal.shows("Ctrl+C again quits")
        terminal.press("ctrl+c")
        assert terminal.ended() == 0
