"""Text is cut between characters, measured in cells on screen and in characters for a model."""

from typing import Literal

import pytest

from tui_agent.text import cell_width, head_tail, safe_surrogates, truncate, wrap


@pytest.mark.parametrize(
    ("text", "cells"),
    [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("👩\u200d💻", 2), ("a\nb", 2), ("", 0)],
)
def test_width_is_counted_in_cells(text: str, cells: int) -> None:
    assert cell_width(text) == cells


@pytest.mark.parametrize(
    ("keep", "shown"),
    [("start", "src/dee…"), ("end", "…file.py"), ("middle", "src/….py")],
)
def test_a_long_line_keeps_the_part_that_matters(
    keep: Literal["start", "end", "middle"], shown: str
) -> None:
    assert truncate("src/deep/down/file.py", 8, keep=keep) == shown


def test_a_cut_never_splits_a_character() -> None:
    assert truncate("漢字漢字", 4) == "漢…"
    assert truncate("e\u0301" * 9, 3) == "e\u0301" * 2 + "…"
    assert truncate("x" + "👩\u200d💻" * 99, 4, keep="end") == "…👩\u200d💻"
    assert truncate("abc", 2, ellipsis="...") == ".."


def test_words_wrap_at_blanks_and_long_words_break() -> None:
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("  in\n\nabcdefgh", 4) == ["  in", "", "abcd", "efgh"]
    assert wrap("漢字漢字", 5) == ["漢字", "漢字"]
    with pytest.raises(ValueError, match="cannot wrap"):
        wrap("x", 0)


def test_long_output_keeps_its_ends_on_whole_lines() -> None:
    text = "".join(f"line {number:03}\n" for number in range(100))
    cut, omitted = head_tail(text, 100, head=50, tail=40)
    assert cut == (
        "".join(f"line {number:03}\n" for number in range(5))
        + f"[{omitted} characters left out]\n"
        + "".join(f"line {number:03}\n" for number in range(96, 100))
    )
    assert omitted == len(text) - 9 * 9


def test_one_long_line_is_cut_between_characters() -> None:
    cut, omitted = head_tail("e\u0301" * 50, 20, head=5, tail=5)
    assert cut == "e\u0301" * 2 + f"\n[{omitted} characters left out]\n" + "e\u0301" * 2
    assert omitted == 92


def test_short_output_is_left_alone() -> None:
    assert head_tail("abc", 3, head=1, tail=1) == ("abc", 0)


def test_a_lone_surrogate_is_written_out_and_a_pair_is_joined() -> None:
    assert safe_surrogates("a\ud83d\ude00b\udcffc") == "a😀b\\udcffc"
