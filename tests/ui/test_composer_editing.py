"""Editing as users of readline and of editors know it, and the history of what was sent."""

from __future__ import annotations

import pytest
from textual import events

from tests.ui.composing import composing


async def test_words_are_walked_and_killed_and_put_back() -> None:
    async with composing() as (_, composer, pilot):
        await pilot.press(*"one two-three", "alt+b", *"X", "ctrl+w", "ctrl+e", "ctrl+y")
        assert composer.text == "one threetwo-X"


async def test_kills_in_a_row_are_one_and_the_one_before_can_be_had() -> None:
    async with composing() as (_, composer, pilot):
        await pilot.press(*"a b c d", "alt+backspace", "alt+backspace", *"e")
        assert composer.text == "a b e"
        await pilot.press("ctrl+u", "ctrl+y", "ctrl+y")
        assert composer.text == "a b ea b e"
        await pilot.press("alt+y")
        assert composer.text == "a b ec d"
        await pilot.press("alt+y")
        assert composer.text == "a b ea b e"


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        (("ctrl+k",), "first\nse\nthird"),
        (("ctrl+k", "ctrl+k"), "first\nsethird"),
        (("ctrl+u",), "first\ncond\nthird"),
        (("ctrl+u", "ctrl+u"), "firstcond\nthird"),
        (("alt+d",), "first\nse\nthird"),
        (("ctrl+d",), "first\nseond\nthird"),
        (("ctrl+h",), "first\nscond\nthird"),
        (("ctrl+x",), "first\nthird"),
        (("ctrl+shift+k",), "first\nthird"),
        (("ctrl+a", "x"), "first\nxsecond\nthird"),
        (("ctrl+home", "x"), "xfirst\nsecond\nthird"),
        (("ctrl+end", "x"), "first\nsecond\nthirdx"),
        (("shift+up", "shift+home", "x"), "xcond\nthird"),
    ],
)
async def test_keys_of_readline_and_editors(keys: tuple[str, ...], left: str) -> None:
    async with composing() as (_, composer, pilot):
        composer.set_text("first\nsecond\nthird")
        composer.move_cursor((1, 2))
        await pilot.press(*keys)
        assert composer.text == left


async def test_undo_and_redo_by_the_keys_of_both_worlds() -> None:
    async with composing() as (_, composer, pilot):
        await pilot.press(*"one two", "ctrl+w")
        assert composer.text == "one "
        await pilot.press("ctrl+underscore")
        assert composer.text == "one two"
        await pilot.press("ctrl+y")
        assert composer.text == "one "
        await pilot.press("ctrl+z", "alt+z", "x", "ctrl+y")
        assert composer.text == "one xtwo"


async def test_every_key_of_a_burst_acts_in_its_order() -> None:
    async with composing() as (stage, composer, pilot):
        for key in ("a", "b", "left", "c", "home", "d", "ctrl+k", "e", "ctrl+y", "f"):
            stage.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        assert composer.text == "deacbf"


async def test_home_and_end_know_wrapped_rows_and_ctrl_a_and_e_lines() -> None:
    async with composing(size=(30, 24)) as (_, composer, pilot):
        await pilot.press(*("word " * 12).strip())
        await pilot.press("home", "x")
        assert not composer.text.startswith("x")
        await pilot.press("ctrl+a", "y")
        assert composer.text.startswith("y")


async def test_it_grows_with_its_rows_up_to_a_third_and_keeps_the_cursor_in_view() -> None:
    async with composing(size=(80, 24)) as (stage, composer, pilot):
        heights = []
        for at in range(12):
            await pilot.press(*f"row{at}", "ctrl+j")
            heights.append(composer.size.height)
        assert heights[:4] == [2, 3, 4, 5]
        assert max(heights) == 24 * 33 // 100
        assert "row11" in "\n".join(stage.rows)


async def test_the_terminals_cursor_stands_at_ours() -> None:
    async with composing() as (stage, composer, pilot):
        await pilot.press(*"日本")
        assert stage.cursor_position == (composer.content_region.x + 4, composer.content_region.y)
        composer.styles.margin = (5, 0, 0, 0)  # moved by what is around it, and no key was pressed
        await pilot.pause()
        assert stage.cursor_position == (composer.content_region.x + 4, composer.content_region.y)
        assert composer.content_region.y >= 5


