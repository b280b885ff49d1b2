"""The body of a reply: read in pieces, decoded, and no larger than expected, however little was sent."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

ACCEPTED = "gzip, deflate"  # zlib can stop in the middle of what these decode to
PIECE = 1 << 20  # bytes decoded at a time
ERROR_BYTES = 1 << 18  # of the body of an error, of which the rest is left unread


class UnreadableReply(Exception):
    """A reply of status 200 that is not what was requested, such as a proxy's web page."""

    status_code, remedy = 200, ""


class Body:
    """The decoded body of a response, at most `most` bytes; of one that has `failed`, an HTTP error, its beginning.

    Raises `UnreadableReply` for a body in another `coding` than was asked for.
    """

    def __init__(self, coding: str, most: int, *, failed: bool) -> None:
        self.decoded = bytearray()
        self._failed, self._most = failed, ERROR_BYTES if failed else most
        coding = coding.strip().lower()
        self._decoder = _Decoder() if coding in ("gzip", "x-gzip", "deflate") else None
        self._skipped = self._decoder is None and coding not in ("", "identity")
        if self._skipped and not failed:
            raise UnreadableReply(f"the reply is in the coding {coding[:40]!r}; expected one of {ACCEPTED}, or none")

    def feed(self, piece: bytes) -> bool:
        """Decode a piece of the body. Returns whether more of it is wanted.

        Raises `UnreadableReply` if the body is too large, and `zlib.error` if it is damaged.
        """
        if self._skipped:
            return False
        for decoded in [piece] if self._decoder is None else self._decoder.decode(piece):
            self.decoded += decoded
            if len(self.decoded) > self._most:
                if not self._failed:
                    raise UnreadableReply(
                        f"the reply is larger than {self._most / 2**20:,.0f} MiB; the rest was left unread"
                    )
                del self.decoded[self._most :]
                return False
        return True


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
