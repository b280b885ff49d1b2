"""HTTP requests to OpenAI-compatible endpoints, over aiohttp. Why not with the openai package: decision 008."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import re
import threading
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from karat.core.errors import MissingExtra, SpecError
from karat.core.version import __version__
from karat.models.openai.body import ACCEPTED, UnreadableReply, read_body

if TYPE_CHECKING:
    import ssl

    from aiohttp import ClientSession

T = TypeVar("T")

JSON = "application/json"
DEFAULT_URL = "https://api.openai.com/v1"
CONNECT_SECONDS, READ_SECONDS = 10.0, 600.0  # the governor's own timeouts are usually shorter
LAST_PORT = 65_535
REPLY_BYTES = 4 << 20  # of a reply once it is decoded: several times the longest answer of a model
HEADER_BYTES = 64 << 10  # of one header of a reply; the 8 KiB of aiohttp are too few for some gateways


class EndpointError(Exception):
    """A reply with an HTTP status other than 2xx. `body` is its JSON value, None if it has none."""

    remedy = ""  # what to type

    def __init__(self, status_code: int, headers: Mapping[str, str], text: str) -> None:
        self.status_code, self.headers = status_code, headers
        try:
            self.body = json.loads(text)
        except ValueError:
            self.body = None
        error = self.body.get("error", self.body) if isinstance(self.body, dict) else None
        details = error if isinstance(error, dict) else {}
        self.code, self.parameter = details.get("code"), details.get("param")
        self.message = str(details.get("message") or text)
        super().__init__(self.message)


class EndpointConnectionError(ConnectionError):
    """No complete reply: no connection, or one that broke off."""

    remedy = ""


class EndpointUnreachable(EndpointConnectionError):
    """No connection: nothing listens at the address, or the host is not known."""


@dataclass(frozen=True)
class Endpoint:
    """The base URL of an endpoint, and the key that it is used with."""

    url: str
    key: str = field(repr=False)

    def hide_key(self, text: str) -> str:
        """The text without the key, which endpoints may quote. A key of fewer than 8 characters is a placeholder."""
        return text.replace(self.key, "(key)") if len(self.key) >= 8 else text


class Upload(NamedTuple):
    """The body of a request, in parts, and its media type."""

    parts: Sequence[bytes]
    kind: str = JSON


def find_endpoint(name: str, base_url: str | None = None, api_key: str | None = None) -> Endpoint:
    """The endpoint of the model `name`: what is passed, else `$OPENAI_BASE_URL` and `$OPENAI_API_KEY`.

    Raises `SpecError` if there is neither a URL nor a key, or the URL is not valid; `MissingExtra` without aiohttp.
    """
    if find_spec("aiohttp") is None:
        raise MissingExtra("aiohttp", extra="judge", need=f"the model {name!r}")
    url = (base_url or os.environ.get("OPENAI_BASE_URL") or "").strip()
    key = (api_key or os.environ.get("OPENAI_API_KEY") or "").strip()  # files and shells add line ends
    if not url and not key:
        remedy = "set OPENAI_API_KEY, or OPENAI_BASE_URL to use another endpoint than OpenAI's"
        raise SpecError(f"the model {name!r} has neither key nor endpoint: {remedy}")
    url = (url or DEFAULT_URL).rstrip("/")
    valid = re.fullmatch(r"https?://(?:[^/?#@:\s]+|\[[\da-fA-F:.]+\])(?::(\d+))?(?:[/?]\S*)?", url)
    if not valid:
        raise SpecError("base_url= or OPENAI_BASE_URL: a base URL is http(s)://host/path, with the key apart")
    if valid[1] and not 1 <= int(valid[1][:6]) <= LAST_PORT:
        raise SpecError(f"base_url= or OPENAI_BASE_URL: the port is {valid[1][:20]}; expected 1 to {LAST_PORT}")
    if not key.isprintable():
        raise SpecError("api_key= or OPENAI_API_KEY: the key contains a line break or a control character")
    return Endpoint(url, key)


def preload() -> None:
    """Start to import aiohttp in another thread. Much of it is loading certificates, which does not hold the GIL."""
    if find_spec("aiohttp") is not None:
        threading.Thread(target=import_module, args=("aiohttp",), name="karat preload").start()


async def post(
    endpoint: Endpoint, path: str, body: Mapping[str, Any], parse: Callable[[str], T], most: int = REPLY_BYTES
) -> T:
    """The reply to one POST request with a JSON body, as `parse` reads its text; raises what `send` raises."""
    data = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return await send(endpoint, "POST", path, lambda reply: parse(reply.decode(errors="replace")), Upload([data]), most)


async def send(
    endpoint: Endpoint,
    method: str,
    path: str,
    parse: Callable[[bytes | bytearray], T],
    upload: Upload | None = None,
    most: int = REPLY_BYTES,
) -> T:
    """The reply to one request, which is never repeated here, as `parse` reads it.

    `most` is how many bytes the decoded reply may have.

    Raises `EndpointError` for an HTTP error status, `EndpointConnectionError` without a complete reply, and
    `UnreadableReply` for more bytes, and if `parse` raises ValueError, LookupError, TypeError, AttributeError or
    RecursionError.
    """
    from aiohttp import ClientConnectorError, ClientError, ConnectionTimeoutError  # noqa: PLC0415  (an extra, slow to import)

    session = await _open_session()
    place, _, parameters = endpoint.url.partition("?")
    route, _, own = path.partition("?")
    url = f"{place.rstrip('/')}{route}?{'&'.join(filter(None, [parameters, own]))}".rstrip("?")
    headers = _headers(endpoint.key)
    options: dict[str, Any] = {"headers": headers}
    if upload is not None:
        parts = upload.parts
        headers |= {"Content-Type": upload.kind, "Content-Length": str(sum(map(len, parts)))}
        options |= {"headers": headers, "data": parts[0] if len(parts) == 1 else _iterate(parts)}
    options |= {"proxy": _find_proxy(endpoint.url), "ssl": _ssl_context() if place.startswith("https") else True}
    failure, lost = "", EndpointConnectionError
    try:
        async with session.request(method, url, **options) as response:
            reply = await read_body(response, most)
    except (
        ClientError,
        zlib.error,
    ) as error:  # not kept as the cause: some of these errors hold the request's headers and URLs
        absent = isinstance(error, ClientConnectorError | ConnectionTimeoutError)
        lost = EndpointUnreachable if absent else EndpointConnectionError
        # What is behind it, without aiohttp's objects.
        cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", error)
        failure = f"{type(cause).__name__}: {re.sub('//[^/@]*@', '//', endpoint.hide_key(str(cause)))}"
    if failure:
        raise lost(f"no {'connection' if lost is EndpointUnreachable else 'complete reply'} ({failure})")
    if not 200 <= response.status < 300:
        raise EndpointError(response.status, response.headers, endpoint.hide_key(reply.decode(errors="replace")))
    try:
        return parse(reply)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        excerpt = endpoint.hide_key(reply[:1000].decode(errors="replace"))[:200]
        raise UnreadableReply(f"the reply is not what {route} returns: {excerpt!r}") from error


async def _iterate(parts: Sequence[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def _headers(key: str) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {key or 'none'}", "User-Agent": f"karat/{__version__}"}
    headers["Accept-Encoding"] = ACCEPTED
    for name, variable in {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}.items():
        if value := os.environ.get(variable, "").strip():
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
    if "://" not in proxy:
        return f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        kind = proxy.partition(":")[0]
        raise SpecError(f"the proxy for {parts.hostname} is {kind}://…: expected an http or https proxy")
    return proxy


@cache
def _ssl_context() -> ssl.SSLContext:
    """Trusts the certificates of the system (or `$SSL_CERT_FILE`) and certifi's, where it is installed."""
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
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, TraceConfig  # noqa: PLC0415

        trace = TraceConfig()
        trace.on_request_redirect.append(_refuse_other_origin)
        session = ClientSession(
            connector=TCPConnector(limit=0),  # the governor limits the number of calls
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
            max_field_size=HEADER_BYTES,
            timeout=ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS),
            trace_configs=[trace],
        )
        _sessions[loop] = session, (end := _close_with_loop(loop, session))
        await anext(end)
    return _sessions[loop][0]


async def _refuse_other_origin(_session: ClientSession, _context: Any, params: Any) -> None:
    """Raise `SpecError` for a redirect to another scheme, host or port: prompts are sent where the user said."""
    place = params.url.join(type(params.url)(params.response.headers.get("Location", "")))
    if place.scheme in ("http", "https") and place.origin() != params.url.origin():
        other = f"{params.url.origin()} redirects to another host, {place.origin()}, where nothing was sent"
        raise SpecError(f"{other}; if you trust it, set --base-url or OPENAI_BASE_URL to the address there")


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


def _forget_sessions() -> None:
    """After a fork: their loops do not run here, and closing them would break connections of the parent process."""
    _inherited.append(dict(_sessions))  # not collected as garbage, which would close them
    _sessions.clear()


_inherited: list[object] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_sessions)