async def test_history_is_walked_by_what_is_typed_and_the_draft_comes_back() -> None:
    async with composing() as (_, composer, pilot):
        composer.sent_elsewhere = ("fix the build", "explain it")
        composer.sent = ("fix the test", "fix the test", "go on")
        await pilot.press(*"fix", "up")
        assert composer.text == "fix the test"
        await pilot.press("up")
        assert composer.text == "fix the build"
        await pilot.press("up")
        assert composer.text == "fix the build"
        await pilot.press("down", "down")
        assert composer.text == "fix"
        await pilot.press("ctrl+u", "up", "up", "up", "up")
        assert composer.text == "fix the build"


async def test_what_is_changed_on_the_way_through_history_is_kept_until_something_is_sent() -> None:
    async with composing() as (stage, composer, pilot):
        composer.sent = ("one", "two")
        await pilot.press(*"draft", "up", "!", "up", "down")
        assert composer.text == "two!"
        await pilot.press("down")
        assert composer.text == "draft"
        await pilot.press("up", "enter")
        await pilot.pause()
        assert [each.text for each in stage.sent] == ["two!"]
        assert composer.text == "draft", "what was typed before comes back"


async def test_up_in_a_recalled_text_of_many_lines_goes_on_and_in_a_wrapped_line_goes_up() -> None:
    async with composing(size=(30, 24)) as (_, composer, pilot):
        composer.sent = ("older", "first line\nsecond line")
        await pilot.press("up")
        assert composer.cursor_location == (0, len("first line"))
        await pilot.press("up")
        assert composer.text == "older"
        composer.set_text("word " * 12)
        await pilot.press("up", "x")
        assert composer.text.count("x") == 1
        assert "x" not in composer.text[:10]


async def test_up_asks_for_what_is_queued_before_it_recalls() -> None:
    async with composing() as (stage, composer, pilot):
        composer.show_state(sent=("sent",), has_queue=True, is_busy=True)
        await pilot.press("up")
        assert (stage.queue_wanted, composer.text) == (1, "")
        await pilot.press("s", "up")
        assert (stage.queue_wanted, composer.text) == (1, "sent")


async def test_a_long_prompt_sent_before_is_recalled_at_a_bounded_cost() -> None:
    async with composing() as (stage, composer, pilot):
        composer.sent = ("x\n" * 50_000,)
        await pilot.press("up")
        assert composer.document.line_count == 1
        await pilot.press("enter")
        await pilot.pause()
        assert stage.sent[0].text == ("x\n" * 50_000).rstrip()


async def test_indentation_of_what_is_sent_stays() -> None:
    async with composing() as (stage, _, pilot):
        stage.paste("\n\n    indented\n  less\n\n")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert stage.sent[0].text == "    indented\n  less"


async def test_arrows_choose_a_command_tab_takes_it_and_escape_closes() -> None:
    async with composing() as (stage, composer, pilot):
        await pilot.press(*"/re")
        names = [each.slash for each in composer.completion.offered]
        assert len(names) > 1
        await pilot.press("down")
        assert composer.completion.chosen == 1
        await pilot.press("up", "up")
        assert composer.completion.chosen == len(names) - 1
        await pilot.press("escape")
        assert (composer.completion.offered, composer.text) == ((), "/re")
        await pilot.press("backspace", "e", "down", "tab")
        assert composer.text.strip() == f"/{names[1]}"
        await pilot.press("ctrl+u", *"/doc", "down", "enter")
        await pilot.pause()
        assert [each.text for each in stage.sent] == ["/doctor"]


async def test_a_hint_says_what_enter_does_while_a_turn_runs() -> None:
    async with composing() as (_, composer, pilot):
        composer.show_state(sent=(), has_queue=False, is_busy=True)
        assert composer.border_title == ""
        await pilot.press("x")
        assert composer.border_title == "Enter steers · Alt+Enter after the turn"
        composer.show_state(sent=(), has_queue=False, is_busy=False)
        assert composer.border_title == ""


async def test_after_the_turn_is_its_own_key() -> None:
    async with composing() as (stage, _, pilot):
        await pilot.press("a", "enter", "b", "alt+enter")
        await pilot.pause()
        assert [(each.text, each.after_turn) for each in stage.sent] == [("a", False), ("b", True)]
