"""The few signs the transcript draws, with their ASCII twins. Each is one cell wide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from tui_agent.ui.marks import Marks


@dataclass(frozen=True, slots=True)
class Glyphs:
    """`marks` says in one sign how a call stands; bars and rules are box drawing."""

    marks: Marks
    bar: str
    gutter: str
    rule: str
    bullets: tuple[str, ...]
    folded: str
    unfolded: str
    thumb: str
    ellipsis: str


UNICODE_GLYPHS: Final = Glyphs(
    marks=Marks(),
    bar="┃",
    gutter="│",
    rule="─",
    bullets=("∙", "◦", "▪"),
    folded="▸",
    unfolded="▾",
    thumb="▐",
    ellipsis="…",
)
ASCII_GLYPHS: Final = Glyphs(
    marks=Marks(ascii_only=True),
    bar="|",
    gutter="|",
    rule="-",
    bullets=("*", "-", "+"),
    folded=">",
    unfolded="v",
    thumb="#",
    ellipsis="~",
)


def glyphs_for(marks: Marks) -> Glyphs:
    """The signs that go with `marks`: ASCII with ASCII, and the spinner at its frame."""
    return replace(ASCII_GLYPHS if marks.ascii_only else UNICODE_GLYPHS, marks=marks)
