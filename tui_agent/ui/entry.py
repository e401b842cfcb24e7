"""Starting the application: what must be set before Textual is imported, and what after loading."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp
    from tui_agent.workspace.api import SessionOptions, WorkspaceApi

LEAVE_WITHIN_SECONDS = 2.5
"""How long after a signal the process ends at the latest."""


def run_app(
    workspace_factory: Callable[[], Awaitable[WorkspaceApi]],
    *,
    named_session: Callable[[], str] | None = None,
    prompt: str | None = None,
    options: SessionOptions | None = None,
    theme: str | None = None,
    ascii_only: bool = False,
    leaves_on: Iterable[int] = (),
) -> int:
    """Show the workspace that `workspace_factory` opens until the person leaves, or one of the
    signals `leaves_on` comes, which is then the exit code with 128 added; the exit code.

    The factory runs on the engine's own loop, in its thread, once the first screen is painted.
    `named_session` says which session was asked for, when one was, as soon as the workspace is
    open; one that cannot be shown ends the program with its `UserError`.
    """
    # A painted stream would make the next key wait for its slot; we throttle the flushes ourselves.
    os.environ.setdefault("TEXTUAL_FPS", "240")
    from tui_agent.ui.app import TuiAgentApp
    from tui_agent.ui.bridge import EngineThread
    from tui_agent.ui.startup import Behaviour, Start

    async def open_workspace() -> WorkspaceApi:
        # Loaded here, beside the first screen, and not when the first event or key needs it.
        import_module("tui_agent.ui.live")
        return await workspace_factory()

    engine = EngineThread(open_workspace)
    engine.start()
    behaviour = Behaviour(ascii_only=ascii_only)
    if theme is not None:
        behaviour = Behaviour(theme=theme, ascii_only=ascii_only)
    start = Start(named_session=named_session, prompt=prompt, options=options)
    app = TuiAgentApp(engine.open, start=start, behaviour=behaviour)
    # What is loaded stays, and imports leave no garbage: nothing here is worth a collection.
    gc.freeze()
    code = asyncio.run(_shown(app, leaves_on))
    engine.stop_now()
    if app.failure is not None:
        raise app.failure
    if code == 0 and app.left_session is not None:
        sys.stdout.write(f"To go on with this session: tui-agent --resume {app.left_session}\n")
    return 0 if code is None else code


async def _shown(app: TuiAgentApp, leaves_on: Iterable[int]) -> int | None:
    """Run the application. Textual has no handlers of its own for signals that end a program, and
    without one the terminal would stay in the alternate screen with its mouse modes on."""
    loop = asyncio.get_running_loop()
    for number in leaves_on:
        loop.add_signal_handler(number, _leave_soon, app, 128 + number)
    return await app.run_async()


def _leave_soon(app: TuiAgentApp, code: int) -> None:
    """Leave in good order, and in any order before long: a terminal that is gone or is not read
    holds Textual's own way out for ever. What matters is stored and ended before that begins."""
    app.leave(code)
    last_resort = threading.Timer(LEAVE_WITHIN_SECONDS, os._exit, (code,))
    last_resort.daemon = True
    last_resort.start()
