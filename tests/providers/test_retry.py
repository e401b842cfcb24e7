"""The one retry layer: what is tried again, how long it waits, what the consumer is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from tests.providers import history
from tests.providers.fixture_server import Answer, FixtureServer
from tui_agent.providers.base import (
    ListedModel,
    ModelRequest,
    PreparedRequest,
    StreamEnd,
    StreamItem,
    TextPiece,
)
from tui_agent.providers.chat_completions import ChatClient
from tui_agent.providers.presets import PRESETS
from tui_agent.providers.retry import DEFAULT_POLICY, Attempt, CallItem, Retrying, call
from tui_agent.vocabulary.blocks import TextBlock
from tui_agent.vocabulary.errors import RETRYABLE, ErrorClass, ProviderError
from tui_agent.vocabulary.ids import Clock
from tui_agent.vocabulary.messages import StopReason
from tui_agent.vocabulary.usage import Usage

REQUEST = history.request("m", history.conversation("anthropic", "m", history.SIGNED))
END = StreamEnd((TextBlock("good"),), StopReason.END_TURN, Usage())


def failure(error_class: ErrorClass, **fields: object) -> ProviderError:
    return ProviderError(error_class, "words", "action", **fields)  # type: ignore[arg-type]


@dataclass
class Time:
    """A clock that only waiting and attempts move."""

    now: float = 0.0
    waits: list[float] = field(default_factory=list)

    async def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    @property
    def clock(self) -> Clock:
        return Clock(monotonic=lambda: self.now)


class FailingClient:
    """Says half a word and fails, as often as it has failures; then it succeeds."""

    provider = "fake"

    def __init__(self, *failures: ProviderError, time: Time, took: float = 0.0) -> None:
        self.failures = list(failures)
        self.requests: list[ModelRequest] = []
        self.closed = 0
        self._time = time
        self._took = took

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        self.requests.append(request)
        try:
            yield TextPiece("go")
            self._time.now += self._took
            if self.failures:
                raise self.failures.pop(0)
            yield END
        finally:
            self.closed += 1

    async def prepare(self) -> None:
        return None

    async def models(self) -> tuple[ListedModel, ...]:
        return ()

    def request_body(self, request: ModelRequest) -> PreparedRequest:
        return PreparedRequest({"model": request.model})

    async def describe(self, model: str) -> ListedModel | None:
        return ListedModel(model)

    async def aclose(self) -> None:
        pass


async def run(client: FailingClient, time: Time) -> list[CallItem]:
    stream = call(client, REQUEST, clock=time.clock, wait=time.wait, chance=lambda: 0.0)
    return [item async for item in stream]


async def give_up(client: FailingClient, time: Time) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await run(client, time)
    return caught.value


@pytest.mark.parametrize("error_class", sorted(RETRYABLE))
async def test_a_failure_that_may_pass_is_tried_again_in_plain_sight(
    error_class: ErrorClass,
) -> None:
    time = Time()
    error = failure(error_class)
    client = FailingClient(error, time=time)
    assert await run(client, time) == [
        Attempt(1),
        TextPiece("go"),
        Retrying(1, 0.5, error, of=DEFAULT_POLICY.attempts[error_class]),
        Attempt(2),
        TextPiece("go"),
        END,
    ]
    assert client.requests == [REQUEST, REQUEST]
    assert client.closed == 2


@pytest.mark.parametrize("error_class", sorted(set(ErrorClass) - RETRYABLE))
async def test_a_refused_request_is_never_sent_again(error_class: ErrorClass) -> None:
    time = Time()
    client = FailingClient(failure(error_class), time=time)
    assert (await give_up(client, time)).error_class is error_class
    assert len(client.requests) == 1
    assert time.waits == []


async def test_nine_overloads_are_sat_out_with_growing_waits() -> None:
    time = Time()
    client = FailingClient(*[failure(ErrorClass.OVERLOADED)] * 9, time=time)
    items = await run(client, time)
    assert items[-1] == END
    assert time.waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


async def test_an_unreadable_stream_is_tried_three_times_at_most() -> None:
    time = Time()
    client = FailingClient(*[failure(ErrorClass.PROTOCOL)] * 9, time=time)
    await give_up(client, time)
    assert len(client.requests) == 3


async def test_chance_shortens_a_wait_by_a_quarter_at_most() -> None:
    time = Time()
    client = FailingClient(*[failure(ErrorClass.SERVER)] * 2, time=time)
    stream = call(client, REQUEST, clock=time.clock, wait=time.wait, chance=lambda: 1.0)
    assert [item async for item in stream][-1] == END
    assert time.waits == [0.375, 0.75]


async def test_the_provider_is_waited_for_as_long_as_it_asks() -> None:
    time = Time()
    client = FailingClient(failure(ErrorClass.RATE_LIMIT, retry_after=60.0), time=time)
    await run(client, time)
    assert time.waits == [60.0]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(61.0, "61 seconds"), (1_209_600.0, "14 days"), (7200.0, "2 hours"), (600.0, "10 minutes")],
)
async def test_who_asks_for_too_long_is_not_waited_for(seconds: float, words: str) -> None:
    time = Time()
    client = FailingClient(failure(ErrorClass.RATE_LIMIT, retry_after=seconds), time=time)
    error = await give_up(client, time)
    assert words in error.action
    assert error.message == "words"
    assert time.waits == []


@pytest.mark.parametrize("took", [0.0, 4.0])
async def test_an_unreachable_server_is_given_up_within_ten_seconds(took: float) -> None:
    time = Time()
    error = failure(ErrorClass.CONNECTION, fast_fail=True)
    client = FailingClient(*[error] * 99, time=time, took=took)
    await give_up(client, time)
    assert len(client.requests) > 1
    assert time.now <= 10


async def test_refused_reasoning_is_left_out_once(server: FixtureServer) -> None:
    time = Time()
    words = "`thinking` or `redacted_thinking` blocks in the latest assistant message"
    error = ProviderError(ErrorClass.INVALID_REQUEST, words, "action")
    client = FailingClient(error, error, time=time)
    assert await give_up(client, time) is error
    first, second = client.requests
    assert first == REQUEST
    assert [message.provider for message in second.messages] == [None] * 5
    assert [message.blocks for message in second.messages] == [
        message.blocks for message in first.messages
    ]


async def test_closing_the_call_closes_the_stream_at_once() -> None:
    client = FailingClient(time=Time())
    stream = call(client, REQUEST)
    async for item in stream:
        if isinstance(item, TextPiece):
            break
    await stream.aclose()
    assert client.closed == 1


async def test_a_wait_ends_at_once_when_it_is_cancelled() -> None:
    time = Time()
    client = FailingClient(failure(ErrorClass.RATE_LIMIT, retry_after=59.0), time=time)
    waiting = asyncio.Event()

    async def consume() -> None:
        async for item in call(client, REQUEST):
            if isinstance(item, Retrying):
                waiting.set()

    task = asyncio.create_task(consume())
    await waiting.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(client.requests) == 1


async def test_through_a_real_server_that_fails_twice(server: FixtureServer) -> None:
    server.answers += [
        Answer(429, {"retry-after": "0"}, '{"error": {"message": "slow down"}}'),
        Answer(200, {"content-type": "text/event-stream"}, ""),
    ]
    url = server.url("stream/openai/01-text/v1")
    client = ChatClient(PRESETS["compatible"], "k", base_url=url)
    time = Time()
    items = [item async for item in call(client, REQUEST, wait=time.wait)]
    await client.aclose()
    failed = [item.error.error_class for item in items if isinstance(item, Retrying)]
    assert failed == [ErrorClass.RATE_LIMIT, ErrorClass.PROTOCOL]
    assert isinstance(items[-1], StreamEnd)


async def test_nobody_listening_ends_within_ten_seconds_of_waiting(free_port: int) -> None:
    url = f"http://127.0.0.1:{free_port}/v1"
    client = ChatClient(PRESETS["compatible"], None, base_url=url)
    time = Time()
    with pytest.raises(ProviderError) as caught:
        async for _ in call(client, REQUEST, clock=time.clock, wait=time.wait):
            pass
    await client.aclose()
    assert caught.value.error_class is ErrorClass.CONNECTION
    assert "nobody listens" in caught.value.message
    assert time.now <= 10
