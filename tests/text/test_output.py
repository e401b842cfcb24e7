"""Tool output keeps its colours and its words, and nothing that acts on a terminal."""

import pytest

from tui_agent.text import Span, StreamSanitizer, TextStyle, output, palette_rgb, plain


def _styles(text: str) -> list[tuple[str, TextStyle]]:
    styled = output(text)
    return [(styled.text[span.start : span.end], span.style) for span in styled.spans]


@pytest.mark.parametrize(
    ("parameters", "style"),
    [
        ("1;31", TextStyle(bold=True, fg=1)),
        ("97;100", TextStyle(fg=15, bg=8)),
        ("38;5;200", TextStyle(fg=200)),
        ("48;2;1;2;3", TextStyle(bg=(1, 2, 3))),
        ("38:2::9:8:7", TextStyle(fg=(9, 8, 7))),
        ("38:5:17;4", TextStyle(fg=17, underline=True)),
        ("58;2;1;2;3;3", TextStyle(italic=True)),
        ("4:3", TextStyle(underline=True)),
        ("2;7;9", TextStyle(dim=True, reverse=True, strike=True)),
    ],
)
def test_a_colour_sequence_becomes_a_style(parameters: str, style: TextStyle) -> None:
    assert _styles(f"\x1b[{parameters}mx") == [("x", style)]


@pytest.mark.parametrize(
    "parameters",
    ["", "0", "8", "5", "38;5;256", "38;2;1", "38", "99999", ";", "1;22", "31;39", "4;4:0", "?"],
)
def test_nothing_is_left_of_a_colour_that_is_reset_ignored_or_broken(parameters: str) -> None:
    assert _styles(f"\x1b[{parameters}mx") == []


def test_equal_neighbours_are_one_span_and_styles_cross_lines() -> None:
    assert output("\x1b[31ma\x1b[31m\nb\x1b[0m").spans == (Span(0, 3, TextStyle(fg=1)),)


def test_marks_that_come_in_chunks_pile_up_no_higher() -> None:
    stream = StreamSanitizer()
    shown = "".join(stream.feed(chunk) for chunk in ["a\u0301", *["\u0301\u0302"] * 50, "b\u0301"])
    assert shown + stream.flush() == "a\u0301" + "\u0301\u0302" * 3 + "\u0301" + "b\u0301"
    assert stream.invisible == 93


def test_what_was_taken_out_is_counted() -> None:
    styled = output("a\x1b[2J\x07\x07\u200b\U000e0041\x1b[31mb")
    assert (styled.text, styled.removed, styled.invisible) == ("ab", 3, 2)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\r\nb\r\r\nc", "a\nb\nc"),
        ("one\ntwo\rthree", "one\nthree"),
        ("99%\r", "99%"),
        ("ab\b\b\bc\nd\b\be", "c\ne"),
        ("漢e\u0301\bx", "漢x"),
        ("👩\u200d💻\bx", "👩x"),
        (f"e{chr(0x301) * 500}x", f"e{chr(0x301) * 8}x"),
        (f"é{chr(0x301) * 8}é{chr(0x301) * 9}", f"é{chr(0x301) * 8}é{chr(0x301) * 8}"),
        ("a\vb\fc", "a\\x0bb\\x0cc"),
        ("\x1b[31", "\\x1b[31"),
        ("\x1b]0;title", "\\x1b]0;title"),
        ("\x9dtitle", "\\x9dtitle"),
        ("\x1b[31\x18mx", "\\x1b[31mx"),
        ("\x1b]0;" + "x" * 5000 + "\x07", "\\x1b]0;" + "x" * 5000),
        ("a\u202eb\u200f", "a<U+202E>b<U+200F>"),
        ("x\u200dy a\ufe0f \u200c", "xy a "),
        ("1\ufe0f\u20e3 1\ufe0f", "1\ufe0f\u20e3 1"),
        ("❤\ufe0f\u200d🔥 👩🏽\u200d🚀", "❤\ufe0f\u200d🔥 👩🏽\u200d🚀"),
        ("👩\ufe0f\ufe0f\u200d\u200d💻", "👩\ufe0f💻"),
        ("🏴\U000e0068\U000e0069\U000e007f", "🏴"),
        ("\ud83d\ude00 \ud83d", "😀 <U+D83D>"),
        ("\ue0b0 \u00a0", "\ue0b0 \u00a0"),
    ],
)
def test_controls_act_on_their_line_or_vanish(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_stream_tells_what_it_takes_back() -> None:
    stream = StreamSanitizer()
    assert (stream.feed("log\n10%"), stream.retracted) == ("log\n10%", 0)
    assert (stream.feed("\r"), stream.retracted) == ("", 0)
    assert (stream.feed("20"), stream.retracted) == ("20", 3)
    assert (stream.feed("\b5%"), stream.retracted) == ("5%", 1)
    assert (stream.flush(), stream.retracted) == ("", 0)


def test_a_stream_holds_a_sequence_only_while_it_may_be_one() -> None:
    stream = StreamSanitizer()
    assert stream.feed("a\x1b]52;c;") == "a"
    assert stream.feed("x" * 5000).startswith("\\x1b]52;c;xxx")


def test_the_fixed_part_of_the_palette_is_known() -> None:
    assert [palette_rgb(index) for index in (16, 196, 231, 232, 255)] == [
        (0, 0, 0),
        (255, 0, 0),
        (255, 255, 255),
        (8, 8, 8),
        (238, 238, 238),
    ]
    with pytest.raises(ValueError, match="no fixed colour"):
        palette_rgb(15)


def test_a_surrogate_pair_cut_by_a_chunk_becomes_its_character() -> None:
    stream = StreamSanitizer()
    assert stream.feed("a\ud83d") == "a"
    assert stream.feed("\ude00\ud83d") == "😀"
    assert stream.flush() == "<U+D83D>"
