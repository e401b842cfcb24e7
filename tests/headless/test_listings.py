"""What the listings print for people and for scripts."""

from __future__ import annotations

import io
import json

import pytest

from tests.headless.fake_workspace import SESSION, FakeWorkspace, asked
from tui_agent.headless import listings
from tui_agent.headless.tables import table
from tui_agent.text import cell_width
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.decisions import Grant, Scope
from tui_agent.vocabulary.errors import NotFoundError
from tui_agent.workspace.api import Check, OfferedModel


async def test_open_items_as_json_have_the_documented_keys() -> None:
    workspace, out = FakeWorkspace(), io.StringIO()
    workspace.items = [asked(path=(SESSION, "ses_child"))]
    await listings.list_approvals(workspace, out, as_json=True)
    assert json.loads(out.getvalue()) == [
        {
            "pending_id": "pnd_1",
            "session_id": "ses_child",
            "agent_path": [SESSION, "ses_child"],
            "kind": "approval",
            "tool": "Bash",
            "input": {"command": "git push"},
            "preview": {"kind": "shell"},
            "created": 1.0,
            "session_title": "a title",
            "folder": "/work",
        }
    ]


async def test_open_items_for_people_show_what_would_run() -> None:
    workspace, out = FakeWorkspace(), io.StringIO()
    await listings.list_approvals(workspace, out, as_json=False)
    assert out.getvalue() == "nothing waits for a decision\n"
    workspace.items = [asked(values={"command": "echo \x1b[8m; rm -rf ~\nls", "timeout": 3})]
    await listings.list_approvals(workspace, out, as_json=False)
    shown = out.getvalue()
    assert r"    command: echo \x1b[8m; rm -rf ~" in shown
    assert "\n      ls\n    timeout: 3\n" in shown
    assert "\n    in a title, /work\n" in shown


async def test_standing_permissions_are_listed_and_taken_back() -> None:
    workspace, out = FakeWorkspace(), io.StringIO()
    await listings.list_grants(workspace, out, as_json=False)
    assert out.getvalue() == "nothing was allowed for longer than once\n"
    workspace.granted = [
        Grant(None, "/work", "Bash(ls \x1b)", Scope.ALWAYS, 1.0, 7),
        Grant(SESSION, "/work", "Edit", Scope.SESSION, 1.0, 8),
    ]
    out = io.StringIO()
    await listings.list_grants(workspace, out, as_json=False)
    _, first, second = out.getvalue().splitlines()
    assert first.startswith(r"7   Bash(ls \x1b)  always ")
    assert "  in a title " in second
    out = io.StringIO()
    await listings.list_grants(workspace, out, as_json=True)
    assert [(each["id"], each["rule"]) for each in json.loads(out.getvalue())] == [
        (7, "Bash(ls \x1b)"),
        (8, "Edit"),
    ]
    out = io.StringIO()
    with pytest.raises(NotFoundError, match="99"):
        await listings.remove_grants(workspace, [99, 7, 7], out)
    assert out.getvalue() == "removed Bash(ls \\x1b)\n"
    assert [each.id for each in workspace.granted] == [8]


async def test_models_say_why_they_cannot_be_picked() -> None:
    workspace, out = FakeWorkspace(), io.StringIO()
    choice = ModelChoice("openai", "o9")
    workspace.offered = (OfferedModel(choice, "o9", 1000, "$1", "takes no\ntools"),)
    await listings.list_models(workspace, out, as_json=False)
    assert out.getvalue().splitlines()[1].split("  ")[-1] == "takes no tools"
    out = io.StringIO()
    await listings.list_models(workspace, out, as_json=True)
    assert json.loads(out.getvalue())[0]["choice"]["model"] == "o9"


def test_the_doctor_fails_only_for_what_fails() -> None:
    out = io.StringIO()
    checks = (Check("key", None, "none \x1b", "set one"), Check("database", True, "fine"))
    assert listings.print_checks(checks, out, as_json=False) == 0
    assert "set one" in out.getvalue()
    assert "\x1b" not in out.getvalue()
    failing = (*checks, Check("folder", False, "gone"))
    assert listings.print_checks(failing, io.StringIO(), as_json=True) == 1


def test_on_a_terminal_only_one_column_gives_way() -> None:
    rows = [("a", "t" * 50, "/f"), ("b", "日本" * 20, "/folder")]
    lines = table(("I", "T", "F"), rows, width=40, gives_way=1)
    assert max(map(cell_width, lines)) == 40
    assert all("/f" in line for line in lines[1:])
    assert "…" in lines[1]
    assert "t" * 50 in table(("I", "T", "F"), rows, width=None, gives_way=1)[1]
