"""The workspace from a person's seat: typing, watching, switching, coming back, leaving."""

from __future__ import annotations

import pytest
from textual import events

from tests.ui import scenes
from tests.ui.driving import make_app, running, settle, until
from tests.ui.fake_workspace import FakeWorkspace
from tui_agent.ui.app import TuiAgentApp
from tui_agent.ui.arrangement import Pane
from tui_agent.ui.screens.agent import AgentScreen
from tui_agent.ui.screens.reading import ReadingScreen
from tui_agent.ui.startup import Start
from tui_agent.vocabulary.blocks import TextBlock
from tui_agent.vocabulary.events import (
    DoneEvent,
    MessageStored,
    SessionEvent,
    SessionPhase,
)
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.states import DoneReason, Mode, Phase, PhaseLabel, Trigger

SHOP = Start(session_id=scenes.SHOP)


def is_open(app: TuiAgentApp, kind: type) -> bool:
    return isinstance(app.screen, kind)


async def test_a_prompt_that_is_typed_reaches_the_session() -> None:
    workspace = FakeWorkspace()
    async with running(workspace) as (app, pilot):
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: bool(workspace.asked("submit")))
        assert workspace.asked("submit") == [("submit", "ses_new1", "hello", False)]
        assert app.workspace.composer.text == ""


async def test_alt_enter_queues_for_after_the_turn() -> None:
    workspace = FakeWorkspace()
    async with running(workspace) as (_, pilot):
        await pilot.press(*"later", "alt+enter")
        await until(pilot, lambda: bool(workspace.asked("submit")))
        assert workspace.asked("submit") == [("submit", "ses_new1", "later", True)]


async def test_enter_sends_and_ctrl_j_breaks_the_line() -> None:
    workspace = FakeWorkspace()
    async with running(workspace) as (_, pilot):
        await pilot.press("a", "ctrl+j", "b", "shift+enter", "c", "enter")
        await until(pilot, lambda: bool(workspace.asked("submit")))
        assert workspace.asked("submit")[0][2] == "a\nb\nc"


async def test_a_prompt_that_is_refused_stays_in_the_composer() -> None:
    workspace = FakeWorkspace()
    workspace.refuse_submit = "Two items are undecided: answer them or /discard."
    async with running(workspace) as (app, pilot):
        await pilot.press(*"go on", "enter")
        await until(pilot, lambda: bool(workspace.asked("submit")))
        await settle(pilot)
        assert app.workspace.composer.text == "go on"


async def test_a_prompt_given_at_the_start_is_sent() -> None:
    workspace = FakeWorkspace()
    async with running(workspace, start=Start(prompt="fix it")) as (_, pilot):
        await until(pilot, lambda: bool(workspace.asked("submit")))
        assert workspace.asked("submit")[0][2] == "fix it"


async def test_up_on_the_first_line_recalls_what_was_sent() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        composer = app.workspace.composer
        await pilot.press(*"dr", "up")
        assert composer.text == "Why is the total off by one cent?"
        await pilot.press("down")
        assert composer.text == "dr"


async def test_a_slash_command_runs_instead_of_being_sent() -> None:
    workspace = FakeWorkspace()
    async with running(workspace) as (_, pilot):
        await pilot.press(*"/compact the tests", "enter")
        await until(pilot, lambda: bool(workspace.asked("compact")))
        assert workspace.asked("compact") == [("compact", "ses_new1", "the tests")]
        assert workspace.asked("submit") == []


async def test_tab_completes_a_command() -> None:
    async with running(FakeWorkspace()) as (app, pilot):
        await pilot.press(*"/comp")
        await settle(pilot)
        assert "Summarise older messages" in app.workspace.above.plain
        await pilot.press("tab")
        assert app.workspace.composer.text == "/compact "


async def test_what_happens_appears_while_it_happens() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        scenes.live_work(workspace)
        view = app.state.shown
        assert view is not None
        await until(pilot, lambda: len(view.agents) == 3)
        screen = app.workspace
        assert "pytest -q" in screen.activity.plain
        assert "reviewer" in screen.agents.plain
        assert "also add a test" in screen.above.plain
        assert "running Bash pytest" in screen.status.plain
        assert all(name in screen.header.plain for name in ("provider", "turn", "session"))


async def test_a_running_session_goes_on_while_another_is_shown() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        await pilot.press("ctrl+o")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*"docs pass", "enter")
        await until(pilot, lambda: app.state.shown_id == "ses_other0")
        message = scenes.message(9, Origin.ASSISTANT, TextBlock("done meanwhile"))
        workspace.publish(*scenes.in_shop(MessageStored(message=message)))
        shop = app.state.view(scenes.SHOP)
        assert shop is not None
        await until(pilot, lambda: shop.conversation.items[-1].key == "msg_9:0")
        assert app.state.shown_id == "ses_other0"
        assert app.workspace.conversation.session is app.state.shown
        assert len(workspace.asked("snapshot")) == 2


