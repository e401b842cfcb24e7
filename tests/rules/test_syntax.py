"""What a rule means: exactly what it says, or an error; never more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tui_agent.rules.syntax import Rule, Subject, matches_all, matches_some, parse_rule
from tui_agent.vocabulary.errors import UserError

FOLDER = Path("/work/place")


def bash(command: str) -> Subject:
    return Subject("Bash", FOLDER, command)


def edits(*paths: str, tool: str = "Edit", folder: Path = FOLDER) -> Subject:
    return Subject(tool, folder, writes=frozenset(folder / path for path in paths))


def reads(*paths: str, tool: str = "Read", folder: Path = FOLDER) -> Subject:
    return Subject(tool, folder, reads=frozenset(folder / path for path in paths))


@pytest.mark.parametrize(
    ("text", "tool", "specifier"),
    [
        ("Bash", "Bash", None),
        ("  Bash  ", "Bash", None),
        ("Bash(*)", "Bash", None),
        ("Edit(*)", "Edit", None),
        ("Bash(git status)", "Bash", "git status"),
        ("Bash(echo (a) (b))", "Bash", "echo (a) (b)"),
        ("Bash(ls *.py | wc)", "Bash", "ls *.py | wc"),
        ("Bash(a\nb)", "Bash", "a\nb"),
        ("Edit(src/a.py)", "Edit", "src/a.py"),
        ("Read(//etc/hosts)", "Read", "//etc/hosts"),
        ("Read(~/notes)", "Read", "~/notes"),
        ("Agent", "Agent", None),
    ],
)
def test_a_rule_is_read_as_it_is_written(text: str, tool: str, specifier: str | None) -> None:
    assert parse_rule(text) == Rule(text, tool, specifier)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(ls)",
        "Bash(",
        "Bash)",
        "Bash(ls) x",
        "Bash()",
        "Bash( )",
        "1Bash",
        "ba-sh",
        "Bash(git:*)",
        "Bash(git *)",
        "Bash(ls*)",
        "Edit(src/**)",
        "Edit(*.py)",
        "Read(.env?)",
        "Read(a[1].txt)",
        "Edit(src:*)",
        "Edit(/src/a.py)",
        "Task(explore)",
        "Agent(explore)",
        "WebFetch(domain:example.org)",
        "AskUserQuestion(x)",
    ],
)
def test_what_would_match_nothing_or_more_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"rule|parentheses|pattern|slash"):
        parse_rule(text)


@pytest.mark.parametrize(
    ("rule", "subject", "whole", "some"),
    [
        ("Bash", bash("rm -rf /"), True, True),
        ("Bash(ls)", bash("ls"), True, True),
        ("Bash(ls)", bash("ls "), False, False),
        ("Bash(ls)", bash("ls -l"), False, False),
        ("Bash(ls)", bash("ls; rm x"), False, False),
        ("Bash(ls)", bash("LS"), False, False),
        ("Bash", edits("a"), False, False),
        ("Edit(a)", edits("a"), True, True),
        ("Edit(./a)", edits("a"), True, True),
        ("Edit(b/../a)", edits("a"), True, True),
        ("Edit(//work/place/a)", edits("a"), True, True),
        ("Edit(a)", edits("b"), False, False),
        ("Edit(a)", edits("a/b"), False, False),
        ("Edit(a)", edits("a", tool="Write"), True, True),
        ("Write(a)", edits("a"), True, True),
        ("Edit(a)", edits("a", "b"), False, True),
        ("Edit(a)", reads("a"), False, False),
        ("Read(a)", reads("a"), True, True),
        ("Read(a)", reads("a", tool="Grep"), True, True),
        ("Grep(a)", reads("a", tool="Glob"), True, True),
        ("Read(a)", reads("a", "b"), False, True),
        ("Read(a)", edits("a"), False, True),
        ("Read(sub/a)", reads("sub", tool="Grep"), False, False),
        ("Read(a)", reads("sub", tool="Grep"), False, False),
        ("Read(sub/a)", reads("sub", tool="Glob"), False, False),
        ("Edit", edits("a", tool="Write"), False, True),
        ("Edit", edits("a"), True, True),
        ("Read", reads("a", tool="Grep"), False, True),
        ("Write", edits("a"), False, False),
        ("Agent", Subject("Task", FOLDER), True, True),
        ("Task", Subject("Task", FOLDER), True, True),
        ("Task", bash("ls"), False, False),
        ("Bash(ls)", Subject("Task", FOLDER), False, False),
        ("Bash(ls)", Subject("Bash", FOLDER), False, False),
    ],
)
def test_an_allow_needs_the_whole_call_and_a_denial_any_part_of_it(
    rule: str, subject: Subject, whole: bool, some: bool
) -> None:
    assert matches_all(parse_rule(rule), subject) is whole
    assert matches_some(parse_rule(rule), subject) is some


def test_a_link_is_the_file_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "secret").touch()
    (tmp_path / "link").symlink_to("secret")
    assert matches_some(parse_rule("Edit(link)"), edits("secret", folder=tmp_path))
    assert not matches_all(parse_rule("Edit(link)"), edits("link", folder=tmp_path))


def test_a_circle_of_links_is_no_fault_of_the_rule(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    assert not matches_some(parse_rule("Edit(a)"), edits("b", folder=tmp_path))


def test_a_tilde_is_home_only_where_it_stands_alone(tmp_path: Path) -> None:
    home = Path(os.environ["HOME"])
    assert matches_all(
        parse_rule("Edit(~/a)"), Subject("Edit", FOLDER, writes=frozenset({home / "a"}))
    )
    assert matches_all(parse_rule("Edit(~$a.docx)"), edits("~$a.docx"))
    assert matches_all(parse_rule("Edit(~nobody-of-that-name/a)"), edits("~nobody-of-that-name/a"))


COMMANDS = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="ls *:?()[]|;&\n\\'\"~/", min_size=1, max_size=8),
)


@given(ruled=COMMANDS, other=COMMANDS)
def test_a_rule_with_a_text_matches_no_other_command(ruled: str, other: str) -> None:
    assume(ruled != other)
    try:
        rule = parse_rule(f"Bash({ruled})")
    except UserError:
        return
    if ruled != "*":  # written out it means every command
        assert not matches_all(rule, bash(other))
        assert not matches_some(rule, bash(other))
