"""What the listings print for people and for scripts."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.headless.fake_workspace import SESSION, FakeWorkspace, asked, numbered
from tui_agent.headless import listings
from tui_agent.headless.tables import table
from tui_agent.text import cell_width
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.blocks import (
    Outcome,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from tui_agent.vocabulary.errors import NotFoundError
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import SessionSummary, ToolRun
from tui_agent.vocabulary.states import CallState, Phase
from tui_agent.vocabulary.usage import Usage
from tui_agent.workspace.api import Check, OfferedModel


def summary(**changes: Any) -> SessionSummary:
    fields: dict[str, Any] = {
        "id": SESSION,
        "title": "fix \x1b[31mit",
        "folder": "/work/\u202efolder",
        "phase": Phase.REQUIRES_ACTION,
        "created": 1.0,
        "updated": 2.0,
        "messages": 4,
        "usage": Usage(input=1),
        "pending": 2,
    }
    return SessionSummary(**{**fields, **changes})


def a_history() -> FakeWorkspace:
    workspace = FakeWorkspace()
    workspace.messages = numbered(
        [
            Message("m1", "user", (TextBlock("look\x07"),), Origin.USER, 1.0),
            Message(
                "m2",
                "assistant",
                (
                    ThinkingBlock("hm"),
                    TextBlock("I look."),
                    ToolUseBlock("c1", "Read", {"path": "a\x1b"}),
                ),
                Origin.ASSISTANT,
                2.0,
            ),
            Message(
                "m3",
                "user",
                (ToolResultBlock("c1", (TextBlock("```\nx"),), True, Outcome.ERROR),),
                Origin.TOOL_RESULTS,
                3.0,
            ),
        ]
    )
    workspace.tool_runs = (ToolRun(SESSION, "c1", "m2", 0, "Read", {}, CallState.FAILED),)
    return workspace


async def test_sessions_as_json_have_the_documented_keys() -> None:
    workspace, out = FakeWorkspace(), io.StringIO()
    workspace.summaries = (summary(),)
    assert await listings.list_sessions(workspace, out, as_json=True) == 0
    (printed,) = json.loads(out.getvalue())
    assert list(printed) == [
        "id",
        "title",
        "folder",
        "state",
        "created",
        "updated",
        "messages",
        "usage",
        "pending",
        "parent_id",
    ]
    assert printed["state"] == "requires_action"
    assert printed["usage"]["input"] == 1
    assert "\x1b" not in out.getvalue()


async def test_sessions_for_people_are_aligned_and_inert() -> None:
    workspace, out = FakeWorkspace(), io.StringIO()
    workspace.summaries = (summary(), summary(id="ses_longer_id", pending=0, title=""))
    await listings.list_sessions(workspace, out, as_json=False)
    head, first, second = out.getvalue().splitlines()
    assert first.index("requires action") == head.index("STATE") == second.index("requires action")
    assert r"fix \x1b[31mit" in first
    assert "/work/<U+202E>folder" in first
    assert "(no title)" in second


async def test_a_search_is_handed_on_and_its_emptiness_told() -> None:
    workspace, out = FakeWorkspace(), io.StringIO()
    await listings.list_sessions(workspace, out, as_json=False, search="needle")
    assert workspace.calls == [("sessions", True, "needle")]
    assert out.getvalue() == "no session has 'needle'\n"


async def test_a_session_as_json_has_its_whole_history() -> None:
    workspace, out = a_history(), io.StringIO()
    workspace.items = [asked()]
    await listings.show_session(workspace, SESSION, out, as_json=True)
    printed = json.loads(out.getvalue())
    assert set(printed) == {"session", "turns", "messages", "tool_runs", "pending"}
    assert [message["id"] for message in printed["messages"]] == ["m1", "m2", "m3"]
    assert printed["messages"][1]["blocks"][2]["input"] == {"path": "a\x1b"}
    assert printed["pending"][0]["pending_id"] == "pnd_1"


async def test_a_history_longer_than_a_page_is_whole() -> None:
    workspace, out = FakeWorkspace(), io.StringIO()
    workspace.messages = numbered(
        Message(f"m{number}", "user", (TextBlock("x"),), Origin.USER, 1.0) for number in range(1500)
    )
    await listings.show_session(workspace, SESSION, out, as_json=True)
    printed = json.loads(out.getvalue())["messages"]
    assert [message["seq"] for message in printed] == list(range(1, 1501))


async def test_a_session_for_people_is_inert() -> None:
    workspace, out = a_history(), io.StringIO()
    workspace.items = [asked()]
    await listings.show_session(workspace, SESSION, out, as_json=False)
    shown = out.getvalue()
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "  thinking: hm" in shown
    assert r'  Read: {"path": "a\u001b"}' in shown
    assert "  Read, error: ```" in shown
    assert "approvals resolve pnd_1 approve|deny" in shown


async def test_an_export_is_markdown_that_no_result_can_break_out_of() -> None:
    out = io.StringIO()
    await listings.export_session(a_history(), SESSION, out, form="md")
    lines = out.getvalue().splitlines()
    assert lines[0] == "# a title"
    assert lines.count("````") == 2


async def test_an_unknown_session_is_said() -> None:
    with pytest.raises(NotFoundError):
        await listings.show_session(FakeWorkspace(), "ses_none", io.StringIO(), as_json=False)


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


async def test_models_say_why_they_cannot_be_picked() -> None:
    workspace, out = FakeWorkspace(), io.StringIO()
    choice = ModelChoice("openai", "o9")
    workspace.offered = (OfferedModel(choice, "o9", 1000, "$1", "takes no\ntools"),)
    await listings.list_models(workspace, out, as_json=False)
    assert out.getvalue().splitlines()[1].split("  ")[-1] == "takes no tools"
    out = io.StringIO()
    await listings.list_models(workspace, out, as_json=True)
    assert json.loads(out.getvalue())[0]["choice"]["model"] == "o9"


async def test_the_doctor_fails_only_for_what_fails() -> None:
    workspace, out = FakeWorkspace(), io.StringIO()
    workspace.checks = (Check("key", None, "none", "set one"), Check("database", True, "fine"))
    assert await listings.doctor(workspace, out, as_json=False) == 0
    assert "set one" in out.getvalue()
    workspace.checks += (Check("folder", False, "gone"),)
    assert await listings.doctor(workspace, io.StringIO(), as_json=True) == 1


def test_on_a_terminal_only_one_column_gives_way() -> None:
    rows = [("a", "t" * 50, "/f"), ("b", "日本" * 20, "/folder")]
    lines = table(("I", "T", "F"), rows, width=40, gives_way=1)
    assert max(map(cell_width, lines)) == 40
    assert all("/f" in line for line in lines[1:])
    assert "…" in lines[1]
    assert "t" * 50 in table(("I", "T", "F"), rows, width=None, gives_way=1)[1]
