"""A response in HTTP/1.1, read from the bytes of a connection as they come. It knows no connection."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import NamedTuple, TypeAlias

from karat.models.openai.body import Body

HEAD_BYTES = 64 << 10  # of the status line and the headers; gateways send large ones
LINE_BYTES = 4 << 10  # of the line before a chunk

_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(r"HTTP/1\.([01]) ([1-5]\d\d)(?: |\r?$)", re.ASCII)
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\0]*?)[ \t]*\r?")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
_LENGTH = re.compile(r"\d{1,18}", re.ASCII)


class Disconnected(ConnectionError):
    """The connection ended before the response was complete."""


class BadResponse(ValueError):
    """What came is not a response in HTTP."""


class Response(NamedTuple):
    """A response: status, headers by their names in lower case, decoded body, and whether the connection stays open."""

    status: int
    headers: dict[str, str]
    body: bytearray
    kept: bool


Reader: TypeAlias = Generator[None, bool, Response]
"""Is resumed when there are more bytes, and sent whether the connection has ended."""


def read_response(received: bytearray, most: int, *, tunnel: bool = False) -> Reader:
    r"""Read one response from `received`, with a body of at most `most` bytes; what is read is deleted there.

    `tunnel`: a response to CONNECT. Raises `BadResponse`, `Disconnected`, and what `Body.feed` raises.

    >>> received = bytearray(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")
    >>> try:
    ...     next(read_response(received, most=100))
    ... except StopIteration as end:
    ...     print(end.value)
    Response(status=200, headers={'content-length': '3'}, body=bytearray(b'yes'), kept=True)
    """
    version, status, headers = yield from _read_head(received)
    body = Body(headers.get("content-encoding", ""), most, failed=not 200 <= status < 300)
    options = {each.strip() for each in headers.get("connection", "").lower().split(",")}
    kept = "close" not in options and (version == 1 or "keep-alive" in options)
    coding = headers.get("transfer-encoding", "").lower()
    if tunnel and status == 200:
        whole = kept = True
    elif status in (204, 304):
        whole = True
    elif coding == "chunked":
        whole = yield from _read_chunks(received, body)
    elif coding:
        raise BadResponse(f"transfer coding {coding[:40]!r}: expected chunked, or none")
    elif "content-length" in headers:
        whole = yield from _read_bytes(received, body, _length(headers["content-length"]))
    else:  # it ends with the connection
        whole, kept = (yield from _read_rest(received, body)), False
    return Response(status, headers, body.decoded, kept and whole and not received)


def _read_head(received: bytearray) -> Generator[None, bool, tuple[int, int, dict[str, str]]]:
    """The minor version, the status and the headers of the first response that is not informational."""
    while True:
        while (end := _END.search(received)) is None and len(received) <= HEAD_BYTES:
            if not b"HTTP/1.".startswith(received[:7]):
                raise BadResponse(f"bad status line {bytes(received[:40])!r}")
            yield from _wait()
        if end is None or end.start() > HEAD_BYTES:
            raise BadResponse(f"headers of more than {HEAD_BYTES >> 10} KiB")
        first, *lines = received[: end.start()].decode("latin-1").split("\n")
        del received[: end.end()]
        if (line := _STATUS.match(first)) is None or line[2] == "101":
            raise BadResponse(f"bad status line {first[:40]!r}")
        if line[2][0] == "1":
            continue
        headers: dict[str, str] = {}
        for each in lines:
            if (header := _HEADER.fullmatch(each)) is None:
                raise BadResponse(f"bad header {each[:40]!r}")
            name = header[1].lower()
            headers[name] = f"{headers[name]}, {header[2]}" if name in headers else header[2]
        return int(line[1]), int(line[2]), headers


def _length(text: str) -> int:
    values = {each.strip() for each in text.split(",")}
    if len(values) > 1 or not _LENGTH.fullmatch(value := values.pop()):
        raise BadResponse(f"bad Content-Length {text[:40]!r}")
    return int(value)


def _wait() -> Generator[None, bool, None]:
    """Wait for more bytes."""
    if (yield):
        raise Disconnected("the server disconnected")


def _take(received: bytearray, body: Body, most: int) -> int:
    """Move at most so many bytes to the body. Returns how many there were; -1 if the body takes no more."""
    piece = bytes(received[:most])
    del received[:most]
    return len(piece) if not piece or body.feed(piece) else -1


def _read_bytes(received: bytearray, body: Body, count: int) -> Generator[None, bool, bool]:
    """Read so many bytes. Returns whether the body took all of them."""
    while True:
        if (taken := _take(received, body, count)) < 0:
            return False
        if not (count := count - taken):
            return True
        yield from _wait()


def _read_rest(received: bytearray, body: Body) -> Generator[None, bool, bool]:
    ended = False
    while _take(received, body, len(received)) >= 0:
        if ended:
            return True
        ended = yield
    return False


def _read_chunks(received: bytearray, body: Body) -> Generator[None, bool, bool]:
    size = -1
    while size:
        while (line := _CHUNK.match(received)) is None:
            if b"\n" in received or len(received) > LINE_BYTES:
                raise BadResponse(f"bad chunk {bytes(received[:40])!r}")
            yield from _wait()
        size = int(line[1], 16)  # before the buffer changes, which the match reads
        del received[: line.end()]
        if size:
            if not (yield from _read_bytes(received, body, size)):
                return False
            if (yield from _read_line(received)):
                raise BadResponse("a chunk does not end where it should")
    while (yield from _read_line(received)):
        pass  # headers after the last chunk, which nothing needs
    return True


def _read_line(received: bytearray) -> Generator[None, bool, bytes]:
    while (end := received.find(b"\n")) < 0:
        if len(received) > HEAD_BYTES:
            raise BadResponse(f"headers of more than {HEAD_BYTES >> 10} KiB")
        yield from _wait()
    line = bytes(received[:end]).removesuffix(b"\r")
    del received[: end + 1]
    return line
