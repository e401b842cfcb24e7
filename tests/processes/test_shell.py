"""A command ends, and so does everything it started; what it printed is kept."""

import asyncio
import contextlib
import os
import secrets
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tui_agent.processes.capture import SPILL_CAP, SpillFile
from tui_agent.processes.environment import child_environment
from tui_agent.processes.shell import ShellCancelled, ShellOutcome, run_program, run_shell


async def shell(command: str, folder: Path, *, timeout: float = 20.0) -> ShellOutcome:
    return await run_shell(
        command, cwd=folder, environment=child_environment(os.environ), timeout=timeout
    )


@pytest.fixture
def word() -> str:
    """A word that marks the processes of one test on their command line."""
    return f"mark{secrets.token_hex(6)}"


def survivors(word: str) -> list[str]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            line = " ".join(process.cmdline())
            if word in line and process.status() != psutil.STATUS_ZOMBIE:
                found.append(line)
    return found


async def wait_for(path: Path) -> None:
    async with asyncio.timeout(20):
        while not path.exists():
            await asyncio.sleep(0.01)


async def test_output_and_exit_code(tmp_path: Path) -> None:
    ran = await shell("echo out; echo err >&2; exit 3", tmp_path)
    assert (ran.exit_code, ran.signal, ran.timed_out) == (3, None, False)
    assert ran.output.text == "out\nerr\n"


async def test_a_signal_is_told_from_an_exit_code(tmp_path: Path) -> None:
    ran = await shell("kill -9 $$", tmp_path)
    assert (ran.exit_code, ran.signal) == (None, 9)


async def test_standard_input_is_empty(tmp_path: Path) -> None:
    ran = await shell("cat; echo end", tmp_path)
    assert ran.output.text == "end\n"


async def test_start_up_files_are_not_read(tmp_path: Path) -> None:
    Path(os.environ["HOME"], ".bashrc").write_text("echo from bashrc\n")
    Path(os.environ["HOME"], ".bash_profile").write_text("echo from profile\n")
    assert (await shell("echo x", tmp_path)).output.text == "x\n"


async def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await run_program(["/no/such/program"], cwd=tmp_path, environment={}, timeout=5)


BACKGROUND = {
    "background": "bash -c 'exec -a {word} sleep 300' &",
    "setsid": "setsid bash -c 'exec -a {word} sleep 300' &",
    "other output": "(bash -c 'exec -a {word} sleep 300' >&2 &)",
    "quiet": "setsid bash -c 'exec -a {word} sleep 300' >/dev/null 2>&1 &",
    "double fork": "( ( setsid bash -c 'exec -a {word} sleep 300' & ) & )",
    "nohup": "nohup bash -c 'exec -a {word} sleep 300' >/dev/null 2>&1 &",
    "ignores the request": "bash -c 'trap \"\" TERM; while :; do sleep 0.2; done; : {word}' &",
}


@pytest.mark.parametrize("kind", BACKGROUND)
async def test_the_call_returns_when_the_shell_exits_and_nothing_is_left(
    kind: str, tmp_path: Path, word: str
) -> None:
    command = BACKGROUND[kind].format(word=word)
    # the file shows that the shell did not wait; a limit of 20 s would show as timed_out
    ran = await shell(f"{command}\nsleep 0.1; echo done", tmp_path)
    assert ran.exit_code == 0
    assert not ran.timed_out
    assert "done" in ran.output.text
    assert ran.background >= 1
    assert survivors(word) == []


@pytest.mark.parametrize("kind", BACKGROUND)
async def test_cancelling_ends_the_whole_tree_and_keeps_what_was_printed(
    kind: str, tmp_path: Path, word: str
) -> None:
    command = BACKGROUND[kind].format(word=word)
    script = (
        f"for i in 1 2 3 4 5; do echo line $i; done; {command}\nsleep 0.1; touch up; wait; sleep 99"
    )
    task = asyncio.create_task(shell(script, tmp_path))
    await wait_for(tmp_path / "up")
    task.cancel()
    with pytest.raises(ShellCancelled) as caught:
        await task
    assert "line 1\nline 2\nline 3\nline 4\nline 5\n" in caught.value.outcome.output.text
    assert survivors(word) == []


async def test_a_shell_that_ignores_the_request_is_killed(tmp_path: Path, word: str) -> None:
    task = asyncio.create_task(
        shell(f"trap '' TERM; touch up; while :; do sleep 0.2; done; : {word}", tmp_path)
    )
    await wait_for(tmp_path / "up")
    task.cancel()
    with pytest.raises(ShellCancelled) as caught:
        await task
    assert caught.value.outcome.signal == 9
    assert survivors(word) == []


async def test_cancelling_again_during_the_clean_up_changes_nothing(
    tmp_path: Path, word: str
) -> None:
    task = asyncio.create_task(
        shell(f"trap '' TERM; touch up; while :; do sleep 0.2; done; : {word}", tmp_path)
    )
    await wait_for(tmp_path / "up")
    for _ in range(5):
        task.cancel()
        await asyncio.sleep(0.02)
    with pytest.raises(ShellCancelled):
        await task
    assert survivors(word) == []


async def test_cancelling_at_once_leaves_nothing(tmp_path: Path, word: str) -> None:
    task = asyncio.create_task(shell(f"sleep 300; : {word}", tmp_path))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert survivors(word) == []


