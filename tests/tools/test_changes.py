"""Write and Edit change what they were asked to, nothing else, and only what the model knows."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.kit import Workshop
from tui_agent.tools import open_files
from tui_agent.tools.base import ToolError, ToolInterrupted
from tui_agent.tools.edit import replaced
from tui_agent.tools.ledger import ReadLedger
from tui_agent.vocabulary.blocks import Outcome, text_of

ROOT = Path(__file__).parents[2]


async def read(shop: Workshop, name: str) -> None:
    await shop.text("Read", file_path=name)


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*.tmp")]


async def test_write_makes_a_file_and_its_folders(shop: Workshop) -> None:
    result = await shop.run("Write", {"file_path": "a/b/new.txt", "content": "x\ny\n"})
    path = shop.folder / "a/b/new.txt"
    assert path.read_text() == "x\ny\n"
    assert result.details["is_new"] is True
    assert (result.details["added"], result.details["removed"]) == (2, 0)
    assert leftovers(shop.folder) == []


async def test_a_new_file_has_the_mode_that_the_umask_leaves(shop: Workshop) -> None:
    old = os.umask(0o027)
    try:
        await shop.text("Write", file_path="new.txt", content="x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((shop.folder / "new.txt").stat().st_mode) == 0o640


async def test_a_file_that_was_not_read_is_not_overwritten(shop: Workshop) -> None:
    path = shop.put("a.txt", "old\n")
    for arguments in ({"content": "new"}, {"old_string": "old", "new_string": "new"}):
        name = "Write" if "content" in arguments else "Edit"
        error = await shop.failure(name, file_path="a.txt", **arguments)
        assert error.code == "stale"
        assert "Read it first" in str(error)
    assert path.read_text() == "old\n"


async def test_a_file_that_changed_since_is_not_overwritten(shop: Workshop) -> None:
    path = shop.put("a.txt", "old\n")
    await read(shop, "a.txt")
    path.write_text("theirs\n")
    error = await shop.failure("Write", file_path="a.txt", content="mine\n")
    assert error.code == "stale"
    assert path.read_text() == "theirs\n"
    await read(shop, "a.txt")
    await shop.text("Write", file_path="a.txt", content="mine\n")
    await shop.text("Write", file_path="a.txt", content="mine again\n")
    assert path.read_text() == "mine again\n"


async def test_mode_mark_and_line_ends_are_kept(shop: Workshop) -> None:
    path = shop.put("a.sh", b"\xef\xbb\xbfone\r\ntwo\r\n")
    path.chmod(0o751)
    await read(shop, "a.sh")
    await shop.text("Write", file_path="a.sh", content="1\n2\n")
    assert path.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o751


async def test_a_write_through_a_link_changes_the_file_and_keeps_the_link(shop: Workshop) -> None:
    path = shop.put("a.txt", "old\n")
    (shop.folder / "link").symlink_to("a.txt")
    await read(shop, "link")
    await shop.text("Write", file_path="link", content="new\n")
    assert (shop.folder / "link").is_symlink()
    assert path.read_text() == "new\n"


async def test_a_write_protected_file_stays(shop: Workshop) -> None:
    path = shop.put("a.txt", "old\n")
    path.chmod(0o444)
    await read(shop, "a.txt")
    assert (await shop.failure("Write", file_path="a.txt", content="x")).code == "permission"


MIXED = b"\xef\xbb\xbfa\nb\r\nc\rd\r\n\te \xe6\x97\xa5\nf"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("b", "B", MIXED.replace(b"b", b"B")),
        ("a\nb", "a\nB", MIXED.replace(b"b", b"B")),
        ("b\nc", "b\nx\nc", MIXED.replace(b"b\r\n", b"b\r\nx\r\n")),
        ("\te 日\nf", "\te 本\nf", MIXED.replace("日".encode(), "本".encode())),
        ("f", "f\ng", MIXED + b"\ng"),
        ("a\r\nb", "a\r\nB", MIXED.replace(b"b", b"B")),
    ],
)
async def test_only_the_edited_bytes_differ(
    shop: Workshop, old: str, new: str, expected: bytes
) -> None:
    path = shop.put("m.txt", MIXED)
    await read(shop, "m.txt")
    await shop.text("Edit", file_path="m.txt", old_string=old, new_string=new)
    assert path.read_bytes() == expected


@given(
    lines=st.lists(
        st.tuples(st.text("ab \t", max_size=4), st.sampled_from(["\n", "\r\n"])), max_size=8
    ),
    new=st.text("xy\n", max_size=6),
)
def test_an_edit_is_a_splice(lines: list[tuple[str, str]], new: str) -> None:
    head = "".join(line + end for line, end in lines)
    text = f"{head}THE\r\nPLACE{head}"
    after = replaced(text, "THE\nPLACE", new, every=False)
    assert after.startswith(head)
    assert after.endswith(head)
    middle = after[len(head) : len(after) - len(head)]
    assert middle.replace("\r\n", "\n") == new


async def test_text_goes_into_a_file_in_its_own_encoding(shop: Workshop) -> None:
    text = "これは日本語のテキストです。\n試験のための行です。\n" * 4 + "ここ\n"
    path = shop.put("sjis.txt", text.encode("shift_jis"))
    await read(shop, "sjis.txt")
    await shop.text("Edit", file_path="sjis.txt", old_string="ここ", new_string="日本")
    assert path.read_bytes() == text.replace("ここ", "日本").encode("shift_jis")
    before = path.read_bytes()
    error = await shop.failure(
        "Edit", file_path="sjis.txt", old_string="日本\n", new_string="€😀\n"
    )
    assert error.code == "not_utf8"
    assert path.read_bytes() == before


async def test_an_uncertain_encoding_takes_no_strange_characters(shop: Workshop) -> None:
    path = shop.put("latin.txt", b"caf\xe9\nx\n")
    assert "café" in await shop.text("Read", file_path="latin.txt")
    error = await shop.failure("Edit", file_path="latin.txt", old_string="x", new_string="ü")
    assert error.code == "not_utf8"
    assert "not certain" in str(error)
    await shop.text("Edit", file_path="latin.txt", old_string="x", new_string="y")
    assert path.read_bytes() == b"caf\xe9\ny\n"


async def test_several_matches_are_named_by_line(shop: Workshop) -> None:
    path = shop.put("a.txt", "x\ny\nx\n")
    await read(shop, "a.txt")
    error = await shop.failure("Edit", file_path="a.txt", old_string="x", new_string="z")
    assert error.code == "several_matches"
    assert "lines 1, 3" in str(error)
    await shop.text("Edit", file_path="a.txt", old_string="x", new_string="z", replace_all=True)
    assert path.read_text() == "z\ny\nz\n"


async def test_no_match_shows_the_nearest_lines(shop: Workshop) -> None:
    shop.put("a.py", "def one():\n\treturn compute(1)\n\ndef two():\n    pass\n")
    await read(shop, "a.py")
    error = await shop.failure(
        "Edit", file_path="a.py", old_string="    return compute(1)", new_string="x"
    )
    assert error.code == "no_match"
    assert "     2\t\treturn compute(1)" in str(error)
    error = await shop.failure("Edit", file_path="a.py", old_string="def too():", new_string="x")
    assert "     4\tdef two():" in str(error)


async def test_six_edits_at_once_all_stay(shop: Workshop) -> None:
    path = shop.put("a.txt", "".join(f"line {n}\n" for n in range(6)))
    (shop.folder / "link").symlink_to("a.txt")
    await read(shop, "a.txt")
    names = ["a.txt", "./a.txt", "link", str(path), "a.txt", "link"]
    await asyncio.gather(
        *(
            shop.text("Edit", file_path=name, old_string=f"line {n}", new_string=f"done {n}")
            for n, name in enumerate(names)
        )
    )
    assert path.read_text() == "".join(f"done {n}\n" for n in range(6))


async def test_a_preview_of_a_file_that_a_call_before_it_may_read_shows_the_change(
    shop: Workshop,
) -> None:
    (shop.folder / "a.txt").write_text("one\n")
    shown = shop.preview("Write", file_path="a.txt", content="two\n")
    assert shown["kind"] == "diff"


async def test_a_preview_shows_the_change_and_makes_none(shop: Workshop) -> None:
    path = shop.put("a.txt", "one\ntwo\nthree\n")
    await read(shop, "a.txt")
    shown = shop.preview("Edit", file_path="a.txt", old_string="two", new_string="2")
    assert shown["kind"] == "diff"
    assert shown["diff"] == "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    assert path.read_text() == "one\ntwo\nthree\n"
    fails = shop.preview("Edit", file_path="a.txt", old_string="four", new_string="2")
    assert fails["kind"] == "text"
    assert "does not occur" in fails["text"]
    new = shop.preview("Write", file_path="sub/new.txt", content="x")
    assert new["is_new"] is True
    assert not (shop.folder / "sub").exists()


async def test_an_outside_file_is_reached_when_it_was_allowed(
    shop: Workshop, tmp_path: Path
) -> None:
    await shop.text("Write", file_path=str(tmp_path / "out.txt"), content="x")
    assert (tmp_path / "out.txt").read_text() == "x"


async def test_a_swapped_folder_is_not_written_through(shop: Workshop, tmp_path: Path) -> None:
    """A folder that is a link one moment and another the next never leads outside."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f.txt").write_text("OUTSIDE\n")
    shop.put("d/f.txt", "inside\n")
    for name, target in (("in", "d"), ("out", str(outside))):
        (shop.folder / name).symlink_to(target)
    (shop.folder / "swap").symlink_to("d")
    judged = shop.effects("Write", file_path="swap/f.txt", content="x")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for name in ("out", "in"):
                spare = shop.folder / "spare"
                spare.unlink(missing_ok=True)
                spare.symlink_to(os.readlink(shop.folder / name))
                os.replace(spare, shop.folder / "swap")

    thread = threading.Thread(target=swap)
    thread.start()
    written = 0
    try:
        for round_ in range(300):
            shop.ledger = ReadLedger()
            await shop.text("Read", file_path="d/f.txt")
            arguments = {"file_path": "swap/f.txt", "content": f"{round_}\n"}
            try:
                await shop.run("Write", arguments, context=shop.context(judged=judged))
                written += 1
            except ToolError:
                continue
    finally:
        stop.set()
        thread.join()
    assert (outside / "f.txt").read_text() == "OUTSIDE\n"
    assert written > 0


