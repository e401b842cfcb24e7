"""Names and contents outside ASCII work whatever locale the program runs in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import asyncio, os, sys
from pathlib import Path
from tests.tools.kit import Workshop

async def main():
    shop = Workshop(Path(sys.argv[1]) / "ws")
    os.close(os.open(os.fsencode(shop.folder) + b"/caf\\xe9.txt", os.O_CREAT | os.O_WRONLY))
    name = "\\u65e5\\u672c/\\xfc.txt"
    texts = [
        await shop.text("Write", file_path=name, content="\\u65e5 one\\n"),
        await shop.text("Read", file_path=name),
        await shop.text("Edit", file_path=name, old_string="one", new_string="\\xfc"),
        await shop.text("Bash", command=f"cat {name}; echo \\u672c"),
    ]
    for path in (os.environ["PATH"], "/nowhere"):
        shop.environment = {**shop.environment, "PATH": path}
        texts += [
            await shop.text("Glob", pattern="\\u65e5*/*.txt"),
            await shop.text("Glob", pattern="*.txt", path="\\u65e5\\u672c"),
            await shop.text("Glob", pattern="caf*"),
            await shop.text("Grep", pattern="\\u65e5", output_mode="content"),
            await shop.text("Grep", pattern="\\xfc", path=name),
        ]
    print(*map(ascii, texts), sep="\\n")

asyncio.run(main())
"""


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "POSIX"])
def test_all_tools_in_a_locale(locale: str, tmp_path: Path) -> None:
    environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    name = "日本/ü.txt"
    searched = [name, name, "caf\\xe9.txt", f"{name}:1:日 ü", name]
    expected = [
        f"Created {name} (1 line added, 0 removed).",
        "     1\t日 one",
        f"Changed {name} (1 line added, 1 removed).",
        "日 ü\n本",
        *searched,
        *searched,
    ]
    assert done.stdout.splitlines() == [ascii(text) for text in expected]
