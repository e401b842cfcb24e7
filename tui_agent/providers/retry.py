"""The one retry layer: runs a model call again when that may help, in plain sight.

Comes in: a client and a request. Goes out: the stream items of each attempt, an `Attempt` before
the first item of each and a `Retrying` before each wait, at which the consumer withdraws what it
had shown. It is cancelled by cancelling whoever iterates. A request that a provider refused is
never sent again as it was; once it is sent without earlier reasoning, when that was refused.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import cast

from tui_agent.providers.base import ModelClient, ModelRequest, StreamEnd, StreamItem
from tui_agent.providers.error_bodies import may_refuse_replay
from tui_agent.vocabulary.errors import ErrorClass, ProviderError
from tui_agent.vocabulary.ids import SYSTEM_CLOCK, Clock


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt begins; `number` counts from 1."""

    number: int


@dataclass(frozen=True, slots=True)
class Retrying:
    """Attempt number `attempt` failed with `error`; the next one begins after `delay` seconds.
    Everything that the failed attempt yielded is void. `of` is how many attempts there will be if
    all fail like this one."""

    attempt: int
    delay: float
    error: ProviderError
    of: int


_PATIENT = 10
_BRIEF = 3


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long; seconds.

    `attempts` bounds the attempts that fail in the same way, by class. The wait doubles from
    `first_delay` to `longest_delay`, less up to a quarter by chance. A provider that asks for more
    than `longest_asked` is not waited for. Where nobody listens or a name is unknown, everything
    ends within `unreachable_for`.
    """

    attempts: Mapping[ErrorClass, int] = field(
        default_factory=lambda: {
            ErrorClass.RATE_LIMIT: _PATIENT,
            ErrorClass.OVERLOADED: _PATIENT,
            ErrorClass.SERVER: 6,
            ErrorClass.CONNECTION: 6,
            ErrorClass.TIMEOUT: _BRIEF,
            ErrorClass.INCOMPLETE: _BRIEF,
            ErrorClass.PROTOCOL: _BRIEF,
        }
    )
    first_delay: float = 0.5
    longest_delay: float = 30.0
    longest_asked: float = 60.0
    unreachable_for: float = 10.0


DEFAULT_POLICY = RetryPolicy()

CallItem = StreamItem | Attempt | Retrying


async def call(
    client: ModelClient,
    request: ModelRequest,
    *,
    policy: RetryPolicy = DEFAULT_POLICY,
    clock: Clock = SYSTEM_CLOCK,
    wait: Callable[[float], Awaitable[object]] = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> AsyncGenerator[CallItem, None]:
    """Runs `request` until it succeeds or trying again is no use. Raises the last `ProviderError`.

    `chance` gives numbers from 0 to 1 for the jitter.
    """
    began = clock.monotonic()
    number = 0
    failures: Counter[ErrorClass] = Counter()
    while True:
        number += 1
        attempt_began = clock.monotonic()
        yield Attempt(number)
        try:
            async with aclosing(_attempt(client, request)) as items:
                async for item in items:
                    yield item
            return
        except ProviderError as error:
            failure = error
        failures[failure.error_class] += 1
        bare = without_replay(request)
        if bare != request and may_refuse_replay(failure):
            request = bare
            yield Retrying(number, 0.0, failure, of=number + 1)
            continue
        delay = _delay(failure, number, policy, chance)
        now = clock.monotonic()
        # the next attempt is taken to last as long as this one did
        would_end = (now - began) + delay + (now - attempt_began)
        is_hopeless = failure.fast_fail and would_end > policy.unreachable_for
        allowed = policy.attempts.get(failure.error_class, 1)
        if failures[failure.error_class] >= allowed or is_hopeless:
            raise failure
        if delay > policy.longest_asked:
            raise _asked_to_wait(failure, delay)
        most = number + allowed - failures[failure.error_class]
        yield Retrying(number, delay, failure, of=most)
        await wait(delay)


async def _attempt(client: ModelClient, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
    has_ended = False
    stream = cast("AsyncGenerator[StreamItem, None]", client.stream(request))
    async with aclosing(stream) as items:
        async for item in items:
            has_ended = has_ended or isinstance(item, StreamEnd)
            yield item
    if not has_ended:
        raise ProviderError(
            ErrorClass.INCOMPLETE, "The response stopped before its end", "It is tried again."
        )


def without_replay(request: ModelRequest) -> ModelRequest:
    """`request` with every earlier answer taken as another model's, so that no adapter sends back
    reasoning or signatures with it."""
    messages = tuple(replace(message, provider=None, model=None) for message in request.messages)
    return replace(request, messages=messages)


def _delay(
    error: ProviderError, number: int, policy: RetryPolicy, chance: Callable[[], float]
) -> float:
    if error.retry_after is not None:
        return error.retry_after
    longest: float = min(policy.longest_delay, policy.first_delay * 2 ** (number - 1))
    return longest * (1 - 0.25 * chance())


def _asked_to_wait(error: ProviderError, delay: float) -> ProviderError:
    action = (
        f"The provider asks to wait {in_words(delay)}. Try again then, or use another key or model."
    )
    asked = replace(error, action=action)
    asked.__cause__ = error.__cause__
    return asked


def in_words(seconds: float) -> str:
    """A long duration for people, in the largest unit that fits."""
    for name, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {name}"
    return f"{seconds:.0f} seconds"
