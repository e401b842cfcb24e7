"""The engine in a process of its own, to be killed: `python -m tests.workspace.program FOLDER`.

Commands come as JSON lines on standard input, events and answers go as JSON lines to standard
output. The environment says everything else.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tui_agent.settings.load import load_settings
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.decisions import Choice, Decision
from tui_agent.vocabulary.errors import UserError
from tui_agent.workspace.config import WorkspaceConfig
from tui_agent.workspace.workspace import Workspace


async def serve(folder: Path) -> None:
    environ = dict(os.environ)
    config = WorkspaceConfig(folder, load_settings(folder, environ), environ, attended=True)
    workspace = await Workspace.open(config)
    telling = asyncio.create_task(tell(workspace))
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while line := await reader.readline():
        command: dict[str, Any] = json.loads(line)
        say({"answer": await obey(workspace, command)})
    await workspace.close()
    telling.cancel()


async def tell(workspace: Workspace) -> None:
    async for batch in workspace.subscribe():
        for event in batch:
            say({"event": to_json(event)})


async def obey(workspace: Workspace, command: dict[str, Any]) -> object:
    try:
        match command:
            case {"do": "begin", "text": str(text)}:
                record = await workspace.create_session()
                await workspace.submit(record.id, text)
                return record.id
            case {"do": "submit", "session": str(session_id), "text": str(text)}:
                await workspace.submit(session_id, text)
                return None
            case {"do": "resume", "session": str(session_id)}:
                await workspace.resume(session_id)
                return None
            case {"do": "decide", "item": str(item), "choice": str(choice)}:
                result = await workspace.decide(item, Decision(Choice(choice)))
                return {"applied": result.applied, "goes_on": result.goes_on}
            case {"do": "phase", "session": str(session_id)}:
                return (await workspace.snapshot(session_id)).phase.value
            case _:
                return {"error": "unknown command"}
    except UserError as error:
        return {"error": f"{type(error).__name__}: {error}"}


def say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
