"""Files at http(s) addresses, read by ranges; no answer that is cut short passes for a whole one."""

from __future__ import annotations

import io
import re
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
from typing import IO, Any, TypeVar

from karat.core.errors import DataError
from karat.core.version import __version__
from karat.data.storage.addresses import hide_secrets

_T = TypeVar("_T")
_PAUSES = (0.2, 0.5, 1, 2)
_TIMEOUT = 60
_TRANSIENT = {408, 429, 500, 502, 503, 504}
_BLOCK = 8 << 20


@dataclass(frozen=True)
class Described:
    """What a server tells of a file: its bytes (None if it does not), its version, and whether it sends ranges."""

    size: int | None
    tag: str
    ranged: bool


def describe(address: str) -> Described:
    """Ask for the first byte of a file, as some signed addresses allow no HEAD. Raises what `open_http` raises."""

    def ask() -> Described:
        with _request(address, "bytes=0-0") as answer:
            size = re.fullmatch(r"bytes (?:0-0|\*)/(\d+)", answer.headers.get("Content-Range", ""))
            length = size[1] if size else answer.headers.get("Content-Length")
            return Described(None if length is None else int(length), _tag(answer), size is not None)

    return _attempt(ask)


def open_http(address: str) -> IO[bytes]:
    """Open a file; where the server ignores ranges, it is copied into a temporary file.

    A request that fails for a reason that may pass (no connection, part of an answer, status 429 or 5xx) is repeated
    four times. Raises `FileNotFoundError` for status 404, `OSError` for what stays out of reach or truncated.
    """
    described = describe(address)
    if described.ranged and described.size:
        return HttpFile(address, described)  # type: ignore[return-value]
    return _attempt(partial(_download, address))


class HttpFile(io.RawIOBase):
    """A file whose server sends ranges. Reading raises `DataError` if the file has changed since it was described."""

    def __init__(self, address: str, described: Described) -> None:
        super().__init__()
        self._address, self._described, self._size, self._at = address, described, described.size or 0, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        count = max(0, min(len(buffer), self._size - self._at))
        if count:
            buffer[:count] = _attempt(partial(self._read_range, self._at, self._at + count - 1))
        self._at += count
        return count

    def _read_range(self, first: int, last: int) -> bytes:
        with _request(self._address, f"bytes={first}-{last}") as answer:
            content_range = answer.headers.get("Content-Range")
            if _tag(answer) != self._described.tag or content_range != f"bytes {first}-{last}/{self._size}":
                raise DataError(f"{hide_secrets(self._address)}: the file has changed while it was read")
            content: bytes = answer.read()
        _check_length(len(content), last - first + 1)
        return content


def _download(address: str) -> IO[bytes]:
    with ExitStack() as stack:
        copy = stack.enter_context(tempfile.TemporaryFile())
        answer = stack.enter_context(_request(address))
        length = answer.headers.get("Content-Length")
        if length is None and not answer.chunked:
            problem = "its server does not tell how long it is, so that a part could pass for the whole"
            raise DataError(f"{hide_secrets(address)}: {problem}; download it, and check it")
        while block := answer.read(_BLOCK):
            copy.write(block)
        _check_length(copy.tell(), copy.tell() if length is None else int(length))
        answer.close()
        copy.seek(0)
        stack.pop_all()
    return copy


def _request(address: str, range_: str | None = None) -> Any:
    headers = {"User-Agent": f"karat/{__version__}"} | ({"Range": range_} if range_ else {})
    try:
        request = urllib.request.Request(address, headers=headers)  # noqa: S310  (http or https)
        return urllib.request.urlopen(request, timeout=_TIMEOUT)  # noqa: S310
    except urllib.error.HTTPError as answer:
        if answer.code == 416:  # an empty file has no first byte
            return answer
        answer.close()
        if answer.code in (404, 410):
            raise FileNotFoundError(address) from answer
        problem = f"status {answer.code} {answer.reason}"
        raise (OSError if answer.code in _TRANSIENT else _LastingError)(problem) from answer


class _LastingError(OSError):
    """An error that another attempt does not mend."""


def _attempt(read: Callable[[], _T]) -> _T:
    for pause in (*_PAUSES, None):
        try:
            return read()
        except (_LastingError, FileNotFoundError):
            raise
        except (OSError, HTTPException) as error:
            if pause is None:
                raise OSError(f"{error or type(error).__name__} ({len(_PAUSES) + 1} attempts)") from error
            time.sleep(pause)
    raise AssertionError


def _check_length(length: int, expected: int) -> None:
    if length != expected:
        raise OSError(f"the answer is truncated: {length} of {expected} bytes")


def _tag(answer: Any) -> str:
    return str(answer.headers.get("ETag") or answer.headers.get("Last-Modified") or "")
