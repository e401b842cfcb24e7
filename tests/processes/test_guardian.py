"""A program that is killed takes its children with it, and no child can read its keys."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.processes.test_shell import survivors, word
from tui_agent.processes.guardian import PROGRAM_MARK
from tui_agent.processes.tree import Kin, end_now, members

__all__ = ["word"]

PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from tui_agent.processes.environment import child_environment
from tui_agent.processes.shell import run_shell

async def main():
    ran = await run_shell(sys.argv[1], cwd=Path(sys.argv[2]),
                          environment=child_environment(os.environ), timeout=60)
    print(ran.output.text)

asyncio.run(main())
"""

WRITERS = {
    "shell": "LOOP",
    "pipeline": "yes | LOOP",
    "background": "(LOOP) & wait",
    "own session": "setsid bash -c 'LOOP'",
    "double fork": "( ( setsid bash -c 'LOOP' & ) & ); sleep 60",
    "deaf": 'trap "" TERM HUP; LOOP',
    "emptied environment": "env -i bash -c 'LOOP' & wait",
}


def loop(word: str) -> str:
    """A command that writes without end."""
    return f"while :; do echo {word}; sleep 0.05; done >> written"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Programs of a test; none is left behind."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def start(
    programs: list[subprocess.Popen[bytes]], command: str, folder: Path
) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", PROGRAM, command, str(folder)]
    programs.append(subprocess.Popen(arguments, start_new_session=True))
    return programs[-1]


def wait_until_written(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not (path.exists() and path.stat().st_size):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_until_gone(word: str) -> list[str]:
    deadline = time.monotonic() + 30
    while (left := survivors(word)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


@pytest.mark.parametrize("kind", WRITERS)
def test_a_killed_program_leaves_nothing_that_goes_on_writing(
    kind: str, tmp_path: Path, word: str, program: list[subprocess.Popen[bytes]]
) -> None:
    process = start(program, WRITERS[kind].replace("LOOP", loop(word)), tmp_path)
    wait_until_written(tmp_path / "written")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert wait_until_gone(word) == []
    size = (tmp_path / "written").stat().st_size
    time.sleep(0.2)
    assert (tmp_path / "written").stat().st_size == size


def test_the_whole_group_may_be_killed(
    tmp_path: Path, word: str, program: list[subprocess.Popen[bytes]]
) -> None:
    process = start(program, loop(word), tmp_path)
    wait_until_written(tmp_path / "written")
    for number in (signal.SIGHUP, signal.SIGKILL):
        os.killpg(process.pid, number)
    process.wait()
    assert wait_until_gone(word) == []


def test_a_guardian_that_was_ended_is_there_again_for_the_next_child(
    tmp_path: Path, word: str, program: list[subprocess.Popen[bytes]]
) -> None:
    script = PROGRAM.replace(
        "async def main():",
        "async def main():\n"
        "    await run_shell('true', cwd=Path(sys.argv[2]), environment={}, timeout=9)\n"
        "    from tui_agent.processes.guardian import GUARDIAN\n"
        "    os.kill(GUARDIAN._process.pid, 9)\n"
        "    GUARDIAN._process.wait()",
    )
    arguments = [sys.executable, "-c", script, loop(word), str(tmp_path)]
    program.append(subprocess.Popen(arguments))
    wait_until_written(tmp_path / "written")
    os.kill(program[-1].pid, signal.SIGKILL)
    program[-1].wait()
    assert wait_until_gone(word) == []


def test_a_program_that_ends_lets_its_guardian_go(tmp_path: Path) -> None:
    script = PROGRAM + "\nfrom tui_agent.processes.guardian import GUARDIAN\n"
    script += "print('guardian', GUARDIAN._process.pid)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, "true", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"guardian (\d+)", done.stdout)
    assert found is not None
    assert not psutil.pid_exists(int(found.group(1)))
    assert done.stderr == ""


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="needs /proc")
def test_a_child_finds_no_keys_in_its_parent(tmp_path: Path) -> None:
    keys = {
        "ANTHROPIC_API_KEY": "canary-1",
        "TUI_AGENT_API_KEY": "canary-2",
        "SOME_PROXY": "http://me:canary-3@proxy:1",
        "GITHUB_TOKEN": "canary-4",
    }
    script = PROGRAM + "\nprint(os.environ['ANTHROPIC_API_KEY'], os.environ['GITHUB_TOKEN'])"
    command = (
        "for pid in $PPID $(pgrep -P $PPID) self; do tr '\\0' '\\n' < /proc/$pid/environ; done"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, command, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **keys},
    )
    shown, _, own = done.stdout.rstrip("\n").rpartition("\n")
    assert "PATH=" in shown
    assert "canary" not in shown
    assert own == "canary-1 canary-4", "the program itself still has its keys"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start what it may not end")
def test_what_cannot_be_ended_is_named() -> None:
    mark = f"{PROGRAM_MARK}:x"
    script = (
        "import os, sys; from tui_agent.processes.tree import Kin, end_now; import psutil;"
        "os.setresuid(65534, 65534, 65534);"
        "print(end_now(Kin(frozenset({int(sys.argv[1])}), sys.argv[2])))"
    )
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        done = subprocess.run(
            [sys.executable, "-c", script, str(child.pid), mark],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == f"Ended(count=1, survivors=('sleep ({child.pid})',))"
    finally:
        child.kill()
        child.wait()


def test_a_descendant_is_ended_though_its_ancestors_go_first(word: str) -> None:
    """It is known by descent only, and the ancestor ends at the first request."""
    deaf = f"trap '' TERM; echo up; while :; do sleep 0.1; done; : {word}"
    mark = f"{PROGRAM_MARK}:{word}"
    child = subprocess.Popen(
        ["bash", "-c", f'(exec env -i setsid bash -c "{deaf}") & wait'],
        start_new_session=True,
        env={**os.environ, "TUI_AGENT_CALL": mark},
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        kin = Kin(frozenset({child.pid}), mark)
        assert len(members(kin)) >= 2
        ended = end_now(kin, grace=0.3)
    assert ended.survivors == ()
    assert survivors(word) == []


def test_a_foreign_process_is_no_kin() -> None:
    foreign = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        assert members(Kin(frozenset({1 << 22}), f"{PROGRAM_MARK}:none")) == []
    finally:
        foreign.kill()
        foreign.wait()
