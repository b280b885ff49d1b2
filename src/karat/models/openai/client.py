"""Requests to OpenAI-compatible endpoints. Why neither over the openai package nor over aiohttp: decision 008."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import re
import ssl
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urljoin, urlsplit

from karat.core.errors import SpecError
from karat.core.version import __version__
from karat.models.openai.body import ACCEPTED, UnreadableReply
from karat.models.openai.connections import Connections, Origin, ProxyRefused, Route, Unreachable
from karat.models.openai.response import BadResponse, Response

T = TypeVar("T")

JSON = "application/json"
DEFAULT_URL = "https://api.openai.com/v1"
LAST_PORT = 65_535
REPLY_BYTES = 4 << 20  # of a reply once it is decoded: several times the longest answer of a model
FOLLOWED, REDIRECTS = (301, 302, 303, 307, 308), 10


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

    Raises `SpecError` if there is neither a URL nor a key, or the URL is not valid.
    """
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


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


async def post(
    endpoint: Endpoint, path: str, body: Mapping[str, Any], parse: Callable[[str], T], most: int = REPLY_BYTES
) -> T:
    """The reply to one POST request with a JSON body, as `parse` reads its text; raises what `send` raises."""
    data = _encoder.encode(body).encode()
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
    place, _, parameters = endpoint.url.partition("?")
    route, _, own = path.partition("?")
    url = f"{place.rstrip('/')}{route}?{'&'.join(filter(None, [parameters, own]))}".rstrip("?")
    failure, lost = "", EndpointConnectionError
    try:
        response = await _follow(endpoint, method, url, upload, most)
    except Unreachable as error:
        failure, lost = _describe(endpoint, error.__cause__ or error), EndpointUnreachable
    except (BadResponse, ProxyRefused, OSError, zlib.error) as error:
        failure = _describe(endpoint, error)
    if failure:  # raised here, so that what it holds is not kept as its context
        raise lost(f"no {'connection' if lost is EndpointUnreachable else 'complete reply'} ({failure})")
    reply = response.body
    if not 200 <= response.status < 300:
        raise EndpointError(response.status, response.headers, endpoint.hide_key(reply.decode(errors="replace")))
    try:
        return parse(reply)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        excerpt = endpoint.hide_key(reply[:1000].decode(errors="replace"))[:200]
        raise UnreadableReply(f"the reply is not what {route} returns: {excerpt!r}") from error


def _describe(endpoint: Endpoint, error: BaseException) -> str:
    """An error without the key, and without the password of a proxy."""
    return f"{type(error).__name__}: {re.sub('//[^/@]*@', '//', endpoint.hide_key(str(error)))}"


async def _follow(endpoint: Endpoint, method: str, url: str, upload: Upload | None, most: int) -> Response:
    """The response to a request, behind redirects within the origin; `SpecError` for one that leads elsewhere."""
    origin, target = _split(url)
    route = Route(origin, _find_proxy(endpoint.url))
    for _ in range(REDIRECTS):
        head = _head(endpoint.key, method, f"{origin}{target}" if route.forwarded else target, route, upload)
        parts = [head] if upload is None else [head + upload.parts[0], *upload.parts[1:]]
        response = await (await _open_connections()).request(route, parts, most, _ssl_context)
        if response.status not in FOLLOWED or not (location := response.headers.get("location")):
            return response
        url = urljoin(f"{origin}{target}", location)
        try:
            other, target = _split(url)
        except ValueError:
            raise BadResponse(f"it redirects to {url}") from None
        if other != origin:  # prompts are sent where the user said
            problem = f"{origin} redirects to another host, {other}, where nothing was sent"
            raise SpecError(f"{problem}; if you trust it, set --base-url or OPENAI_BASE_URL to the address there")
        if response.status == 303 or (response.status in (301, 302) and method == "POST"):
            method, upload = "GET", None
    raise BadResponse(f"it redirects more than {REDIRECTS} times")


@lru_cache(maxsize=64)
def _split(url: str) -> tuple[Origin, str]:
    """The origin of a URL, and the target of a request to it; ValueError if it is not an http or https URL."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise ValueError(url)
    path, query = (quote(part, safe="!$%&'()*+,/:;=?@[]~") for part in (parts.path or "/", parts.query))
    return Origin.of(url), f"{path}?{query}" if query else path


def _head(key: str, method: str, target: str, route: Route, upload: Upload | None) -> bytes:
    """The request line and the headers. Raises ValueError where the key or a variable would be another header."""
    values = {"Authorization": f"Bearer {key or 'none'}", "User-Agent": f"karat/{__version__}"}
    for name, variable in {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}.items():
        if value := os.environ.get(variable, "").strip():
            values[name] = value
    values |= {"Accept": "*/*", "Accept-Encoding": ACCEPTED}
    if upload is not None:
        values |= {"Content-Type": upload.kind, "Content-Length": str(sum(map(len, upload.parts)))}
    lines = "".join([f"{name}: {value}\r\n" for name, value in values.items()])
    if lines.count("\n") > len(values) or lines.count("\r") > len(values) or "\0" in lines:
        raise ValueError("the key, OPENAI_ORG_ID or OPENAI_PROJECT_ID contains a line break")
    proxy = route.authorization if route.forwarded else ""
    return f"{method} {target} HTTP/1.1\r\nHost: {route.origin.host_header}\r\n{proxy}{lines}\r\n".encode()


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
    context = ssl.create_default_context()
    if find_spec("certifi") is not None:
        import certifi  # noqa: PLC0415

        context.load_verify_locations(certifi.where())
    return context


_sessions: dict[asyncio.AbstractEventLoop, tuple[Connections, AsyncGenerator[None, None]]] = {}


async def _open_connections() -> Connections:
    """The connections of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _sessions:
        _sessions[loop] = (connections := Connections()), (end := _close_with_loop(loop, connections))
        await anext(end)
    return _sessions[loop][0]


async def _close_with_loop(loop: asyncio.AbstractEventLoop, connections: Connections) -> AsyncGenerator[None, None]:
    """Closes the connections when the loop ends its asynchronous generators, as `asyncio.run` does."""
    try:
        yield
    finally:
        _sessions.pop(loop, None)
        await connections.close()


@atexit.register
def _close_sessions() -> None:
    """Close the connections of loops that run in a thread until the process ends."""
    for loop, (connections, _) in list(_sessions.items()):
        if loop.is_running():
            with suppress(Exception):
                asyncio.run_coroutine_threadsafe(connections.close(), loop).result(timeout=1)


def _forget_sessions() -> None:
    """After a fork: their loops do not run here, and closing them would break connections of the parent process."""
    _inherited.append(dict(_sessions))  # not collected as garbage, which would close them
    _sessions.clear()


_inherited: list[object] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_sessions)
