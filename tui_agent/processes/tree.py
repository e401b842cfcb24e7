"""Finding and ending everything that a child process started.

A process belongs to a call when it carries the call's marker in its environment, is in the child's
process group, or descends from the child. That finds what runs in the background, what made itself
a session of its own and what was orphaned by a double fork. The limit of it: a process that at the
same time has left the group, lost its ancestors and started with an emptied environment is not
found; only a sandbox with a process namespace holds that one.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

from tui_agent.processes.environment import CALL_MARKER

if TYPE_CHECKING:
    import psutil

GRACE = 0.5
"""Seconds between asking a process to end and ending it."""

_POLL = 0.02
_ROUNDS = 5
"""How often we look again for processes that were started while others were being ended."""


def members(leader: int, marker: str) -> list[psutil.Process]:
    """The living processes that belong to the call of `marker`, whose child is or was `leader`."""
    import psutil

    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        if process.pid != os.getpid() and _belongs(process, leader, marker):
            found[process.pid] = process
    try:
        for process in psutil.Process(leader).children(recursive=True):
            found[process.pid] = process
    except psutil.Error:
        pass  # the leader is gone; its orphans are known by group or marker
    return [process for process in found.values() if _is_alive(process)]


def _belongs(process: psutil.Process, leader: int, marker: str) -> bool:
    import psutil

    try:
        if os.getpgid(process.pid) == leader:
            return True
        return process.environ().get(CALL_MARKER) == marker
    except (psutil.Error, OSError):
        return False  # another user's, or gone: it cannot be ours to end


def _is_alive(process: psutil.Process) -> bool:
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def signal_all(processes: list[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to each that is still the process it was when it was found."""
    import psutil

    for process in processes:
        try:
            process.send_signal(number)
        except (psutil.Error, OSError):
            continue


def kill_now(leader: int, marker: str) -> None:
    """End the whole tree without waiting: for when nobody can wait any more."""
    for _ in range(_ROUNDS):
        found = members(leader, marker)
        if not found:
            return
        signal_all(found, signal.SIGKILL)


async def end_tree(leader: int, marker: str, *, grace: float = GRACE) -> int:
    """Ask every process of the call to end, end what is left after `grace` seconds.

    Returns how many there were.
    """
    found = await asyncio.to_thread(members, leader, marker)
    count = len(found)
    if not found:
        return 0
    signal_all(found, signal.SIGTERM)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + grace
    while loop.time() < deadline and any(_is_alive(process) for process in found):
        await asyncio.sleep(_POLL)
    await asyncio.to_thread(kill_now, leader, marker)
    return count
