"""Arguments, bad input and what is loaded: the command as a person or a script meets it."""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import tui_agent
from tests.cli.conftest import ROOT, Command

HEAVY = ("textual", "pydantic", "anthropic", "openai", "rich")


def loaded_by(*arguments: str) -> set[str]:
    """The top-level packages in memory when the command has ended."""
    script = (
        "import sys\nfrom tui_agent.cli import main\n"
        f"try:\n    main({list(arguments)!r})\nexcept SystemExit:\n    pass\n"
        "print('loaded', *sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = done.stderr.rpartition("loaded ")[2].split()
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("run", "--help")])
def test_asking_what_it_is_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert not loaded_by(*arguments) & set(HEAVY)


def test_the_version_needs_not_even_the_command_line() -> None:
    assert "click" not in loaded_by("--version")


async def test_version_and_help(command: Command) -> None:
    assert (await command("--version")).out.split()[-1] == tui_agent.__version__
    shown = (await command("--help")).out
    for word in ("[PROMPT] | COMMAND", "--provider", "run", "sessions", "approvals", "doctor"):
        assert word in shown
    assert "workspace\n" not in shown.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run"], 2, "the prompt is empty"),
        (["run", "x", "--provider", "nope"], 2, "no provider 'nope'"),
        (["run", "x", "--mode", "auto"], 2, "--mode auto is coming"),
        (["run", "x", "--mode", "all"], 2, "'all' is not one of"),
        (["run", "x", "--cwd", "/nowhere"], 2, "'/nowhere' is not a folder"),
        (["run", "x", "--add-dir", "/nowhere"], 2, "--add-dir: '/nowhere' is not a folder"),
        (["run", "x", "--nope"], 2, "No such option"),
        (["run", "x", "--max-turns", "0"], 2, "0 is not in the range"),
        (["run", "x", "--base-url", "localhost"], 2, "--base-url: 'localhost' is not an address"),
        (["run", "x", "--continue"], 2, "no session in this folder"),
        (["run", "x", "--resume", "a", "--fork", "b"], 2, "--resume and --fork exclude each"),
        (["run", "x", "--resume", "ses_none"], 2, "ses_none"),
        (["run", "x", "--resume", "a", "--max-turns", "3"], 2, "counts for a new session only"),
        (["run", "x", "--agents", "{}"], 2, "--agents is coming"),
        (["run", "x", "--agent", "nobody"], 2, "nobody"),
        (["run", "x", "--deny", "Bash(*rm*)"], 2, "--deny: 'Bash(*rm*)'"),
        (["run", "x", "--allow", "Edit", "--allow", "no rule("], 2, "--allow: 'no rule('"),
        (["run", "x", "--max-turns", "9" * 5_000], 2, "is not a valid integer"),
        (["run", "x", "--max-turns", "nan"], 2, "'nan' is not a valid integer"),
        (["run", "x", "--agent", "x" * 100_000], 2, "x…x"),
        (["run", "x", "--system-prompt-file", "/nowhere"], 2, "cannot be read"),
        (["run", "x", "--system-prompt", "a", "--system-prompt-file", "b"], 2, "exclude"),
        (["sessions", "show", "ses_none"], 2, "ses_none"),
        (["sessions", "show"], 2, "Missing argument 'ID'"),
        (["sessions", "export", "ses_none", "--format", "json"], 2, "ses_none"),
        (["sessions", "delete", "ses_none"], 2, "ses_none"),
        (["sessions", "rename", "ses_none", "x"], 2, "ses_none"),
        (["sessions", "search", " "], 2, "nothing to search for"),
        (["sessions", "serch", "x"], 2, "No such command 'serch'"),
        (["permissions", "remove", "all"], 2, "'all' is not a valid integer"),
        (["permissions", "remove", "9" * 30], 2, "9" * 30),
        (["approvals", "resolve", "ask_none", "approve"], 2, "ask_none"),
        (["approvals", "resolve", "ask_none", "maybe"], 2, "'maybe' is not one of"),
        (["permissions", "check", "ls"], 1, "is coming"),
        (["hello"], 2, "needs a terminal: use tui-agent run"),
        ([], 2, "needs a terminal: use tui-agent run"),
        (["hello", "there"], 2, "unexpected extra argument (there)"),
        (["--", "run"], 2, "needs a terminal"),
        (["sesions", "list"], 2, "did you mean sessions?"),
        (["--provider", "demo", "doctr"], 2, "did you mean doctor?"),
        (["--", "doctr"], 2, "needs a terminal"),
        (["fix the sessions"], 2, "needs a terminal"),
    ],
)
async def test_bad_input_is_one_line_that_says_what_to_do(
    command: Command, arguments: list[str], code: int, words: str
) -> None:
    done = await command(*arguments)
    assert (done.code, done.out) == (code, "")
    assert done.one_line.startswith("tui-agent: ")
    assert words in done.one_line
    assert len(done.one_line) < 1_100


