"""Signals of a headless command.

The first interrupt ends the turn as a person would, so that everything is committed and told; the
second one, a hang-up or a request to end cancels the work. Either way the workspace is closed, and
a close that takes too long is not waited for.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Final

from tui_agent.workspace.api import WorkspaceApi

CLOSE_DEADLINE: Final = 3.0
"""Seconds that closing may take."""

ENDING: Final = (signal.SIGTERM, signal.SIGHUP)
"""Signals that ask the program to end."""

_log = logging.getLogger(__name__)


async def supervised(
    open_workspace: Callable[[], Awaitable[WorkspaceApi]],
    work: Callable[[WorkspaceApi, asyncio.Event], Awaitable[int]],
    *,
    is_interruptible: bool,
) -> int:
    """Open a workspace, do `work` with it, close it; the exit code of `work`, or of the signal
    that ended it. With `is_interruptible`, `work` hears of the first interrupt by its event."""
    loop = asyncio.get_running_loop()
    interrupted = asyncio.Event()
    ended_by: list[int] = []
    task = asyncio.ensure_future(_opened(open_workspace, work, interrupted, ended_by))

    def end(number: int) -> None:
        if number == signal.SIGINT and is_interruptible and not interrupted.is_set():
            interrupted.set()
        elif not ended_by:  # closing has begun with the first one and is not to be cancelled
            ended_by.append(number)
            task.cancel()

    handled = [number for number in (signal.SIGINT, *ENDING) if is_ours(number)]
    for number in handled:
        loop.add_signal_handler(number, end, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not ended_by:
            raise
        return 128 + ended_by[0]
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


def is_ours(number: int) -> bool:
    """Whether to handle a signal: one that we were started to ignore, as `nohup` does, is not."""
    return signal.getsignal(number) is not signal.SIG_IGN


async def _opened(
    open_workspace: Callable[[], Awaitable[WorkspaceApi]],
    work: Callable[[WorkspaceApi, asyncio.Event], Awaitable[int]],
    interrupted: asyncio.Event,
    ended_by: list[int],
) -> int:
    workspace = await open_workspace()
    try:
        return await work(workspace, interrupted)
    finally:
        await _close(workspace, ended_by)


async def _close(workspace: WorkspaceApi, ended_by: list[int]) -> None:
    try:
        async with asyncio.timeout(CLOSE_DEADLINE):
            await workspace.close()
    except TimeoutError:
        _log.error("the workspace did not close within %.0f s", CLOSE_DEADLINE)
        # What is committed is safe; a thread that hangs would keep the process for good.
        sys.stdout.flush()
        os._exit(128 + ended_by[0] if ended_by else 1)
