"""The wait before a model call is tried again: told with its length, ended early by a person.

An interrupt ends it like everything else, by cancelling whoever waits.
"""

from __future__ import annotations

import asyncio
import contextlib

from tui_agent.providers.retry import Retrying
from tui_agent.vocabulary.events import ProviderRetry


class RetryWait:
    """One place to wait in; what `providers.retry.call` is given as its `wait`."""

    def __init__(self) -> None:
        self._now: asyncio.Event | None = None

    def announce(self, model_call_id: str, item: Retrying) -> ProviderRetry:
        """What is told of a failed attempt; from here on the wait that follows can be skipped."""
        self._now = asyncio.Event()
        return ProviderRetry(
            model_call_id=model_call_id,
            attempt=item.attempt,
            attempts=item.of,
            delay=item.delay,
            message=item.error.message,
            error_class=item.error.error_class.value,
        )

    async def __call__(self, seconds: float) -> None:
        """Wait so long, or until `skip`."""
        now = self._now or asyncio.Event()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await now.wait()
        finally:
            self._now = None

    def skip(self) -> bool:
        """End the wait now; whether there was one."""
        if self._now is None:
            return False
        self._now.set()
        return True