async def test_a_folder_replaced_during_the_write_stops_it(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link appears after the path was resolved, at the moment it is opened."""
    outside = tmp_path / "outside"
    outside.mkdir()
    shop.put("d/f.txt", "inside\n")
    await read(shop, "d/f.txt")
    enter = open_files._enter

    def replaced_first(*args: Any, **kwargs: Any) -> int:
        if (shop.folder / "d").is_dir() and not (shop.folder / "d").is_symlink():
            (shop.folder / "d").rename(shop.folder / "old")
            (shop.folder / "d").symlink_to(outside)
        return enter(*args, **kwargs)

    monkeypatch.setattr(open_files, "_enter", replaced_first)
    error = await shop.failure("Write", file_path="d/f.txt", content="x")
    assert error.code == "stale"
    assert list(outside.iterdir()) == []


async def test_a_cancelled_write_says_that_it_was_made(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go = threading.Event(), threading.Event()
    sync = os.fsync

    def slow(descriptor: int) -> None:
        reached.set()
        go.wait(20)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    task = asyncio.create_task(shop.run("Write", {"file_path": "a.txt", "content": "x"}))
    await asyncio.to_thread(reached.wait, 20)
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(ToolInterrupted) as caught:
        await task
    assert caught.value.result.outcome is Outcome.INTERRUPTED
    assert "already been made" in text_of(caught.value.result.content)
    assert (shop.folder / "a.txt").read_text() == "x"


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.tools.kit import Workshop
os.rename = lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL)

async def main():
    shop = Workshop(Path(sys.argv[1]))
    await shop.text("Read", file_path="k.txt")
    await shop.text("Write", file_path="k.txt", content="n" * 1024 * 1024)

asyncio.run(main())
"""


def test_killed_before_the_rename_the_old_content_stands(shop: Workshop) -> None:
    path = shop.put("k.txt", "old\n")
    done = subprocess.run([sys.executable, "-c", KILLED, str(shop.folder)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old\n"


MOUNTED = """
import asyncio, sys
from pathlib import Path
from tests.tools.kit import Workshop

async def main():
    shop = Workshop(Path(sys.argv[1]))
    if (shop.folder / "full.txt").exists():
        await shop.text("Read", file_path="full.txt")
    error = await shop.failure("Write", file_path="full.txt", content="x" * 2 * 1024 * 1024)
    print(error.code, sorted(path.name for path in shop.folder.iterdir()))

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("mount", "expected"),
    [
        ("mount -t tmpfs -o size=1m none ws && printf 'old\\n' > ws/full.txt", "no_space"),
        ("mount --bind ws ws && mount -o remount,ro,bind ws", "read_only"),
    ],
)
def test_a_full_or_read_only_disk_changes_nothing(
    tmp_path: Path, mount: str, expected: str
) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    (tmp_path / "ws").mkdir()
    script = (
        f'{mount} || exit 77; cd "$ROOT"; "$PYTHON" -c "$CODE" "$WS" && cat "$WS"/* 2>/dev/null'
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        cwd=tmp_path,
        env={
            **os.environ,
            "ROOT": str(ROOT),
            "PYTHON": sys.executable,
            "CODE": MOUNTED,
            "WS": str(tmp_path / "ws"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    first, _, rest = done.stdout.partition("\n")
    if expected == "no_space":
        assert first == "no_space ['full.txt']", done.stderr
        assert rest == "old\n"
    else:
        assert first == "read_only []", done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
async def test_the_owner_is_kept(shop: Workshop) -> None:
    path = shop.put("a.txt", "old\n")
    os.chown(path, 1234, 5678)
    os.chmod(path, 0o4750)
    await read(shop, "a.txt")
    await shop.text("Edit", file_path="a.txt", old_string="old", new_string="new")
    info = path.stat()
    assert (info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)) == (1234, 5678, 0o4750)
