"""Connections that are kept alive, each for one request at a time, over asyncio. Why our own: decision 008."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from asyncio.staggered import staggered_race
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from karat.models.openai.response import HEAD_BYTES, Disconnected, Reader, Response, read_response

CONNECT_SECONDS, READ_SECONDS = 10.0, 600.0  # the governor's own timeouts are usually shorter
IDLE_SECONDS = 15.0  # a connection that was idle for longer is not used again: the other end may have closed it
NAME_SECONDS = 10.0  # for which the addresses of a host are known
NEXT_ADDRESS = 0.25  # seconds until a host's next address is tried beside the one before


class Unreachable(ConnectionError):
    """No connection came about; the cause says why."""


class ProxyRefused(Exception):
    """A proxy did not open a tunnel."""


class Origin(NamedTuple):
    """Where a connection leads; `secure`: over TLS.

    >>> str(Origin.of("https://models.example:8443/v1"))
    'https://models.example:8443'
    """

    secure: bool
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Origin:
        """The origin of an http or https URL."""
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        return cls(secure, parts.hostname or "", parts.port or (443 if secure else 80))

    @property
    def authority(self) -> str:
        """Host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host.encode("idna").decode()
        return f"{host}:{self.port}"

    @property
    def host_header(self) -> str:
        """Host and port, without the port that is usual."""
        return self.authority.removesuffix(":443" if self.secure else ":80")

    def __str__(self) -> str:
        return f"http{'s' * self.secure}://{self.host_header}"


class Route(NamedTuple):
    """How an origin is reached: directly, or through the proxy at a URL, which may hold a user and a password."""

    origin: Origin
    proxy: str | None = None

    @property
    def forwarded(self) -> bool:
        """Whether the proxy gets the request itself, instead of opening a tunnel."""
        return self.proxy is not None and not self.origin.secure

    @property
    def authorization(self) -> str:
        """The header for the proxy, empty where its URL has no user."""
        parts = urlsplit(self.proxy or "")
        if parts.username is None:
            return ""
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"


