"""What the guardian runs: waits for the death of the program and ends the children it left.

A program of its own, started by `guardian`. On standard input come lines: `+PID` a child that leads
a session, `-PID` one that has ended with all that it started, `bye` when nothing is left to guard.
The end of the input without that word means that the program is dead.
"""

from __future__ import annotations

import signal
import sys

from tui_agent.processes.tree import Kin, end_now

_OUTLIVED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""What ends whole groups of processes, and must not end this one before the program."""


def main(mark: str) -> None:
    """Guard the children whose marker starts with `mark`."""
    import psutil  # noqa: F401 - while it can be found: the program may be replaced before it dies

    for number in _OUTLIVED:
        signal.signal(number, signal.SIG_IGN)
    leaders: set[int] = set()
    for line in sys.stdin.buffer:
        sign, word = line[:1], line[1:].strip()
        if line == b"bye\n":
            return
        if sign == b"+":
            leaders.add(int(word))
        else:
            leaders.discard(int(word))
    end_now(Kin(frozenset(leaders), mark))
