"""What the model gets is what is stored, made acceptable, and nothing is repaired in silence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.context.history import HISTORIES, model, numbered, result, results, use, user
from tests.loop.stories import unsendable
from tui_agent.context.projection import EMPTY_RESULT, LOST_RESULT, project
from tui_agent.vocabulary.blocks import (
    Block,
    Outcome,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    tool_uses,
)
from tui_agent.vocabulary.messages import Message, Origin


def roles(*history: Message) -> list[str]:
    return [message.role for message in project(numbered(*history)).messages]


def test_a_history_that_is_fine_goes_out_as_it_is() -> None:
    history = numbered(user("a"), model("b", use("c")), results(result("c")), model("d"))
    projection = project(history)
    assert [message.blocks for message in projection.messages] == [m.blocks for m in history]
    assert projection.repairs == ()


def test_adjacent_prompts_are_one_message() -> None:
    sent = project(numbered(user("a"), user("b"), model("c"))).messages
    assert sent[0].blocks == (TextBlock("a"), TextBlock("b"))
    assert roles(user("a"), user("b"), model("c")) == ["user", "assistant"]


def test_a_note_or_a_message_after_results_stands_behind_them() -> None:
    note = user("look first", origin=Origin.RECOVERY)
    history = numbered(user("a"), model(use("c")), results(result("c")), note, user("go"))
    last = project(history).messages[-1]
    assert [type(block) for block in last.blocks] == [ToolResultBlock, TextBlock, TextBlock]
    assert project(history).repairs == ()


def test_blank_text_and_empty_messages_are_left_out() -> None:
    sent = project(numbered(user("a"), model(" \n"), user(""), user("b"))).messages
    assert [message.blocks for message in sent] == [(TextBlock("a"), TextBlock("b"))]


def test_thinking_without_text_is_kept_when_it_is_signed_or_redacted() -> None:
    kept: tuple[Block, ...] = (
        ThinkingBlock("", "sig"),
        ThinkingBlock("", None, "data"),
        ThinkingBlock(" ", provider_data={"thinking_field": "reasoning_content"}),
    )
    sent = project(numbered(user("a"), model(*kept, ThinkingBlock(" "), "b"))).messages
    assert sent[1].blocks == (*kept, TextBlock("b"))


def test_a_result_without_content_says_so() -> None:
    empty = ToolResultBlock("c", (TextBlock("  "),))
    sent = project(numbered(user("a"), model(use("c")), results(empty))).messages
    assert sent[-1].blocks == (ToolResultBlock("c", (TextBlock(EMPTY_RESULT),)),)


def test_an_answer_before_the_first_prompt_is_left_out_and_told() -> None:
    projection = project(numbered(model("hello"), user("a")))
    assert [message.role for message in projection.messages] == ["user"]
    assert projection.repairs == ("an answer before the first prompt was left out",)


def test_results_of_calls_before_the_first_prompt_go_with_them() -> None:
    projection = project(numbered(model(use("c")), results(result("c")), user("a")))
    assert [message.blocks for message in projection.messages] == [(TextBlock("a"),)]
    assert projection.repairs == ("an answer before the first prompt was left out",)


def test_calls_that_nobody_answered_are_answered_as_lost_and_told() -> None:
    projection = project(numbered(user("a"), model(use("c")), model("b"), user("d")))
    lost = ToolResultBlock("c", (TextBlock(LOST_RESULT),), True, Outcome.UNKNOWN)
    assert projection.messages[2].blocks == (lost,)
    assert projection.repairs == ("calls without an answer were answered as lost",)


def test_answers_are_put_in_call_order_and_strangers_are_left_out() -> None:
    damaged = results(result("d"), result("stranger"), result("c"))
    projection = project(numbered(user("a"), model(use("c"), use("d")), damaged))
    answered = [
        b.tool_use_id for b in projection.messages[-1].blocks if isinstance(b, ToolResultBlock)
    ]
    assert answered == ["c", "d"]
    assert projection.repairs


def test_what_was_made_before_a_boundary_is_known_as_such() -> None:
    history = numbered(user("a"), model("b"), user("c"), model("d"), user("e"))
    sent = project(history[1:], boundary_seq=3).messages
    assert [message.prefix_changed for message in sent if message.role == "assistant"] == [False]
    kept = (history[2], *history[1:2], *history[3:])  # a summary, then what was kept
    changed = [m.prefix_changed for m in project(kept, boundary_seq=3).messages]
    assert changed == [False, True, False]


@given(HISTORIES)
def test_every_history_of_ours_can_be_sent_without_a_repair(history: tuple[Message, ...]) -> None:
    assert unsendable(history) == []


@given(HISTORIES, st.data())
def test_a_damaged_history_can_be_sent_too(
    history: tuple[Message, ...], data: st.DataObject
) -> None:
    """Any message lost, any order: the last line of defence holds."""
    kept = data.draw(st.permutations(history))[: data.draw(st.integers(1, len(history)))]
    wrong = [text for text in unsendable(tuple(kept)) if "left out" not in text]
    wrong = [text for text in wrong if "as lost" not in text and "put in order" not in text]
    assert wrong == []


@given(HISTORIES)
def test_no_call_is_dropped_or_made_up(history: tuple[Message, ...]) -> None:
    made = [use.id for message in history for use in tool_uses(message.blocks)]
    sent = [use.id for message in project(history).messages for use in tool_uses(message.blocks)]
    assert sent == made
