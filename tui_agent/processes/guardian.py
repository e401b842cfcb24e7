"""The process that ends our children when this one dies without a word.

A killed program cannot clean up, and a signal on the death of the parent reaches only the nearest
child (and is bound to the thread that started it). So one small program stands beside us from the
first child on, in a session of its own. It holds the end of a pipe that closes with this process,
however that ends; then it ends everything that carries the mark of this process or is in the
session of a child that was still running. Whoever kills both at once is beyond its help.
"""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import subprocess
import sys
import threading
from pathlib import Path

from tui_agent.processes.environment import child_environment

log = logging.getLogger(__name__)

PROGRAM_MARK = secrets.token_hex(8)
"""Starts the marker of every child of this process."""

_RUN = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    "from tui_agent.processes.guarding import main; main(sys.argv[2])"
)
_GOODBYE = b"bye\n"


class Guardian:
    """Our side of it. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._leaders: set[int] = set()
        self._failed = False

    def start(self) -> None:
        """Have it running. Without it, children are ended by this process only; that is logged."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return
            self._let_go()
            try:
                self._launch()
            except OSError as error:
                if not self._failed:
                    log.warning("no guardian for child processes: %s", error)
                self._failed = True

    def watch(self, leader: int) -> None:
        """The child `leader` runs, and leads a session."""
        with self._lock:
            self._leaders.add(leader)
            self._say(b"+%d\n" % leader)

    def forget(self, leader: int) -> None:
        """Everything of `leader` has ended."""
        with self._lock:
            self._leaders.discard(leader)
            self._say(b"-%d\n" % leader)

    def close(self) -> None:
        """Let it go: nothing of ours runs any more."""
        with self._lock:
            if self._leaders:
                # torn down in the middle of a call: the end of the pipe is its sign to look
                self._leaders.clear()
            else:
                self._say(_GOODBYE)
            self._let_go()

    def _launch(self) -> None:
        reading, writing = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _RUN, _package_folder(), PROGRAM_MARK],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=child_environment(os.environ),
                start_new_session=True,
            )
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        # one that was stopped must not stop us: what does not fit into the pipe is lost
        os.set_blocking(writing, False)
        self._pipe = writing
        self._say(b"".join(b"+%d\n" % leader for leader in self._leaders))

    def _say(self, words: bytes) -> None:
        if self._pipe < 0:
            return
        try:
            os.write(self._pipe, words)
        except (BrokenPipeError, BlockingIOError):
            pass  # it is gone, and started anew for the next child; or stopped: the marks remain

    def _let_go(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        if self._process is not None:
            try:
                self._process.wait(timeout=1)
            except subprocess.TimeoutExpired:
                self._process.returncode = 0  # it ends by itself; nobody has to wait for it
            self._process = None


def _package_folder() -> str:
    return os.fspath(Path(__file__).resolve().parents[2])


GUARDIAN = Guardian()
atexit.register(GUARDIAN.close)
