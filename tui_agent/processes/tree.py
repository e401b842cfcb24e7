"""Finding and ending everything that a child process started.

A process is kin of a call when it carries the call's marker in its environment, is in the session
that the child leads, or descends from one of these. That finds what runs in the background, what
made itself a session of its own and what was orphaned by a double fork. The limit of it: a process
that at the same time has left the session, lost its ancestors and started with an emptied
environment is not found; only a sandbox with a process namespace holds that one.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_agent.processes.environment import CALL_MARKER

if TYPE_CHECKING:
    import psutil

GRACE = 0.5
"""Seconds between asking a process to end and ending it."""

LAST_WAIT = 1.5
"""Seconds for killed processes to be gone; what is left then cannot be ended."""

_POLL = 0.02


@dataclass(frozen=True, slots=True)
class Kin:
    """What tells that a process belongs: it is in the session of one of `leaders`, or the marker
    in its environment starts with `marker`."""

    leaders: frozenset[int]
    marker: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How many processes were found alive, and which of them could not be ended, as `name (pid)`:
    those of another user, and those that hang in the kernel."""

    count: int
    survivors: tuple[str, ...] = ()


def members(kin: Kin) -> list[psutil.Process]:
    """The living processes that belong to `kin`; never this process itself."""
    import psutil

    own = os.getpid()
    found = {pid for pid in psutil.pids() if pid != own and _belongs(pid, kin)}
    if found:
        found |= _descendants(found) - {own}
    processes = []
    for pid in found:
        try:
            processes.append(psutil.Process(pid))
        except psutil.Error:
            continue  # ended since it was found
    return [process for process in processes if _is_alive(process)]


def _belongs(pid: int, kin: Kin) -> bool:
    try:
        if os.getsid(pid) in kin.leaders:
            return True
    except OSError:
        return False  # gone
    return _marker_of(pid).startswith(kin.marker)


_NAME = f"{CALL_MARKER}=".encode()


def _marker_of(pid: int) -> str:
    """The marker in the environment of a process; empty if it has none or is another user's."""
    try:
        # psutil makes a dict of all of it, for every process of the machine: 5 times as slow
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except FileNotFoundError:
        return "" if os.path.isdir("/proc/self") else _marker_elsewhere(pid)
    except OSError:
        return ""
    for variable in variables:
        if variable.startswith(_NAME):
            return variable.removeprefix(_NAME).decode("ascii", errors="replace")
    return ""


def _marker_elsewhere(pid: int) -> str:
    """The same where there is no /proc."""
    import psutil

    try:
        return psutil.Process(pid).environ().get(CALL_MARKER, "")
    except (psutil.Error, OSError):
        return ""


def _descendants(pids: set[int]) -> set[int]:
    import psutil

    children: dict[int, list[int]] = {}
    for process in psutil.process_iter(["ppid"]):
        children.setdefault(process.info["ppid"], []).append(process.pid)
    found: set[int] = set()
    waiting = list(pids)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


def _is_alive(process: psutil.Process) -> bool:
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _signal_all(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to each that is still the process it was when it was found."""
    import psutil

    for process in processes:
        try:
            process.send_signal(number)
        except (psutil.Error, OSError):
            continue  # gone, or not ours to end: who is left is told by `end_now`


def end_now(kin: Kin, *, grace: float = GRACE) -> Ended:
    """Ask every process of `kin` to end, and end what is left after `grace` seconds; at once when
    that is 0. Blocks for at most about `grace` + `LAST_WAIT` seconds.
    """
    first = members(kin)
    if not first:
        return Ended(0)
    if grace > 0:
        _signal_all(first, signal.SIGTERM)
        deadline = time.monotonic() + grace
        while time.monotonic() < deadline and any(map(_is_alive, first)):
            time.sleep(_POLL)
    # Those found first are kept in mind: without its ancestors one may no longer be told as kin.
    known = {process.pid: process for process in first}
    deadline = time.monotonic() + LAST_WAIT
    while True:
        known.update((process.pid, process) for process in members(kin))
        left = [process for process in known.values() if _is_alive(process)]
        if not left or time.monotonic() > deadline:
            return Ended(len(first), tuple(map(_named, left)))
        _signal_all(left, signal.SIGKILL)
        time.sleep(_POLL)


def _named(process: psutil.Process) -> str:
    import psutil

    try:
        return f"{process.name()} ({process.pid})"
    except psutil.Error:
        return f"process {process.pid}"
