"""What was too long for a result is kept for a while, apart for each session, and only for us."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.kit import Workshop
from tui_agent.tools import spill
from tui_agent.tools.spill import clean_spill, spilling_sessions
from tui_agent.vocabulary.blocks import text_of

NOW = 1_000_000_000.0
DAY = 24 * 3600.0


def put(folder: Path, name: str, *, days: float = 0.0, size: int = 10) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    os.utime(path, (NOW - days * DAY, NOW - days * DAY))
    return path


def left_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


async def test_two_sessions_with_the_same_call_id_have_two_files(shop: Workshop) -> None:
    command = {"command": "seq 1 9000"}
    texts = []
    for session in ("ses_1", "ses_2"):
        result = await shop.run("Bash", command, context=shop.context(session_id=session))
        path = Path(result.details["spill_path"])
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        texts.append(path)
    assert texts[0] != texts[1]


def test_what_is_old_goes_and_an_open_session_keeps_all(tmp_path: Path) -> None:
    for session in ("open", "shut"):
        put(tmp_path, f"{session}/old.txt", days=15)
        put(tmp_path, f"{session}/new.txt", days=13)
    put(tmp_path, "shut2/old.txt", days=400)
    every = ("open", "shut", "shut2")
    removed = clean_spill(tmp_path, is_open={"open"}, exist=every, now=NOW)
    assert left_in(tmp_path) == ["open/new.txt", "open/old.txt", "shut/new.txt"]
    assert removed == 20
    assert spilling_sessions(tmp_path) == ("open", "shut"), "an empty folder goes too"


def test_too_much_goes_oldest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "KEPT_BYTES", 250)
    for days in range(1, 6):
        put(tmp_path, f"s{days}/x.txt", days=days, size=100)
    clean_spill(tmp_path, is_open=(), exist=[f"s{n}" for n in range(9)], now=NOW)
    assert left_in(tmp_path) == ["s1/x.txt", "s2/x.txt"]


def test_what_is_left_of_a_deleted_session_goes(tmp_path: Path) -> None:
    put(tmp_path, "gone/new.txt")
    put(tmp_path, "here/new.txt")
    clean_spill(tmp_path, is_open=(), exist={"here"}, now=NOW)
    assert left_in(tmp_path) == ["here/new.txt"]


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    outside = put(tmp_path, "outside/x.txt", days=99)
    folder = tmp_path / "spill"
    put(folder, "s/x.txt", days=99)
    (folder / "s" / "link.txt").symlink_to(outside)
    (folder / "t").symlink_to(tmp_path / "outside")
    os.utime(folder / "s" / "link.txt", (0, 0), follow_symlinks=False)
    clean_spill(folder, is_open=(), exist={"s"}, now=NOW)
    assert outside.exists()
    assert spilling_sessions(folder) == ()


def test_no_folder_is_nothing_to_do(tmp_path: Path) -> None:
    assert clean_spill(tmp_path / "none", is_open=(), exist=(), now=NOW) == 0


SMALL_DISK = """
import asyncio, sys
from pathlib import Path
from tests.tools.kit import Workshop
from tui_agent.vocabulary.blocks import text_of

async def main():
    shop = Workshop(Path(sys.argv[1]) / "ws")
    context = shop.context(spill_folder=Path(sys.argv[2]))
    result = await shop.run("Bash", {"command": "seq 1 1000000"}, context=context)
    print(text_of(result.content))

asyncio.run(main())
"""


@pytest.mark.skipif(
    os.geteuid() != 0 or sys.platform != "linux", reason="only root can mount a small disk"
)
def test_a_full_disk_is_said_and_the_result_claims_no_more_than_is_there(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    script = 'mount -t tmpfs -o size=1m none "$2" && exec "$0" -c "$3" "$1" "$2"'
    arguments = ["unshare", "-m", "sh", "-c", script, sys.executable]
    arguments += [str(tmp_path), str(small), SMALL_DISK]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert "could not be kept: No space left on device" in done.stdout
    assert "what could be kept of it is in" in done.stdout
    assert "999999\n1000000\n" in done.stdout


async def test_a_copy_that_was_cut_is_not_called_whole(shop: Workshop) -> None:
    text = text_of((await shop.run("Bash", {"command": "yes | head -c 11M"})).content)
    assert "what could be kept of it is in" in text
    assert "the whole output" not in text
