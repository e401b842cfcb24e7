"""What the commands about sessions print for people and for scripts, and what they do."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.headless.fake_workspace import SESSION, FakeWorkspace, asked, numbered
from tui_agent.headless import sessions
from tui_agent.headless.markdown import contained
from tui_agent.vocabulary.blocks import (
    Outcome,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from tui_agent.vocabulary.errors import ConflictError, NotFoundError
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import SearchHit, SessionSummary, ToolRun
from tui_agent.vocabulary.states import CallState, DoneReason, Phase
from tui_agent.vocabulary.usage import Usage


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
    assert await sessions.list_sessions(workspace, out, as_json=True) == 0
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
    await sessions.list_sessions(workspace, out, as_json=False)
    head, first, second = out.getvalue().splitlines()
    assert first.index("needs you") == head.index("STATE") == second.index("needs you")
    assert r"fix \x1b[31mit" in first
    assert "/work/<U+202E>folder" in first
    assert "(no title)" in second


async def test_a_search_shows_where_the_words_stand() -> None:
    workspace, out = FakeWorkspace(), io.StringIO()
    await sessions.search_sessions(workspace, "needle", out, as_json=False)
    assert workspace.calls == [("sessions", True, "needle")]
    assert out.getvalue() == "no session has 'needle'\n"
    workspace.summaries = (summary(),)
    workspace.hits = (
        SearchHit(SESSION, SESSION, "m1", 1, "t", "/f", "a \x1b[2Jneedle \x07in", 1.0, ((6, 12),)),
    )
    out = io.StringIO()
    await sessions.search_sessions(workspace, "needle", out, as_json=False)
    assert out.getvalue().splitlines()[2] == r"    a \x1b[2J[needle] \x07in"
    out = io.StringIO()
    await sessions.search_sessions(workspace, "needle", out, as_json=True)
    (found,) = json.loads(out.getvalue())
    assert found["id"] == SESSION
    assert found["hits"][0]["snippet"] == "a \x1b[2Jneedle \x07in"
    assert found["hits"][0]["matches"] == [[6, 12]]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, "needs you"),
        ({"is_cut": True}, "cut: needs you"),
        ({"phase": Phase.RUNNING}, "running"),
        ({"phase": Phase.IDLE}, "idle"),
        ({"phase": Phase.IDLE, "last_reason": DoneReason.MODEL_STOP}, "idle"),
        ({"phase": Phase.IDLE, "last_reason": DoneReason.ERROR}, "failed"),
        ({"phase": Phase.IDLE, "last_reason": DoneReason.DENIED}, "denied"),
        ({"phase": Phase.IDLE, "last_reason": DoneReason.USER_ABORT}, "interrupted"),
        ({"phase": Phase.IDLE, "last_reason": DoneReason.BUDGET_EXCEEDED}, "token limit"),
    ],
)
async def test_a_session_that_did_not_simply_finish_does_not_look_idle(
    changes: dict[str, Any], word: str
) -> None:
    workspace, out = FakeWorkspace(), io.StringIO()
    workspace.summaries = (summary(**changes),)
    await sessions.list_sessions(workspace, out, as_json=False)
    head, row = out.getvalue().splitlines()
    assert row[head.index("STATE") :].startswith(f"{word}  ")


async def test_a_damaged_time_ends_no_listing() -> None:
    for wrong in (float("nan"), float("inf"), -1e300):
        workspace, out = FakeWorkspace(), io.StringIO()
        workspace.summaries = (summary(updated=wrong),)
        await sessions.list_sessions(workspace, out, as_json=False)
        assert "at an unknown time" in out.getvalue()
        out = io.StringIO()
        await sessions.list_sessions(workspace, out, as_json=True)
        (printed,) = json.loads(out.getvalue(), parse_constant=pytest.fail)
        assert isinstance(printed["updated"], str | float)


async def test_a_session_as_json_has_its_whole_history() -> None:
    workspace, out = a_history(), io.StringIO()
    workspace.items = [asked()]
    await sessions.show_session(workspace, SESSION, out, as_json=True)
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
    await sessions.show_session(workspace, SESSION, out, as_json=True)
    printed = json.loads(out.getvalue())["messages"]
    assert [message["seq"] for message in printed] == list(range(1, 1501))


async def test_a_session_for_people_is_inert() -> None:
    workspace, out = a_history(), io.StringIO()
    workspace.items = [asked()]
    await sessions.show_session(workspace, SESSION, out, as_json=False)
    shown = out.getvalue()
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "  thinking: hm" in shown
    assert r'  Read: {"path": "a\u001b"}' in shown
    assert "  Read, error: ```" in shown
    assert "approvals resolve pnd_1 approve|deny" in shown


async def test_an_export_is_markdown_that_no_result_can_break_out_of() -> None:
    out = io.StringIO()
    await sessions.export_session(a_history(), SESSION, out, form="md")
    lines = out.getvalue().splitlines()
    assert lines[0] == "# a title"
    assert lines.count("````") == 2
    shown = out.getvalue()
    assert "**Read**\n\n```\npath: a\\x1b\n```" in shown
    assert "**Read, error**" in shown
    assert "- tokens: 15, 150 with subagents" in shown
    assert "\x1b" not in shown


async def test_an_export_as_json_says_its_form_and_has_everything() -> None:
    out = io.StringIO()
    await sessions.export_session(a_history(), SESSION, out, form="json")
    printed = json.loads(out.getvalue())
    assert (printed["format"], printed["schema_version"]) == ("tui-agent session", 1)
    assert {"session", "turns", "messages", "tool_runs", "pending", "agents"} <= printed.keys()
    assert printed["session"]["usage"]["input"] == 10
    assert printed["session"]["tree_usage"]["input"] == 100
    assert len(printed["messages"]) == 3


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("plain *words* stay", ["plain *words* stay"]),
        ("<script>x</script> a < b", [r"\<script>x\</script> a < b"]),
        ("![x](http://tracker/)", [r"\![x](http://tracker/)"]),
        ("`<div>` and <div>", [r"`<div>` and \<div>"]),
        ("```html\n<div>\n```\n<b>", ["```html", "<div>", "```", r"\<b>"]),
        ("~~~\nleft open", ["~~~", "left open", "~~~"]),
        ("````\n```\nstill in it", ["````", "```", "still in it", "````"]),
        ("``` not `a` fence", ["``` not `a` fence"]),
    ],
)
def test_nothing_in_a_message_reaches_beyond_it(text: str, lines: list[str]) -> None:
    assert contained(text) == lines


async def test_what_cannot_be_deleted_is_said_and_the_rest_goes() -> None:
    class Owned(FakeWorkspace):
        async def delete(self, session_id: str) -> None:
            if session_id == "ses_running":
                raise ConflictError("the session is open in another window")
            await super().delete(session_id)

    workspace, out, err = Owned(), io.StringIO(), io.StringIO()
    names = ["ses_running", "ses_b", "ses_b"]
    assert await sessions.delete_sessions(workspace, names, out, err) == 1
    assert workspace.calls == [("delete", "ses_b")]
    assert out.getvalue() == "deleted ses_b  a title\n"
    assert err.getvalue() == (
        "ses_running was not deleted: the session is open in another window\n"
    )


async def test_an_unknown_session_is_said() -> None:
    with pytest.raises(NotFoundError):
        await sessions.show_session(FakeWorkspace(), "ses_none", io.StringIO(), as_json=False)
