"""Three lamps, three completions; the waiting line says what is waited for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ui import scenes
from tests.ui.fake_workspace import START, empty_snapshot
from tui_agent.ui.marks import Mark
from tui_agent.ui.projection.lamps import Lamps, waiting_for
from tui_agent.vocabulary.events import (
    DoneEvent,
    Event,
    PromptCompaction,
    ProviderComplete,
    ProviderRetry,
    ProviderStarted,
    SessionEvent,
    SessionPhase,
    StateEvent,
    TextDelta,
)
from tui_agent.vocabulary.messages import StopReason
from tui_agent.vocabulary.states import DoneReason, LoopState, Phase, PhaseLabel, Trigger
from tui_agent.vocabulary.usage import Usage

STARTED = ProviderStarted(model_call_id="m", provider="p", model="big-model", time=START)
COMPLETE = ProviderComplete(model_call_id="m", stop_reason=StopReason.END_TURN, usage=Usage())
RUNNING = SessionPhase(phase=Phase.RUNNING, label=PhaseLabel.REQUESTING, time=START)
IDLE = SessionPhase(phase=Phase.IDLE, label=PhaseLabel.IDLE)


def lamps(*events: Event) -> Lamps:
    lit = Lamps()
    for event in events:
        lit.apply(event)
    return lit


def test_each_lamp_follows_its_own_event_and_no_other() -> None:
    begin = (RUNNING, SessionEvent(trigger=Trigger.PROMPT), STARTED)
    lit = lamps(*begin)
    assert (lit.provider.words, lit.turn.words, lit.session.words) == (
        "streaming",
        "thinking",
        "running",
    )
    lit = lamps(*begin, COMPLETE)
    assert (lit.provider.words, lit.turn.words, lit.session.words) == (
        "end turn",
        "thinking",
        "running",
    )
    lit = lamps(*begin, DoneEvent(reason=DoneReason.MODEL_STOP))
    assert (lit.provider.words, lit.turn.words, lit.session.words) == (
        "streaming",
        "complete",
        "running",
    )
    lit = lamps(*begin, IDLE)
    assert (lit.provider.words, lit.turn.words, lit.session.words) == (
        "streaming",
        "thinking",
        "idle",
    )


def test_streamed_text_and_the_last_state_move_no_lamp() -> None:
    lit = lamps(
        SessionEvent(trigger=Trigger.PROMPT),
        TextDelta(model_call_id="m", text="x"),
        StateEvent(from_=LoopState.STREAMING, to=LoopState.DONE),
    )
    assert (lit.provider.words, lit.turn.words) == ("off", "thinking")


def test_the_turn_lamp_counts_what_is_pending() -> None:
    lit = lamps(DoneEvent(reason=DoneReason.PENDING_APPROVAL, pending_approvals=2))
    assert lit.turn.words == "pending approval (2)"
    assert lit.turn.mark is Mark.WAITING


def test_draining_says_how_many_agents_are_left() -> None:
    lit = lamps(SessionPhase(phase=Phase.DRAINING, label=PhaseLabel.DRAINING, background_agents=3))
    assert lit.session.words == "draining 3"


def test_a_failed_response_is_no_tick() -> None:
    lit = lamps(replace(COMPLETE, stop_reason=StopReason.ERROR))
    assert lit.provider.mark is Mark.FAILED


def test_a_loaded_session_lights_what_the_store_says() -> None:
    lit = Lamps()
    lit.load(scenes.worked_in())
    assert (lit.provider.words, lit.turn.words, lit.session.words) == (
        "tool use",
        "running",
        "running",
    )
    cut = replace(scenes.worked_in(), phase=Phase.REQUIRES_ACTION)
    lit.load(cut)
    assert (lit.turn.words, lit.session.words) == ("cut", "needs you")


def what(lit: Lamps, asked: str | None = None, running: str = "", now: float = START) -> str:
    found = waiting_for(lit, asked=asked, asked_since=START, running=running, now=now)
    keys = ", ".join(f"{key} {does}" for key, does in found.keys)
    return f"{found.text} | {keys}"


def test_the_waiting_line_names_what_and_the_key_that_changes_it() -> None:
    tool = SessionPhase(phase=Phase.RUNNING, label=PhaseLabel.TOOL_RUNNING)
    action = SessionPhase(
        phase=Phase.REQUIRES_ACTION, label=PhaseLabel.IDLE, waiting_for="a queued message"
    )
    retry = ProviderRetry(
        model_call_id="m", attempt=1, delay=8, message="Busy.", error_class="x", time=START
    )
    assert what(Lamps()) == "ready | F1 help"
    assert what(lamps(RUNNING, STARTED)) == "big-model is answering | Esc interrupt"
    assert what(lamps(tool), running="Bash make") == "running Bash make | Esc interrupt"
    assert what(lamps(tool), asked="Edit a.py") == "waiting for you: Edit a.py | F2 decide"
    assert what(lamps(action)) == "waiting for you: a queued message | Ctrl+R go on"
    keys = "F9 tries now, Esc interrupt"
    assert what(lamps(retry), now=START + 3) == f"Busy · trying again in 5 s | {keys}"


def test_an_attempt_says_which_of_how_many_it_is() -> None:
    retry = ProviderRetry(
        model_call_id="m",
        attempt=2,
        attempts=10,
        delay=8,
        message="Busy",
        error_class="x",
        time=START,
    )
    text = "Busy · trying again in 8 s, attempt 3 of 10 | F9 tries now, Esc interrupt"
    assert what(lamps(RUNNING, STARTED, retry)) == text


@pytest.mark.parametrize(
    "end",
    [
        DoneEvent(reason=DoneReason.USER_ABORT),
        PromptCompaction(phase="failed", trigger="manual"),
    ],
)
def test_a_wait_that_was_given_up_is_over(end: Event) -> None:
    retry = ProviderRetry(
        model_call_id="m", attempt=1, delay=50, message="Busy", error_class="x", time=START
    )
    lit = lamps(RUNNING, STARTED, retry, end, IDLE)
    assert lit.provider.words == "aborted"
    assert what(lit) == "ready | F1 help"


def test_a_new_session_is_dark() -> None:
    lit = Lamps()
    lit.load(empty_snapshot(scenes.record()))
    assert (lit.provider.mark, lit.turn.mark, lit.session.mark) == (Mark.IDLE,) * 3
