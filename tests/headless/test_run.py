"""What a headless run prints, when it ends, and what it says to the script that called it."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest

from tests.headless.fake_workspace import (
    SESSION,
    FakeWorkspace,
    a_turn,
    answer,
    asked,
    began,
    ended,
    phase,
)
from tui_agent.headless.request import (
    ExistingSession,
    NewSession,
    OutputFormat,
    RunRequest,
    Unattended,
)
from tui_agent.headless.run import run
from tui_agent.settings import Overrides
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.blocks import Outcome, ToolUseBlock
from tui_agent.vocabulary.decisions import Choice, Source
from tui_agent.vocabulary.errors import NotFoundError, UsageError, UserError
from tui_agent.vocabulary.events import (
    AssistantText,
    DoneEvent,
    LoopError,
    LoopMaxTurns,
    ProviderRetry,
    TextDelta,
    ToolResultEvent,
    ToolStarted,
)
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.states import CallState, DoneReason, Mode, Phase


async def ran(
    workspace: FakeWorkspace, prompt: str | None = "hi", **fields: Any
) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    code = await run(workspace, RunRequest(prompt, **fields), out, err)
    return int(code), out.getvalue(), err.getvalue()


async def test_the_answer_is_all_of_standard_output() -> None:
    workspace = FakeWorkspace(a_turn("It is **four**."))
    assert await ran(workspace, "2 and 2?") == (0, "It is **four**.\n", "")
    assert ("submit", SESSION, "2 and 2?") in workspace.calls


async def test_only_final_answers_are_answers() -> None:
    call = ToolUseBlock("c1", "Read", {"path": "a"})
    workspace = FakeWorkspace(
        [
            began(),
            TextDelta(session_id=SESSION, model_call_id="m", text="Let me look."),
            answer("Let me look.", call),
            AssistantText(session_id=SESSION, text="Let me look."),
            answer("A child's answer.", session_id="ses_child"),
            *a_turn("Found it.")[2:],
        ]
    )
    assert (await ran(workspace))[1] == "Found it.\n"


async def test_an_end_without_an_own_message_still_answers() -> None:
    workspace = FakeWorkspace([began(), ended(text="the tool's last word"), phase(Phase.IDLE)])
    assert (await ran(workspace))[1] == "the tool's last word\n"


async def test_what_happens_meanwhile_goes_to_standard_error() -> None:
    workspace = FakeWorkspace(
        [
            ToolStarted(
                session_id=SESSION, tool_use_id="c", tool="Bash", input={}, subject="ls\x1b[2J"
            ),
            ToolResultEvent(
                session_id=SESSION,
                tool_use_id="c",
                tool="Bash",
                outcome=Outcome.ERROR,
                content="exit code 2\nmore",
                details={},
            ),
            ProviderRetry(
                session_id=SESSION,
                model_call_id="m",
                attempt=1,
                delay=2.0,
                message="busy",
                error_class="overloaded",
            ),
            *a_turn("ok"),
        ]
    )
    _, out, err = await ran(workspace)
    assert out == "ok\n"
    assert err.splitlines() == [
        r"Bash: ls\x1b[2J",
        "Bash: error: exit code 2",
        "trying again in 2 s: busy",
    ]


async def test_an_answer_cannot_reach_into_the_terminal() -> None:
    assert (await ran(FakeWorkspace(a_turn("a\x1b]0;owned\x07b\u202e"))))[1] == "ab<U+202E>\n"


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (DoneReason.MODEL_STOP, 0),
        (DoneReason.ERROR, 1),
        (DoneReason.PENDING_APPROVAL, 3),
        (DoneReason.PENDING_QUESTION, 3),
        (DoneReason.MAX_TURNS, 4),
        (DoneReason.BUDGET_EXCEEDED, 4),
        (DoneReason.LOOP_DETECTED, 4),
        (DoneReason.HOOK_STOPPED, 4),
        (DoneReason.DENIED, 5),
        (DoneReason.USER_ABORT, 130),
    ],
)
async def test_the_exit_code_is_the_reason(reason: DoneReason, code: int) -> None:
    assert (await ran(FakeWorkspace([ended(reason), phase(Phase.IDLE)])))[0] == code


async def test_a_failure_says_what_and_what_to_do() -> None:
    failed = LoopError(session_id=SESSION, message="The key is wrong.", action="Set another.")
    workspace = FakeWorkspace([began(), failed, ended(DoneReason.ERROR), phase(Phase.IDLE)])
    assert await ran(workspace) == (1, "", "The key is wrong. Set another.\n")


async def test_a_limit_says_how_to_go_on() -> None:
    limit = LoopMaxTurns(session_id=SESSION, limit=25)
    workspace = FakeWorkspace([limit, ended(DoneReason.MAX_TURNS), phase(Phase.REQUIRES_ACTION)])
    code, _, err = await ran(workspace)
    assert code == 4
    assert f"stopped after 25 model responses; go on with: tui-agent run --resume {SESSION}" in err


# --- when it is over -----------------------------------------------------------------------------


async def test_it_waits_for_the_session_and_not_for_the_turn() -> None:
    workspace = FakeWorkspace(
        [
            phase(Phase.IDLE),  # of before; no turn has ended yet
            began(),
            phase(Phase.REQUIRES_ACTION),
            answer("First."),
            ended(text="First.", background_agents=1),
            phase(Phase.DRAINING),
            phase(Phase.IDLE, "ses_child"),
            *a_turn("The child is back."),
        ]
    )
    code, out, _ = await ran(workspace, output=OutputFormat.JSON)
    assert code == 0
    printed = json.loads(out)
    assert printed["text"] == "The child is back."
    assert printed["usage"]["input"] == 20


async def test_no_wait_ends_with_the_turn() -> None:
    workspace = FakeWorkspace([ended(text="x", background_agents=1), phase(Phase.DRAINING)])
    assert (await ran(workspace, wait=False))[0] == 0


async def test_a_finished_turn_with_a_paused_agent_waits_for_a_person() -> None:
    workspace = FakeWorkspace(
        [ended(text="x", background_agents=1), phase(Phase.DRAINING), phase(Phase.REQUIRES_ACTION)]
    )
    assert (await ran(workspace))[0] == 3


async def test_a_workspace_that_closes_is_told_and_not_waited_for() -> None:
    workspace = FakeWorkspace([began()])
    running = asyncio.create_task(ran(workspace))
    await asyncio.sleep(0)
    while not workspace.calls[1:]:
        await asyncio.sleep(0)
    for subscription in workspace._subscriptions:
        subscription.close()
    with pytest.raises(UserError, match=f"run --resume {SESSION}"):
        await running


async def test_an_interrupt_ends_the_turn_and_says_so() -> None:
    workspace = FakeWorkspace([began()])
    workspace.on_interrupt = [ended(DoneReason.USER_ABORT), phase(Phase.DRAINING)]
    interrupted = asyncio.Event()
    out, err = io.StringIO(), io.StringIO()
    running = asyncio.create_task(
        run(workspace, RunRequest("hi"), out, err, interrupted=interrupted)
    )
    while ("submit", SESSION, "hi") not in workspace.calls:
        await asyncio.sleep(0)
    interrupted.set()
    assert await running == 130
    assert ("interrupt", SESSION) in workspace.calls


# --- formats -------------------------------------------------------------------------------------


async def test_json_is_one_object_with_the_documented_keys() -> None:
    events = a_turn("Four \x1b[31m.")
    workspace = FakeWorkspace(events)
    code, out, err = await ran(workspace, output=OutputFormat.JSON)
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    printed = json.loads(out)
    assert set(printed) == {"session_id", "reason", "text", "usage", "pending", "counts"}
    assert printed["session_id"] == SESSION
    assert printed["reason"] == "model_stop"
    assert printed["text"] == "Four \x1b[31m."
    assert printed["counts"]["background_agents"] == 0


async def test_stream_json_is_every_event_a_line_and_ends_at_rest() -> None:
    workspace = FakeWorkspace([*a_turn("a\nb\u2028c"), began()])
    _, out, err = await ran(workspace, output=OutputFormat.STREAM_JSON)
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["type"] for line in lines] == [
        "session:phase",
        "session",
        "message:stored",
        "loop:done",
        "done",
        "session:phase",
    ]
    assert lines[-1]["phase"] == "idle"
    assert err == ""


async def test_stream_json_without_waiting_ends_with_done() -> None:
    workspace = FakeWorkspace(a_turn("a"))
    _, out, _ = await ran(workspace, output=OutputFormat.STREAM_JSON, wait=False)
    assert json.loads(out.splitlines()[-1])["type"] == "done"


# --- pauses --------------------------------------------------------------------------------------


async def test_what_waits_is_shown_whole_with_the_command_that_answers_it() -> None:
    workspace = FakeWorkspace([ended(DoneReason.PENDING_APPROVAL), phase(Phase.REQUIRES_ACTION)])
    workspace.items = [asked(values={"command": "rm -rf build\u202e"})]
    code, out, err = await ran(workspace, target=ExistingSession(SESSION), prompt=None)
    assert (code, out) == (3, "")
    assert "command: rm -rf build<U+202E>" in err
    assert "tui-agent approvals resolve pnd_1 approve|deny" in err


async def test_a_resume_without_a_prompt_goes_on() -> None:
    workspace = FakeWorkspace(a_turn("and on"))
    assert (await ran(workspace, None, target=ExistingSession(SESSION)))[:2] == (0, "and on\n")
    assert workspace.calls == [("resume", SESSION)]


async def test_a_prompt_does_not_pass_over_open_items() -> None:
    workspace = FakeWorkspace(a_turn("never"))
    workspace.items = [asked(), asked("pnd_2", path=(SESSION, "ses_child"))]
    code, out, err = await ran(workspace, "next", target=ExistingSession(SESSION))
    assert (code, out) == (3, "")
    assert "pnd_1" in err
    assert "pnd_2" in err
    assert not workspace.calls


async def test_under_deny_a_prompt_closes_what_is_open_and_follows() -> None:
    workspace = FakeWorkspace(a_turn("ok"))
    workspace.items = [asked()]
    code, out, _ = await ran(
        workspace, "next", target=ExistingSession(SESSION), unattended=Unattended.DENY
    )
    assert (code, out) == (0, "ok\n")
    assert workspace.calls == [("discard_open", SESSION), ("submit", SESSION, "next")]


async def test_approved_calls_that_did_not_start_are_not_run_when_a_prompt_follows() -> None:
    workspace = FakeWorkspace(a_turn("ok"))
    workspace.tool_runs = (ToolRun(SESSION, "c1", "m1", 0, "Bash", {}, CallState.APPROVED),)
    await ran(workspace, "next", target=ExistingSession(SESSION))
    assert workspace.calls == [("discard_open", SESSION), ("submit", SESSION, "next")]


async def test_under_deny_a_resume_answers_what_is_open_with_a_policy_no() -> None:
    workspace = FakeWorkspace(a_turn("ok"))
    workspace.items = [asked(), asked("pnd_2", tool="AskUserQuestion", values={"questions": []})]
    await ran(workspace, None, target=ExistingSession(SESSION), unattended=Unattended.DENY)
    decisions = [call[2] for call in workspace.calls if call[0] == "decide"]
    assert len(decisions) == 2
    for decision in decisions:
        assert (decision.choice, decision.source) == (Choice.DENY, Source.POLICY)  # type: ignore[attr-defined]
        assert decision.comment == "nobody is there to decide"  # type: ignore[attr-defined]
        assert not decision.stops_turn  # type: ignore[attr-defined]


async def test_items_of_other_sessions_do_not_matter() -> None:
    workspace = FakeWorkspace(a_turn("ok"))
    workspace.items = [asked(path=("ses_other",))]
    code, _, err = await ran(workspace, "next", target=ExistingSession(SESSION))
    assert (code, err) == (0, "")


# --- which session -------------------------------------------------------------------------------


async def test_a_new_session_needs_a_prompt() -> None:
    with pytest.raises(UsageError, match="no prompt"):
        await ran(FakeWorkspace(), None, target=NewSession())


async def test_continue_takes_the_last_session_of_the_folder() -> None:
    workspace = FakeWorkspace(a_turn("ok"))
    await ran(workspace, "next", target=ExistingSession())
    assert workspace.calls == [("submit", SESSION, "next")]
    workspace.latest = None
    with pytest.raises(UsageError, match="no session in this folder"):
        await ran(workspace, "next", target=ExistingSession())


async def test_an_unknown_session_changes_nothing() -> None:
    workspace = FakeWorkspace()
    with pytest.raises(NotFoundError):
        await ran(workspace, "next", target=ExistingSession("ses_none"))
    assert not workspace.calls


async def test_a_fork_goes_on_in_the_copy() -> None:
    workspace = FakeWorkspace([DoneEvent(session_id="ses_fork", reason=DoneReason.MODEL_STOP)])
    await ran(workspace, "other way", target=ExistingSession(SESSION, fork=True), wait=False)
    assert workspace.calls == [("fork", SESSION), ("submit", "ses_fork", "other way")]


async def test_a_session_keeps_its_model_unless_a_flag_says_otherwise() -> None:
    workspace = FakeWorkspace(a_turn("ok"))
    target = ExistingSession(SESSION, model=Overrides(model="claude-y"), mode=Mode.PLAN)
    await ran(workspace, "next", target=target)
    assert workspace.calls[:2] == [
        ("set_model", SESSION, ModelChoice("anthropic", "claude-y")),
        ("set_mode", SESSION, Mode.PLAN),
    ]
    target = ExistingSession(SESSION, model=Overrides(provider="openai"))
    with pytest.raises(UsageError, match="also give --model"):
        await ran(workspace, "next", target=target)
