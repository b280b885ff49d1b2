"""The body of a reply: read in pieces, decoded, and no larger than expected, however little was sent."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import ClientResponse

ACCEPTED = "gzip, deflate"  # zlib can stop in the middle of what these decode to
PIECE = 1 << 20  # bytes decoded at a time
ERROR_BYTES = 1 << 18  # of the body of an error, of which the rest is left unread


class UnreadableReply(Exception):
    """A reply of status 200 that is not what was requested, such as a proxy's web page."""

    status_code, remedy = 200, ""


async def read_body(response: ClientResponse, most: int) -> bytearray:
    """The decoded body, at most `most` bytes; of an HTTP error its beginning.

    Raises `UnreadableReply` for a larger body, and for one in another coding than was asked for; `zlib.error` for a
    damaged one.
    """
    body, failed = bytearray(), not 200 <= response.status < 300
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    decoder = _Decoder() if coding in ("gzip", "x-gzip", "deflate") else None
    if decoder is None and coding not in ("", "identity"):
        if failed:
            return body
        raise UnreadableReply(f"the reply is in the coding {coding[:40]!r}; expected one of {ACCEPTED}, or none")
    most = ERROR_BYTES if failed else most
    async for chunk in response.content.iter_any():
        for piece in [chunk] if decoder is None else decoder.decode(chunk):
            body += piece
            if len(body) > most:
                response.close()
                if failed:
                    return body[:most]
                raise UnreadableReply(f"the reply is larger than {most / 2**20:,.0f} MiB; the rest was left unread")
    return body


class _Decoder:
    """Decodes gzip and deflate, with and without zlib's header, a piece at a time."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, by their headers
        self._begun = False

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        if not self._begun and chunk:
            self._begun = True
            if chunk[0] & 0x0F != 8 and chunk[0] != 0x1F:
                self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)
        while chunk and not self._zlib.eof:
            yield self._zlib.decompress(chunk, PIECE)
            chunk = self._zlib.unconsumed_tail
