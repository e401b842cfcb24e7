"""An open store on a file of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tui_agent.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database of the test is."""
    return tmp_path / "state" / "sessions.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    """The store of the test."""
    opened = await Store.open(path)
    yield opened
    await opened.close()