def test_a_loop_that_is_torn_down_leaves_nothing(tmp_path: Path, word: str) -> None:
    async def main() -> None:
        running = asyncio.create_task(
            shell(f"touch up; setsid sleep 300 & sleep 300; : {word}", tmp_path)
        )
        await wait_for(tmp_path / "up")
        assert not running.done()

    asyncio.run(main())
    assert survivors(word) == []


async def test_the_time_limit_holds_for_a_pipeline(tmp_path: Path, word: str) -> None:
    ran = await shell(f"yes {word} | sleep 100 | cat", tmp_path, timeout=0.3)
    assert ran.timed_out
    assert survivors(word) == []


async def test_many_quick_commands_all_come_to_their_end(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for number in range(40):
        assert (await shell(f"exit {number}", tmp_path)).exit_code == number
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + 3


async def test_progress_comes_in_pieces_and_to_the_last_byte(tmp_path: Path) -> None:
    pieces: list[tuple[str, int]] = []
    await run_shell(
        "echo one; sleep 0.4; echo two; sleep 0.02; echo three",
        cwd=tmp_path,
        environment=child_environment(os.environ),
        timeout=20,
        on_output=lambda text, total: pieces.append((text, total)),
    )
    assert "".join(text for text, _ in pieces) == "one\ntwo\nthree\n"
    assert pieces[-1][1] == 14
    assert len(pieces) >= 2


async def test_bytes_that_are_no_text_become_marks(tmp_path: Path) -> None:
    ran = await shell(r"printf 'a\xff\xc3\xa9\n'", tmp_path)
    assert ran.output.text == "a\ufffdé\n"


FLOOD = """
import asyncio, os, resource, sys
from pathlib import Path
from tui_agent.processes.capture import SpillFile
from tui_agent.processes.environment import child_environment
from tui_agent.processes.shell import run_shell

async def run(command):
    spill = SpillFile(Path(sys.argv[1]) / "copy", cap=1_000_000)
    return await run_shell(command, cwd=Path(sys.argv[1]),
                           environment=child_environment(os.environ), timeout=60, spill=spill)

async def main():
    await run("seq 1 100000")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ran = await run("yes | head -c 200M")
    line = await run("head -c 50M /dev/zero | tr '\\\\0' a")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(ran.output.total_bytes, line.output.total_bytes, grown)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit elsewhere")
def test_a_flood_of_output_does_not_fill_the_memory(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FLOOD, str(tmp_path)], capture_output=True, text=True, check=True
    )
    flood, line, grown_kib = map(int, done.stdout.split())
    assert flood == 200 * 1024 * 1024
    assert line == 50 * 1024 * 1024
    assert grown_kib < 20 * 1024


async def test_head_and_tail_of_a_long_output_are_kept_and_the_copy_is_whole(
    tmp_path: Path,
) -> None:
    spill = SpillFile(tmp_path / "spill" / "call.txt")
    ran = await run_shell(
        "seq 1 200000", cwd=tmp_path, environment={"PATH": os.environ["PATH"]}, timeout=20,
        spill=spill,
    )  # fmt: skip
    assert ran.output.head.startswith("1\n2\n")
    assert ran.output.tail.endswith("199999\n200000\n")
    assert ran.output.omitted > 0
    whole = "".join(f"{number}\n" for number in range(1, 200001))
    assert spill.path.read_text() == whole
    assert spill.path.stat().st_mode & 0o777 == 0o600
    assert ran.output.total_bytes == len(whole) < SPILL_CAP


async def test_the_copy_has_a_cap_and_says_so(tmp_path: Path) -> None:
    spill = SpillFile(tmp_path / "call.txt", cap=100_000)
    ran = await run_shell(
        "seq 1 200000", cwd=tmp_path, environment={"PATH": os.environ["PATH"]}, timeout=20,
        spill=spill,
    )  # fmt: skip
    assert spill.path.stat().st_size == 100_000
    assert "100,000 bytes" in ran.output.note


async def test_a_copy_that_cannot_be_written_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = await run_shell(
        "seq 1 200000", cwd=tmp_path, environment={"PATH": os.environ["PATH"]}, timeout=20,
        spill=SpillFile(tmp_path / "file" / "call.txt"),
    )  # fmt: skip
    assert ran.exit_code == 0
    assert "could not be kept" in ran.output.note
    assert ran.output.spill_path is None


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_a_note() -> None:
    full = SpillFile(Path("/dev/full"))
    full.write(b"x")
    assert "could not be kept" in full.note
    full.close()


def test_a_link_in_the_place_of_the_copy_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("other\n")
    (tmp_path / "copy").symlink_to("other")
    spill = SpillFile(tmp_path / "copy")
    spill.write(b"x")
    assert "could not be kept" in spill.note
    assert (tmp_path / "other").read_text() == "other\n"


def test_keys_and_what_is_ours_stay_out_of_a_child() -> None:
    source = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "XDG_RUNTIME_DIR": "/run/user/1",
        "VIRTUAL_ENV": "/v",
        "ANTHROPIC_API_KEY": "k",
        "TUI_AGENT_API_KEY": "k",
        "TUI_AGENT_HOME": "/h",
        "GITHUB_TOKEN": "t",
        "AWS_SECRET_ACCESS_KEY": "s",
        "LC_PASSWORD": "p",
        "XDG_secret": "s",
        "BASH_ENV": "/evil",
        "LD_PRELOAD": "/evil",
        "https_proxy": "http://me:pw@proxy:1",
        "http_proxy": "http://proxy:1",
    }
    assert set(child_environment(source)) == {
        "PATH", "LC_ALL", "XDG_RUNTIME_DIR", "VIRTUAL_ENV", "http_proxy",
    }  # fmt: skip
