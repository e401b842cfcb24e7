"""The todo list is replaced as a whole, asks nobody and can be read back from the result."""

import pytest

from tests.tools.kit import Workshop
from tui_agent.gate.judge import Call, judge
from tui_agent.rules.syntax import RuleSet, Subject
from tui_agent.tools.base import NO_EFFECTS, ToolError
from tui_agent.vocabulary.blocks import Outcome, text_of
from tui_agent.vocabulary.decisions import Action
from tui_agent.vocabulary.states import Mode

TODOS = [
    {"content": "Read the code", "status": "completed", "activeForm": "Reading the code"},
    {"content": "Mend it", "status": "in_progress", "activeForm": "Mending it"},
    {"content": "Run the tests", "status": "pending", "activeForm": "Running the tests"},
]


async def test_the_list_is_in_the_details_as_the_model_wrote_it(shop: Workshop) -> None:
    result = await shop.run("TodoWrite", {"todos": TODOS})
    assert result.details == {"kind": "todos", "items": TODOS}
    assert result.outcome is Outcome.OK
    assert "1 completed, 1 in progress, 1 to be done" in text_of(result.content)


async def test_an_empty_list_is_a_list(shop: Workshop) -> None:
    result = await shop.run("TodoWrite", {"todos": []})
    assert result.details == {"kind": "todos", "items": []}


async def test_what_models_of_other_makers_write_is_taken(shop: Workshop) -> None:
    todo = {"id": "1", "priority": "high", "content": "Mend it", "status": "pending"}
    result = await shop.run("TodoWrite", {"todos": [todo]})
    assert result.details["items"] == [
        {"content": "Mend it", "status": "pending", "activeForm": "Mend it"}
    ]


@pytest.mark.parametrize(
    ("todo", "field"),
    [
        ({"content": "x", "status": "done"}, "todos.0.status"),
        ({"content": "", "status": "pending"}, "todos.0.content"),
        ({"status": "pending"}, "todos.0.content"),
    ],
)
def test_a_wrong_item_is_named(shop: Workshop, todo: dict[str, str], field: str) -> None:
    with pytest.raises(ToolError, match=field):
        shop.registry.validate("TodoWrite", {"todos": [todo]})


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.PLAN, Mode.ACCEPT_EDITS])
def test_it_never_asks_and_touches_nothing(shop: Workshop, mode: Mode) -> None:
    assert shop.effects("TodoWrite", todos=TODOS) == NO_EFFECTS
    tool = shop.registry.get("TodoWrite")
    subject = Subject("TodoWrite", shop.folder)
    call = Call(subject, (shop.folder,), mode, is_read_only=tool.is_read_only)
    assert judge(call, RuleSet()).action is Action.ALLOW


def test_the_line_about_it_says_how_far_it_is(shop: Workshop) -> None:
    tool = shop.registry.get("TodoWrite")
    subject = tool.subject(shop.registry.validate("TodoWrite", {"todos": TODOS}))
    assert subject == "1 of 3 done: Mending it"
