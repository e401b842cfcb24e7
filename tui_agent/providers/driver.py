"""One way from an opened SDK stream to stream items, the same for both wires.

An adapter hands in how to open the stream and an assembly that understands its events. What an end
means is decided here: complete if the assembly saw the provider's end mark, a failure otherwise. It
never retries, never sleeps, and always closes the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from tui_agent.providers.base import PreparedRequest, StreamEnd, StreamItem
from tui_agent.providers.errors import ErrorMapper
from tui_agent.providers.estimates import counted
from tui_agent.vocabulary.errors import ErrorClass, ProviderError
from tui_agent.vocabulary.usage import Usage

_GRACE = 2.0
"""Seconds to wait for what may follow the end mark: late usage, and the end of the body, without
which the connection cannot be used again."""

_Client = TypeVar("_Client")


class Assembly(Protocol):
    """Folds the events of one response into blocks."""

    is_complete: bool
    """The provider's end mark was seen."""
    has_begun: bool
    """At least one event that means something was seen."""

    def feed(self, event: Any) -> Iterator[StreamItem]:
        """Takes one event of the SDK and yields what is new. Raises `ProviderError` for an event
        that says the call failed."""
        ...

    def end(self) -> StreamEnd:
        """The whole response; only after `is_complete`."""
        ...

    @property
    def partial_text(self) -> str:
        """Visible text so far."""
        ...

    @property
    def usage(self) -> Usage:
        """Token counts as last said."""
        ...


class LazyClient(Generic[_Client]):
    """An SDK client that is imported and built on first use, in a worker thread.

    The import alone takes up to a second, during which an event loop must go on.
    """

    def __init__(self, build: Callable[[], _Client]) -> None:
        self._build = build
        self._client: _Client | None = None
        self._lock = asyncio.Lock()

    async def get(self) -> _Client:
        """The client, built once."""
        async with self._lock:
            if self._client is None:
                self._client = await asyncio.to_thread(self._build)
            return self._client

    def take(self) -> _Client | None:
        """The client if there is one, which is then forgotten: for closing it."""
        client, self._client = self._client, None
        return client


async def drive(
    open_stream: Callable[[], Awaitable[Any]],
    assembly: Assembly,
    errors: ErrorMapper,
    prepared: PreparedRequest,
) -> AsyncGenerator[StreamItem, None]:
    """Runs one response to `prepared` to its end. Raises `ProviderError`."""
    try:
        source = await open_stream()
    except Exception as error:  # SDK, transport and JSON errors have no common base
        raise errors.map(error, has_begun=False) from error
    try:
        events = aiter(source)
        while (event := await _next(events, assembly, errors)) is not None:
            try:
                for item in assembly.feed(event):
                    yield item
            except ProviderError as error:
                raise _with_partial(error, assembly) from error.__cause__
            except (TypeError, ValueError, AttributeError) as error:
                # an event of a shape that nobody foresaw; the SDK checks none
                failure = errors.map(error, has_begun=True)
                raise _with_partial(failure, assembly) from error
    finally:
        await source.close()
    if not assembly.is_complete:
        raise _with_partial(_early_end(assembly), assembly)
    yield counted(assembly.end(), prepared.body)


async def _next(events: AsyncIterator[Any], assembly: Assembly, errors: ErrorMapper) -> Any:
    """The next event, or `None` at the end. Once the response is complete nothing can fail."""
    try:
        async with asyncio.timeout(_GRACE if assembly.is_complete else None):
            return await anext(events, None)
    except Exception as error:  # as above, and the SDK trips over malformed data
        if assembly.is_complete:
            return None
        raise _with_partial(errors.map(error, has_begun=True), assembly) from error


def _early_end(assembly: Assembly) -> ProviderError:
    if assembly.has_begun:
        return ProviderError(
            ErrorClass.INCOMPLETE,
            "The response stopped before its end",
            "It is tried again by itself. If it lasts, check the network or the proxy.",
        )
    return ProviderError(
        ErrorClass.PROTOCOL,
        "The server answered without a usable event",
        "If it lasts, check the base URL; a proxy in between may drop the `event:` lines.",
    )


def _with_partial(error: ProviderError, assembly: Assembly) -> ProviderError:
    error.partial_text = assembly.partial_text or None
    error.usage = assembly.usage
    return error
