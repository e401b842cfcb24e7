"""Foreign text is inert wherever it is drawn: no escape sequence, no reordering, no markup."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.events import Paste
from textual.screen import Screen
from textual.widget import Widget

from tests.ui import scenes
from tests.ui.driving import running, settle, until
from tests.ui.fake_workspace import MODEL, FakeWorkspace, empty_snapshot
from tui_agent.ui.app import TuiAgentApp
from tui_agent.ui.startup import Start
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.blocks import Outcome, TextBlock, ThinkingBlock, ToolUseBlock
from tui_agent.vocabulary.events import (
    ErrorEvent,
    ProviderStarted,
    QueueChanged,
    QueuedMessage,
    SessionPhase,
    TextDelta,
    ToolResultEvent,
)
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.states import Phase, PhaseLabel
from tui_agent.workspace.api import Check, OfferedModel

EVIL = "[@click=app.quit]x[/] \x1b]0;owned\x07\x1b[2J\u202egnp\u2066 \U000e0041 \x9b31m"
INERT = ("\x1b]", "\x1b[2J", "\u202e", "\u2066", "\U000e0041", "\x9b", "\x07")


def evil_workspace() -> FakeWorkspace:
    """Every place of a session that foreign text can come from holds it."""
    workspace = FakeWorkspace()
    call = ToolUseBlock("call_evil", EVIL, {"command": EVIL, EVIL: EVIL})
    record = scenes.record(title=EVIL, model=ModelChoice("p", EVIL))
    workspace.add(
        replace(
            empty_snapshot(record),
            messages=(
                scenes.message(1, Origin.USER, TextBlock(EVIL)),
                scenes.message(2, Origin.ASSISTANT, ThinkingBlock(EVIL), TextBlock(EVIL), call),
                scenes.message(3, Origin.RECOVERY, TextBlock(EVIL)),
            ),
            first_seq=1,
        )
    )
    workspace.folder = f"/home/ada/{EVIL}"
    workspace.offered = (OfferedModel(MODEL, EVIL, problem=EVIL),)
    workspace.checks = (Check(EVIL, False, EVIL, EVIL),)
    return workspace


def drawn(screen: Screen[object]) -> str:
    """Every segment that the screen hands to the terminal, control codes of our own left out."""
    parts: list[str] = []
    for widget in screen.walk_children(Widget):
        for y in range(widget.size.height):
            parts.extend(segment.text for segment in widget.render_line(y) if not segment.control)
    return "".join(parts)


def assert_inert(app: TuiAgentApp) -> None:
    text = drawn(app.screen)
    assert [code for code in INERT if code in text] == []
    metas = [
        segment.style.meta
        for widget in app.screen.walk_children(Widget)
        for y in range(widget.size.height)
        for segment in widget.render_line(y)
        if segment.style is not None and segment.style.meta
    ]
    assert not any("app.quit" in str(meta) for meta in metas)


async def test_the_workspace_draws_foreign_text_as_text() -> None:
    workspace = evil_workspace()
    async with running(workspace, start=Start(session_id=scenes.SHOP)) as (app, pilot):
        workspace.publish(
            *scenes.in_shop(
                SessionPhase(phase=Phase.RUNNING, label=PhaseLabel.REQUESTING, waiting_for=EVIL),
                ProviderStarted(model_call_id="m", provider=EVIL, model=EVIL),
                scenes.agent_started(1, EVIL, EVIL, 1),
                ErrorEvent(message=EVIL, action=EVIL),
                QueueChanged(items=(QueuedMessage("q", EVIL),)),
                ToolResultEvent(
                    tool_use_id="call_evil",
                    tool=EVIL,
                    outcome=Outcome.ERROR,
                    content=EVIL,
                    details={"output": EVIL},
                ),
                *(TextDelta(model_call_id="m", text=part) for part in EVIL),
            )
        )
        view = app.state.shown
        assert view is not None
        await until(pilot, lambda: view.queue != ())
        assert_inert(app)
        assert "x[/]" in drawn(app.screen)


@pytest.mark.parametrize(
    "scene", ["approval", "question", "call", "model", "doctor", "inbox", "switcher"]
)
async def test_every_dialog_draws_foreign_text_as_text(scene: str) -> None:
    workspace = evil_workspace()
    async with running(workspace, start=Start(session_id=scenes.SHOP), typing_pause=0) as (
        app,
        pilot,
    ):
        call = ToolUseBlock("call_evil", EVIL, {"command": EVIL})
        match scene:
            case "approval":
                workspace.ask(
                    scenes.item(
                        call=call,
                        preview={"kind": "command", "command": EVIL, "description": EVIL},
                        reason=EVIL,
                        rule=EVIL,
                        folder=EVIL,
                    )
                )
            case "question":
                options = [{"label": EVIL, "description": EVIL}]
                asked = {"questions": [{"question": EVIL, "header": EVIL, "options": options}]}
                workspace.ask(scenes.question_item(asked))
            case "call":
                app.desk.pages.show_call("call_evil")
            case "model":
                app.desk.choices.pick_model("")
            case "doctor":
                app.desk.pages.run_doctor()
            case "inbox":
                app.state.inbox.load((scenes.item(call=call, agent=EVIL),))
                app.desk.pages.show_inbox()
            case _:
                app.desk.sessions.show_switcher()
        await until(pilot, lambda: len(app.screen_stack) == 2)
        assert_inert(app)
        if scene == "approval":
            await pilot.press("a")
            await settle(pilot)
            assert_inert(app)
            await pilot.press("escape", "e")
            await settle(pilot)
            assert_inert(app)


async def test_pasted_text_brings_no_control_characters() -> None:
    async with running(FakeWorkspace()) as (app, pilot):
        app.workspace.composer.post_message(Paste(EVIL + "\r\nsecond"))
        await settle(pilot)
        assert_inert(app)
        assert app.workspace.composer.text.count("second") == 1


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
async def test_every_pasted_line_arrives_whatever_ends_it(line_end: str) -> None:
    """Terminals and multiplexers commonly send carriage returns for the lines of a paste."""
    async with running(FakeWorkspace()) as (app, pilot):
        app.workspace.composer.post_message(Paste(line_end.join(("first", "second", "third"))))
        await settle(pilot)
        assert app.workspace.composer.text == "first\nsecond\nthird"
