"""Long pastes are chips: one character for the cursor, the whole text for whoever reads it."""

from __future__ import annotations

from textual import events

from tests.ui.composing import LINES, composing
from tests.ui.driving import running
from tests.ui.fake_workspace import FakeWorkspace
from tui_agent.ui.composer import pastes
from tui_agent.ui.composer.pastes import Chips

LABEL = "[pasted 1,234 lines]"


async def test_a_long_paste_is_a_chip_and_is_sent_whole() -> None:
    async with composing() as (stage, composer, pilot):
        await pilot.press(*"look: ")
        stage.paste(LINES)
        await pilot.pause()
        await pilot.press(*" ok")
        assert stage.rows[0] == f"look: {LABEL} ok"
        assert composer.text == f"look: {LINES} ok"
        await pilot.press("enter")
        await pilot.pause()
        assert stage.sent[0].text == f"look: {LINES} ok"
        assert composer.text == ""


async def test_one_long_line_is_a_chip_too_and_a_short_paste_is_none() -> None:
    async with composing() as (stage, _, pilot):
        stage.paste("short\ntext")
        stage.paste("x" * 12_345)
        await pilot.pause()
        assert stage.rows == ["short", "text[pasted 12,345 characters]"]


async def test_a_chip_is_one_character_for_the_cursor_and_for_deleting() -> None:
    async with composing() as (stage, composer, pilot):
        await pilot.press("a")
        stage.paste(LINES)
        await pilot.pause()
        await pilot.press("b", "left", "left", "x")
        assert composer.text == f"ax{LINES}b"
        await pilot.press("right", "y", "alt+b", "alt+b", "z")
        assert LINES in composer.text
        await pilot.press("ctrl+e", "left", "left", "backspace")
        assert "pasted" not in stage.rows[0]
        assert len(composer.text) < 10
        await pilot.press("ctrl+z")
        assert LINES in composer.text


async def test_a_selection_that_ends_in_a_chip_takes_all_of_it() -> None:
    async with composing() as (stage, composer, pilot):
        await pilot.press(*"ab")
        stage.paste(LINES)
        await pilot.pause()
        await pilot.press("shift+left")
        assert composer.selected_text == LINES
        await pilot.press("ctrl+x")
        assert (composer.text, stage.clipboard) == ("ab", LINES)
        await pilot.press("ctrl+y")
        assert stage.rows[0] == f"ab{LABEL}"
        assert composer.text == f"ab{LINES}"


async def test_a_key_opens_and_folds_it_and_what_was_changed_meanwhile_stays() -> None:
    async with composing() as (stage, composer, pilot):
        await pilot.press(*"see ")
        stage.paste(LINES)
        await pilot.pause()
        assert "Ctrl+T opens" in str(composer.border_title)
        await pilot.press("ctrl+t")
        assert composer.document.line_count == 1234
        assert composer.text == f"see {LINES}"
        assert "Ctrl+T folds" in str(composer.border_title)
        await pilot.press("left", *" indeed", "ctrl+t")
        assert composer.text == f"see {LINES} indeed"
        assert stage.rows == [f"see {LABEL}"]


async def test_what_is_left_of_an_opened_paste_has_no_edges_when_one_is_deleted() -> None:
    async with composing() as (stage, composer, pilot):
        stage.paste("\n".join("abcdefghij"))
        await pilot.pause()
        await pilot.press("ctrl+t")
        assert stage.rows[-1].endswith("]")
        await pilot.press("backspace")
        assert not pastes.has_marks(composer.document.text)
        await pilot.press("ctrl+z")
        assert len(pastes.opened_pastes(pastes.marked_rows(composer.document.lines))[0]) == 1
        assert composer.text == "\n".join("abcdefghij")


async def test_a_draft_comes_back_with_its_chips_folded_and_open() -> None:
    async with composing() as (stage, composer, pilot):
        stage.paste(LINES)
        stage.paste("\n".join("0123456789"))
        await pilot.pause()
        await pilot.press("ctrl+t", *" tail")
        draft, text, rows = composer.draft, composer.text, stage.rows
        await pilot.press("enter")
        await pilot.pause()
        assert stage.sent[0].draft == draft
        composer.set_text(draft)
        await pilot.pause()
        assert (composer.text, stage.rows) == (text, rows)
        composer.put_back("before")
        assert composer.text == f"before\n{text}"


async def test_nothing_from_outside_can_pretend_to_be_a_chip() -> None:
    async with composing() as (stage, composer, pilot):
        stage.paste(LINES)
        await pilot.pause()
        forged = composer.document.text
        stage.paste(forged)
        await pilot.press(*forged[:1])
        await pilot.pause()
        assert composer.text.count(LINES) == 1
        composer.set_text(f"cut {Chips().open('x')[:2]}")
        assert composer.text == "cut x"


async def test_a_paste_of_keys_is_text_and_hostile_controls_are_left_out() -> None:
    async with composing() as (stage, composer, pilot):
        stage.paste("a\r\x1b[31mred\x1b[0m\x03\x07\x7f\rb\r")
        await pilot.pause()
        assert composer.text == "a\nred\nb\n"
        assert stage.sent == []


async def test_a_paste_beside_the_composer_goes_into_it() -> None:
    async with running(FakeWorkspace()) as (app, pilot):
        app.workspace.activity.focus()
        await pilot.pause()
        app.post_message(events.Paste("pasted\nelsewhere"))
        await pilot.pause()
        assert app.workspace.composer.text == "pasted\nelsewhere"
        assert app.focused is app.workspace.composer


async def test_what_is_too_large_is_refused_in_words() -> None:
    async with composing() as (stage, composer, pilot):
        await pilot.press("x")
        stage.paste("x" * 8_000_001)
        await pilot.pause()
        assert composer.text == "x"
        assert "save it to a file" in stage.notices[0]


async def test_ten_thousand_lines_in_one_event_lay_out_one_row() -> None:
    async with composing() as (stage, composer, pilot):
        stage.paste("a line of ordinary length, as logs have them\n" * 10_000)
        await pilot.pause()
        assert composer.document.line_count == 1
        assert composer.wrapped_document.height == 1
        assert stage.rows == ["[pasted 10,000 lines]"]


async def test_it_fits_the_smallest_screen() -> None:
    async with composing(size=(12, 5)) as (stage, composer, pilot):
        stage.paste(LINES)
        await pilot.pause()
        assert "".join(stage.rows).replace(" ", "") in LABEL.replace(" ", "")
        await pilot.press("left", "a", "right", "b")
        assert composer.text == f"a{LINES}b"


def test_every_chip_of_a_draft_keeps_its_text() -> None:
    chips = Chips()
    draft = chips.draft([f"{chips.fold('one')}, {chips.open('two')} and {chips.fold(LINES)}"])
    again = Chips()
    document = again.document(draft)
    assert again.sent(document.split("\n")) == f"one, two and {LINES}"
    assert again.draft(document.split("\n")) == draft


def test_more_chips_than_marks_stay_open() -> None:
    chips = Chips()
    document = "".join(chips.fold(f"text {at} ") for at in range(4_100))
    assert chips.sent([document]) == "".join(f"text {at} " for at in range(4_100))