async def test_a_missing_key_is_one_line_that_names_it(command: Command) -> None:
    done = await command("run", "x", "--provider", "anthropic")
    assert (done.code, done.out) == (1, "")
    assert "set ANTHROPIC_API_KEY" in done.one_line


async def test_options_may_stand_before_the_command(command: Command) -> None:
    done = await command("--provider", "nope", "run", "x")
    assert "no provider 'nope'" in done.one_line


async def test_a_broken_settings_file_is_one_line_with_its_place(
    command: Command, tmp_path: Path
) -> None:
    file = Path(os.environ["TUI_AGENT_HOME"]) / "settings.toml"
    file.parent.mkdir()
    file.write_text("[model]\nidd = 'x'\n")
    done = await command("run", "x")
    assert done.code == 1
    assert f"{file}:2: model.idd is not a setting: did you mean id?" in done.one_line
    file.write_text("[model]\nid = 'x\n")
    assert f"{file}:2:8: not valid TOML" in (await command("models")).one_line


async def test_a_rule_in_settings_that_is_none_is_named_with_its_file(command: Command) -> None:
    file = Path(os.environ["TUI_AGENT_HOME"]) / "settings.toml"
    file.parent.mkdir()
    file.write_text('[permissions]\nask = ["Edit(src/**)"]\n')
    done = await command("run", "x", "--provider", "demo")
    assert done.code == 1
    assert f"{file}: permissions.ask: 'Edit(src/**)' is a pattern" in done.one_line
    assert "permissions.ask" in (await command("doctor")).out


async def test_a_project_that_wants_more_is_told_on_standard_error(command: Command) -> None:
    (command.folder / ".tui-agent").mkdir()
    (command.folder / ".tui-agent" / "settings.toml").write_text('model.id = "evil"\n')
    done = await command("run", "x", "--provider", "nope")
    first, _ = done.err.splitlines()
    assert "settings.toml:1: model.id does not count" in first


