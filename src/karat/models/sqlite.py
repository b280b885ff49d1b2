"""SQLite files that several processes share."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from time import sleep, time
from typing import Self
from weakref import finalize
from zlib import crc32

from karat.core.errors import DataError

TIMEOUT = 60.0  # seconds to wait for another process that writes


class SharedDatabase:
    """A database in one file, created if it is missing. `:memory:` and the empty path are not on disk.

    A killed process loses nothing that it committed; a power failure may lose the last commits. Errors are `DataError`
    and name the file, its `purpose`, and the environment `variable` that names another file.
    """

    schema: str
    version: int
    purpose: str
    variable: str

    def __init__(self, path: str) -> None:
        self.path, self._lock = path, Lock()
        with self._locked():
            self._db = self._open()
        self._finish = finalize(self, self._db.close)  # a default of the process is closed by nobody

    def close(self) -> None:
        """Close the file."""
        self._finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one thread at a time in, and put the file's path and a remedy into errors."""
        try:
            with self._lock:
                yield
        except DataError:
            raise
        except (sqlite3.Error, OSError, ValueError, TypeError) as error:
            remedy = f"move it away, or set {self.variable} to another file"
            raise DataError(f"{self.path}, {self.purpose}: {error}; {remedy}") from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The connection, for statements that take effect together at the end of the block, or not at all."""
        with self._locked(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db

    def _open(self) -> sqlite3.Connection:
        file = self.path not in ("", ":memory:")
        if file:
            Path(self.path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not Path(self.path).exists():  # prompts and replies are for their owner alone
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        db = sqlite3.connect(self.path, timeout=TIMEOUT, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(db, file=file)
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: sqlite3.Connection, *, file: bool) -> None:
        (current,) = db.execute("PRAGMA user_version").fetchone()
        if current > self.version:
            versions = f"version {current} of the file; this karat reads {self.version}"
            problem = f"{self.path} was written by a newer karat ({versions})"
            raise DataError(f"{problem}; set {self.variable} to another file")
        if current < self.version:
            if file:
                _use_write_ahead_log(db)
            self._bring_up_to_date(db)
        db.execute("PRAGMA synchronous = NORMAL")

    def _bring_up_to_date(self, db: sqlite3.Connection) -> None:
        """Carry out the schema, unless another process did so meanwhile."""
        db.execute("BEGIN IMMEDIATE")
        if db.execute("PRAGMA user_version").fetchone()[0] < self.version:
            for statement in self.schema.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {self.version}")
        db.execute("COMMIT")


def checksum(*kept: bytes) -> int:
    """The CRC-32 of the cells of a row, which is stored beside them: SQLite has none of its own.

    >>> checksum(b"12345", b"6789") == 0xCBF43926
    True
    """
    value = 0
    for cell in kept:
        value = crc32(cell, value)
    return value


def compare(stored: int | None, *kept: bytes) -> None:
    """Raise `ValueError`, which `SharedDatabase` explains, where the cells of a row are not those that were stored.

    Rows that were stored by the first versions have no checksum, and are not compared.
    """
    if stored is not None and stored != checksum(*kept):
        raise ValueError("a row is not as it was written; the file is damaged")


def _use_write_ahead_log(db: sqlite3.Connection) -> None:
    """Switch to write-ahead logging. SQLite does not wait by itself if another process does the same."""
    end = time() + TIMEOUT
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time() > end:
                raise
            sleep(0.02)
        else:
            return
