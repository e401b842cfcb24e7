"""What holds for every foreign text, however it was made."""

import re
import unicodedata
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from tests.text.foreign_sequences import foreign_sequences
from tui_agent.text import (
    StreamSanitizer,
    cell_width,
    exact,
    head_tail,
    output,
    plain,
    prose,
    safe_surrogates,
    truncate,
    wrap,
)

FRAGMENTS = [
    *(
        "\x1b",
        "\x1b[",
        "\x1b]",
        "\x1bP",
        "\x1b_",
        "\x1bk",
        "\x1b\\",
        "\x9b",
        "\x9d",
        "\x9c",
        "\x90",
    ),
    *(
        "31",
        "0",
        "38;5;200",
        "38;2;1;2;3",
        ";",
        ":",
        "m",
        "[",
        "]",
        "52;c;UFdO",
        "?25h",
        "2J",
        "#8",
    ),
    *("\x07", "\x18", "\x00", "\x7f", "\x85", "\b", "\r", "\n", "\r\n", "\t", "\x0b", "\x0c"),
    *("a", "b1 ", "漢", "é", "e\u0301", "\u0301" * 6, " " * 40, "\n" * 5, "\n \n"),
    *("\u200b", "\u200d", "\u200c", "\ufe0f", "\ufe0e", "\u202e", "\u2066", "\u2028", "\u00ad"),
    *("👩", "💻", "👩\u200d💻", "❤\ufe0f", "1\ufe0f\u20e3", "🏽", "🏴", "🇩", "\u20e3"),
    *("🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "\U000e0067", "\U000e007f"),
    *("می\u200cخ", "م", "क\u094d\u200d", "ष", "\u17b4", "\u3164", "\ue000", "\ud83d", "\ude00"),
    *("<U+202E>", "\\x1b", "⟨3 marks⟩", "[@click=app.quit]x[/]"),
]
FOREIGN = st.lists(
    st.one_of(
        st.sampled_from(FRAGMENTS),
        st.text(st.characters(categories=None), max_size=3),
        st.integers(4080, 4100).map(lambda length: "\x1b]" + "x" * length),
    ),
    max_size=14,
).map("".join)

UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


@given(FOREIGN)
def test_no_control_character_ever_comes_out(text: str) -> None:
    for shown in (output(text).text, plain(text), prose(text), exact(text, one_line=False)):
        assert UNSAFE.search(shown) is None
        assert foreign_sequences(shown) == []
    assert exact(text).isprintable()


@given(FOREIGN)
def test_what_is_safe_stays_as_it_is(text: str) -> None:
    once = output(text)
    again = output(once.text)
    assert (again.text, again.spans, again.removed, again.invisible) == (once.text, (), 0, 0)
    assert exact(exact(text)) == exact(text)
    body = exact(text, one_line=False)
    assert exact(body, one_line=False) == body
    assert safe_surrogates(safe_surrogates(text)) == safe_surrogates(text)


@given(FOREIGN)
def test_output_plain_and_prose_show_the_same_text(text: str) -> None:
    assert output(text).text == plain(text) == prose(text)


@given(FOREIGN)
def test_spans_lie_in_the_text_in_order_and_say_something(text: str) -> None:
    styled = output(text)
    end = 0
    for span in styled.spans:
        assert end <= span.start < span.end <= len(styled.text)
        assert span.style != type(span.style)()
        end = span.end


@given(st.data(), FOREIGN)
def test_a_stream_shows_what_the_whole_shows(data: st.DataObject, text: str) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=12))
    bounds = [0, *sorted(cuts), len(text)]
    stream, shown = StreamSanitizer(), ""
    for begin, end in pairwise(bounds):
        added = stream.feed(text[begin:end])
        assert "\n" not in shown[len(shown) - stream.retracted :]
        shown = shown[: len(shown) - stream.retracted] + added
        assert UNSAFE.search(shown) is None
    added = stream.flush()
    shown = shown[: len(shown) - stream.retracted] + added
    whole = output(text)
    assert shown == whole.text
    assert (stream.removed, stream.invisible) == (whole.removed, whole.invisible)


@given(FOREIGN)
def test_exact_loses_no_visible_character(text: str) -> None:
    visible = [
        character
        for character in text
        if character.isprintable()
        and character != " "
        and unicodedata.category(character)[0] != "M"
    ]
    shown = iter(exact(text))
    for character in visible:
        if character in "\u115f\u1160\u2800\u3164\uffa0":
            continue
        assert character in shown


@given(FOREIGN, st.integers(0, 30), st.sampled_from(["start", "end", "middle"]))
def test_a_cut_text_fits(text: str, cells: int, keep: str) -> None:
    line = exact(text)
    cut = truncate(line, cells, keep=keep)  # type: ignore[arg-type]
    assert cell_width(cut) <= cells
    if cell_width(line) <= cells and cells:
        assert cut == line


@given(FOREIGN, st.integers(2, 30))
def test_a_wrapped_text_fits_and_loses_nothing_but_blanks(text: str, width: int) -> None:
    body = exact(text, one_line=False)
    lines = wrap(body, width)
    for line in lines:
        assert cell_width(line) <= width or len(list(iter_graphemes(line))) == 1
    assert re.sub(r"[ \n]", "", "".join(lines)) == re.sub(r"[ \n]", "", body)


@given(FOREIGN, st.integers(0, 60), st.integers(0, 40), st.integers(0, 40))
def test_ends_and_what_was_left_out_are_the_whole(
    text: str, limit: int, head: int, tail: int
) -> None:
    cut, omitted = head_tail(text, limit, head=head, tail=tail)
    if omitted == 0:
        assert cut == text
        return
    notice = f"[{omitted} characters left out]"
    start, end = cut.split(notice, 1)
    assert text.startswith(start.removesuffix("\n"))
    assert text.endswith(end.removeprefix("\n"))


@given(FOREIGN)
def test_safe_surrogates_can_be_stored(text: str) -> None:
    safe = safe_surrogates(text)
    safe.encode("utf-8")
    if not re.search("[\ud800-\udfff]", text):
        assert safe == text
