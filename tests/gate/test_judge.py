"""The order of judgement, as a table; and the exact rule that "always" stores."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tui_agent.gate.digest import call_digest
from tui_agent.gate.judge import Call, check_mode, exact_rule, judge
from tui_agent.gate.protected import is_protected
from tui_agent.rules.syntax import Subject, matches_all, parse_rule, parse_rules
from tui_agent.vocabulary.decisions import Action, Source
from tui_agent.vocabulary.errors import UserError
from tui_agent.vocabulary.states import Mode

FOLDER = Path("/work/place")
EXTRA = Path("/work/extra")


def call(
    subject: Subject, mode: Mode = Mode.ASK, *, asks: bool = False, spawns: bool = False
) -> Call:
    is_read_only = not subject.writes and subject.command is None and not spawns
    return Call(subject, (FOLDER, EXTRA), mode, is_read_only, asks, spawns)


def bash(command: str = "ls") -> Subject:
    return Subject("Bash", FOLDER, command)


def edit(*paths: str) -> Subject:
    return Subject("Edit", FOLDER, writes=frozenset(FOLDER / path for path in paths))


def read(*paths: str) -> Subject:
    return Subject("Read", FOLDER, reads=frozenset(FOLDER / path for path in paths))


TASK = Subject("Task", FOLDER)
QUESTION = Subject("AskUserQuestion", FOLDER)
ALLOW, ASK, DENY = Action.ALLOW, Action.ASK, Action.DENY


@pytest.mark.parametrize(
    ("given_call", "allow", "ask", "deny", "action", "source"),
    [
        # what happens by itself
        (call(read("a")), [], [], [], ALLOW, Source.DEFAULT),
        (call(read("/work/extra/a")), [], [], [], ALLOW, Source.DEFAULT),
        (call(read("/etc/hosts")), [], [], [], ASK, Source.DEFAULT),
        (call(read("a", "/etc/hosts")), [], [], [], ASK, Source.DEFAULT),
        (call(read("/work/place-too/a")), [], [], [], ASK, Source.DEFAULT),
        (call(edit("a")), [], [], [], ASK, Source.DEFAULT),
        (call(bash()), [], [], [], ASK, Source.DEFAULT),
        (call(TASK, spawns=True), [], [], [], ALLOW, Source.DEFAULT),
        (call(QUESTION, asks=True), [], [], [], ASK, Source.DEFAULT),
        # deny beats ask beats allow
        (call(bash()), ["Bash(ls)"], [], [], ALLOW, Source.RULE),
        (call(bash()), ["Bash(ls)"], ["Bash"], [], ASK, Source.RULE),
        (call(bash()), ["Bash(ls)"], ["Bash(ls)"], ["Bash"], DENY, Source.RULE),
        (call(read("a")), ["Read(a)"], [], ["Read(a)"], DENY, Source.RULE),
        (call(read("a")), [], ["Read(a)"], [], ASK, Source.RULE),
        (call(edit("a")), ["Edit(a)"], [], ["Read(a)"], DENY, Source.RULE),
        (call(TASK, spawns=True), [], [], ["Agent"], DENY, Source.RULE),
        (call(QUESTION, asks=True), ["AskUserQuestion"], [], [], ASK, Source.DEFAULT),
        (call(QUESTION, asks=True), [], [], ["AskUserQuestion"], DENY, Source.RULE),
        # an allow rule needs the whole call
        (call(edit("a", "b")), ["Edit(a)"], [], [], ASK, Source.DEFAULT),
        (call(read("/etc/hosts")), ["Read(//etc/hosts)"], [], [], ALLOW, Source.RULE),
        # protected paths ask in every mode, whatever is allowed
        (call(edit(".git/config")), ["Edit"], [], [], ASK, Source.PROTECTED),
        (call(edit("a/.GIT/hooks/x"), Mode.ACCEPT_EDITS), ["Edit"], [], [], ASK, Source.PROTECTED),
        (call(edit(".bashrc")), ["Edit(.bashrc)"], [], [], ASK, Source.PROTECTED),
        (call(edit(".git/config")), [], [], ["Edit"], DENY, Source.RULE),
        # modes
        (call(edit("a"), Mode.ACCEPT_EDITS), [], [], [], ALLOW, Source.MODE),
        (call(edit("/work/extra/a"), Mode.ACCEPT_EDITS), [], [], [], ALLOW, Source.MODE),
        (call(edit("/tmp/a"), Mode.ACCEPT_EDITS), [], [], [], ASK, Source.DEFAULT),
        (call(edit("a", "/tmp/a"), Mode.ACCEPT_EDITS), [], [], [], ASK, Source.DEFAULT),
        (call(edit("a"), Mode.ACCEPT_EDITS), [], ["Edit(a)"], [], ASK, Source.RULE),
        (call(edit("a"), Mode.ACCEPT_EDITS), [], [], ["Edit(a)"], DENY, Source.RULE),
        (call(bash(), Mode.ACCEPT_EDITS), [], [], [], ASK, Source.DEFAULT),
        (call(edit("a"), Mode.PLAN), ["Edit(a)"], [], [], DENY, Source.MODE),
        (call(bash(), Mode.PLAN), ["Bash"], [], [], DENY, Source.MODE),
        (call(read("a"), Mode.PLAN), [], [], [], ALLOW, Source.DEFAULT),
        (call(read("/etc/hosts"), Mode.PLAN), [], [], [], ASK, Source.DEFAULT),
        (call(TASK, Mode.PLAN, spawns=True), [], [], [], ALLOW, Source.DEFAULT),
        (call(QUESTION, Mode.PLAN, asks=True), [], [], [], ASK, Source.DEFAULT),
    ],
)
def test_the_order_of_judgement(  # noqa: PLR0917 - a row of the table
    given_call: Call,
    allow: list[str],
    ask: list[str],
    deny: list[str],
    action: Action,
    source: Source,
) -> None:
    verdict = judge(given_call, parse_rules(allow=allow, ask=ask, deny=deny))
    assert (verdict.action, verdict.source) == (action, source)
    assert verdict.reason
    assert not verdict.stop


def test_a_grant_allows_but_beats_no_rule_that_asks_or_denies() -> None:
    grants = [parse_rule("Bash(ls)")]
    assert judge(call(bash()), parse_rules(), grants).source is Source.GRANT
    assert judge(call(bash()), parse_rules(ask=["Bash"]), grants).action is ASK
    assert judge(call(bash()), parse_rules(deny=["Bash"]), grants).action is DENY
    assert judge(call(edit(".npmrc")), parse_rules(), [parse_rule("Edit")]).action is ASK


def test_a_verdict_names_the_rule_as_it_was_written() -> None:
    verdict = judge(call(bash()), parse_rules(deny=["  Bash(ls) "]))
    assert verdict.rule == "  Bash(ls) "


def test_the_mode_that_is_still_to_come_is_refused() -> None:
    with pytest.raises(UserError, match="sandbox"):
        check_mode(Mode.AUTO)
    for mode in (Mode.ASK, Mode.ACCEPT_EDITS, Mode.PLAN):
        check_mode(mode)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/w/.git", True),
        ("/w/.git/hooks/pre-commit", True),
        ("/w/sub/.Git/config", True),
        ("/w/.github/workflows/x.yml", True),
        ("/w/.tui-agent/settings.toml", True),
        ("/w/.claude/agents/a.md", True),
        ("/home/u/.BASHRC", True),
        ("/home/u/.ssh/authorized_keys", True),
        ("/w/.mcp.json", True),
        ("/w/git/config", False),
        ("/w/.gitignore", False),
        ("/w/.bashrc/file", False),
        ("/w/src/a.py", False),
    ],
)
def test_protected_paths(path: str, expected: bool) -> None:
    assert is_protected(Path(path)) is expected


@pytest.mark.parametrize(
    ("subject", "rule"),
    [
        (bash("git status"), "Bash(git status)"),
        (bash("echo (a)"), "Bash(echo (a))"),
        (edit("src/a.py"), "Edit(src/a.py)"),
        (edit("/etc/hosts"), "Edit(//etc/hosts)"),
        (read("/etc/hosts"), "Read(//etc/hosts)"),
        (edit("~$a.docx"), "Edit(~$a.docx)"),
        (edit("a", "b"), None),
        (TASK, None),
        (bash("*"), None),
        (bash("ls *"), None),
        (edit("*"), None),
        (read("*"), None),
        (edit("[id].tsx"), None),
        (edit("~/a"), None),
    ],
)
def test_always_stores_the_narrowest_rule_or_none(subject: Subject, rule: str | None) -> None:
    assert exact_rule(subject) == rule


COMMANDS = st.one_of(
    st.text(min_size=1, max_size=12),
    st.text(alphabet="ls *:?()[]|;&\n\\'\"~/", min_size=1, max_size=6),
)


@given(shown=COMMANDS, other=COMMANDS)
def test_no_rule_that_always_stores_allows_another_command(shown: str, other: str) -> None:
    assume(shown != other)
    rule = exact_rule(bash(shown))
    if rule is not None:
        assert matches_all(parse_rule(rule), bash(shown))
        assert not matches_all(parse_rule(rule), bash(other))


NAMES = st.text(alphabet="ab.*~/[ ]()$", min_size=1, max_size=6).filter(
    lambda name: not name.startswith("/") and ".." not in name
)


@given(shown=NAMES, other=NAMES)
def test_no_rule_that_always_stores_allows_another_file(shown: str, other: str) -> None:
    assume(FOLDER / shown != FOLDER / other)
    rule = exact_rule(edit(shown))
    if rule is not None:
        assert not matches_all(parse_rule(rule), edit(other))


def test_a_digest_binds_tool_input_and_folder_and_nothing_else() -> None:
    base = call_digest("Bash", {"command": "ls", "timeout": 1}, "/w")
    assert base == call_digest("Bash", {"timeout": 1, "command": "ls"}, "/w")
    others = [
        call_digest("Read", {"command": "ls", "timeout": 1}, "/w"),
        call_digest("Bash", {"command": "ls ", "timeout": 1}, "/w"),
        call_digest("Bash", {"command": "ls"}, "/w"),
        call_digest("Bash", {"command": "ls", "timeout": 1}, "/w/x"),
    ]
    assert len({base, *others}) == 5
    assert call_digest("Bash", {"command": "\ud800"}, "/w") != base
