"""The scripted model server: a model that says what a test told it to, over a real socket on the
loopback.

Requests of both wires come in, each is judged by the strict validator, and what breaks a rule is
refused with 400 as a strict provider would, and recorded; everything else is answered from the
script. It must never listen beyond the loopback and never import the program under test.

    async with ScriptedServer([Reply([Say("hello")])]) as server:
        AsyncAnthropic(base_url=server.url, api_key="k")
        AsyncOpenAI(base_url=server.chat_url, api_key="k")
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar, assert_never

from tests.scripted import answers, wires
from tests.scripted.connection import ChunkedBody, Connection, Head
from tests.scripted.issued import Issued
from tests.scripted.request import ParsedRequest, Wire
from tests.scripted.script import (
    Answer,
    Cut,
    Fail,
    Hold,
    Pause,
    Reply,
    Script,
    ScriptExhaustedError,
    responder_of,
)
from tests.scripted.validator import check_anthropic, check_chat

_Result = TypeVar("_Result")
_MODEL_PATHS: dict[str, Wire] = {
    "/v1/messages": "anthropic",
    "/v1/chat/completions": "chat",
    "/chat/completions": "chat",
}


@dataclass(frozen=True, slots=True)
class OtherRequest:
    """A request that is no model call: model listing, token counting, or a path nobody knows."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: object


class ScriptedServer:
    """One server on a port of its own.

    `strict=False` records violations but answers all the same. `demand_reasoning` refuses tool-call
    turns on the chat wire that come back without their `reasoning_content`. `sign_calls` signs the
    first call of a message there and refuses it without its signature. `bind_thinking` also refuses
    thinking whose conversation before it has changed since. `issued` is the memory of an earlier
    server whose sessions go on here.
    """

    def __init__(
        self,
        script: Script,
        *,
        demand_reasoning: bool = False,
        sign_calls: bool = False,
        strict: bool = True,
        bind_thinking: bool = False,
        issued: Issued | None = None,
        models: Iterable[str] = ("scripted-1",),
        window: int = 200_000,
        max_output: int = 64_000,
        port: int = 0,
        on_request: Callable[[ParsedRequest], None] | None = None,
    ) -> None:
        self.requests: list[ParsedRequest] = []
        """Every model call, in order of arrival."""
        self.other_requests: list[OtherRequest] = []
        self.issued = issued if issued is not None else Issued()
        self.demand_reasoning = demand_reasoning
        self.sign_calls = sign_calls
        self.strict = strict
        self.bind_thinking = bind_thinking
        self.models = list(models)
        self.window = window
        self.max_output = max_output
        self._respond = responder_of(script)
        self._minter = wires.Minter()
        self._asked_port = port
        self._on_request = on_request
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._gates: dict[str, asyncio.Event] = {}
        self._arrivals: dict[str, asyncio.Event] = {}
        self._news = asyncio.Event()

    async def start(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._asked_port)
        return self

    async def stop(self) -> None:
        """End every connection, wherever its stream stands."""
        if self._server is None:
            return
        self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    @property
    def port(self) -> int:
        if self._server is None:
            raise RuntimeError("the server is not started")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """The base URL of the Messages wire (its clients append /v1/messages)."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def chat_url(self) -> str:
        """The base URL of the Chat Completions wire (its clients append /chat/completions)."""
        return f"{self.url}/v1"

    @property
    def violations(self) -> list[str]:
        return [text for request in self.requests for text in request.violations]

    def release(self, name: str) -> None:
        """Open the gate of a `Hold`, now and for every later stream that comes to it."""
        self._gate(name).set()

    async def reached(self, name: str) -> None:
        """Wait until some stream stands at the `Hold` of this name."""
        await self._arrivals.setdefault(name, asyncio.Event()).wait()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until this holds; looked at whenever a request arrives or an answer has ended."""
        while not holds():
            await self._news.wait()

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        connection = Connection(reader, writer)
        try:
            while await self._exchange(connection):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            # The client went away or the server is stopping: both end a connection, neither is a
            # fault. Cancellation is swallowed because the task ends right here.
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _exchange(self, connection: Connection) -> bool:
        """Answer one request; says whether the connection stays open for another."""
        head = await connection.read_head()
        path = head.path.split("?")[0]
        body = await connection.read_body(head)
        wire = _MODEL_PATHS.get(path)
        if wire is None or head.method != "POST":
            self.other_requests.append(OtherRequest(head.method, path, head.headers, body))
            await self._answer_other(connection, head, path, body)
            return True
        parsed = body if isinstance(body, dict) else {}
        request = ParsedRequest(wire, path, head.headers, parsed, time.monotonic())
        request.violations.extend(self._judge(request))
        self.requests.append(request)
        answer = self._choose(request)
        if self._on_request:
            self._on_request(request)
        self._tell()
        try:
            return await self._send(connection, request, answer)
        finally:
            self._tell()

    async def _send(self, connection: Connection, request: ParsedRequest, answer: Answer) -> bool:
        match answer:
            case Fail():
                payload = answers.error_body(answer, request.wire)
                await connection.send(answer.status, payload, answer.headers)
                request.finished = True
                return True
            case Reply():
                frames = wires.encode(
                    answer, request, self.issued, self._minter, sign_calls=self.sign_calls
                )
                return await self._stream(connection, request, answer, frames)
            case _:
                assert_never(answer)

    def _choose(self, request: ParsedRequest) -> Answer:
        """The script's answer, or the refusal of a request that breaks a rule or that no script
        answers.
        """
        if not (request.violations and self.strict):
            try:
                return self._respond(request)
            except ScriptExhaustedError as error:
                request.violations.append(f"script: {error}")
            # A script is the test's own code: its fault must show in the test, not hang the client.
            except Exception as error:  # noqa: BLE001
                request.violations.append(f"script raised {error!r}")
        text = "\n".join(request.violations)
        return Fail(400, answers.refusal_shape(request.wire, "invalid_request_error", text))

    def _judge(self, request: ParsedRequest) -> list[str]:
        if request.body.get("stream") is not True:
            return ["stream: only streaming requests are scripted"]
        if request.wire == "anthropic":
            return check_anthropic(request.body, self.issued, bind_thinking=self.bind_thinking)
        return check_chat(
            request.body,
            self.issued,
            demand_reasoning=self.demand_reasoning,
            sign_calls=self.sign_calls,
        )

    async def _answer_other(
        self, connection: Connection, head: Head, path: str, body: object
    ) -> None:
        wire: Wire = "anthropic" if "anthropic-version" in head.headers else "chat"
        status = 200
        named = path.removeprefix("/v1/models/")
        if head.method == "GET" and path in ("/v1/models", "/models"):
            answer = answers.model_listing(wire, self.models, self.window, self.max_output)
        elif head.method == "GET" and named in self.models:
            answer = answers.model_card(wire, named, self.window, self.max_output)
        elif head.method == "POST" and path == "/v1/messages/count_tokens":
            answer = {"input_tokens": answers.estimate_tokens(body)}
        else:
            status = 404
            answer = answers.refusal_shape(wire, "not_found_error", f"no {head.method} {path} here")
        await connection.send(status, json.dumps(answer).encode("ascii"), {})

    async def _stream(
        self,
        connection: Connection,
        request: ParsedRequest,
        reply: Reply,
        frames: Iterator[wires.Frame],
    ) -> bool:
        """Send the frames while watching for a client that goes away."""
        sending = asyncio.ensure_future(self._send_frames(connection, reply, frames))
        gone = asyncio.ensure_future(connection.wait_for_close())
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                request.aborted = True
                return False
            stays_open = sending.result()
            request.finished = True
            return stays_open
        except ConnectionError:
            request.aborted = True
            return False
        finally:
            sending.cancel()
            gone.cancel()
            await asyncio.gather(sending, gone, return_exceptions=True)

    async def _send_frames(
        self, connection: Connection, reply: Reply, frames: Iterator[wires.Frame]
    ) -> bool:
        body = ChunkedBody(connection, reply.body_chunk, reply.body_delay)
        await body.begin(self._minter.mint("req"))
        for frame in frames:
            match frame:
                case bytes():
                    await body.write(frame)
                case Pause(seconds):
                    await body.flush()
                    await asyncio.sleep(seconds)
                case Hold(name):
                    await body.flush()
                    self._arrivals.setdefault(name, asyncio.Event()).set()
                    await self._gate(name).wait()
                case Cut(kind):
                    await body.flush()
                    if kind == "clean":
                        await body.end()
                        return True
                    if kind == "rst":
                        connection.reset_on_close()
                    return False
                case _:
                    assert_never(frame)
        await body.flush()
        await body.end()
        return True


