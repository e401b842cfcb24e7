"""The house keeps its promises: what each room may load, found out by loading it.

The layers are checked from the source by import-linter; these tests check what really happens in a
fresh interpreter, where an import inside an import counts too.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import tui_agent

PACKAGE = Path(tui_agent.__file__).resolve().parent
SDKS = frozenset({"anthropic", "openai"})
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
# cli may load whatever the surface it starts needs; ui is where Textual belongs.
ENGINE_ROOMS = [room for room in ROOMS if room not in {"cli", "ui"}]


def modules_of(room: str) -> list[str]:
    """Every module of a room, by file, so that none is missed for want of an import."""
    names = []
    for path in sorted((PACKAGE / room).rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        names.append(".".join(parts).removesuffix(".__init__"))
    return names


def loaded_by(names: Iterable[str]) -> set[str]:
    """Imports modules in a fresh interpreter; returns every module that is loaded afterwards."""
    script = (
        "import importlib, json, sys\n"
        "for name in json.load(sys.stdin): importlib.import_module(name)\n"
        "print('loaded', json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        input=json.dumps(list(names)),
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.rpartition("loaded ")[2]))


def top_level(modules: Iterable[str]) -> set[str]:
    """The packages that modules belong to."""
    return {name.partition(".")[0] for name in modules}


def test_the_engine_is_there() -> None:
    assert {"loop", "providers", "store", "vocabulary"} <= set(ENGINE_ROOMS)


@pytest.mark.parametrize("room", ENGINE_ROOMS)
def test_an_engine_room_loads_without_textual(room: str) -> None:
    assert "textual" not in top_level(loaded_by(modules_of(room)))


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_loads_a_model_sdk_before_it_is_used(room: str) -> None:
    assert not SDKS & top_level(loaded_by(modules_of(room)))


def test_importing_the_package_loads_nothing_else() -> None:
    before = loaded_by([])
    added = loaded_by(["tui_agent"]) - before
    assert added == {"tui_agent"}


def test_vocabulary_stands_on_the_standard_library_alone() -> None:
    installed = set(packages_distributions()) - {"tui_agent"}
    preloaded = top_level(loaded_by([]))
    assert not (top_level(loaded_by(modules_of("vocabulary"))) - preloaded) & installed


def test_the_two_ways_in_are_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tui_agent", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[-1] == tui_agent.__version__
