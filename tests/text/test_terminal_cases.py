"""Every recorded case of foreign text, at the level of the functions."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.data import cases_dir
from tests.text.foreign_sequences import foreign_sequences
from tui_agent.text import (
    StreamSanitizer,
    cell_width,
    exact,
    lookalike_notices,
    output,
    prose,
    wrap,
)

Case = dict[str, Any]
SURFACES: dict[str, Callable[[str], str]] = {
    "exact": exact,
    "output": lambda text: output(text).text,
    "prose": prose,
}


def _cases() -> list[Case]:
    cases: list[Case] = json.loads((cases_dir() / "terminal.json").read_text("utf-8"))["cases"]
    return cases


def _input(case: Case) -> str:
    if "input" in case:
        return str(case["input"])
    return bytes.fromhex("".join(case["chunks_hex"])).decode("utf-8")


@pytest.mark.parametrize("case", _cases(), ids=lambda case: str(case["id"]))
def test_a_foreign_text_shows_what_its_case_says(case: Case) -> None:
    shown = SURFACES[case["surface"]](_input(case))
    if case.get("render"):
        assert shown == case["render"]
    for foreign in case.get("absent_bytes", ()):
        assert foreign not in shown
    # The ASCII form of a host is a notice beside the text, not part of it.
    beside = lookalike_notices(_input(case)) if case["surface"] == "exact" else ()
    for visible in case.get("present", ()):
        assert visible in "\n".join((shown, *beside))
    assert foreign_sequences(shown) == []


@pytest.mark.parametrize(
    "case",
    [case for case in _cases() if case["surface"] != "exact"],
    ids=lambda case: str(case["id"]),
)
def test_a_foreign_text_shows_the_same_when_it_comes_character_by_character(case: Case) -> None:
    stream, shown = StreamSanitizer(), ""
    for character in _input(case):
        added = stream.feed(character)
        shown = shown[: len(shown) - stream.retracted] + added
    added = stream.flush()
    shown = shown[: len(shown) - stream.retracted] + added
    assert shown == SURFACES[case["surface"]](_input(case))


def _case(name: str) -> str:
    return next(_input(case) for case in _cases() if case["id"] == name)


def test_a_colour_ends_where_the_sender_ended_it() -> None:
    styled = output(_case("T-csi-esc-10"))
    assert [(span.start, span.end, span.style.fg) for span in styled.spans] == [(0, 3, 1)]


def test_a_stack_of_marks_becomes_a_count() -> None:
    marks = _case("T-approval-16").count("\u0301") - 1
    assert exact(_case("T-approval-16")) == "a\u0301b" + "\u0301" * 4 + f"⟨{marks - 4} marks⟩"


@pytest.mark.parametrize("width", range(20, 26))
def test_wide_characters_never_hang_over_the_edge(width: int) -> None:
    lines = wrap(prose(_case("T-unicode-07")), width)
    assert max(map(cell_width, lines)) <= width
    assert "".join(lines) == _case("T-unicode-07")