async def test_a_home_that_cannot_be_written_is_one_line(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    command.environ["TUI_AGENT_HOME"] = str(tmp_path / "file")
    done = await command("sessions", "list")
    assert done.code == 1
    assert "cannot" in done.one_line


def test_a_folder_that_is_gone_is_one_line(command: Command) -> None:
    # The shell changes into the folder and removes it before the program starts.
    process = subprocess.run(
        ["sh", "-c", f"rmdir ../project && exec {sys.executable} -m tui_agent sessions list"],
        cwd=command.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    assert "the current folder is gone" in process.stderr
    assert "Traceback" not in process.stderr


async def test_listings_of_nothing(command: Command) -> None:
    assert (await command("sessions", "list")).out == "no sessions yet\n"
    assert json.loads((await command("sessions", "list", "--json")).out) == []
    assert (await command("approvals", "list")).out == "nothing waits for a decision\n"
    assert "demo" in (await command("models")).out


async def test_the_doctor_says_what_to_type_next(command: Command) -> None:
    done = await command("doctor")
    assert done.code == 0
    assert "ANTHROPIC_API_KEY" in done.out
    only = await command("doctor", "--database", "--json")
    assert [check["name"] for check in json.loads(only.out)] == ["database"]


async def test_the_doctor_goes_on_when_settings_and_database_are_broken(command: Command) -> None:
    home = Path(os.environ["TUI_AGENT_HOME"])
    (home / "data").mkdir(parents=True)
    (home / "settings.toml").write_text("[limits]\nmax_turns = " + "9" * 5_000)
    (home / "data" / "sessions.db").write_text("a list of things to do\n" * 200)
    (command.folder / ".tui-agent").mkdir()
    (command.folder / ".tui-agent" / "settings.toml").write_text("[permissions]\nask = 3\n")
    done = await command("doctor", "--json")
    assert (done.code, done.err) == (1, "")
    checks = json.loads(done.out)
    failing = {check["name"]: check["text"] for check in checks if check["ok"] is False}
    assert failing.keys() == {"settings", "database"}
    texts = [check["text"] for check in checks if check["name"] == "settings"]
    assert any(text.startswith(f"{home / 'settings.toml'}:2: ") for text in texts)
    assert any(".tui-agent/settings.toml:2: permissions.ask" in text for text in texts)
    assert "not a database" in failing["database"]
    names = {check["name"] for check in checks}
    assert {"program", "folder", "data", "anthropic", "local", "rg", "terminal", "next"} <= names
    only = await command("doctor", "--database")
    assert only.code == 1
    assert str(home / "data" / "sessions.db") in only.out
    assert list((home / "data").glob("sessions.db*")) == [home / "data" / "sessions.db"]


async def test_the_doctor_says_which_model_is_chosen_and_why(command: Command) -> None:
    command.environ |= {
        "ANTHROPIC_API_KEY": "sk-secret",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "TUI_AGENT_MODEL": "m-1",
        "OPENAI_API_KEY": "sk-other",
    }
    done = await command("doctor")
    assert done.code == 1
    assert "sk-" not in done.out
    assert "key from OPENAI_API_KEY" in done.out
    assert "TUI_AGENT_MODEL says m-1" in done.out
    assert "127.0.0.1:9" in done.out
    assert "tui-agent doctor" in done.out


async def test_our_files_are_closed_to_others(command: Command) -> None:
    await command("sessions", "list")
    home = Path(os.environ["TUI_AGENT_HOME"])
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in home.rglob("*")}
    assert modes
    assert all(mode & 0o077 == 0 for mode in modes.values()), modes


async def test_sessions_are_renamed_forked_exported_and_deleted(command: Command) -> None:
    command.environ["TUI_AGENT_PROVIDER"] = "demo"
    session_id = json.loads((await command("run", "hello", "--output", "json")).out)["session_id"]
    assert (await command("sessions", "rename", session_id, "my tour")).code == 0
    assert "my tour" in (await command("sessions", "list")).out
    assert "my tour" in (await command("sessions", "search", "hello")).out
    assert (await command("sessions", "export", session_id)).out.startswith("# my tour\n")
    fork = (await command("sessions", "fork", session_id)).out.strip()
    assert fork in (await command("sessions", "list")).out
    exported = json.loads((await command("sessions", "export", session_id, "--format", "json")).out)
    assert exported["schema_version"] == 1
    assert len(exported["agents"]) == len(exported["session"]["subagents"])
    found = json.loads((await command("sessions", "search", "hello", "--json")).out)
    assert {each["id"] for each in found} == {session_id, fork}
    assert all("hello" in each["hits"][0]["snippet"] for each in found)
    command.folder = command.folder.parent  # from wherever one is
    deleted = await command("sessions", "delete", session_id, fork)
    assert (deleted.code, deleted.err) == (0, "")
    assert len(deleted.out.splitlines()) == 2
    assert (await command("sessions", "list")).out == "no sessions yet\n"


async def test_a_locale_without_our_characters_is_no_error(command: Command) -> None:
    command.environ |= {"PYTHONIOENCODING": "ascii", "TUI_AGENT_PROVIDER": "demo"}
    session_id = json.loads((await command("run", "ünï", "--output", "json")).out)["session_id"]
    done = await command("sessions", "show", session_id)
    assert done.code == 0
    assert "\\xfcn\\xef" in done.out


def test_a_terminal_that_can_show_nothing_is_told(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tui_agent"],
            stdin=slave,
            stdout=slave,
            stderr=subprocess.PIPE,
            env={**os.environ, "TERM": "dumb", "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            text=True,
            check=False,
        )
    finally:
        os.close(master)
        os.close(slave)
    assert done.returncode == 2
    assert "TERM names no terminal" in done.stderr
