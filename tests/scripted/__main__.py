"""Run a scripted model server by hand: `python -m tests.scripted [SCRIPT.py | NAME] [--port N]`.

It prints the variables that point the program at it, then a line for every request and every
violation.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import runpy
from pathlib import Path

from tests.scripted.obedient import NAMED
from tests.scripted.request import ParsedRequest
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.scripted", description=__doc__)
    parser.add_argument(
        "script",
        nargs="?",
        default="obedient",
        help=f"a Python file that sets `script`, or one of {', '.join(NAMED)} (default obedient)",
    )
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument("--lenient", action="store_true", help="report violations, do not refuse")
    parser.add_argument("--demand-reasoning", action="store_true", help="judge as DeepSeek does")
    parser.add_argument("--bind-thinking", action="store_true", help="judge as newer Claudes do")
    given = parser.parse_args()
    server = ScriptedServer(
        load(given.script),
        port=given.port,
        strict=not given.lenient,
        demand_reasoning=given.demand_reasoning,
        bind_thinking=given.bind_thinking,
        on_request=report,
    )
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(server))


def load(script: str) -> Script:
    """The script of this name, or the value `script` of this file."""
    if script in NAMED:
        return NAMED[script]
    if not Path(script).is_file():
        raise SystemExit(f"{script} is neither a file nor one of {', '.join(NAMED)}")
    loaded: Script = runpy.run_path(script)["script"]
    return loaded


async def serve(server: ScriptedServer) -> None:
    async with server:
        print("# Messages wire:")
        print("export TUI_AGENT_PROVIDER=anthropic TUI_AGENT_API_KEY=k", end=" ")
        print(f"TUI_AGENT_MODEL={server.models[0]} TUI_AGENT_BASE_URL={server.url}")
        print("# Chat Completions wire:")
        print("export TUI_AGENT_PROVIDER=compatible TUI_AGENT_API_KEY=k", end=" ")
        print(f"TUI_AGENT_MODEL={server.models[0]} TUI_AGENT_BASE_URL={server.chat_url}")
        print("# Ctrl+C ends it.", flush=True)
        await asyncio.Event().wait()


def report(request: ParsedRequest) -> None:
    """One line a request; foreign text is shown escaped, it goes to a terminal."""
    count, last = len(request.messages), request.last_user_text[:60]
    print(f"{request.wire}: {count} messages, last {last!r}", flush=True)
    for text in request.violations:
        print(f"  violation: {text!r}", flush=True)


if __name__ == "__main__":
    main()