class Connection(asyncio.Protocol):
    """One connection. `usable`: whether another request may be sent over it."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.usable, self.idle_since, self._heard = True, 0.0, 0.0
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._reader: Reader | None = None
        self._response: asyncio.Future[Response] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def exchange(self, parts: Sequence[bytes], most: int, *, tunnel: bool = False) -> Response:
        """Send the parts of one request, and wait for its response.

        Raises `TimeoutError` if nothing comes for `READ_SECONDS`, and what `read_response` raises.
        """
        usable, self.usable = self.usable, False
        if not usable:
            raise Disconnected("the server disconnected")
        self._reader, self._response = read_response(self._received, most, tunnel=tunnel), self._loop.create_future()
        next(self._reader)
        self._heard = self._loop.time()
        self._timer = self._loop.call_later(READ_SECONDS, self._look)
        try:
            whole = await self._write(parts, self._response)
            response = await self._response
            self.usable = whole and response.kept and not self.transport.is_closing()
            return response
        finally:
            self._reader = self._response = None
            self._timer.cancel()
            if not self.usable:
                self.transport.abort()

    async def _write(self, parts: Sequence[bytes], response: asyncio.Future[Response]) -> bool:
        """Write the parts of a request. Returns False where the response comes before all of them are written."""
        for part in parts:
            if self._drained is not None:
                await asyncio.wait((self._drained, response), return_when=asyncio.FIRST_COMPLETED)
            if response.done():
                return False
            self.transport.write(part)
        return True

    async def open_tunnel(self, route: Route, context: ssl.SSLContext) -> None:
        """Let the proxy connect to the origin, and speak TLS with it from then on."""
        place = route.origin.authority
        head = f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{route.authorization}\r\n"
        response = await self.exchange([head.encode()], HEAD_BYTES, tunnel=True)
        if response.status != 200:
            self.transport.abort()
            raise ProxyRefused(f"status {response.status} of the proxy {str(Origin.of(route.proxy or ''))!r}")
        transport = await self._loop.start_tls(self.transport, self, context, server_hostname=route.origin.host)
        if transport is None:
            raise Disconnected("the server disconnected")
        self.transport = transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def connection_lost(self, exc: Exception | None) -> None:
        self.usable = False
        self.resume_writing()
        self._read(ended=True, reason=exc)

    def pause_writing(self) -> None:
        self._drained = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        self._received += data
        if self._response is None:  # nothing was asked
            self.usable = False
            self.transport.abort()
        self._read()

    def _read(self, *, ended: bool = False, reason: Exception | None = None) -> None:
        """Go on to read the response."""
        if self._reader is None or self._response is None or self._response.done():
            return
        try:
            if reason is not None:
                raise Disconnected(f"the connection was lost: {reason}") from reason
            self._reader.send(ended)
        except StopIteration as end:
            self._response.set_result(end.value)
        except Exception as error:  # noqa: BLE001  (whoever waits for the response gets it)
            self._response.set_exception(error.with_traceback(None))  # whose frames hold the body

    def _look(self) -> None:
        """End the wait where nothing was received for too long."""
        if self._response is None or self._response.done():
            return
        left = self._heard + READ_SECONDS - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        else:
            self._response.set_exception(TimeoutError(f"nothing was received for {READ_SECONDS:.0f} s"))


class Connections:
    """The connections of one event loop: as many as there are requests at a time."""

    def __init__(self) -> None:
        self._idle: dict[Route, list[Connection]] = {}
        self._all: set[Connection] = set()
        self._addresses: dict[tuple[str, int], tuple[float, asyncio.Task[list[str]]]] = {}

    async def request(
        self, route: Route, parts: Sequence[bytes], most: int, context: Callable[[], ssl.SSLContext]
    ) -> Response:
        """The response to one request, with a body of at most `most` bytes.

        Raises `Unreachable` without a connection, and what `Connection.exchange` raises.
        """
        connection = self._take(route) or await self._open(route, context)
        try:
            return await connection.exchange(parts, most)
        finally:
            if connection.usable:
                connection.idle_since = asyncio.get_running_loop().time()
                self._idle.setdefault(route, []).append(connection)
            else:
                self._all.discard(connection)

    async def close(self) -> None:
        """Close all connections."""
        for connection in self._all:
            connection.transport.abort()
        self._all.clear()
        self._idle.clear()
        await asyncio.sleep(0)  # in which the transports close their sockets

    def _take(self, route: Route) -> Connection | None:
        """The connection that was used last."""
        idle, now = self._idle.get(route), asyncio.get_running_loop().time()
        while idle:
            connection = idle.pop()
            if (
                connection.usable
                and not connection.transport.is_closing()
                and now - connection.idle_since < IDLE_SECONDS
            ):
                return connection
            connection.transport.abort()
            self._all.discard(connection)
        return None

    async def _open(self, route: Route, context: Callable[[], ssl.SSLContext]) -> Connection:
        first = route.origin if route.proxy is None else Origin.of(route.proxy)
        try:
            async with asyncio.timeout(CONNECT_SECONDS) as timeout:
                connection = await self._connect(first, context() if first.secure else None)
                self._all.add(connection)
                if route.proxy is not None and not route.forwarded:
                    await connection.open_tunnel(route, context())
        except TimeoutError as error:
            if not timeout.expired():
                raise Unreachable from error
            problem = TimeoutError(f"connection timeout: none to {first} within {CONNECT_SECONDS:g} s")
            raise Unreachable from problem
        except (OSError, ssl.CertificateError) as error:
            raise Unreachable from error
        return connection

    async def _connect(self, origin: Origin, context: ssl.SSLContext | None) -> Connection:
        """A connection to the first address of a host that answers."""
        loop, name = asyncio.get_running_loop(), origin.host if context else None

        async def connect(address: str) -> Connection:
            _, connection = await loop.create_connection(
                Connection, address, origin.port, ssl=context, server_hostname=name
            )
            return connection

        addresses = await self._look_up(origin.host, origin.port)
        if len(addresses) == 1:
            return await connect(addresses[0])
        attempts = [partial(connect, address) for address in addresses]
        first: Connection | None
        first, _, errors = await staggered_race(attempts, NEXT_ADDRESS)
        if first is None:
            raise next(error for error in errors if error is not None)
        return first

    async def _look_up(self, host: str, port: int) -> list[str]:
        """The addresses of a host, in the order of the system; one look-up for all who ask meanwhile."""
        loop = asyncio.get_running_loop()
        since, task = self._addresses.get((host, port), (0.0, None))
        if (
            task is None
            or task.cancelled()
            or (task.done() and (task.exception() or loop.time() - since > NAME_SECONDS))
        ):
            task = loop.create_task(_resolve(host, port))
            self._addresses[host, port] = loop.time(), task
        return await asyncio.shield(task)


async def _resolve(host: str, port: int) -> list[str]:
    addresses = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in addresses))
