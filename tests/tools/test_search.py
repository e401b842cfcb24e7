"""Glob and Grep find the same files with ripgrep and without, and honour every ignore file."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from tests.tools.kit import Workshop
from tui_agent.tools import search
from tui_agent.tools.globs import expanded, file_patterns, matches

HAS_RIPGREP = shutil.which("rg") is not None


@pytest.fixture(params=["ripgrep", "own"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path / "ws")
    if request.param == "own":
        made.environment = {"PATH": "/nowhere"}
    elif not HAS_RIPGREP:
        pytest.skip("ripgrep is not installed")
    return made


def tree(shop: Workshop) -> None:
    for name in (
        "README.md", "src/a.py", "src/b.ts", "src/deep/c.py", "docs/x.md", ".github/w.yml",
        "node_modules/p/README.md", "build/out.py", "build/keep/k.md", "src/deep/skip.log",
        "src/deep/kept.log", "top.log",
    ):  # fmt: skip
        shop.put(name, f"needle in {name}\n")
    shop.put(".gitignore", "node_modules/\n*.log\n/build/*\n!/build/keep/\n")
    shop.put("src/deep/.gitignore", "!kept.log\n")


async def names(shop: Workshop, pattern: str, **more: str) -> set[str]:
    result = await shop.run("Glob", {"pattern": pattern, **more})
    return set(result.details["paths"])


@pytest.mark.parametrize("is_repository", [True, False])
async def test_ignore_files_hold_nested_and_negated(shop: Workshop, is_repository: bool) -> None:
    tree(shop)
    if is_repository:
        done = await asyncio.create_subprocess_exec("git", "init", "-q", str(shop.folder))
        assert await done.wait() == 0
    assert await names(shop, "**/*.md") == {"README.md", "docs/x.md", "build/keep/k.md"}
    assert await names(shop, "**/*.log") == {"src/deep/kept.log"}
    assert await names(shop, "*.py") == {"src/a.py", "src/deep/c.py"}
    found = await shop.text("Grep", pattern="needle", glob="*.log")
    assert found == "src/deep/kept.log"


async def test_patterns(shop: Workshop) -> None:
    tree(shop)
    assert await names(shop, "src/*.{py,ts}") == {"src/a.py", "src/b.ts"}
    assert await names(shop, "src/**/*.py") == {"src/a.py", "src/deep/c.py"}
    assert await names(shop, "**/*.yml") == {".github/w.yml"}
    assert await names(shop, "README.md") == {"README.md"}
    assert await names(shop, "*.py", path="src/deep") == {"src/deep/c.py"}
    assert await names(shop, "src/a.py") == {"src/a.py"}
    assert await names(shop, "node_modules/**/*.md") == {"node_modules/p/README.md"}
    assert await names(shop, "*.none") == set()


async def test_a_pattern_that_leaves_the_folder_says_so_in_its_effects(shop: Workshop) -> None:
    assert shop.effects("Glob", pattern="../**/*.pem").reads == {shop.folder.parent}
    assert shop.effects("Glob", pattern="/**").reads == {Path("/")}
    assert shop.effects("Glob", pattern="{src,/etc}/*").reads == {shop.folder / "src", Path("/etc")}
    assert (await shop.failure("Glob", pattern="*/../../x")).code == "invalid_pattern"


async def test_links_are_not_followed(shop: Workshop) -> None:
    shop.put("a.txt", "needle\n")
    (shop.folder / "up").symlink_to(".")
    (shop.folder / "link.txt").symlink_to("/etc/passwd")
    assert await names(shop, "**/*") == {"a.txt"}
    assert "passwd" not in await shop.text("Grep", pattern="root")


async def test_names_that_are_not_utf8(shop: Workshop) -> None:
    raw = os.fsencode(shop.folder) + b"/caf\xe9.txt"
    os.close(os.open(raw, os.O_CREAT | os.O_WRONLY))
    text = await shop.text("Glob", pattern="*.txt")
    assert text == "caf\\xe9.txt"
    text.encode("utf-8")


async def test_the_newest_file_comes_first(shop: Workshop) -> None:
    for name, when in (("old.txt", 1_000_000), ("new.txt", 2_000_000), ("mid.txt", 1_500_000)):
        os.utime(shop.put(name, ""), (when, when))
    assert await shop.text("Glob", pattern="*.txt") == "new.txt\nmid.txt\nold.txt"


async def test_grep_in_its_three_modes(shop: Workshop) -> None:
    shop.put("a.txt", "one\nNeedle 1\ntwo\nneedle 2\n")
    shop.put("b/c.txt", "needle\n")
    assert await shop.text("Grep", pattern="needle") == "a.txt\nb/c.txt"
    assert await shop.text("Grep", pattern="needle", output_mode="count") == "a.txt:1\nb/c.txt:1"
    content = await shop.text("Grep", pattern="needle", output_mode="content", **{"-i": True})
    assert content == "a.txt:2:Needle 1\na.txt:4:needle 2\nb/c.txt:1:needle"
    around = await shop.text(
        "Grep", pattern="Needle", output_mode="content", **{"-C": 1, "-n": False}
    )
    assert around == "a.txt-one\na.txt:Needle 1\na.txt-two"
    assert await shop.text("Grep", pattern="needle", path="a.txt") == "a.txt"
    assert await shop.text("Grep", pattern="nothing") == "No matches."


async def test_grep_details_count(shop: Workshop) -> None:
    shop.put("a.txt", "n\nn\n")
    shop.put("b.txt", "n\n")
    result = await shop.run("Grep", {"pattern": "n", "output_mode": "content", "-A": 2})
    assert (result.details["count"], result.details["files"]) == (3, 2)


async def test_grep_across_lines_and_by_type(shop: Workshop) -> None:
    shop.put("a.py", "def f(\n    x,\n):\n")
    shop.put("b.js", "def f(\n    x,\n):\n")
    found = await shop.text("Grep", pattern=r"f\(.*\):", multiline=True, type="py")
    assert found == "a.py"
    assert await shop.text("Grep", pattern=r"f\(.*\):") == "No matches."


async def test_limits_are_said(shop: Workshop) -> None:
    shop.put("a.txt", "n\n" * 1000)
    text = await shop.text("Grep", pattern="n", output_mode="content", head_limit=3)
    assert text.count("a.txt:") == 3
    assert "1,000 results, 3 are shown" in text
    shop.put("long.txt", "n" * 100_000 + "\n")
    long = await shop.text("Grep", pattern="n+", output_mode="content", path="long.txt")
    assert len(long) < 1000


async def test_a_wrong_pattern_is_an_error(shop: Workshop) -> None:
    shop.put("a.txt", "x")
    assert (await shop.failure("Grep", pattern="(")).code == "invalid_pattern"
    assert (await shop.failure("Grep", pattern="x", type="nonsense")).code == "invalid_pattern"
    assert (await shop.failure("Grep", pattern="x", path="none")).code == "not_found"
    assert (await shop.failure("Glob", pattern="{a,b}" * 24)).code == "pattern_too_complex"


async def test_a_pattern_that_never_ends_is_stopped(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SEARCH_SECONDS", 2.0)
    shop.put("r.txt", "a" * 40 + "!\n")
    text = await shop.text("Grep", pattern="(a+)+$", path="r.txt")
    assert text.startswith("No matches.")


async def test_settings_of_the_user_do_not_count(shop: Workshop, tmp_path: Path) -> None:
    shop.put("a.txt", "needle\n")
    config = tmp_path / "rc"
    config.write_text("--glob=!a.txt\n")
    shop.environment = {**shop.environment, "RIPGREP_CONFIG_PATH": str(config)}
    assert await shop.text("Grep", pattern="needle") == "a.txt"


async def test_the_listing_works_in_the_c_locale(shop: Workshop) -> None:
    shop.put("日本.txt", "日本\n")
    shop.environment = {**shop.environment, "LC_ALL": "C", "PYTHONUTF8": "0"}
    assert await shop.text("Glob", pattern="日*") == "日本.txt"
    text = await shop.text("Grep", pattern="日", output_mode="content")
    assert text == "日本.txt:1:日本"


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("**/a", ["a", "x/a", "x/y/a"], ["b", "a/b"]),
        ("x/**", ["x/a", "x/b/c"], ["y/a"]),
        ("x/**/a", ["x/a", "x/y/z/a"], ["x/y"]),
        ("*.py", ["a.py", "d/a.py"], ["a.pyc"]),
        ("./*.py", ["a.py"], ["d/a.py"]),
        ("[!a]?", ["bc"], ["ab", "b"]),
    ],
)
def test_what_patterns_match(pattern: str, yes: list[str], no: list[str]) -> None:
    (made,) = file_patterns(pattern)
    base = [part for part in made.base.split("/") if part not in ("", ".")]

    def is_match(path: str) -> bool:
        parts = path.split("/")
        return parts[: len(base)] == base and matches(made.segments, parts[len(base) :])

    assert [path for path in yes if not is_match(path)] == []
    assert [path for path in no if is_match(path)] == []


def test_braces() -> None:
    assert expanded("a{b,c{d,e}}f") == ("abf", "acdf", "acef")
    assert expanded("{a}") == ("{a}",)
    assert expanded("{a,b") == ("{a,b",)


def test_many_stars_do_not_explode() -> None:
    (pattern,) = file_patterns("/".join(["**", "*a*a*a*a*a*a*a*a*b"] * 8))
    assert not matches(pattern.segments, ["a" * 200] * 30)


async def test_a_folder_that_was_named_is_searched_though_all_of_it_is_ignored(
    shop: Workshop,
) -> None:
    shop.put(".venv/.gitignore", "*\n")
    shop.put(".venv/lib/a.py", "needle\n")
    shop.put("x.py", "")
    assert await names(shop, "**/*.py") == {"x.py"}
    assert await names(shop, ".venv/lib/**/*.py") == {".venv/lib/a.py"}
    assert await shop.text("Grep", pattern="needle") == "No matches."
    assert await shop.text("Grep", pattern="needle", path=".venv/lib") == ".venv/lib/a.py"
    assert await shop.text("Grep", pattern="nothing", path=".venv/lib") == "No matches."


async def test_the_users_own_excludes_of_git_hold(shop: Workshop, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    shop.environment = {**shop.environment, "HOME": str(home)}
    shop.environment.pop("XDG_CONFIG_HOME", None)
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
    (home / "mine").write_text("*.swp\n")
    shop.put("a.swp", "")
    shop.put("a.txt", "")
    assert await names(shop, "**/*") == {"a.txt"}


async def test_a_line_that_makes_no_sense_does_not_void_an_ignore_file(shop: Workshop) -> None:
    shop.put(".gitignore", "*.log\n[\n*.tmp\n")
    for name in ("a.log", "a.tmp", "a.txt"):
        shop.put(name, "")
    assert await names(shop, "a*") == {"a.txt"}


async def test_no_name_can_pass_for_a_result(shop: Workshop) -> None:
    shop.put("a\nb.txt:1:faked", "needle\n")
    shop.put("c\x1b[2J\r.txt", "needle\n")
    name, other = "a\\x0ab.txt:1:faked", "c\\x1b[2J\\x0d.txt"
    assert await shop.text("Grep", pattern="needle") == f"{name}\n{other}"
    found = await shop.text("Grep", pattern="needle", output_mode="content")
    assert found == f"{name}:1:needle\n{other}:1:needle"
    found = await shop.text("Grep", pattern="needle", output_mode="count")
    assert found == f"{name}:1\n{other}:1"
    assert set((await shop.text("Glob", pattern="*")).split("\n")) == {name, other}


async def test_a_binary_file_that_was_named_is_said_to_match(shop: Workshop) -> None:
    shop.put("a.bin", b"x\0needle\n")
    assert await shop.text("Grep", pattern="needle") == "No matches."
    found = await shop.text("Grep", pattern="needle", path="a.bin", output_mode="content")
    assert "Binary, so not all that matches in it is shown: a.bin." in found
    assert await shop.text("Grep", pattern="needle", path="a.bin") == "a.bin"


async def test_a_file_of_any_size_is_searched(shop: Workshop) -> None:
    line = b"x" * 99 + b"\n"
    shop.put("big.log", line * 300_000 + b"needle\n")
    found = await shop.text("Grep", pattern="^needle", output_mode="content")
    assert found == "big.log:300001:needle"


async def test_two_gigabytes_of_nothing_are_searched(shop: Workshop) -> None:
    with shop.put("sparse", b"").open("wb") as file:
        file.truncate(2 << 30)
    assert await shop.text("Grep", pattern="x") == "No matches."
    assert "are zero" in await shop.text("Read", file_path="sparse")


async def test_a_search_that_takes_long_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "TELL_SECONDS", 0.01)
    # the start of the program alone takes longer than that
    shop = Workshop(tmp_path / "ws", environment={"PATH": "/nowhere"})
    shop.put("a.txt", "needle\n")
    told: list[tuple[str, int]] = []
    context = shop.context(progress=lambda text, total: told.append((text, total)))
    await shop.run("Grep", {"pattern": "needle"}, context=context)
    assert told
    assert told[0] == ("searching for 0 s, 0 bytes of results so far\n", 0)
