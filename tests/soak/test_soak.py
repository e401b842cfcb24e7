"""After many turns with every fault the program is as large as before, and no request of it was
refused. A few dozen turns ordinarily; `make soak` asks for a thousand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.soak.endurance import endure

TURNS = int(os.environ.get("TUI_AGENT_SOAK", "40"))
MOST_GROWTH = 24 * 2**20
"""Bytes; first uses of parts that are loaded when needed fall behind a short warm-up."""


@pytest.mark.timeout(3600)
async def test_many_turns_leave_nothing_behind(tmp_path: Path) -> None:
    figures = await endure(tmp_path, TURNS, warm_up=max(15, TURNS // 5))
    print(figures)
    assert figures.refused == []
    assert figures.unsendable == []
    assert sum(figures.reasons.values()) >= TURNS
    assert figures.reasons["model_stop"] > TURNS / 3
    warm, end = figures.warm, figures.end
    assert end.memory - warm.memory < MOST_GROWTH
    assert end.files - warm.files <= 3
    # the pool of threads for file work fills up as it is needed
    assert end.threads - warm.threads <= 4
    assert end.tasks - warm.tasks <= 2
