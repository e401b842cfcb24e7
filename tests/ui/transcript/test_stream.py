"""A streamed message ends as it would have been drawn at once, however it was cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_agent.ui.transcript.lines import EMPTY, Line
from tui_agent.ui.transcript.markdown import References, render_markdown
from tui_agent.ui.transcript.stream import FENCE_PART, MarkdownStream, Part, split_parts

FRAGMENTS = [
    *(
        "a",
        "word ",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "# ",
        "#",
        "## h\n",
        "===\n",
        "---\n",
        "- ",
        "- x\n",
    ),
    *(
        "* y\n",
        "1. ",
        "2) z\n",
        "  - n\n",
        "    code\n",
        "\t",
        "> ",
        ">\n",
        "> q\n",
        "```",
        "```\n",
    ),
    *(
        "```py\n",
        "~~~\n",
        "`",
        "`c`",
        "**",
        "**b**",
        "_",
        "~~",
        "[x]",
        "[x]: /u\n",
        "[x]: /v 't'\n",
    ),
    *(
        "[l](/h)",
        "![i](/p)",
        "|",
        "| a | b |\n",
        "|---|---|\n",
        "| 1 | 2 |\n",
        "<div>\n",
        "</div>\n",
    ),
    *("&amp;", "\\", "\\\n", "  \n", "***\n", "- [ ] t\n", "+ \n", "日本", "https://a.b/c "),
]
DOCUMENTS = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=24)


def assembled(parts: list[Part], references: References) -> list[Line]:
    """The lines of parts as the view sets them: an empty row between, unless they go on."""
    lines: list[Line] = []
    for part in parts:
        block = render_markdown(part.source, 40, references=references)
        if lines and block and not part.is_joined:
            lines.append(EMPTY)
        lines.extend(block)
    return lines


def at_once(text: str) -> list[Line]:
    return render_markdown(text.replace("\r\n", "\n").replace("\r", "\n"), 40)


@settings(max_examples=600)
@given(DOCUMENTS, st.data())
def test_a_stream_ends_as_the_whole_would_be_drawn(
    fragments: list[str], data: st.DataObject
) -> None:
    text = "".join(fragments)
    stream = MarkdownStream()
    rest = text
    while rest:
        size = data.draw(st.integers(1, 6))
        stream.feed(rest[:size])
        rest = rest[size:]
        if data.draw(st.booleans()):
            stream.settle()
    stream.feed("\n" if text.endswith("\r") else "")
    stream.settle()
    assert assembled(stream.parts, stream.references) == at_once(text)


@settings(max_examples=600)
@given(DOCUMENTS)
def test_parts_together_are_the_message(fragments: list[str]) -> None:
    text = "".join(fragments)
    references: References = {}
    parts = split_parts(text, references)
    assert assembled(parts, references) == at_once(text)


@pytest.mark.parametrize(
    "text",
    [
        "- ```py\n\n\n| a | b |\n",
        "1. ~~~\n\n\n- [ ] t\n# |---|\n",
        "> ```\n> a\n>\n\n***\n",
        "para\n[x]: /u\n\n[x]\n",
    ],
)
def test_blocks_that_once_came_out_different(text: str) -> None:
    stream = MarkdownStream()
    for character in text:
        stream.feed(character)
        stream.settle()
    assert assembled(stream.parts, stream.references) == at_once(text)
    references: References = {}
    assert assembled(split_parts(text, references), references) == at_once(text)


def test_settled_parts_stay_as_they_are_while_text_comes() -> None:
    stream = MarkdownStream()
    stream.feed("one\n\ntwo\n\nthr")
    stream.settle()
    assert [part.source.strip() for part in stream.settled] == ["one"]
    stream.feed("ee\n\nfour\n")
    stream.settle()
    assert [part.source.strip() for part in stream.settled] == ["one", "two", "three"]


def test_a_line_without_its_end_settles_nothing() -> None:
    stream = MarkdownStream("text\n#")
    stream.settle()
    assert stream.settled == []


def test_a_definition_that_comes_late_asks_for_everything_to_be_drawn_anew() -> None:
    stream = MarkdownStream("see [x]\n\nmore\n\n")
    stream.settle()
    before = stream.version
    stream.feed("[x]: /there\n\nend\n")
    stream.settle()
    assert stream.version > before
    assert any(run.href == "/there" for run in assembled(stream.parts, stream.references)[0].runs)


def test_a_definition_that_is_there_asks_for_nothing_again() -> None:
    stream = MarkdownStream("[x]: /there\n\nsee [x]\n\n")
    stream.settle()
    before = stream.version
    for _ in range(5):
        stream.feed("more\n\n")
        stream.settle()
    assert stream.version == before


def test_a_long_fence_is_settled_in_pieces() -> None:
    body = "".join(f"line {number}\n" for number in range(3 * FENCE_PART + 5))
    stream = MarkdownStream()
    stream.feed("```\n" + body)
    stream.settle()
    assert len(stream.settled) == 3
    assert len(stream.tail.source.split("\n")) < 10
    stream.feed("```\n\nend\n")
    stream.settle()
    assert assembled(stream.parts, stream.references) == at_once(f"```\n{body}```\n\nend\n")
