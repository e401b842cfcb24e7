"""What a person sees and does in the conversation: it follows, stays, folds, is selected, fits."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Offset, Region, Size
from textual.pilot import Pilot
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from tui_agent.text import output
from tui_agent.ui.marks import Mark, Marks
from tui_agent.ui.themes import DARK, LIGHT
from tui_agent.ui.transcript import (
    AssistantMarkdown,
    Item,
    OutputBody,
    StreamingText,
    Thinking,
    ToolCard,
    TranscriptView,
    UserText,
)
from tui_agent.ui.transcript import markdown as markdown_module


class Screenful(App[None]):
    """An app with nothing but a transcript; keeps the messages it gets."""

    def __init__(self, items: list[Item], marks: Marks | None = None) -> None:
        super().__init__()
        self.items = items
        self.view = TranscriptView(marks=marks)
        self.got: list[Any] = []

    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name
        self.view.set_items(self.items)
        self.view.flush()
        self.view.focus()

    def on_transcript_view_card_toggled(self, message: TranscriptView.CardToggled) -> None:
        self.got.append((message.item_id, message.is_open))

    def on_transcript_view_card_opened(self, message: TranscriptView.CardOpened) -> None:
        self.got.append(message.tool_use_id)

    def on_transcript_view_link_clicked(self, message: TranscriptView.LinkClicked) -> None:
        self.got.append(message.href)

    def on_transcript_view_near_top(self) -> None:
        self.got.append("near top")


def message(number: int) -> AssistantMarkdown:
    words = f"paragraph {number} " * (1 + number % 7)
    return AssistantMarkdown(f"m{number}", f"Message {number}.\n\n{words}\n\n- one\n- two")


def long() -> list[Item]:
    return [message(number) for number in range(60)]


def card(*, is_open: bool = False) -> ToolCard:
    body = OutputBody(output("one\ntwo\nthree"), hidden=7)
    return ToolCard("c", "tu_1", Mark.DONE, "Bash", "ls", body=body, is_open=is_open)


def rows(view: TranscriptView) -> list[str]:
    """What is on screen, without the thumb."""
    width, height = view.size
    strips = view.render_lines(Region(0, 0, width, height))
    return [strip.text[: width - 1].strip() for strip in strips]


async def drag(pilot: Pilot[None], start: tuple[int, int], end: tuple[int, int]) -> None:
    await pilot.mouse_down(offset=start)
    await pilot.hover(offset=end)
    await pilot.mouse_up(offset=end)
    await pilot.pause()


async def test_the_end_is_shown_first_and_followed() -> None:
    app = Screenful(long())
    async with app.run_test(size=(60, 20)):
        assert rows(app.view)[-1] == "∙ two"
        app.view.append(UserText("u", "the newest words"))
        app.view.flush()
        assert rows(app.view)[-1].endswith("the newest words")
        assert app.view.follow


async def test_nothing_is_drawn_before_the_flush() -> None:
    app = Screenful([StreamingText("s", "Hello")])
    async with app.run_test(size=(60, 20)):
        before = rows(app.view)
        app.view.stream_append("s", " world")
        assert rows(app.view) == before
        app.view.flush()
        assert "Hello world" in rows(app.view)


async def test_reading_back_never_jumps_and_counts_what_is_new() -> None:
    app = Screenful([*long(), StreamingText("s", "Streaming")])
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("pageup", "pageup", "up")
        before = rows(app.view)[:-1]
        for number in range(3):
            app.view.append(message(100 + number))
            app.view.stream_append("s", " more\n\nand more")
            app.view.flush()
        app.view.prepend([message(200 + number) for number in range(10)])
        app.view.flush()
        assert rows(app.view)[:-1] == before
        assert rows(app.view)[-1].endswith("3 new")
        await pilot.press("end")
        assert app.view.follow
        assert app.view.new_count == 0
        assert rows(app.view)[-1] == "∙ two"


async def test_a_place_that_is_read_stays_when_the_stream_above_becomes_a_message() -> None:
    app = Screenful([StreamingText("s", "Some **text**\n\nand more"), *long()])
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("home", "pagedown")
        before = rows(app.view)
        app.view.stream_end("s", AssistantMarkdown("a", "Some **text**\n\nand more"))
        app.view.flush()
        assert rows(app.view) == before


async def test_a_row_deep_in_an_item_stays_when_the_item_becomes_another_of_its_height() -> None:
    words = [f"word {number}" for number in range(20)]
    app = Screenful([StreamingText("s", "\n\n".join(words)), *long()])
    async with app.run_test(size=(60, 10)):
        app.view.restore_anchor({"follow": False, "item_id": "s", "row": 11})
        app.view.replace("s", UserText("u", "\n".join(map(str, range(39))), label=""))
        app.view.flush()
        assert rows(app.view)[0] == "┃ 11"


async def test_a_definition_that_comes_late_makes_links_of_what_was_drawn() -> None:
    app = Screenful([StreamingText("s", "see [the page]\n\nmore\n\n")])
    async with app.run_test(size=(60, 10)):
        assert rows(app.view)[0] == "see [the page]"
        app.view.stream_append("s", "[the page]: http://a.b\n\nend")
        app.view.flush()
        assert rows(app.view)[0] == "see the page"


async def test_a_band_of_colour_runs_to_the_end_of_the_column() -> None:
    app = Screenful([AssistantMarkdown("a", "```\nx\n```")])
    async with app.run_test(size=(60, 10)):
        *_, blank = app.view.render_lines(Region(0, 0, 60, 1))[0].crop(3, 58)
        margin, *_ = app.view.render_lines(Region(0, 0, 60, 1))[0]
        assert blank.style is not None
        assert margin.style is not None
        assert blank.text.isspace()
        assert blank.style.bgcolor != margin.style.bgcolor


async def test_walking_up_meets_every_message_in_order() -> None:
    app = Screenful(long())
    async with app.run_test(size=(60, 20)):
        met: list[str] = []
        for _ in range(600):
            first = next((row for row in rows(app.view) if row.startswith("Message")), None)
            if first is not None and (not met or met[-1] != first):
                met.append(first)
            if app.view.scroll_offset.y == 0:
                break
            app.view.scroll_rows(-1)
        assert met[-1] == "Message 0."
        assert met == [f"Message {number}." for number in range(int(met[0][8:-1]), -1, -1)]


async def test_the_wheel_scrolls_and_reaching_the_end_follows_again() -> None:
    app = Screenful(long())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot._post_mouse_events([_wheel("up")], app.view, (5, 5))
        assert not app.view.follow
        await pilot._post_mouse_events([_wheel("down")], app.view, (5, 5))
        assert app.view.follow


def _wheel(direction: str) -> Any:
    from textual import events

    return events.MouseScrollUp if direction == "up" else events.MouseScrollDown


async def test_a_resize_keeps_the_item_at_the_top() -> None:
    app = Screenful(long())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("pageup", "pageup", "pageup")
        before = app.view.scroll_anchor()["item_id"]
        for size in ((34, 20), (120, 30), (60, 20)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert app.view.scroll_anchor()["item_id"] == before


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 2), (10, 4)])
async def test_the_smallest_screens_are_drawn(size: tuple[int, int]) -> None:
    items = [*long()[:3], card(is_open=True), Thinking("t", "deep"), UserText("u", "日本語")]
    app = Screenful(items)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.resize_terminal(*size)
        await pilot.pause()
        for key in ("home", "pagedown", "down", "end", "up"):
            await pilot.press(key)
            strips = app.view.render_lines(Region(0, 0, *app.view.size))
            assert [strip.cell_length for strip in strips] == [size[0]] * size[1]


async def test_every_strip_has_the_exact_width_and_is_painted_from_memory() -> None:
    app = Screenful([*long(), card(is_open=True)])
    async with app.run_test(size=(61, 20)):
        region = Region(0, 0, 61, 20)
        strips = app.view.render_lines(region)
        assert {strip.cell_length for strip in strips} == {61}
        assert app.view.render_lines(region) is strips


async def test_a_place_is_kept_as_json() -> None:
    app = Screenful(long())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("pageup", "pageup", "up", "up")
        before, anchor = rows(app.view), app.view.scroll_anchor()
        await pilot.press("home")
        app.view.restore_anchor(anchor)
        assert rows(app.view) == before
        app.view.restore_anchor({"follow": False, "item_id": "gone", "row": 3})
        assert app.view.follow


async def test_a_click_on_its_head_folds_a_card_and_one_below_opens_it() -> None:
    app = Screenful([card()])
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.click(app.view, offset=(8, 0))
        await pilot.pause()
        app.view.flush()
        assert rows(app.view)[1:5] == ["│ one", "│ two", "│ three", "│ 7 more lines"]
        await pilot.click(app.view, offset=(8, 4))
        await pilot.pause()
        await pilot.press("enter", "space")
        await pilot.pause()
        assert app.got == ["near top", ("c", True), "tu_1", "tu_1", ("c", False)]


async def test_a_folding_by_the_screen_is_told_too() -> None:
    app = Screenful([card()])
    async with app.run_test(size=(60, 20)) as pilot:
        app.screen.call_next(app.view.fold, "c", True)
        await pilot.pause()
        assert ("c", True) in app.got


async def test_a_change_of_a_card_keeps_what_the_person_unfolded() -> None:
    app = Screenful([card()])
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("space")
        app.view.replace("c", card())
        app.view.flush()
        assert "│ one" in rows(app.view)


async def test_a_link_is_reported_and_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Screenful([AssistantMarkdown("a", "see [the page](http://a.b/c) now")])
    opened: list[str] = []
    monkeypatch.setattr(app, "open_url", opened.append)
    async with app.run_test(size=(60, 20)) as pilot:
        column = app.view.render_lines(Region(0, 0, 60, 1))[0].text.index("the page")
        await pilot.click(app.view, offset=(column + 2, 0))
        await pilot.pause()
        assert "http://a.b/c" in app.got
        assert opened == []


async def test_a_drag_selects_the_text_as_it_was_written() -> None:
    text = "The words of a paragraph that is wrapped twice\n\n日本語 end"
    app = Screenful([AssistantMarkdown("a", text)])
    async with app.run_test(size=(30, 10)) as pilot:
        shown = rows(app.view)
        last = shown.index("日本語 end")
        await drag(pilot, (3, 0), (3 + 4, last))
        assert app.screen.get_selected_text() == (
            "The words of a paragraph that is wrapped twice\n\n日本語"
        )


async def test_a_selection_stays_on_its_text_while_more_comes() -> None:
    app = Screenful([*long(), StreamingText("s", "last")])
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("pageup")
        await drag(pilot, (3, 4), (20, 8))
        before = app.screen.get_selected_text()
        assert before
        app.view.prepend([message(300), message(301)])
        app.view.stream_append("s", "\n\nmore\n\nmore")
        app.view.append(message(302))
        app.view.flush()
        assert app.screen.get_selected_text() == before


async def test_selected_characters_are_drawn_so() -> None:
    app = Screenful([AssistantMarkdown("a", "one two three")])
    async with app.run_test(size=(40, 5)) as pilot:
        await drag(pilot, (3, 0), (5, 0))
        style = app.screen.get_component_rich_style("screen--selection")
        strip = app.view.render_lines(Region(0, 0, 40, 1))[0]
        marked = [
            text for text, each, _ in strip if each is not None and each.bgcolor == style.bgcolor
        ]
        assert "".join(marked) == "one"


async def test_two_clicks_select_a_word_and_three_the_item_but_never_the_history() -> None:
    app = Screenful([UserText("u", "mine", label=""), AssistantMarkdown("a", "see src/a.py now")])
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.click(app.view, offset=(9, 2), times=2)
        await pilot.pause()
        assert app.screen.get_selected_text() == "src/a.py"
        await pilot.click(app.view, offset=(9, 2), times=3)
        await pilot.pause()
        assert app.screen.get_selected_text() == "see src/a.py now"


async def test_everything_selected_is_copied_without_rendering_it() -> None:
    app = Screenful(long())
    async with app.run_test(size=(60, 20)):
        text, _ = app.view.get_selection(Selection(None, None)) or ("", "")
        assert text.startswith("Message 0.\n\nparagraph 0")
        assert text.endswith("- one\n- two")


async def test_the_top_asks_once_for_older_items() -> None:
    app = Screenful(long())
    async with app.run_test(size=(60, 20)) as pilot:
        assert app.got == []
        await pilot.press("home", "down", "up")
        await pilot.pause()
        assert app.got == ["near top"]
        app.view.prepend([message(500 + number) for number in range(30)])
        app.view.flush()
        await pilot.press("home")
        await pilot.pause()
        assert app.got == ["near top", "near top"]


async def test_a_finished_stream_is_drawn_as_the_message_would_be() -> None:
    text = "# Head\n\n- a\n- b\n\n```python\nx = 1\n```\n\n| a |\n|---|\n| 1 |\n"
    app = Screenful([StreamingText("s")])
    async with app.run_test(size=(60, 24)):
        for character in text:
            app.view.stream_append("s", character)
            app.view.flush()
        app.view.stream_end("s")
        app.view.flush()
        streamed = rows(app.view)
        app.view.set_items([AssistantMarkdown("a", text)])
        app.view.flush()
        assert rows(app.view) == streamed


async def test_a_stream_that_is_costly_to_draw_is_drawn_less_often() -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += 0.05  # everything takes 50 ms
        return now[0]

    app = Screenful([])
    app.view = TranscriptView(clock=clock)
    app.items = [StreamingText("s", "a")]
    async with app.run_test(size=(60, 20)):
        app.view.stream_append("s", " b")
        app.view.flush()
        app.view.stream_append("s", " c")
        assert app.view.flush()
        assert rows(app.view)[0] == "a b"
        for _ in range(10):
            app.view.flush()
        assert rows(app.view)[0] == "a b c"


async def test_markup_in_foreign_text_is_text() -> None:
    items: list[Item] = [
        UserText("u", "[red]x[/] [@click=app.quit]y[/]", label=""),
        ToolCard("c", "c", Mark.DONE, "Bash", "[bold]z[/bold]"),
    ]
    app = Screenful(items)
    async with app.run_test(size=(60, 20)):
        assert "[red]x[/] [@click=app.quit]y[/]" in rows(app.view)[0]
        assert "[bold]z[/bold]" in rows(app.view)[2]


async def test_ascii_marks_make_an_ascii_screen() -> None:
    items = [*long()[:4], card(is_open=True), Thinking("t", "deep"), UserText("u", "hi")]
    app = Screenful(items, Marks(ascii_only=True))
    async with app.run_test(size=(60, 40)):
        strips = app.view.render_lines(Region(0, 0, 60, 40))
        assert "".join(strip.text for strip in strips).isascii()


async def test_a_change_of_theme_changes_the_colours() -> None:
    app = Screenful(long())
    async with app.run_test(size=(60, 20)) as pilot:
        before = app.view.render_lines(Region(0, 0, 60, 20))
        app.theme = LIGHT.name
        await pilot.pause()
        after = app.view.render_lines(Region(0, 0, 60, 20))
        assert [strip.text for strip in before] == [strip.text for strip in after]
        assert list(before[-1])[-1].style != list(after[-1])[-1].style


async def test_the_cache_is_bounded_by_lines() -> None:
    app = Screenful([message(number) for number in range(400)])
    app.view.viewport.cache.limit = 300
    async with app.run_test(size=(60, 20)):
        for _ in range(60):
            app.view.action_scroll_page(-1)
        assert app.view.viewport.cache.line_count <= 300


async def test_an_item_is_never_drawn_as_the_one_that_it_took_the_place_of() -> None:
    app = Screenful([UserText("a", "first")])
    async with app.run_test(size=(60, 20)):
        for number in range(4):
            app.view.append(UserText("b", f"try {number}"))
            app.view.flush()
            assert any(row.endswith(f"try {number}") for row in rows(app.view))
            app.view.remove_item("b")
            app.view.flush()


async def test_a_stream_without_new_text_is_not_drawn_again() -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += 0.05
        return now[0]

    app = Screenful([StreamingText("s", "a")])
    app.view = TranscriptView(clock=clock)
    async with app.run_test(size=(60, 20)):
        app.view.stream_append("s", " b")
        assert not app.view.flush()
        assert not app.view.is_waiting_to_draw


async def test_a_key_parses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Screenful(long())
    async with app.run_test(size=(60, 20)) as pilot:
        monkeypatch.setattr(markdown_module, "parser", lambda: pytest.fail("parsed"))
        await pilot.press("x")
        app.view.refresh()
        await pilot.pause()


PRIVATE: list[tuple[type, str, Callable[[Any], bool]]] = [
    (Widget, "set_reactive", callable),
    (Widget, "render_lines", callable),
    (Widget, "selection_updated", callable),
    (Widget, "text_selection", lambda each: isinstance(each, property)),
    (Widget, "allow_vertical_scroll", lambda each: isinstance(each, property)),
    (Widget, "_check_disabled", callable),
    (Widget, "visual_style", lambda each: each is not None),
    (Strip, "apply_offsets", callable),
    (App, "get_line_filters", callable),
    (App, "theme_variables", lambda each: True),
]


@pytest.mark.parametrize(
    ("owner", "name", "is_right"),
    PRIVATE,
    ids=[f"{each[0].__name__}.{each[1]}" for each in PRIVATE],
)
def test_what_we_use_beyond_the_documented_is_still_there(
    owner: type, name: str, is_right: Callable[[Any], bool]
) -> None:
    found = getattr(owner, name, None)
    if name == "theme_variables":
        found = App().theme_variables
    assert is_right(found)


async def test_textual_learns_the_size_without_a_layout() -> None:
    app = Screenful(long())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        layouts = app.view._layout_updates
        app.view.append(message(70))
        app.view.flush()
        await pilot.pause()
        assert app.view._layout_updates == layouts
        assert app.view.virtual_size == Size(60, app.view._model.total)
        assert app.view.scroll_offset == Offset(0, app.view.max_scroll_y)
