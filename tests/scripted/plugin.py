"""The `scripted` fixture: start scripted model servers in a test, stopped and judged at its end.

Import it into a test module or a conftest (`from tests.scripted.plugin import scripted`), or name
this module in `pytest_plugins`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol

import pytest_asyncio

from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer


class StartScripted(Protocol):
    """`await scripted(script, **options)` starts a server; see `ScriptedServer` for the options.

    A test whose requests broke a rule fails at its end, unless it said `violations_expected=True`.
    """

    async def __call__(
        self, script: Script, *, violations_expected: bool = False, **options: Any
    ) -> ScriptedServer: ...


@pytest_asyncio.fixture
async def scripted() -> AsyncIterator[StartScripted]:
    servers: list[ScriptedServer] = []
    judged: list[ScriptedServer] = []

    async def start(
        script: Script, *, violations_expected: bool = False, **options: Any
    ) -> ScriptedServer:
        server = await ScriptedServer(script, **options).start()
        servers.append(server)
        if not violations_expected:
            judged.append(server)
        return server

    yield start
    for server in servers:
        await server.stop()
    broken = [text for server in judged for text in server.violations]
    assert not broken, "requests a strict provider refuses:\n" + "\n".join(broken)
