"""A small HTTP/1.1 server on this machine alone, in a thread of its own, that can also misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from threading import Event, Thread
from typing import Any, Literal, TypeAlias

LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
Manner: TypeAlias = Literal["whole", "cut", "drip", "reset", "hang"]

PIECES = 10
"""In how many pieces a body drips."""


@dataclass(frozen=True, slots=True)
class Received:
    """A request, as it came."""

    method: str
    path: str
    head: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """What is sent after `delay` seconds, and in which manner.

    `cut` sends half of the body and closes, `drip` takes another `delay` for the body, piece by piece, `reset` breaks
    the connection off, and `hang` sends nothing for as long as the client waits.
    """

    body: bytes
    status: int = 200
    headers: str = ""
    delay: float = 0.0
    manner: Manner = "whole"

    @classmethod
    def of(cls, value: Any, **how: Any) -> Response:
        """A JSON value as a response."""
        return cls(json.dumps(value, ensure_ascii=False).encode(), **how)

    def head(self) -> bytes:
        """The status line and the headers."""
        return (
            f"HTTP/1.1 {self.status} {_REASON.get(self.status, 'Status')}\r\nContent-Type: application/json\r\n"
            f"{self.headers}Content-Length: {len(self.body)}\r\n\r\n"
        ).encode()


_REASON = {status.value: status.phrase for status in HTTPStatus}

Answer: TypeAlias = Callable[[Received], Response]


class Loopback:
    """A server on 127.0.0.1 from `start` to `stop`; `port` 0 takes a free one. `answer` runs in the server's thread."""

    def __init__(self, answer: Answer, port: int = 0) -> None:
        self.port = port
        self._answer = answer

    def start(self) -> None:
        """Listen; `port` is the true one afterwards."""
        listening = socket.create_server(("127.0.0.1", self.port), backlog=1024)
        self.port = listening.getsockname()[1]
        self._loop, ready = asyncio.new_event_loop(), Event()
        self._thread = Thread(target=self._run, args=(listening, ready), name="karat-loopback", daemon=True)
        self._thread.start()
        ready.wait()

    def stop(self) -> None:
        """Close every connection and the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self, listening: socket.socket, ready: Event) -> None:
        loop, connections = self._loop, set[_Connection]()
        server = loop.run_until_complete(
            loop.create_server(lambda: _Connection(self._answer, loop, connections), sock=listening)
        )
        loop.call_soon(ready.set)
        loop.run_forever()
        server.close()
        for connection in list(connections):
            connection.break_off()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


class _Connection(asyncio.Protocol):
    """One client's connection, kept alive; one request at a time."""

    def __init__(self, answer: Answer, loop: asyncio.AbstractEventLoop, connections: set[_Connection]) -> None:
        self._answer, self._loop, self._connections = answer, loop, connections
        self._buffer = bytearray()
        self._busy = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._busy:
            self._read()

    def break_off(self) -> None:
        """End the connection with a reset."""
        with contextlib.suppress(OSError):
            linger = struct.pack("ii", 1, 0)
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._transport.abort()

    def _read(self) -> None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end])
        length = LENGTH.search(head)
        last = end + 4 + (int(length[1]) if length else 0)
        if len(self._buffer) < last:
            return
        body = bytes(self._buffer[end + 4 : last])
        del self._buffer[:last]
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        self._busy = True
        response = self._answer(Received(method, rest.partition(" ")[0], head, body))
        self._timer = self._loop.call_later(response.delay, self._send, response)

    def _send(self, response: Response) -> None:
        match response.manner:
            case "whole":
                self._transport.write(response.head() + response.body)
                self._done()
            case "cut":
                self._transport.write(response.head() + response.body[: len(response.body) // 2])
                self._transport.close()
            case "drip":
                self._transport.write(response.head())
                self._drip(response, 0)
            case "reset":
                self.break_off()
            case "hang":
                pass  # until the client gives up

    def _drip(self, response: Response, piece: int) -> None:
        size = -(-len(response.body) // PIECES)
        self._transport.write(response.body[piece * size : (piece + 1) * size])
        if (piece + 1) * size >= len(response.body):
            self._done()
        else:
            self._timer = self._loop.call_later(response.delay / PIECES, self._drip, response, piece + 1)

    def _done(self) -> None:
        self._busy = False
        if self._buffer:
            self._read()
