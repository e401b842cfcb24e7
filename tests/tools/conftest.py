"""A workspace for each test of the tools."""

from pathlib import Path

import pytest

from tests.tools.kit import Workshop


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "ws")
