"""One clock for everything that moves: spinners, elapsed times, flushes of streamed text.

Whoever needs ticks says so for as long as it does; with nobody left the timer is paused, so that an
idle screen costs nothing. A test takes a `Ticker` that was never attached to an app and calls
`tick` by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """What a ticker needs of a timer."""

    def pause(self) -> None:
        """Stop firing until resumed."""
        ...

    def resume(self) -> None:
        """Fire again."""
        ...


class TimerSource(Protocol):
    """What starts a timer: an application."""

    def set_interval(
        self, interval: float, callback: Callable[[], None], *, pause: bool = False
    ) -> Timer:
        """Call `callback` every `interval` seconds."""
        ...


class Ticker:
    """Calls its listeners in order, at `rate` ticks a second, while any of them is awake.

    A listener gets the number of the tick. It answers whether it needs another one: `False` lets it
    sleep until `wake`.
    """

    def __init__(self, rate: int = 30) -> None:
        self.rate = rate
        self.count = 0
        self._listeners: list[Callable[[int], bool]] = []
        self._is_awake = False
        self._timer: Timer | None = None

    def attach(self, source: TimerSource) -> None:
        """Let the timers of `source` drive the ticks from now on."""
        self._timer = source.set_interval(1 / self.rate, self.tick, pause=not self._is_awake)

    def listen(self, listener: Callable[[int], bool]) -> None:
        """Call `listener` at every tick."""
        self._listeners.append(listener)
        self.wake()

    def unlisten(self, listener: Callable[[int], bool]) -> None:
        """Never call `listener` again."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    @property
    def is_awake(self) -> bool:
        """Whether somebody needs the next tick."""
        return self._is_awake

    def wake(self) -> None:
        """Tick until no listener needs it."""
        if not self._is_awake:
            self._is_awake = True
            if self._timer is not None:
                self._timer.resume()

    def tick(self) -> None:
        """One step of everything that moves."""
        self.count += 1
        needs = [listener(self.count) for listener in tuple(self._listeners)]
        if not any(needs):
            self._is_awake = False
            if self._timer is not None:
                self._timer.pause()
