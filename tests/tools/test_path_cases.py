"""The written cases of the file tools, on real files.

What a case expects of the gate (ask, deny) is the gate's to test and is skipped here by name.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tools.kit import Workshop
from tui_agent.tools.errors import FileError
from tui_agent.tools.ledger import digest_of
from tui_agent.vocabulary.blocks import text_of

_PLACE = os.environ.get("TUI_AGENT_CASES")
_FILE = Path(_PLACE, "path.json") if _PLACE else None
CASES: list[dict[str, Any]] = (
    json.loads(_FILE.read_text("utf-8"))["cases"] if _FILE and _FILE.exists() else []
)
_NAMES = {"read": "Read", "write": "Write", "edit": "Edit", "glob": "Glob", "grep": "Grep"}
_FIELDS = {"path": "file_path", "old": "old_string", "new": "new_string"}
_MOUNTS = {"tmpfs_ws", "ro_bind_ws"}


def test_there_are_cases() -> None:
    if _FILE is None:
        pytest.skip("TUI_AGENT_CASES does not say where the cases are")
    assert len(CASES) > 50


def reason_to_skip(case: dict[str, Any]) -> str | None:
    if case["tool"] not in _NAMES:
        return f"there is no {case['tool']} tool yet"
    if case["verdict"] in ("must-ask", "deny"):
        return "the gate decides it"
    if case["verdict"] in ("race", "kill"):
        return "has a test of its own in test_changes.py"
    if {step["op"] for step in case["setup"]} & _MOUNTS:
        return "has a test of its own in test_changes.py"
    return None


def build(step: dict[str, Any], shop: Workshop, home: Path) -> None:  # noqa: C901, PLR0912 - one branch a step
    def place(text: str) -> Path:
        return shop.folder / text.format(ws=shop.folder, home=home)

    path = place(step.get("path", ""))
    path.parent.mkdir(parents=True, exist_ok=True)
    match step["op"]:
        case "file":
            data = bytes.fromhex(step["hex"]) if "hex" in step else step["text"].encode()
            path.write_bytes(data)
        case "dir":
            path.mkdir(parents=True, exist_ok=True)
        case "symlink":
            path.symlink_to(step["target"].format(ws=shop.folder, home=home))
        case "hardlink":
            path.hardlink_to(place(step["target"]))
        case "socket":
            bind_socket(path)
        case "sparse":
            with path.open("wb") as file:
                file.truncate(step["size"])
        case "repeat":
            path.write_bytes(step["text"].encode() * step["times"])
        case "many":
            path.mkdir()
            # a tenth of it: making the files takes longer than all other tests together
            for number in range(step["count"] // 10):
                os.close(os.open(path / f"f{number}", os.O_CREAT | os.O_WRONLY))
        case "gzip_zero":
            with gzip.open(path, "wb", compresslevel=1) as packed:
                for _ in range(16):
                    packed.write(bytes(1024 * 1024))
        case "open_ws_through_symlink":
            link = shop.folder.parent / "link"
            link.symlink_to(shop.folder)
            shop.folder = link.resolve()
        case "state_dir_inside_ws":
            for suffix in ("", "-wal", "-shm"):
                (shop.folder / f"sessions.db{suffix}").write_text("x\n")
            shop.databases = (shop.folder / "sessions.db",)
            shop.__post_init__()
        case other:
            raise AssertionError(f"unknown step {other}")


def bind_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(path.parent)  # the path of a socket may have 107 bytes only
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


def arguments_of(case: dict[str, Any], shop: Workshop, home: Path) -> dict[str, Any]:
    arguments = {}
    for name, value in case["args"].items():
        if name == "approved":
            continue
        if case["tool"] in ("read", "write", "edit"):
            name = _FIELDS.get(name, name)
        arguments[name] = value.replace("{ws}", str(shop.folder)).replace("{home}", str(home))
    return arguments


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
async def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    if reason := reason_to_skip(case):
        pytest.skip(reason)
    home = tmp_path / "home"
    shop = Workshop(tmp_path / "ws")
    for step in case["setup"]:
        build(step, shop, home)
    arguments = arguments_of(case, shop, home)
    if case["tool"] in ("write", "edit"):
        target = shop.folder / arguments["file_path"]
        if target.is_file():
            shop.ledger.note(target.resolve(), digest_of(target.read_bytes()))
    verdict, code, text = "ok", None, ""
    try:
        result = await shop.run(_NAMES[case["tool"]], arguments)
        text = text_of(result.content)
    except FileError as error:
        verdict, code = "error", error.code.value
    assert verdict == case["verdict"] or verdict in case.get("also_ok", [])
    if verdict == "error" and case["verdict"] == "error":
        assert code == case["code"]
    assert len(text.encode()) <= case.get("max_bytes", 262_144)
    for piece in case.get("must_contain", []):
        assert piece in text
    for piece in case.get("must_not_contain", []):
        assert piece not in text
    for name, content in case.get("after", {}).items():
        assert (shop.folder / name.format(home=home)).read_text() == content
    for name, content in case.get("after_hex", {}).items():
        assert (shop.folder / name).read_bytes().hex() == content


OPENED = """
import asyncio, sys
from pathlib import Path
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from tests.tools.kit import Workshop

async def main():
    shop = Workshop(Path(sys.argv[1]), (Path(sys.argv[1]) / "sessions.db",))
    print(await shop.text("Grep", pattern="x"))
    for name in ("sessions.db", "sessions.db-wal", "hard"):
        print((await shop.failure("Read", file_path=name)).code)
        print((await shop.failure("Write", file_path=name, content="x")).code)
    print([name for name in opened if "sessions.db" in name or name == "hard"])

asyncio.run(main())
"""


def test_the_programs_own_database_is_never_opened(tmp_path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"sessions.db{suffix}").write_text("x\n")
    (tmp_path / "hard").hardlink_to(tmp_path / "sessions.db")
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", OPENED, str(tmp_path)],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert "sessions.db" not in lines[0]
    assert lines[-7:-1] == ["permission"] * 6
    assert lines[-1] == "[]"


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_search_does_not_open_the_database_either(tmp_path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"sessions.db{suffix}").write_text("x\n")
    (tmp_path / "other").write_text("x\n")
    trace = tmp_path.parent / f"{tmp_path.name}.trace"
    done = subprocess.run(
        [
            "strace",
            "-f",
            "-qq",
            "-e",
            "trace=openat",
            "-o",
            str(trace),
            sys.executable,
            "-c",
            SEARCH,
            str(tmp_path),
        ],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in done.stderr:
        pytest.skip("tracing is not allowed here")
    assert done.stdout.split() == ["other"]
    opened = trace.read_text(errors="replace")
    assert '"./other"' in opened or "other" in opened
    assert "sessions.db" not in opened


SEARCH = """
import asyncio, sys
from pathlib import Path
from tests.tools.kit import Workshop
shop = Workshop(Path(sys.argv[1]), (Path(sys.argv[1]) / "sessions.db",))
print(asyncio.run(shop.text("Grep", pattern="x")))
"""
