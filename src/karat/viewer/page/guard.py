"""Which requests are of this page: checked before anything is read, by address, origin and token.

Other pages in the same browser can send requests to this machine, and a name that they own can be made to point at it
(DNS rebinding). They cannot send our Host and Origin, and they do not know the token.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "x-karat-token"  # noqa: S105  (the name of a header)
MOST_BYTES = 64 << 10
HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    ),
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Refused(Exception):
    """A request that is not answered: the status, and why in plain words."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass(frozen=True)
class Guard:
    """An ASGI application in front of another: it refuses requests that are not of this page, and adds headers.

    `port` is where the server listens. `names` are the hosts under which the page may be opened, such as 127.0.0.1;
    `any_address` admits every IP address beside them: a page of another origin has a name. `token` is asked for under
    `/api/`.
    """

    app: ASGIApp
    port: int
    names: frozenset[str]
    token: str
    any_address: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        try:
            self.check(scope["path"], _read_headers(scope))
            await self.app(scope, _limited(receive), send_guarded)
        except Refused as refused:
            await _refuse(refused, send_guarded)

    def check(self, path: str, headers: Mapping[str, Sequence[str]]) -> None:
        """Raise `Refused` for a request that is not of this page."""
        hosts, origins, sites = (headers.get(name, ()) for name in ("host", "origin", "sec-fetch-site"))
        if len(hosts) != 1 or not self.knows(hosts[0]):
            raise Refused(403, "this page answers only at the address that karat view printed")
        inside = path.startswith("/api/")
        if any(_with_port(origin) != f"http://{_with_port(hosts[0])}" for origin in origins):
            raise Refused(403, "this page does not answer to other pages")
        if any(site not in ({"same-origin"} if inside else {"same-origin", "none"}) for site in sites):
            raise Refused(403, "this page does not answer to other sites")
        if inside and not self._is_token(headers.get(TOKEN_HEADER, ())):
            raise Refused(401, "the token is missing or wrong: open the address that karat view printed")
        lengths = headers.get("content-length", ())
        if any(not length.isdecimal() or int(length) > MOST_BYTES for length in lengths):
            raise Refused(413, f"a request has at most {MOST_BYTES} bytes")

    def knows(self, host: str) -> bool:
        """Whether a `Host` header names this server."""
        name, _, port = _with_port(host).rpartition(":")
        if port != str(self.port):
            return False
        name = name.lower()
        return name in self.names or (self.any_address and _is_address(name.strip("[]")))

    def _is_token(self, sent: Sequence[str]) -> bool:
        return len(sent) == 1 and hmac.compare_digest(sent[0].encode(), self.token.encode())


def _with_port(host: str) -> str:
    """A host or an origin with its port, which browsers leave out where it is HTTP's.

    >>> [_with_port(host) for host in ("127.0.0.1", "[::1]", "http://localhost", "localhost:8000")]
    ['127.0.0.1:80', '[::1]:80', 'http://localhost:80', 'localhost:8000']
    """
    return host if re.search(r":\d*$", host) else f"{host}:80"


def _read_headers(scope: Scope) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


def _limited(receive: Receive) -> Receive:
    """Receive a body whose length was not announced, up to the limit."""
    received = 0

    async def receive_some() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MOST_BYTES:
            raise Refused(413, f"a request has at most {MOST_BYTES} bytes")
        return message

    return receive_some


async def _refuse(refused: Refused, send: Send) -> None:
    body = encode({"error": refused.reason})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def encode(answer: Mapping[str, Any]) -> bytes:
    """An answer as JSON in ASCII: lone surrogates and characters that change the direction of text are escaped."""
    return json.dumps(answer, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
