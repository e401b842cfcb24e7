"""Reading what a child prints, in bounded memory, whatever it prints.

One thread for each child reads its pipes, keeps head and tail of the output, copies all of it to a
capped file once it is large, and reports progress to the event loop a
few times a second. A thread, because neither a flood of output nor a slow disk may hold up the
loop. A file that cannot be written becomes a note in the result; reading goes on.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import select
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 128 * 1024
SPILL_FROM = 30_000
"""Output larger than this is copied to the file; no more than `HEAD_BYTES`."""
SPILL_CAP = 10 * 1024 * 1024
PROGRESS_INTERVAL = 0.1
"""Seconds between two reports of progress."""

_CHUNK = 256 * 1024
_PROGRESS_BYTES = 16 * 1024
_LAST_READS = 64
"""How many chunks are still taken from a pipe that others keep filling after the end."""


@dataclass(frozen=True, slots=True)
class CapturedOutput:
    """What was printed. `omitted` bytes between `head` and `tail` are in `spill_path`, if that is
    set, up to its cap; `note` says what is wrong with that file."""

    head: str = ""
    tail: str = ""
    omitted: int = 0
    total_bytes: int = 0
    spill_path: Path | None = None
    note: str = ""

    @property
    def text(self) -> str:
        """All that is kept; complete when `omitted` is 0."""
        return self.head + self.tail


class SpillFile:
    """A copy of output on disk, 0600, at most `cap` bytes; created when first written to."""

    def __init__(self, path: Path, *, cap: int = SPILL_CAP) -> None:
        self.path = path
        self.note = ""
        self._left = cap
        self._cap = cap
        self._descriptor: int | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was written."""
        return self._descriptor is not None

    def write(self, data: bytes) -> None:
        """Append `data`, or as much of it as fits. A failure becomes `note`, it is not raised."""
        if self._left <= 0:
            return
        try:
            if self._descriptor is None:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
                self._descriptor = os.open(self.path, flags, 0o600)
            view = memoryview(data)[: self._left]
            while view:
                written = os.write(self._descriptor, view)
                self._left -= written
                view = view[written:]
        except OSError as error:
            self._left = 0
            self.note = f"the full output could not be kept: {error.strerror}"
            return
        if self._left <= 0:
            self.note = f"only the first {self._cap:,} bytes of output were kept in the file"

    def close(self) -> None:
        """Close the file; writing is over."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._left = 0


class HeadAndTail:
    """The first and the last bytes of a stream, in bounded memory; all of it into `spill`, if that
    is given, once it is large."""

    def __init__(
        self,
        spill: SpillFile | None = None,
        *,
        head_bytes: int = HEAD_BYTES,
        tail_bytes: int = TAIL_BYTES,
    ) -> None:
        self.total = 0
        self._head_bytes = head_bytes
        self._tail_bytes = tail_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._spill = spill
        self._is_spilling = False

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(data)
        if self._spill is not None and self.total > SPILL_FROM:
            if not self._is_spilling:
                self._is_spilling = True
                self._spill.write(bytes(self._head))
            self._spill.write(data)
        room = self._head_bytes - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        # cut only now and then: a cut moves what is left
        if len(self._tail) > 4 * self._tail_bytes:
            self._cut_tail()

    @property
    def head(self) -> bytes:
        """The first bytes as they came; all of them if `total` is no larger."""
        return bytes(self._head)

    def _cut_tail(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_bytes)]

    def result(self) -> CapturedOutput:
        """What was kept. Ends the copy on disk."""
        self._cut_tail()
        omitted = self.total - len(self._head) - len(self._tail)
        spill_path, note = None, ""
        if self._spill is not None:
            self._spill.close()
            note = self._spill.note
            spill_path = self._spill.path if self._spill.exists else None
        if omitted:
            head, tail = _decode(bytes(self._head)), _decode(bytes(self._tail))
        else:
            head, tail = _decode(bytes(self._head + self._tail)), ""
        return CapturedOutput(head, tail, omitted, self.total, spill_path, note)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


class PipeReader:
    """Reads the pipes of one child in a thread of its own.

    `done` is set, on the loop, when every pipe came to its end or reading was stopped.
    """

    def __init__(
        self,
        pipes: dict[int, HeadAndTail],
        *,
        on_output: Callable[[str, int], None] | None = None,
    ) -> None:
        self.done = asyncio.Event()
        self._pipes = dict(pipes)
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._stop_reading, self._stop_writing = os.pipe()
        self._unreported = bytearray()
        self._total = 0
        self._reported_at = 0.0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._thread = threading.Thread(target=self._run, name="output of a child", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take what is in the pipes now and read no further."""
        if self._stop_writing >= 0:
            os.close(self._stop_writing)
            self._stop_writing = -1

    def join(self) -> None:
        """Wait for the thread; short, once `stop` was called."""
        self._thread.join()

    def _run(self) -> None:
        try:
            self._read_until_stopped()
        finally:
            for pipe in self._pipes:
                os.close(pipe)
            os.close(self._stop_reading)
            self._tell(self.done.set)

    def _read_until_stopped(self) -> None:
        poll = select.poll()
        poll.register(self._stop_reading, select.POLLIN)
        for pipe in self._pipes:
            os.set_blocking(pipe, False)
            poll.register(pipe, select.POLLIN)
        while self._pipes:
            ready = dict(poll.poll(self._milliseconds_to_report()))
            for pipe in [pipe for pipe in self._pipes if pipe in ready]:
                if not self._read(pipe):
                    poll.unregister(pipe)
                    os.close(pipe)
                    del self._pipes[pipe]
            self._report()
            if self._stop_reading in ready:
                self._drain()
                break
        self._report(at_once=True)

    def _drain(self) -> None:
        for pipe in self._pipes:
            for _ in range(_LAST_READS):
                before = self._total
                if not self._read(pipe) or self._total == before:
                    break

    def _read(self, pipe: int) -> bool:
        """Takes one chunk; whether the pipe is still open."""
        try:
            data = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return True
        if not data:
            return False
        self._pipes[pipe].add(data)
        self._total += len(data)
        if self._on_output is not None:
            self._unreported += data[-_PROGRESS_BYTES:]
            del self._unreported[:-_PROGRESS_BYTES]
        return True

    def _milliseconds_to_report(self) -> float | None:
        if not self._unreported:
            return None
        return max(0.0, self._reported_at + PROGRESS_INTERVAL - time.monotonic()) * 1000 + 1

    def _report(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if not self._unreported or (not at_once and now < self._reported_at + PROGRESS_INTERVAL):
            return
        text = self._decoder.decode(bytes(self._unreported))
        self._unreported.clear()
        self._reported_at = now
        if self._on_output is not None:
            on_output, total = self._on_output, self._total
            self._tell(lambda: on_output(text, total))

    def _tell(self, callback: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:
            pass  # the loop is closed: nobody is left to hear it
