"""The list of sessions follows what happens in them."""

from __future__ import annotations

from tests.ui import scenes
from tui_agent.ui.projection.sessions import SessionList
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.blocks import TextBlock
from tui_agent.vocabulary.events import MessageStored
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.records import SessionRecord


def test_the_first_prompt_names_a_new_session() -> None:
    sessions = SessionList()
    sessions.add(SessionRecord("a", "/shop", ModelChoice("demo", "demo"), "a", 0.0, 0.0))
    for number, text in ((1, "Fix the rounding\nof the total"), (2, "and the tests")):
        message = scenes.message(number, Origin.USER, TextBlock(text))
        sessions.apply(MessageStored(message=message, session_id="a", agent_path=("a",)))
    named = sessions.get("a")
    assert named is not None
    assert (named.title, named.messages) == ("Fix the rounding", 2)
