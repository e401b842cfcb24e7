"""The request inspector in words."""

from __future__ import annotations

from dataclasses import replace

from tui_agent.ui.lines import text_of
from tui_agent.ui.marks import Marks
from tui_agent.ui.projection.inspection import body_lines, layer_lines, request_title
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.inspection import InspectedRequest, PromptLayer

REQUEST = InspectedRequest(
    model=ModelChoice("deepseek", "deepseek-flash"),
    sent=None,
    layers=(
        PromptLayer("base", "built in", 300, "You are an agent."),
        PromptLayer("tools", "8 tools", 600),
        PromptLayer("history", "12 messages", 300),
    ),
    tokens=1_234,
    window=100_000,
    body={"model": "deepseek-flash", "messages": [{"role": "user", "content": "é\x1b[31m"}]},
    notes=("5 older tool results were cleared",),
)


def test_the_parts_come_with_size_and_origin_and_the_prompt_in_full() -> None:
    said = text_of(layer_lines(REQUEST, Marks(ascii_only=True)))
    assert "1,234 of 100,000 tokens  1.2 % of the window · its parts are estimates" in said
    assert " tools            600 ########          8 tools" in said
    assert " - 5 older tool results were cleared" in said
    assert "base  built in\nYou are an agent." in said


def test_a_request_that_nothing_was_changed_in_says_so() -> None:
    said = text_of(layer_lines(replace(REQUEST, notes=()), Marks()))
    assert "nothing: it goes out as it is stored" in said


def test_the_body_is_exact_but_cannot_reach_the_terminal() -> None:
    said = text_of(body_lines(REQUEST))
    assert '"content": "é\\u001b[31m"' in said
    assert "\x1b" not in said
    assert said.startswith("80 bytes")


def test_the_title_tells_the_next_one_from_those_that_were_sent() -> None:
    assert "The next request  deepseek · deepseek-flash1 of 3" in text_of(
        [request_title(REQUEST, 0, 3)]
    )
    sent = text_of([request_title(replace(REQUEST, sent=0.0), 1, 3)])
    assert sent.startswith("Sent ")
    assert "2 of 3" in sent
