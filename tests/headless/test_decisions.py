"""Answering open items from the command line."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.headless.fake_workspace import SESSION, FakeWorkspace, a_turn, asked
from tui_agent.headless.decisions import Resolution, resolve
from tui_agent.headless.request import OutputFormat
from tui_agent.vocabulary.decisions import Choice, Decision, PendingItem, Scope
from tui_agent.vocabulary.errors import (
    ConflictError,
    NotFoundError,
    StoreError,
    UsageError,
    UserError,
)
from tui_agent.workspace.api import DecideResult

QUESTION = {"questions": [{"question": "Which?", "options": [{"label": "A"}]}]}


async def resolved(
    workspace: FakeWorkspace,
    choice: Choice = Choice.APPROVE,
    *,
    output: OutputFormat = OutputFormat.TEXT,
    pending_id: str = "pnd_1",
    **fields: Any,
) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = await resolve(workspace, Resolution(pending_id, choice, **fields), output, out, err)
    return int(code), out.getvalue(), err.getvalue()


def waiting(*items: PendingItem) -> FakeWorkspace:
    workspace = FakeWorkspace(a_turn("and on"))
    workspace.items = list(items) or [asked()]
    return workspace


def decided(workspace: FakeWorkspace) -> Decision:
    (decision,) = [call[2] for call in workspace.calls if call[0] == "decide"]
    assert isinstance(decision, Decision)
    return decision


async def test_the_last_answer_lets_the_turn_go_on_here() -> None:
    workspace = waiting()
    assert await resolved(workspace) == (0, "and on\n", "")
    assert decided(workspace) == Decision(Choice.APPROVE)


async def test_an_answer_before_the_last_says_what_is_still_open() -> None:
    workspace = waiting(asked(), asked("pnd_2"))
    code, out, _ = await resolved(workspace)
    assert code == 0
    assert out.startswith("recorded; still open:\npnd_2  Bash")
    workspace = waiting(asked(), asked("pnd_2"))
    code, out, _ = await resolved(workspace, output=OutputFormat.JSON)
    assert code == 0
    printed = json.loads(out)
    assert printed["session_id"] == SESSION
    assert [item["pending_id"] for item in printed["pending"]] == ["pnd_2"]


async def test_with_another_owner_the_answer_is_only_recorded() -> None:
    workspace = waiting()
    workspace.decides = lambda item, decision: DecideResult(True, "", item)
    assert await resolved(workspace) == (0, "recorded\n", "")


async def test_an_answer_that_no_model_can_hear_is_kept_and_said() -> None:
    workspace = waiting()
    workspace.decides = lambda item, decision: DecideResult(
        True, "", item, obstacle="no key for anthropic: set ANTHROPIC_API_KEY"
    )
    code, out, err = await resolved(workspace)
    assert (code, out) == (0, "recorded\n")
    assert "set ANTHROPIC_API_KEY" in err
    assert f"tui-agent run --resume {SESSION}" in err


async def test_what_the_store_refuses_is_no_error_of_usage() -> None:
    workspace = waiting()

    def refuse(item: PendingItem, decision: Decision) -> DecideResult:
        raise StoreError("the disk is full")

    workspace.decides = refuse
    with pytest.raises(StoreError):
        await resolved(workspace)


async def test_what_is_already_resolved_changes_nothing() -> None:
    workspace = waiting()
    workspace.decides = lambda item, decision: DecideResult(False, "already\x1b approved", item)
    code, out, err = await resolved(workspace)
    assert (code, out) == (1, "")
    assert err.startswith("already")
    assert "\x1b" not in err


async def test_an_unknown_id_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no item pnd_none"):
        await resolved(waiting(), pending_id="pnd_none")


async def test_a_refused_edit_is_a_usage_error_and_a_conflict_is_none() -> None:
    workspace = waiting()

    def refuse(item: PendingItem, decision: Decision) -> DecideResult:
        raise UserError("command: field required")

    workspace.decides = refuse
    with pytest.raises(UsageError, match="field required"):
        await resolved(workspace, input='{"x": 1}')
    assert workspace.items

    def conflict(item: PendingItem, decision: Decision) -> DecideResult:
        raise ConflictError("dead")

    workspace.decides = conflict
    with pytest.raises(ConflictError):
        await resolved(workspace)


async def test_everything_typed_reaches_the_decision() -> None:
    workspace = waiting()
    await resolved(workspace, message="careful", scope=Scope.SESSION, input='{"command": "ls"}')
    assert decided(workspace) == Decision(
        Choice.APPROVE, "careful", scope=Scope.SESSION, edited_input={"command": "ls"}
    )
    workspace = waiting()
    await resolved(workspace, Choice.DENY, message="no", stop=True)
    assert decided(workspace).stops_turn
    workspace = waiting()
    await resolved(workspace, Choice.DENY, message="no")
    assert not decided(workspace).stops_turn


async def test_a_single_question_is_answered_with_a_message() -> None:
    workspace = waiting(asked(tool="AskUserQuestion", values=QUESTION))
    await resolved(workspace, Choice.ANSWER, message="A")
    assert decided(workspace).answers == {"Which?": "A"}


async def test_several_questions_want_json() -> None:
    both = {"questions": [{"question": "One?"}, {"question": "Two?"}]}
    workspace = waiting(asked(tool="AskUserQuestion", values=both))
    with pytest.raises(UsageError, match="2 questions, use --input: One\\?; Two\\?"):
        await resolved(workspace, Choice.ANSWER, message="A")
    answers = {"One?": "a", "Two?": ["b", "c"]}
    await resolved(workspace, Choice.ANSWER, input=json.dumps({"answers": answers}))
    assert decided(workspace).answers == answers


@pytest.mark.parametrize(
    ("choice", "fields", "words"),
    [
        (Choice.ANSWER, {"message": "A"}, "waits for approval"),
        (Choice.APPROVE, {"input": "{"}, "not JSON"),
        (Choice.APPROVE, {"input": "[]"}, "must be a JSON object"),
        (Choice.APPROVE, {"input": '{"timeout": NaN}'}, "NaN is not a JSON number"),
        (Choice.APPROVE, {"input": '{"timeout": [-Infinity]}'}, "-Infinity is not a JSON number"),
        (Choice.APPROVE, {"input": '{"timeout": 1e999}'}, "1e999 is too large a number"),
        (Choice.APPROVE, {"input": '{"timeout": ' + "9" * 5000 + "}"}, "999… is too large"),
        (Choice.APPROVE, {"input": '{"path": "a", "path": "b"}'}, '"path" stands twice'),
        (Choice.APPROVE, {"input": '{"path": "\\ud800"}'}, "half of a character"),
        (Choice.APPROVE, {"input": '{"a":' * 100_000}, "nested too deeply"),
        (Choice.APPROVE, {"stop": True}, "goes with deny"),
        (Choice.DENY, {"input": "{}"}, "goes with approve or answer"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_before_it_is_given(
    choice: Choice, fields: dict[str, Any], words: str
) -> None:
    workspace = waiting()
    with pytest.raises(UsageError, match=words):
        await resolved(workspace, choice, **fields)
    assert not workspace.calls


async def test_a_question_is_not_approved() -> None:
    workspace = waiting(asked(tool="AskUserQuestion", values=QUESTION))
    with pytest.raises(UsageError, match="is a question"):
        await resolved(workspace)
    with pytest.raises(UsageError, match="say the answer"):
        await resolved(workspace, Choice.ANSWER)


def test_not_found_is_an_error_of_usage() -> None:
    from tui_agent.headless.exits import exit_code_for

    assert exit_code_for(NotFoundError("x")) == 2
    assert exit_code_for(UserError("x")) == 1
