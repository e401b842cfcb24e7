"""The lists of sessions and of agents say what is and what was."""

from __future__ import annotations

from tests.ui import scenes
from tui_agent.ui.marks import Mark
from tui_agent.ui.projection.agents import AgentTree
from tui_agent.ui.projection.sessions import SessionList
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.blocks import TextBlock
from tui_agent.vocabulary.events import MessageStored
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.records import SessionRecord, SessionSummary
from tui_agent.vocabulary.states import DoneReason, Phase
from tui_agent.vocabulary.usage import Usage


def test_the_first_prompt_names_a_new_session() -> None:
    sessions = SessionList()
    sessions.add(SessionRecord("a", "/shop", ModelChoice("demo", "demo"), "a", 0.0, 0.0))
    for number, text in ((1, "Fix the rounding\nof the total"), (2, "and the tests")):
        message = scenes.message(number, Origin.USER, TextBlock(text))
        sessions.apply(MessageStored(message=message, session_id="a", agent_path=("a",)))
    named = sessions.get("a")
    assert named is not None
    assert (named.title, named.messages) == ("Fix the rounding", 2)


def test_a_saved_agent_shows_how_it_ended() -> None:
    tree = AgentTree("root")
    ends = {"a": DoneReason.MODEL_STOP, "b": DoneReason.ERROR, "c": DoneReason.DENIED}
    tree.load(
        tuple(
            SessionSummary(
                key, key, "/shop", Phase.IDLE, 1.0, 2.0, 3, Usage(), 0, "root", last_reason=reason
            )
            for key, reason in ends.items()
        )
    )
    assert {each.session_id: each.mark for each in tree.all()} == {
        "a": Mark.DONE,
        "b": Mark.FAILED,
        "c": Mark.DENIED,
    }