class ThreadedServer:
    """A `ScriptedServer` on a loop in a thread of its own, for tests that are not async or that
    start the program itself.

    Takes what `ScriptedServer` takes. Use it as a context manager, or `start` and `stop` it.
    """

    def __init__(self, script: Script, **options: Any) -> None:
        self.server = ScriptedServer(script, **options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scripted-server")

    def start(self) -> Self:
        self._thread.start()
        self._run(self.server.start())
        self.url = self.server.url
        self.chat_url = self.server.chat_url
        return self

    def stop(self) -> None:
        self._run(self.server.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def requests(self) -> list[ParsedRequest]:
        return list(self.server.requests)

    @property
    def violations(self) -> list[str]:
        return self.server.violations

    def release(self, name: str) -> None:
        self._loop.call_soon_threadsafe(self.server.release, name)

    def reached(self, name: str, timeout: float = 30.0) -> None:
        """Wait until some stream stands at the `Hold`; `TimeoutError` after so many seconds."""
        self._run(self.server.reached(name), timeout)

    def until(self, holds: Callable[[], bool], timeout: float = 30.0) -> None:
        """Wait until this holds, or raise `TimeoutError` after so many seconds."""
        self._run(self.server.until(holds), timeout)

    def _run(self, work: Coroutine[Any, Any, _Result], timeout: float = 30.0) -> _Result:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout)
        except TimeoutError:
            future.cancel()
            raise
