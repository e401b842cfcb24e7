"""The recordings and the server that plays them; a port where nobody listens."""

import socket
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.data import wire_dir
from tests.providers.fixture_server import FixtureServer


@pytest_asyncio.fixture
async def server() -> AsyncIterator[FixtureServer]:
    async with FixtureServer(wire_dir()) as running:
        yield running


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
