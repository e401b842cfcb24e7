"""The recordings and the server that plays them."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.data import wire_dir
from tests.providers.fixture_server import FixtureServer


@pytest_asyncio.fixture
async def server() -> AsyncIterator[FixtureServer]:
    async with FixtureServer(wire_dir()) as running:
        yield running