async def test_a_draft_belongs_to_its_session_and_comes_back() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        await pilot.press(*"half a thought")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: app.state.shown_id == "ses_new1")
        assert app.workspace.composer.text == ""
        assert ("save_draft", scenes.SHOP, "half a thought") in workspace.calls
        assert workspace.asked("save_view")
        app.desk.sessions.switch_to(scenes.SHOP)
        await until(pilot, lambda: app.state.shown_id == scenes.SHOP)
        assert app.workspace.composer.text == "half a thought"
    async with running(workspace, start=SHOP) as (again, _):
        assert again.workspace.composer.text == "half a thought"


async def test_the_scroll_place_comes_back() -> None:
    workspace = scenes.long_workspace()
    async with running(workspace, start=SHOP, size=(100, 20)) as (app, pilot):
        transcript = app.workspace.conversation.transcript
        transcript.focus()
        await pilot.press("pageup", "pageup")
        await settle(pilot)
        anchor = transcript.scroll_anchor()
        assert anchor["follow"] is False
        app.leave()
        await until(pilot, lambda: workspace.is_closed)
    async with running(workspace, start=SHOP, size=(100, 20)) as (again, pilot):
        await settle(pilot)
        assert again.workspace.conversation.transcript.scroll_anchor() == anchor


async def test_folds_and_the_shown_pane_come_back() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, size=(80, 24)) as (app, pilot):
        app.workspace.conversation.transcript.fold("call_lint", True)
        app.workspace.show_tab(Pane.ACTIVITY)
        await settle(pilot)
        app.leave()
        await until(pilot, lambda: workspace.is_closed)
    kept = workspace.asked("save_view")[-1][2]
    async with running(workspace, start=SHOP, size=(80, 24)) as (again, pilot):
        await settle(pilot)
        assert again.workspace.tab is Pane.ACTIVITY
        assert again.workspace.place_values() == kept
        assert again.workspace.conversation.place()["folds"] == {"call_lint": True}


async def test_escape_interrupts_and_with_open_asks_only_at_the_second_key() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, typing_pause=1e9) as (app, pilot):
        await pilot.press("x")
        workspace.ask(scenes.item())
        await until(pilot, lambda: len(app.state.inbox) == 1)
        await pilot.press("escape")
        await settle(pilot)
        assert workspace.asked("interrupt") == []
        assert "1 open ask will be cancelled" in app.workspace.status.plain
        await pilot.press("escape")
        await until(pilot, lambda: bool(workspace.asked("interrupt")))
        assert "will be cancelled" not in app.workspace.status.plain


async def test_what_a_command_says_stays_until_somebody_types() -> None:
    async with running(FakeWorkspace()) as (app, pilot):
        await pilot.press(*"/mode bogus", "enter")
        await settle(pilot)
        assert "No mode bogus" in app.workspace.status.plain
        await pilot.press("x")
        await settle(pilot)
        assert "No mode bogus" not in app.workspace.status.plain


async def test_a_text_put_into_the_composer_by_the_program_keeps_no_dialog_away() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, typing_pause=1e9) as (app, pilot):
        app.workspace.composer.set_text("a draft")
        await settle(pilot)
        workspace.ask(scenes.item())
        await until(pilot, lambda: len(app.screen_stack) == 2)


async def test_keys_of_one_burst_keep_their_order() -> None:
    workspace = FakeWorkspace()
    async with running(workspace) as (app, pilot):
        composer = app.workspace.composer
        for key, character in (("a", "a"), ("ctrl+j", "\n"), ("b", "b"), ("enter", "\r")):
            app.post_message(events.Key(key, character))
        await until(pilot, lambda: bool(workspace.asked("submit")))
        assert workspace.asked("submit")[0][2] == "a\nb"
        assert composer.text == ""


async def test_a_mistyped_command_is_not_sent_to_the_model() -> None:
    workspace = FakeWorkspace()
    async with running(workspace) as (app, pilot):
        await pilot.press(*"/nonsense", "enter")
        await until(pilot, lambda: bool(app._notifications))
        assert [each.message for each in app._notifications] == [
            "No command /nonsense · / lists them"
        ]
        assert app.workspace.composer.text == "/nonsense"
        assert workspace.asked("submit") == []


async def test_what_is_typed_before_the_session_is_open_stays() -> None:
    workspace = scenes.busy_workspace()
    app = make_app(workspace, start=SHOP)
    async with app.run_test() as pilot:
        app.workspace.composer.set_text("early")
        await until(pilot, lambda: app.state.shown is not None)
        await settle(pilot)
        assert app.workspace.composer.text == "early"
        if app._bridge is not None:
            await app._bridge.close()


