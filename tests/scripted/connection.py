"""Just enough HTTP/1.1 for a model server: requests with a body in, whole or chunked responses out.

Written out by hand because the tests need what a web framework hides: bodies cut at any byte,
connections closed or reset in the middle of a response, and the moment at which a client goes away.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Head:
    method: str
    path: str
    headers: Mapping[str, str]


class Connection:
    """The server's side of one HTTP/1.1 connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._early = b""

    async def read_head(self) -> Head:
        block = self._early + await self._reader.readuntil(b"\r\n\r\n")
        self._early = b""
        first, *lines = block.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = (line.split(":", 1) for line in lines if ":" in line)
        return Head(method, path, {name.lower(): value.strip() for name, value in pairs})

    async def read_body(self, head: Head) -> object:
        """The body as JSON; None when there is none or it is something else."""
        data = await self._reader.readexactly(int(head.headers.get("content-length", "0")))
        try:
            return json.loads(data)
        except ValueError:
            return None

    async def wait_for_close(self) -> None:
        """Return when the client closes. A byte of a next request is kept for it and ends the watch
        for good.
        """
        if await self._read_one():
            await asyncio.Event().wait()

    async def _read_one(self) -> bool:
        try:
            self._early = await self._reader.read(1)
        except ConnectionError:
            return False
        return bool(self._early)

    async def send(self, status: int, payload: bytes, headers: Mapping[str, str]) -> None:
        """A whole response that is not a stream."""
        told = {"content-type": "application/json", **headers, "content-length": str(len(payload))}
        lines = [f"HTTP/1.1 {status} Scripted", *(f"{k}: {v}" for k, v in told.items())]
        await self.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + payload)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def reset_on_close(self) -> None:
        """Make closing send RST, as a crashed peer or a middlebox would."""
        linger = struct.pack("ii", 1, 0)
        self._writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, linger
        )


class ChunkedBody:
    """A chunked response body, cut every `size` bytes across what was written (0: as written)."""

    def __init__(self, connection: Connection, size: int, delay: float) -> None:
        self._connection = connection
        self._size = size
        self._delay = delay
        self._buffer = b""

    async def begin(self, request_id: str) -> None:
        head = (
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
            f"request-id: {request_id}\r\nx-request-id: {request_id}\r\n"
            "transfer-encoding: chunked\r\n\r\n"
        )
        await self._connection.write(head.encode("ascii"))

    async def write(self, data: bytes) -> None:
        if not self._size:
            await self._send(data)
            return
        self._buffer += data
        while len(self._buffer) >= self._size:
            piece, self._buffer = self._buffer[: self._size], self._buffer[self._size :]
            await self._send(piece)

    async def flush(self) -> None:
        """Send what does not fill a chunk, before a wait or the end."""
        if self._buffer:
            await self._send(self._buffer)
            self._buffer = b""

    async def end(self) -> None:
        await self._connection.write(b"0\r\n\r\n")

    async def _send(self, piece: bytes) -> None:
        if piece:
            await self._connection.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        if self._delay:
            await asyncio.sleep(self._delay)
