"""Where a history is cut, and what the summary carries over."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.context.history import HISTORIES, model, numbered, result, results, use, user
from tests.loop.stories import unsendable
from tui_agent.context import compaction
from tui_agent.context.budget import message_tokens
from tui_agent.context.compaction import (
    SUMMARY_HEADING,
    Cut,
    choose_cut,
    is_shorter,
    summary_request,
    summary_text,
)
from tui_agent.loop.validator import violations
from tui_agent.vocabulary.agents import ModelFacts
from tui_agent.vocabulary.blocks import TextBlock, ToolUseBlock, text_of, tool_uses
from tui_agent.vocabulary.messages import Message, Origin

SMALL = ModelFacts(window=400)
LONG = "many words " * 100


def test_recent_messages_stay_from_a_prompt_on() -> None:
    history = numbered(user(LONG), model(LONG), user("b"), model("c"), user("d"))
    cut = choose_cut(history, SMALL)
    assert cut is not None
    assert cut.kept == history[2:]
    assert cut.kept_from == 3


def test_an_open_batch_is_kept_with_the_reply_that_made_it() -> None:
    history = numbered(user(LONG), model(LONG, use("c")))
    cut = choose_cut(history, SMALL)
    assert cut is not None
    assert cut.kept == history[1:]


def test_even_where_nothing_fits_the_newest_part_stays_whole() -> None:
    history = numbered(user("a"), model(LONG, use("c")), results(result("c", LONG * 9)))
    cut = choose_cut(history, SMALL)
    assert cut is not None
    assert cut.kept == history[1:]


def test_one_message_and_a_lone_summary_are_nothing_to_summarise() -> None:
    assert choose_cut(numbered(user(LONG)), SMALL) is None
    assert choose_cut((), SMALL) is None
    summary = user(LONG, origin=Origin.SUMMARY)
    assert choose_cut(numbered(summary, user("b")), SMALL) is None


def test_the_task_survives_a_poor_summary() -> None:
    history = numbered(user("build it"), model(LONG), user("in red"), model(LONG), model("now"))
    cut = choose_cut(history, SMALL)
    assert cut is not None
    assert all(message.origin is not Origin.USER for message in cut.kept)
    text = summary_text(cut, "  gist ")
    assert text.startswith(f"{SUMMARY_HEADING}\n\ngist\n\n")
    assert "build it" in text
    assert "in red" in text


def test_each_message_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[int] = []

    def counting(message: Message) -> int:
        measured.append(message.seq)
        return message_tokens(message)

    monkeypatch.setattr(compaction, "message_tokens", counting)
    history = numbered(*[user("a") for _ in range(300)])
    assert choose_cut(history, SMALL) is not None
    assert len(measured) == 300


def test_a_long_request_is_carried_whole() -> None:
    task = "the task in many words " * 400
    cut = Cut(numbered(user(task), model(LONG * 40)), numbered(user("next")))
    assert task.strip() in summary_text(cut, "Poor.")


def test_a_history_that_is_mostly_one_long_request_can_be_summarised() -> None:
    cut = Cut(numbered(user("the task in many words " * 400), model("x")), numbered(user("next")))
    assert is_shorter(cut, summary_text(cut, "Poor."))


def again(cut: Cut, *later: Message) -> Cut:
    """The cut that follows when the summary of `cut` and what came later is summarised too."""
    summary = user(summary_text(cut, "Poor."), origin=Origin.SUMMARY)
    return Cut(numbered(summary, *later), numbered(model("kept")))


def todo(call_id: str, *items: tuple[str, str]) -> Message:
    listed = [{"content": text, "status": status} for text, status in items]
    return model(ToolUseBlock(call_id, "TodoWrite", {"todos": listed}))


def test_first_and_latest_request_survive_a_second_summary() -> None:
    first = Cut(numbered(user("the task"), model("x"), user("a\n\nb")), numbered(model("kept")))
    text = summary_text(again(first, model("y")), "Poorer.")
    assert text.count("the task") == 1
    assert text.endswith("The latest request, word for word:\na\n\nb")
    text = summary_text(again(first, user("newest")), "Poorer.")
    assert "The first request, word for word:\nthe task\n\n" in text
    assert text.endswith("The latest request, word for word:\nnewest")


def test_the_open_todo_list_survives_two_summaries() -> None:
    older = numbered(
        user("the task"),
        todo("a", ("old", "pending")),
        results(result("a")),
        todo("b", ("read", "completed"), ("write", "in_progress"), ("test", "pending")),
        results(result("b")),
        todo("c", ("never", "someday")),
        results(replace(result("c"), is_error=True)),
    )
    first = Cut(older, numbered(model("kept")))
    kept = "The todo list as it stands:\n- [x] read\n- [>] write\n- [ ] test"
    assert summary_text(first, "Poor.").endswith(kept)
    assert summary_text(again(first, user("more")), "Poorer.").endswith(kept)


def test_a_list_that_is_done_or_kept_anyway_is_not_carried() -> None:
    done = numbered(user("x"), todo("a", ("read", "completed")), results(result("a")))
    assert "todo" not in summary_text(Cut(done, numbered(model("kept"))), "Poor.")
    older = numbered(user("x"), todo("a", ("read", "pending")), results(result("a")))
    newer = numbered(todo("b", ("write", "pending")), results(result("b")))
    assert "todo" not in summary_text(Cut(older, newer), "Poor.")


def test_a_summary_has_to_be_shorter_than_what_it_stands_for() -> None:
    cut = choose_cut(numbered(user(LONG), model(LONG), user("b")), SMALL)
    assert cut is not None
    assert is_shorter(cut, "gist")
    assert not is_shorter(cut, LONG * 3)


def test_the_wish_of_the_person_reaches_the_summariser_and_no_tool_does() -> None:
    cut = choose_cut(numbered(user(LONG), model(LONG), user("b")), SMALL)
    assert cut is not None
    request = summary_request(cut, "m", SMALL, "the file names")
    assert "the file names" in text_of(request.messages[0].blocks)
    assert request.tools == ()
    assert violations(request) == []


FACTS = st.builds(ModelFacts, window=st.sampled_from([10, 400, 4_000, 200_000]))


@given(HISTORIES, FACTS)
def test_no_cut_goes_through_a_pair_and_what_remains_can_be_sent(
    history: tuple[Message, ...], facts: ModelFacts
) -> None:
    cut = choose_cut(history, facts)
    if cut is None:
        return
    assert cut.older + cut.kept == history
    assert cut.older
    assert cut.kept
    assert not tool_uses(cut.older[-1].blocks)
    summary = Message(
        "s", "user", (TextBlock("gist"),), Origin.SUMMARY, 0.0, seq=history[-1].seq + 1
    )
    assert unsendable((summary, *cut.kept), boundary_seq=summary.seq) == []
    assert violations(summary_request(cut, "m", facts)) == []
    # and cut once more
    again = choose_cut((replace(summary, seq=0), *cut.kept), facts)
    if again is not None:
        assert not tool_uses(again.older[-1].blocks)
