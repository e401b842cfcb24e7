"""The last look at a request: what it names, and that what it passes no strict provider refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loop.kit import refusals
from tui_agent.loop.validator import violations
from tui_agent.providers.base import ModelRequest, RequestMessage
from tui_agent.vocabulary.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock

TEXT = TextBlock("a")


def use(call_id: str = "c") -> ToolUseBlock:
    return ToolUseBlock(call_id, "Read", {})


def result(call_id: str = "c") -> ToolResultBlock:
    return ToolResultBlock(call_id, (TEXT,))


def user(*blocks: Block) -> RequestMessage:
    return RequestMessage("user", blocks)


def model(*blocks: Block) -> RequestMessage:
    return RequestMessage("assistant", blocks)


def judged(*messages: RequestMessage) -> list[str]:
    return violations(ModelRequest("m", ("s",), messages, ()))


@pytest.mark.parametrize(
    "messages",
    [
        [user(TEXT)],
        [user(TEXT), model(TEXT), user(TEXT)],
        [user(TEXT), model(use()), user(result())],
        [user(TEXT), model(TEXT, use("c"), use("d")), user(result("c"), result("d"), TEXT)],
    ],
)
def test_what_every_provider_accepts(messages: list[RequestMessage]) -> None:
    assert judged(*messages) == []


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([], "no message"),
        ([model(TEXT), user(TEXT)], "not the person's"),
        ([user(TEXT), model(TEXT)], "nothing to answer"),
        ([user(TEXT), user(TEXT)], "side by side"),
        ([user()], "empty"),
        ([user(TextBlock(" \n"))], "blank"),
        ([user(TEXT), model(use()), user(TEXT)], "answered as"),
        ([user(TEXT), model(use("c"), use("d")), user(result("d"), result("c"))], "answered as"),
        ([user(TEXT), model(use()), user(result(), result())], "answered as"),
        ([user(TEXT), model(TEXT), user(result())], "answered as"),
        ([user(TEXT), model(use(), use()), user(result(), result())], "twice"),
        (
            [user(TEXT), model(use()), user(result()), model(use()), user(result())],
            "twice",
        ),
        ([user(TEXT), model(use())], "no answer"),
    ],
)
def test_what_it_names(messages: list[RequestMessage], said: str) -> None:
    assert any(said in text for text in judged(*messages)), judged(*messages)


BLOCKS = st.lists(
    st.one_of(
        st.just(TEXT),
        st.builds(use, st.sampled_from(["c", "d"])),
        st.builds(result, st.sampled_from(["c", "d"])),
    ),
    min_size=1,
    max_size=3,
).map(tuple)
MESSAGES = st.lists(
    st.builds(RequestMessage, st.sampled_from(["user", "assistant"]), BLOCKS), max_size=6
)


def _is_placed(message: RequestMessage) -> bool:
    """Calls are the model's and results the person's, results first: what types and projection
    already see to."""
    wrong = ToolUseBlock if message.role == "user" else ToolResultBlock
    if any(isinstance(block, wrong) for block in message.blocks):
        return False
    kinds = [isinstance(block, ToolResultBlock) for block in message.blocks]
    return kinds == sorted(kinds, reverse=True)


@given(MESSAGES)
def test_nothing_that_it_passes_is_refused_on_either_wire(messages: list[RequestMessage]) -> None:
    placed = tuple(filter(_is_placed, messages))
    request = ModelRequest("m", ("s",), placed, ())
    if not violations(request):
        assert refusals(request) == []
