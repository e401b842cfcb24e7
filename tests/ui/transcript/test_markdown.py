"""Markdown becomes lines that fit, say what was written, and carry no surprises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.text import cell_width
from tui_agent.ui.transcript.glyphs import ASCII_GLYPHS
from tui_agent.ui.transcript.lines import Line, Run, logical_text, wrap_hard, wrap_runs
from tui_agent.ui.transcript.markdown import render_markdown


def drawn(text: str, width: int = 60) -> list[str]:
    return [line.text.rstrip() for line in render_markdown(text, width)]


def run_of(lines: list[Line], text: str) -> Run:
    return next(run for line in lines for run in line.runs if run.text == text)


def test_inline_styles_are_roles_and_can_be_nested() -> None:
    lines = render_markdown("a **b *c*** ~~d~~ `e`", 60)
    assert run_of(lines, "b ").style == "strong"
    assert run_of(lines, "c").style == "strong em"
    assert run_of(lines, "d").style == "strike"
    assert run_of(lines, "e").style == "code"


def test_lists_nest_count_and_keep_their_tasks() -> None:
    assert drawn("9. a\n10. b\n    - c\n      - d\n\n- [x] done\n- [ ] open") == [
        " 9. a",
        "10. b",
        "    ◦ c",
        "      ▪ d",
        "",
        "∙ [x] done",
        "∙ [ ] open",
    ]


def test_an_empty_line_between_two_items_stays_between_those_two() -> None:
    assert drawn("- a\n- b\n\n- c") == ["∙ a", "∙ b", "", "∙ c"]


def test_a_quote_stands_behind_a_bar_on_every_row() -> None:
    assert drawn("> one\n> two\n>\n> three", 20) == ["│ one two", "│", "│ three"]


def test_a_fence_keeps_every_blank_and_is_coloured_by_its_language() -> None:
    lines = render_markdown("```python\ndef f():\n\n    return 1\n```", 40)
    assert [line.text for line in lines] == [" def f():", " ", "     return 1"]
    assert "syntax-keyword" in run_of(lines, "def").style
    assert all(line.fill == "code-block" for line in lines)
    assert logical_text(lines) == "def f():\n\n    return 1"


def test_an_unknown_language_is_shown_plain() -> None:
    assert drawn("```nosuch\nx = 1\n```") == [" x = 1"]


def test_table_columns_line_up_by_cells_not_characters() -> None:
    assert drawn("| a | b |\n|:--|--:|\n| 日本 | 1 |\n| x | 22 |") == [
        "a      b",
        "────  ──",
        "日本   1",
        "x     22",
    ]


def test_a_table_too_wide_is_wrapped_and_one_hopelessly_so_is_stacked() -> None:
    table = "| name | text |\n|--|--|\n| a | some words that need more than one row |\n| b | c |"
    assert all(cell_width(row) <= 24 for row in drawn(table, 24))
    assert drawn(table, 9)[:2] == ["name: a", "text:"]


def test_links_keep_their_address_and_bare_ones_are_found() -> None:
    lines = render_markdown("[t](http://a.b/c) and https://d.e/f.", 60)
    assert run_of(lines, "t").href == "http://a.b/c"
    assert run_of(lines, "https://d.e/f").href == "https://d.e/f"


def test_an_image_is_its_alternative_text() -> None:
    assert drawn("![a chart](http://x/y.png)") == ["[a chart]"]


def test_html_is_text() -> None:
    assert drawn("<b>x</b> <script>") == ["<b>x</b> <script>"]


def test_hard_breaks_break_and_soft_ones_do_not() -> None:
    assert drawn("a  \nb\nc") == ["a", "b c"]


@pytest.mark.parametrize("text", ["&#27;[31m", "`a` &#x202e;", "```\n&#27;\n```", "&#x9b;2J"])
def test_entities_cannot_bring_back_control_characters(text: str) -> None:
    shown = "".join(drawn(text))
    assert not set(shown) & {"\x1b", "\u202e", "\x9b"}


def test_ascii_glyphs_draw_in_ascii() -> None:
    source = "- a\n  - b\n\n> q\n\n---\n\n|a|\n|-|\n|b|"
    assert "".join(line.text for line in render_markdown(source, 30, glyphs=ASCII_GLYPHS)).isascii()


def test_text_is_never_wider_than_the_measure() -> None:
    assert max(map(len, drawn("word " * 100, 500))) <= 100


def test_copying_undoes_wrapping_and_drops_what_was_drawn() -> None:
    source = (
        "a long line of words that wraps\n\n- an item that wraps as well\n\n> a quote that wraps"
    )
    lines = render_markdown(source, 14)
    assert logical_text(lines) == (
        "a long line of words that wraps\n\n∙ an item that wraps as well\n\na quote that wraps"
    )


PIECES = st.sampled_from(
    ["word", " ", "  ", "日本語", "、", "e\u0301", "👩\u200d👧", "x" * 30, "\xa0", "-"]
)


@given(st.lists(PIECES, max_size=30), st.integers(2, 20))
def test_wrapping_keeps_every_character_and_fits(pieces: list[str], width: int) -> None:
    lines = wrap_runs([Run("".join(pieces[:4]), "a"), Run("".join(pieces[4:]), "b")], width)
    assert all(line.width <= width for line in lines)
    joined = "".join((line.joint if index else "") + line.text for index, line in enumerate(lines))
    assert joined.strip(" ") == "".join(pieces).strip(" ")


@given(st.lists(PIECES, max_size=30).map("".join), st.integers(2, 20))
def test_hard_wrapping_keeps_every_blank_too(text: str, width: int) -> None:
    lines = wrap_hard([Run(text)], width)
    assert all(line.width <= width for line in lines)
    assert "".join(line.text for line in lines) == text