async def test_a_turn_that_only_waits_for_a_person_can_be_interrupted() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP, typing_pause=1e9) as (app, pilot):
        workspace.publish(
            *scenes.in_shop(
                SessionEvent(trigger=Trigger.PROMPT),
                SessionPhase(phase=Phase.REQUIRES_ACTION, label=PhaseLabel.CONFIRMING),
            )
        )
        view = app.state.shown
        assert view is not None
        await until(pilot, lambda: view.lamps.phase is Phase.REQUIRES_ACTION)
        await pilot.press("escape")
        await until(pilot, lambda: bool(workspace.asked("interrupt")))
        workspace.publish(*scenes.in_shop(DoneEvent(reason=DoneReason.USER_ABORT)))
        await until(pilot, lambda: not view.can_be_interrupted)


async def test_a_draft_is_kept_while_somebody_types_without_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui_agent.ui.app.SAVE_DRAFT_AFTER", 0.05)
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (_, pilot):
        for _ in range(200):
            await pilot.press("x")
            if workspace.asked("save_draft"):
                break
        assert workspace.asked("save_draft")


async def test_shift_tab_cycles_through_the_modes() -> None:
    workspace = FakeWorkspace()
    async with running(workspace) as (_, pilot):
        for count in range(1, 4):
            await pilot.press("shift+tab")
            await until(pilot, lambda count=count: len(workspace.asked("set_mode")) == count)  # type: ignore[misc]
        assert [call[2] for call in workspace.asked("set_mode")] == [
            Mode.ACCEPT_EDITS,
            Mode.PLAN,
            Mode.ASK,
        ]


async def test_a_model_is_picked_from_the_list() -> None:
    workspace = FakeWorkspace()
    async with running(workspace) as (app, pilot):
        await pilot.press(*"/model", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*"gpt", "enter")
        await until(pilot, lambda: bool(workspace.asked("set_model")))
        assert workspace.asked("set_model")[0][2] == workspace.offered[1].choice


async def test_enter_on_a_row_opens_the_call_and_the_agent() -> None:
    workspace = scenes.busy_workspace()
    workspace.add(scenes.child_session())
    async with running(workspace, start=SHOP) as (app, pilot):
        scenes.live_work(workspace)
        view = app.state.shown
        assert view is not None
        await until(pilot, lambda: len(view.agents) == 3)
        await pilot.press("f4", "home", "enter")
        await until(pilot, lambda: is_open(app, ReadingScreen))
        await pilot.press("escape")
        await pilot.press("f5", "home", "enter")
        await until(pilot, lambda: is_open(app, AgentScreen))
        await pilot.press("f8")
        await until(pilot, lambda: bool(workspace.asked("interrupt")))
        assert workspace.asked("interrupt") == [("interrupt", "ses_child1")]


async def test_two_ctrl_c_quit_when_nothing_is_typed_or_running() -> None:
    workspace = FakeWorkspace()
    async with running(workspace) as (app, pilot):
        await pilot.press("a", "ctrl+c")
        assert app.workspace.composer.text == ""
        await pilot.press("b", "backspace", "ctrl+c")
        await settle(pilot)
        assert not workspace.is_closed
        await pilot.press("ctrl+c")
        await until(pilot, lambda: workspace.is_closed)


async def test_ctrl_c_interrupts_what_runs() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (_, pilot):
        await pilot.press("ctrl+c")
        await until(pilot, lambda: bool(workspace.asked("interrupt")))
        assert not workspace.is_closed


async def test_the_ticker_sleeps_when_nothing_moves() -> None:
    workspace = FakeWorkspace()
    async with running(workspace) as (app, pilot):
        await settle(pilot)
        app.ticker.tick()
        assert not app.ticker.is_awake
        workspace.publish(
            SessionPhase(session_id="ses_new1", phase=Phase.RUNNING, label=PhaseLabel.REQUESTING)
        )
        await until(pilot, lambda: app.is_turn_running)
        app.ticker.tick()
        assert app.ticker.is_awake


async def test_the_screen_stays_small_in_widgets() -> None:
    async with running(scenes.busy_workspace(), start=SHOP) as (app, _):
        assert len(list(app.workspace.walk_children())) < 60


async def test_every_pane_is_reached_with_one_key_where_one_fits() -> None:
    async with running(scenes.busy_workspace(), start=SHOP, size=(40, 12)) as (app, pilot):
        shown = []
        for _ in range(4):
            await pilot.press("f6")
            shown.append(app.workspace.tab.value)
        assert shown == ["activity", "agents", "sessions", "conversation"]


async def test_no_size_of_the_terminal_breaks_it() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        scenes.live_work(workspace)
        for size in ((1, 1), (3, 2), (10, 4), (40, 12), (99, 30), (119, 8), (240, 70), (1, 60)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
        workspace.ask(scenes.item())
        await until(pilot, lambda: len(app.screen_stack) == 2)
        for size in ((1, 1), (12, 5), (160, 45)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
        assert "needs you" in app.workspace.activity.plain
