"""A server on the loopback that plays back recorded model streams and error answers.

The path of a request says what is played: `/stream/<family>/<name>` or `/error/<key>`, each with
options after commas as the recordings name them (`chunk`, `delay`, `stall`, `crlf`, `end`). What
was asked is kept for the test to look at.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived; header names in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(slots=True)
class Answer:
    """An answer made by a test itself."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


class FixtureServer:
    """Plays back the folder `recordings`. `answers`, while there are any, go before the path."""

    def __init__(self, recordings: Path) -> None:
        self._recordings = recordings
        self._errors: Mapping[str, Any] = json.loads((recordings / "errors.json").read_text())
        self.asked: list[Asked] = []
        self.answers: list[Answer] = []
        self.port = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def all_gone(self) -> None:
        """Returns when no client is connected any more."""
        await asyncio.gather(*self._tasks)

    def url(self, what: str) -> str:
        """The address at which `what` is played; an adapter appends the rest."""
        return f"http://127.0.0.1:{self.port}/{what}"

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client has gone, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        path = head[0].split(" ")[1]
        self.asked.append(Asked(path, headers, json.loads(raw) if raw else None))
        if self.answers:
            answer = self.answers.pop(0)
            await _send_whole(writer, answer.status, answer.headers, answer.body.encode())
            return True
        kind, *rest = path.split("?")[0].strip("/").split("/")
        if kind == "error":
            recorded = self._errors[rest[0]]
            body = recorded["body"]
            text = body if isinstance(body, str) else json.dumps(body)
            given = {"content-type": "application/json"} | recorded["headers"]
            await _send_whole(writer, recorded["status"], given, text.encode())
            return True
        name, _, listed = rest[1].partition(",")
        options = dict(option.split("=") for option in listed.split(",") if option)
        data = (self._recordings / rest[0] / f"{name}.sse").read_bytes()
        return await _play(writer, data, options)


async def _send_whole(
    writer: asyncio.StreamWriter, status: int, headers: Mapping[str, str], body: bytes
) -> None:
    lines = [f"HTTP/1.1 {status} Status", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    await writer.drain()


async def _play(writer: asyncio.StreamWriter, data: bytes, options: Mapping[str, str]) -> bool:
    """Sends `data` as an event stream; returns whether the connection stays open."""
    if "crlf" in options:
        data = data.replace(b"\n", b"\r\n")
    size = int(options.get("chunk", "0")) or len(data)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    pause = float(options.get("delay", "0"))
    if "stall" in options:
        first = data.index(b"\n\n") + 2
        pieces, pause = [data[:first], data[first:]], float(options["stall"])
    writer.write(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    for number, piece in enumerate(pieces):
        if number and pause:
            await asyncio.sleep(pause)
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await writer.drain()
    match options.get("end", "clean"):
        case "clean":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return True
        case "rst":
            # what was sent must have been read before the reset throws it away
            await asyncio.sleep(0.05)
            sock: socket.socket = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        case _:
            pass
    return False
