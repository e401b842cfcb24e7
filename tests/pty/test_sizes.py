"""The same program on every size of terminal, and on one whose size changes."""

from __future__ import annotations

import pytest

from tests.pty.conftest import READY, Program, Serve
from tests.scripted.script import Reply, Say

pytestmark = pytest.mark.pty

SIZES = [(160, 45), (100, 30), (80, 24), (40, 12)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_it_starts_answers_and_leaves(
    program: Program, serve: Serve, size: tuple[int, int]
) -> None:
    serve([Reply([Say("Hello to you.")])], "anthropic")
    terminal = program.opened(size=size)
    terminal.type("good day")
    terminal.shows("good day")
    terminal.press("enter")
    terminal.shows("Hello to you.", READY)
    terminal.press("ctrl+c")
    terminal.shows("Ctrl+C again quits")
    terminal.press("ctrl+c")
    assert terminal.ended() == 0
    assert b"Traceback" not in terminal.output


def test_it_lives_through_every_size_down_to_one_cell(program: Program, serve: Serve) -> None:
    serve([Reply([Say("Hello to you.")]), Reply([Say("Still here.")])], "anthropic")
    terminal = program.opened(size=(100, 30))
    terminal.type("good day")
    terminal.press("enter")
    terminal.shows("Hello to you.", READY)
    for size in ((60, 20), (20, 6), (3, 2), (1, 1), (1, 30), (200, 1), (1, 1)):
        terminal.resize(*size)
        terminal.has_drawn_since_resize()
    terminal.resize(100, 30)
    terminal.shows("Hello to you.", READY)
    terminal.type("and now?")
    terminal.press("enter")
    terminal.shows("Still here.")
    assert b"Traceback" not in terminal.output
