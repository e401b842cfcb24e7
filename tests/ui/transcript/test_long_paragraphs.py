"""Wrapping looks at each piece of a paragraph a few times, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

import pytest

from tui_agent.ui.transcript.lines import Line, Run, logical_text, wrap_hard, wrap_runs


class Counted(Sequence[Run]):
    """Runs that count how often one of them is looked at."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = tuple(runs)
        self.looks = 0

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, at: int) -> Run: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Run]: ...
    def __getitem__(self, at: int | slice) -> Run | Sequence[Run]:
        self.looks += 1
        return self._runs[at]


@pytest.mark.parametrize("wrap", [wrap_runs, wrap_hard])
def test_the_work_grows_with_the_paragraph_and_not_with_its_square(
    wrap: Callable[[Sequence[Run], int], list[Line]],
) -> None:
    looks = []
    for count in (100, 1000):
        runs = Counted([Run(f"piece {at} of a paragraph ", "text") for at in range(count)])
        lines = wrap(runs, 40)
        assert len(lines) > count / 3
        looks.append(runs.looks)
    assert looks[1] < 12 * looks[0]


def test_every_run_keeps_its_style_over_the_rows() -> None:
    runs = [Run("one two ", "a"), Run("three", "b"), Run("", "empty"), Run(" four five", "c")]
    lines = wrap_runs(runs, 9)
    assert [[(run.text, run.style) for run in line.runs] for line in lines] == [
        [("one two", "a")],
        [("three", "b")],
        [("four five", "c")],
    ]
    assert logical_text(lines) == "one two three four five"
