"""The model of a soak, in a process of its own so that its memory is not the program's.

`python -m tests.soak.server SEED` prints its address; when its standard input ends it prints what
it refused as JSON and ends.
"""

from __future__ import annotations

import asyncio
import json
import sys

from tests.scripted.request import ParsedRequest
from tests.scripted.server import ScriptedServer
from tests.soak.faults import Model


async def serve(seed: int) -> None:
    """Serve until nobody needs it any more."""
    refused: list[str] = []
    count = 0

    def look(request: ParsedRequest) -> None:
        nonlocal count
        count += 1
        refused.extend(request.violations)
        del server.requests[:-1]

    server = ScriptedServer(Model(seed), on_request=look)
    async with server:
        print(server.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)
    print(json.dumps({"requests": count, "refused": refused}), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
