"""HTTP requests to OpenAI-compatible endpoints, over aiohttp. Why not with the openai package: decision 008."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import re
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from karat.core.errors import MissingExtra, SpecError
from karat.core.version import __version__

if TYPE_CHECKING:
    import ssl

    from aiohttp import ClientSession

DEFAULT_URL = "https://api.openai.com/v1"
CONNECT_SECONDS, READ_SECONDS = 10.0, 600.0  # the governor's own timeouts are usually shorter


class EndpointError(Exception):
    """A reply with an HTTP status other than 2xx. `body` is its JSON value, None if it has none."""

    def __init__(self, status_code: int, headers: Mapping[str, str], text: str) -> None:
        self.status_code, self.headers = status_code, headers
        try:
            self.body = json.loads(text)
        except ValueError:
            self.body = None
        error = self.body.get("error", self.body) if isinstance(self.body, dict) else None
        details = error if isinstance(error, dict) else {}
        self.code = details.get("code")
        self.message = str(details.get("message") or text)
        super().__init__(self.message)


class EndpointConnectionError(ConnectionError):
    """No complete reply: no connection, or one that broke off."""


@dataclass(frozen=True)
class Endpoint:
    """The base URL of an endpoint, and the key that it is used with."""

    url: str
    key: str = field(repr=False)

    def hide_key(self, text: str) -> str:
        """The text without the key, which endpoints may quote. A key of fewer than 8 characters is a placeholder."""
        return text.replace(self.key, "(key)") if len(self.key) >= 8 else text


def find_endpoint(name: str, base_url: str | None = None, api_key: str | None = None) -> Endpoint:
    """The endpoint of the model `name`: what is passed, else `$OPENAI_BASE_URL` and `$OPENAI_API_KEY`.

    Raises `SpecError` if there is neither a URL nor a key, or the URL is not valid; `MissingExtra` without aiohttp.
    """
    if find_spec("aiohttp") is None:
        raise MissingExtra("aiohttp", extra="judge", need=f"the model {name!r}")
    url = base_url or os.environ.get("OPENAI_BASE_URL")
    key = api_key or os.environ.get("OPENAI_API_KEY") or ""
    if not url and not key:
        raise SpecError(
            f"the model {name!r} has neither key nor endpoint: set OPENAI_API_KEY, or OPENAI_BASE_URL to use another "
            "endpoint than OpenAI's"
        )
    url = (url or DEFAULT_URL).rstrip("/")
    if not re.match(r"https?://[^/@]+(/|$)", url):
        raise SpecError("base_url= or OPENAI_BASE_URL: a base URL is http(s)://host/path, with the key apart")
    return Endpoint(url, key)


def preload() -> None:
    """Start to import aiohttp in another thread. Much of it is loading certificates, which does not hold the GIL."""
    if find_spec("aiohttp") is not None:
        threading.Thread(target=import_module, args=("aiohttp",), name="karat preload").start()


async def post(endpoint: Endpoint, path: str, body: Mapping[str, Any]) -> str:
    """The text of the reply to one POST request, which is never repeated here.

    Raises `EndpointError` for an HTTP error status, `EndpointConnectionError` without a complete reply.
    """
    from aiohttp import ClientError  # noqa: PLC0415  (an extra, slow to import)

    session = await _open_session()
    data = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    secure = _ssl_context() if endpoint.url.startswith("https") else True
    url, proxy = endpoint.url + path, _find_proxy(endpoint.url)
    try:
        async with session.post(url, data=data, headers=_headers(endpoint.key), proxy=proxy, ssl=secure) as response:
            text = (await response.read()).decode(errors="replace")
    except ClientError as error:
        raise EndpointConnectionError("no complete reply") from error
    if not 200 <= response.status < 300:
        raise EndpointError(response.status, response.headers, endpoint.hide_key(text))
    return text


def _headers(key: str) -> dict[str, str]:
    headers = {
        "Authorization": f"Bearer {key or 'none'}",
        "Content-Type": "application/json",
        "User-Agent": f"karat/{__version__}",
    }
    for name, variable in {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}.items():
        if value := os.environ.get(variable):
            headers[name] = value
    return headers


@cache
def _find_proxy(url: str) -> str | None:
    """The proxy that the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY) or the system names for a URL."""
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415  (slow to import)

    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc):
        return None
    if not proxy.startswith("http"):
        raise SpecError(f"the proxy for {url} is {proxy.partition(':')[0]}://…: expected an http or https proxy")
    return proxy


@cache
def _ssl_context() -> ssl.SSLContext:
    """Trusts the certificates of the system (or `$SSL_CERT_FILE`) and those of certifi, where it is installed."""
    import ssl  # noqa: PLC0415  (slow to import)

    context = ssl.create_default_context()
    if find_spec("certifi") is not None:
        import certifi  # noqa: PLC0415

        context.load_verify_locations(certifi.where())
    return context


_sessions: dict[asyncio.AbstractEventLoop, tuple[ClientSession, AsyncGenerator[None, None]]] = {}


async def _open_session() -> ClientSession:
    """The session of the running event loop: connections belong to the loop that opened them."""
    loop = asyncio.get_running_loop()
    if loop not in _sessions:
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector  # noqa: PLC0415

        session = ClientSession(
            connector=TCPConnector(limit=0),  # the governor limits the number of calls
            cookie_jar=DummyCookieJar(),
            timeout=ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS),
        )
        _sessions[loop] = session, (end := _close_with_loop(loop, session))
        await anext(end)
    return _sessions[loop][0]


async def _close_with_loop(loop: asyncio.AbstractEventLoop, session: ClientSession) -> AsyncGenerator[None, None]:
    """Closes the session when the loop ends its asynchronous generators, as `asyncio.run` does."""
    try:
        yield
    finally:
        _sessions.pop(loop, None)
        await session.close()


@atexit.register
def _close_sessions() -> None:
    """Close the sessions of loops that run in a thread until the process ends."""
    for loop, (session, _) in list(_sessions.items()):
        if loop.is_running():
            with suppress(Exception):
                asyncio.run_coroutine_threadsafe(session.close(), loop).result(timeout=1)
