"""The server of the page: a port of this machine, a token, and requests until it is interrupted."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import ip_address
from threading import Thread
from typing import TYPE_CHECKING

from karat.core.errors import DataError, MissingExtra

if TYPE_CHECKING:
    from karat.viewer.page.workspace import Workspace

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_INTERRUPTED = 130  # exit code


@dataclass(frozen=True)
class Port:
    """A port that listens, before anything answers there; `address` is what a browser opens."""

    listener: socket.socket
    host: str
    token: str

    @property
    def number(self) -> int:
        """The number of the port."""
        return int(self.listener.getsockname()[1])

    @property
    def address(self) -> str:
        """The address with the token in its fragment, which a browser sends to nobody."""
        name = "127.0.0.1" if self.is_everywhere else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.number}/#token={self.token}"

    @property
    def is_everywhere(self) -> bool:
        """Whether it listens at all addresses of this machine."""
        return self.host in {"0.0.0.0", "::"}  # noqa: S104  (compared, not bound)

    @property
    def names(self) -> frozenset[str]:
        """The hosts, in small letters, under which the page may be opened."""
        names = [*_LOOPBACK, self.host, f"[{self.host}]", *([socket.gethostname()] if self.is_everywhere else [])]
        return frozenset(name.lower() for name in names)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "192.168.1.7", "example.com")]
    [True, True, True, False, False, False]
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def require_extra() -> None:
    """Raise `MissingExtra` where Starlette or uvicorn is not installed."""
    for package in ("starlette", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtra(package, extra="view", need="karat view")


def open_port(host: str, port: int) -> Port:
    """Listen at a port; 0: any free one. `DataError` where that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, so that asyncio sets NODELAY
    try:
        if os.name == "posix":  # on Windows it would let another program take the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise DataError(f"{host}, port {port}: {error.strerror}; choose another with --port") from error
    return Port(listener, host, secrets.token_urlsafe(32))


def serve(port: Port, start: Callable[[], Workspace]) -> None:
    """Answer requests until the process is interrupted, which ends it at once, whatever is being computed.

    `start` makes what is served; connections wait meanwhile.
    """
    import uvicorn  # noqa: PLC0415  (an extra)

    from karat.viewer.page.app import make_app  # noqa: PLC0415  (heavy: the port is open before)
    from karat.viewer.page.guard import Guard  # noqa: PLC0415

    space = start()
    guard = Guard(make_app(space), port.number, port.names, port.token, port.is_everywhere)
    config = uvicorn.Config(
        guard, http="h11", ws="none", loop="asyncio", lifespan="off", log_level="warning", access_log=False,
        proxy_headers=False, server_header=False, date_header=False, timeout_keep_alive=75,
        h11_max_incomplete_event_size=16 << 10,
    )  # fmt: skip
    server = Thread(target=uvicorn.Server(config).run, args=([port.listener],), daemon=True)
    with closing(port.listener):
        server.start()
        Thread(target=space.prepare, daemon=True).start()
        try:
            server.join()
        except (KeyboardInterrupt, SystemExit) as ended:
            space.close()
            code = _INTERRUPTED if isinstance(ended, KeyboardInterrupt) else ended.code
            sys.stderr.write("interrupted\n" if code == _INTERRUPTED else "")
            sys.stderr.flush()
            os._exit(code if isinstance(code, int) else 1)  # a comparison in a thread would hold up the usual end
