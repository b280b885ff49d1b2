"""A cache of encoders' output in one SQLite file: no text is encoded twice, in this run or a later one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.paths import cache_path
from karat.models.encoders.encoder import EncoderOutput, Pair
from karat.models.sqlite import SharedDatabase, checksum, compare

MAX_BYTES = 8 << 30  # beyond this the oldest quarter is deleted
KEYS_PER_QUERY = 500

SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (key BLOB NOT NULL UNIQUE, cut INTEGER NOT NULL, vector BLOB NOT NULL);
ALTER TABLE vectors ADD COLUMN crc32 INTEGER
"""  # version 1 had no checksums


def vectors_path() -> str:
    """`$KARAT_VECTORS` (a file, or `off`), else `karat/vectors.sqlite` in the user's cache folder; "" for `off`."""
    path = str(cache_path("vectors.sqlite", "KARAT_VECTORS"))
    return "" if path == "off" else path


@cache
def open_vector_cache(path: str) -> VectorCache:
    """The cache in a file, opened once a process. An empty path is a temporary file that ends with the process."""
    return VectorCache(path)


class VectorCache(SharedDatabase):
    """Rows of float32 by key, in one SQLite file that processes share.

    The key of a row is a digest of the encoder's identity and the text. Rows of NaN are not stored.

    >>> cache = VectorCache("")
    >>> def lengths(texts):
    ...     print("encodes", texts)
    ...     return EncoderOutput(np.array([[len(text)] for text in texts], np.float32), np.zeros(len(texts), bool))
    >>> cache.fetch("lengths", ["a", "bcd"], lengths).rows.tolist()
    encodes ['bcd', 'a']
    [[1.0], [3.0]]
    >>> cache.fetch("lengths", ["bcd"], lengths).rows.tolist()
    [[3.0]]
    """

    schema, version, purpose, variable = SCHEMA, 2, "the cache of vectors", "KARAT_VECTORS"

    def __init__(self, path: str, *, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(path)
        self._max_bytes = max_bytes
        with self._locked():
            self._delete_oldest()

    def fetch(
        self,
        identity: str,
        items: Sequence[str] | Sequence[Pair],
        encode: Callable[[Any], EncoderOutput],
        *,
        block: int = 1024,
        on_done: Callable[[int], None] = lambda _: None,
    ) -> EncoderOutput:
        """The row of each item, NaN where there is none. The items must be distinct.

        `encode` gets the items that are not in the cache, `block` at a time, the longest first, so that a block needs
        little padding. Each block is stored at once. `on_done` is called with the number of items that became ready.
        """
        keys = _keys(identity, items)
        with self._locked():
            cached = self._get(keys)
        missing = sorted((i for i, key in enumerate(keys) if key not in cached), key=lambda i: -_length(items[i]))
        on_done(len(items) - len(missing))
        rows: Array | None = None
        truncated = np.zeros(len(items), dtype=bool)
        for start in range(0, len(missing), block):
            places = missing[start : start + block]
            output = encode([items[place] for place in places])
            if output.rows.shape[1]:  # else the encoder returned nothing for any item
                rows = _fill(rows, len(items), places, output.rows)
                truncated[places] = output.truncated
                with self._locked():
                    self._put([keys[place] for place in places], output)
            on_done(len(places))
        if hits := [place for place, key in enumerate(keys) if key in cached]:
            blobs = b"".join(cached[keys[place]][1] for place in hits)
            rows = _fill(rows, len(items), hits, np.frombuffer(blobs, dtype="<f4").reshape(len(hits), -1))
            truncated[hits] = [cached[keys[place]][0] for place in hits]
        return EncoderOutput(np.full((len(items), 1), np.nan, np.float32) if rows is None else rows, truncated)

    def _get(self, keys: Sequence[bytes]) -> dict[bytes, tuple[int, bytes]]:
        cached: dict[bytes, tuple[int, bytes]] = {}
        for start in range(0, len(keys), KEYS_PER_QUERY):
            part = keys[start : start + KEYS_PER_QUERY]
            sql = f"SELECT key, cut, vector, crc32 FROM vectors WHERE key IN ({','.join('?' * len(part))})"  # noqa: S608
            for key, truncated, vector, stored in self._db.execute(sql, part):
                compare(stored, key, bytes([truncated]), vector)
                cached[key] = (truncated, vector)
        return cached

    def _put(self, keys: Sequence[bytes], output: EncoderOutput) -> None:
        rows = np.ascontiguousarray(output.rows, dtype="<f4")
        finite = np.flatnonzero(np.isfinite(rows).all(axis=1)).tolist()
        cells = ((keys[i], int(output.truncated[i]), rows[i].tobytes()) for i in finite)
        values = ((key, cut, vector, checksum(key, bytes([cut]), vector)) for key, cut, vector in cells)
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT INTO vectors VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", values)
        self._delete_oldest()

    def _delete_oldest(self) -> None:
        """Delete the oldest quarter if the file is too large. SQLite reuses the freed pages."""
        pragmas = ("page_count", "freelist_count", "page_size")
        (pages,), (free,), (size,) = (self._db.execute(f"PRAGMA {name}").fetchone() for name in pragmas)
        if (pages - free) * size > self._max_bytes:
            oldest = "SELECT (3 * min(rowid) + max(rowid)) / 4 FROM vectors"
            self._db.execute(f"DELETE FROM vectors WHERE rowid <= ({oldest})")  # noqa: S608


def _keys(identity: str, items: Sequence[str] | Sequence[Pair]) -> list[bytes]:
    start, keys = blake2b(identity.encode(), digest_size=20), []
    for item in items:
        digest = start.copy()
        text = item if isinstance(item, str) else f"{len(item[0])}\0{item[0]}{item[1]}"
        digest.update(b"\0" + text.encode("utf-8", "surrogatepass"))
        keys.append(digest.digest())
    return keys


def _length(item: str | Pair) -> int:
    return len(item) if isinstance(item, str) else len(item[0]) + len(item[1])


def _fill(rows: Array | None, n: int, places: Sequence[int], values: Array) -> Array:
    if rows is None:
        rows = np.full((n, values.shape[1]), np.nan, dtype=np.float32)
    rows[places] = values
    return rows
