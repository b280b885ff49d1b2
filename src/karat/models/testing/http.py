"""A small HTTP/1.1 server on the loopback interface, in its own thread, that can also break connections."""

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

PHRASES = {status.value: status.phrase for status in HTTPStatus}
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
PIECES = 10  # of a body that drips
Delivery: TypeAlias = Literal["whole", "cut", "drip", "reset", "hang"]


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as received."""

    method: str
    path: str
    head: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response that is sent after `delay` seconds, and how it is delivered.

    `cut` sends half of the body and closes the connection, `drip` sends the body in pieces over another `delay`,
    `reset` resets the connection, and `hang` never sends anything.
    """

    body: bytes
    status: int = 200
    headers: str = ""
    delay: float = 0.0
    delivery: Delivery = "whole"

    @classmethod
    def from_value(cls, value: Any, **options: Any) -> HttpResponse:
        """A JSON value as a response."""
        return cls(json.dumps(value, ensure_ascii=False).encode(), **options)

    def head(self) -> bytes:
        """The status line and the headers."""
        return (
            f"HTTP/1.1 {self.status} {PHRASES.get(self.status, 'Status')}\r\nContent-Type: application/json\r\n"
            f"{self.headers}Content-Length: {len(self.body)}\r\n\r\n"
        ).encode()


Handler: TypeAlias = Callable[[HttpRequest], HttpResponse]


class LoopbackServer:
    """A server on 127.0.0.1 from `start` to `stop`; port 0 is any free port. `handle` runs in the server's thread."""

    def __init__(self, handle: Handler, port: int = 0) -> None:
        self.port, self._handle = port, handle

    def start(self) -> None:
        """Start to listen, and set `port` to the real port."""
        listening = socket.create_server(("127.0.0.1", self.port), backlog=1024)
        self.port = listening.getsockname()[1]
        self._loop, ready = asyncio.new_event_loop(), Event()
        self._thread = Thread(target=self._run, args=(listening, ready), name="karat-loopback", daemon=True)
        self._thread.start()
        ready.wait()

    def stop(self) -> None:
        """Close all connections and end the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self, listening: socket.socket, ready: Event) -> None:
        loop, connections = self._loop, set[_Connection]()
        starting = loop.create_server(lambda: _Connection(self._handle, loop, connections), sock=listening)
        server = loop.run_until_complete(starting)
        loop.call_soon(ready.set)
        loop.run_forever()
        server.close()
        for connection in list(connections):
            connection.reset()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


class _Connection(asyncio.Protocol):
    """The connection of one client, kept alive; one request at a time."""

    def __init__(self, handle: Handler, loop: asyncio.AbstractEventLoop, connections: set[_Connection]) -> None:
        self._handle, self._loop, self._connections = handle, loop, connections
        self._buffer, self._busy = bytearray(), False
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

    def reset(self) -> None:
        """Reset the connection."""
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
        response = self._handle(HttpRequest(method, rest.partition(" ")[0], head, body))
        self._timer = self._loop.call_later(response.delay, self._send, response)

    def _send(self, response: HttpResponse) -> None:
        match response.delivery:
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
                self.reset()
            case "hang":
                pass  # until the client closes the connection

    def _drip(self, response: HttpResponse, piece: int) -> None:
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
