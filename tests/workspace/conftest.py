"""A place to work in, and the wires every story is told on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripted.plugin import scripted
from tests.workspace.kit import Place

__all__ = ["place", "scripted", "wire"]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.under(tmp_path)


@pytest.fixture(params=["anthropic", "chat"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)
