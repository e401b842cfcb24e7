"""Our own search and ripgrep list and find the same in any tree, whatever is ignored in it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tools.kit import Workshop
from tui_agent.vocabulary.blocks import text_of

pytestmark = pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")

NAMES = ("file", "keep", "x.log", "y.log", "a.py", "b.txt", ".hidden", "with space", "[odd]", "é")
FOLDERS = ("a", "b", "build", "deep", ".dot", "src", "repo")
IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")

folder = st.lists(st.sampled_from(FOLDERS), max_size=3).map("/".join)
path = st.tuples(folder, st.sampled_from(NAMES)).map(lambda parts: "/".join(filter(None, parts)))
piece = st.sampled_from(
    (*NAMES, *FOLDERS, "*", "*.log", "*.py", "?", "a*", "[ab]", "[!a]", "**", "\\[odd\\]")
)
pattern = st.builds(
    lambda negated, rooted, pieces, folder: (
        negated + rooted + "/".join(pieces) + ("/" if folder and pieces[-1] != "**" else "")
    ),
    st.sampled_from(("", "", "!")),
    st.sampled_from(("", "", "/")),
    st.lists(piece, min_size=1, max_size=3),
    st.booleans(),
)
# a lone ! is left out: to ripgrep it means everything, to git nothing
ignore_file = st.lists(pattern | st.sampled_from(("", "# x", "[", "  ")), max_size=4)
content = st.sampled_from(
    (
        b"", b"needle\n", b"no\nneedle 1\nno\n\nneedle 2", b"needle\r\nx\r\n", b"a\0needle\n",
        b"\xef\xbb\xbfneedle\n", "needle é\n".encode("utf-16"), b"needle \xff\n",
        b"other\n" * 3 + b"a needle\n" + b"other\n" * 3,
    )
)  # fmt: skip


@st.composite
def trees(draw: st.DrawFn) -> dict[str, bytes]:
    """Files by their path; folders named `repo` are repositories."""
    made = draw(st.dictionaries(path, content, min_size=1, max_size=12))
    for where in draw(st.lists(folder, max_size=3)):
        name = draw(st.sampled_from(IGNORE_FILES))
        made["/".join(filter(None, (where, name)))] = "\n".join(draw(ignore_file)).encode()
    if draw(st.booleans()):
        made[".git/info/exclude"] = "\n".join(draw(ignore_file)).encode()
    return made


class Both:
    """One tree, searched by both."""

    def __init__(self, files: dict[str, bytes], users_own: list[str]) -> None:
        self.root = Path(tempfile.mkdtemp())
        home = self.root / "home"
        (home / ".config" / "git").mkdir(parents=True)
        (home / ".config" / "git" / "ignore").write_text("\n".join(users_own))
        self.shop = Workshop(self.root / "ws")
        for name, data in sorted(files.items()):
            target = self.shop.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            for parent in target.parents:
                if parent.name == "repo":
                    (parent / ".git").mkdir(exist_ok=True)
        self._home = {"HOME": str(home)}

    def __enter__(self) -> Both:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.root)

    async def text(self, tool: str, arguments: dict[str, Any]) -> tuple[str, str]:
        texts = []
        for way in (os.environ["PATH"], "/nowhere"):
            self.shop.environment = {**self._home, "PATH": way}
            texts.append(text_of((await self.shop.run(tool, arguments)).content))
        return texts[0], texts[1]


SLOW = settings(
    # each example starts four programs
    max_examples=settings().max_examples // 5,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@SLOW
@given(trees(), ignore_file, st.sampled_from(("", "a", "build", "repo", "src/deep")))
async def test_the_same_files_are_listed(
    files: dict[str, bytes], users_own: list[str], where: str
) -> None:
    with Both(files, users_own) as both:
        is_there = (both.shop.folder / where).is_dir()
        arguments = {"pattern": "**/*", "path": where if is_there and where else "."}
        ripgrep, own = await both.text("Glob", arguments)
        assert sorted(own.split("\n")) == sorted(ripgrep.split("\n"))


SEARCHES = (
    {"output_mode": "files_with_matches"},
    {"output_mode": "count"},
    {"output_mode": "content"},
    {"output_mode": "content", "-C": 1},
    {"output_mode": "content", "-B": 2},
    {"output_mode": "content", "-A": 1, "multiline": True},
    {"output_mode": "content", "glob": "*.{log,py}"},
    {"output_mode": "files_with_matches", "glob": "!*.log"},
    {"output_mode": "files_with_matches", "type": "py"},
)


@SLOW
@given(
    trees(),
    st.sampled_from(("needle", "^needle", "needle$", "needle.*", "^$", "NEEDLE", r"\w+ \d")),
    st.sampled_from(SEARCHES),
)
async def test_the_same_lines_are_found(
    files: dict[str, bytes], pattern: str, search: dict[str, Any]
) -> None:
    with Both(files, []) as both:
        ripgrep, own = await both.text("Grep", {"pattern": pattern, **search})
        assert own == ripgrep


@pytest.mark.parametrize("pattern", ["needle", "^x", "none", "needle$"])
@pytest.mark.parametrize("search", [{"-C": 3}, {"output_mode": "count"}, {"-B": 5, "-n": False}])
async def test_the_same_lines_are_found_across_the_borders_of_blocks(
    pattern: str, search: dict[str, Any]
) -> None:
    lines = [f"x{n} " + "y" * (n % 700) + "\n" for n in range(6000)]
    for n in (0, 1, 700, 701, 2500, 5999):
        lines[n] = f"needle {n} {'z' * 400}\n"
    with Both({"a": "".join(lines).encode(), "b": b"x" * 700_000 + b"\nneedle"}, []) as both:
        arguments = {"output_mode": "content", "pattern": pattern, "head_limit": 60, **search}
        ripgrep, own = await both.text("Grep", arguments)
        assert own == ripgrep
