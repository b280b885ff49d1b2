"""What models made of texts, kept in one file: no text is encoded twice, in this run or a later one."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.models.encoders.open import Made, Pair
from karat.models.sqlite import open_shared

VERSION = 1
LARGEST = 8 << 30  # bytes; beyond them the oldest quarter is forgotten
ASKED = 500  # keys a query

SCHEMA = "CREATE TABLE IF NOT EXISTS vectors (key BLOB NOT NULL UNIQUE, cut INTEGER NOT NULL, vector BLOB NOT NULL)"


def vectors_path() -> str:
    """`KARAT_VECTORS` (a file, or `off`), else `karat/vectors.sqlite` in the user's cache folder; "" for none."""
    given = os.environ.get("KARAT_VECTORS", "")
    if given:
        return "" if given == "off" else given
    return str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "karat" / "vectors.sqlite")


@cache
def shared_vectors(path: str) -> Vectors:
    """The store of a path, opened once; an empty path is a temporary one, gone with the process."""
    return Vectors(path)


class Vectors:
    """Rows of float32 by key, in one SQLite file that processes share.

    A row is kept under a digest of who made it and of what. Rows that are NaN, which is none, are not kept.

    >>> store = Vectors("")
    >>> def lengths(texts):
    ...     print("encodes", texts)
    ...     return Made(np.array([[len(text)] for text in texts], np.float32), np.zeros(len(texts), bool))
    >>> store.fetch("lengths", ["a", "bcd"], lengths).rows.tolist()
    encodes ['bcd', 'a']
    [[1.0], [3.0]]
    >>> store.fetch("lengths", ["bcd"], lengths).rows.tolist()
    [[3.0]]
    """

    def __init__(self, path: str, *, largest: int = LARGEST) -> None:
        self.path, self._largest, self._lock = path, largest, Lock()
        with self._alone():
            self._db = open_shared(path, SCHEMA, VERSION, "KARAT_VECTORS")
            self._forget_oldest()

    def fetch(
        self,
        maker: str,
        items: Sequence[str] | Sequence[Pair],
        make: Callable[[Any], Made],
        *,
        block: int = 1024,
        done: Callable[[int], None] = lambda _: None,
    ) -> Made:
        """The row of each of the items, which differ, NaN where there is none.

        `make` makes those that are not kept, `block` at a time, in the order of their lengths, so that a block needs
        little padding; they are kept block by block. `done` is told of items as they are there.
        """
        keys = _keys(maker, items)
        with self._alone():
            kept = self._get(keys)
        missing = sorted((i for i, key in enumerate(keys) if key not in kept), key=lambda i: -_length(items[i]))
        done(len(items) - len(missing))
        rows: Array | None = None
        cut = np.zeros(len(items), dtype=bool)
        for start in range(0, len(missing), block):
            places = missing[start : start + block]
            made = make([items[place] for place in places])
            if made.rows.shape[1]:  # else nothing could be made of any
                rows = _fill(rows, len(items), places, made.rows)
                cut[places] = made.cut
                with self._alone():
                    self._put([keys[place] for place in places], made)
            done(len(places))
        found = [place for place, key in enumerate(keys) if key in kept]
        if found:
            blobs = b"".join(kept[keys[place]][1] for place in found)
            rows = _fill(rows, len(items), found, np.frombuffer(blobs, dtype="<f4").reshape(len(found), -1))
            cut[found] = [kept[keys[place]][0] for place in found]
        return Made(np.full((len(items), 1), np.nan, np.float32) if rows is None else rows, cut)

    def _get(self, keys: Sequence[bytes]) -> dict[bytes, tuple[int, bytes]]:
        found = {}
        for start in range(0, len(keys), ASKED):
            part = keys[start : start + ASKED]
            sql = f"SELECT key, cut, vector FROM vectors WHERE key IN ({','.join('?' * len(part))})"  # noqa: S608
            for key, cut, vector in self._db.execute(sql, part):
                found[key] = cut, vector
        return found

    def _put(self, keys: Sequence[bytes], made: Made) -> None:
        rows = np.ascontiguousarray(made.rows, dtype="<f4")
        whole = np.isfinite(rows).all(axis=1)
        kept = ((keys[i], int(made.cut[i]), rows[i].tobytes()) for i in np.flatnonzero(whole).tolist())
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT INTO vectors VALUES (?, ?, ?) ON CONFLICT DO NOTHING", kept)
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        """Make room in a file that is too large: SQLite gives the freed pages to what comes next."""
        (pages,), (free,), (size,) = (
            self._db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "freelist_count", "page_size")
        )
        if (pages - free) * size > self._largest:
            sql = "DELETE FROM vectors WHERE rowid <= (SELECT (3 * min(rowid) + max(rowid)) / 4 FROM vectors)"
            self._db.execute(sql)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread at a time; an error says which file it was, and what to do."""
        try:
            with self._lock:
                yield
        except (sqlite3.Error, OSError) as error:
            raise DataError(
                f"{self.path}, where vectors are kept: {error}; move it away, or set KARAT_VECTORS to another one"
            ) from error


def _keys(maker: str, items: Sequence[str] | Sequence[Pair]) -> list[bytes]:
    begun, keys = blake2b(maker.encode(), digest_size=20), []
    for item in items:
        digest = begun.copy()
        text = item if isinstance(item, str) else f"{len(item[0])}\0{item[0]}{item[1]}"
        digest.update(b"\0" + text.encode("utf-8", "surrogatepass"))
        keys.append(digest.digest())
    return keys


def _length(item: str | Pair) -> int:
    return len(item) if isinstance(item, str) else len(item[0]) + len(item[1])


def _fill(rows: Array | None, n: int, places: Sequence[int], made: Array) -> Array:
    if rows is None:
        rows = np.full((n, made.shape[1]), np.nan, dtype=np.float32)
    rows[places] = made
    return rows
