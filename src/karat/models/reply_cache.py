"""Replies kept for good, and a journal of what was asked: nothing paid for is asked again."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from time import time
from typing import Self

from karat.core.errors import DataError
from karat.models.request import Reply
from karat.models.sqlite import open_shared

VERSION = 1

SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL, created REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS attempts (
    attempt INTEGER PRIMARY KEY, run TEXT NOT NULL, started REAL NOT NULL, ended REAL,
    input_tokens INTEGER, output_tokens INTEGER, cost REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS attempts_of_run ON attempts (run)
"""


def default_path() -> Path:
    """`KARAT_CACHE` (a file), else `karat/replies.sqlite` in the user's cache folder."""
    if given := os.environ.get("KARAT_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "karat" / "replies.sqlite"


class Store:
    """Replies by key, and the attempts of each run, in one SQLite file that processes share.

    A reply is committed before anyone sees it; killing the process at any instant loses none. The first reply to a
    key is the one that stays, whoever asks.

    >>> with Store(":memory:") as store:
    ...     first = store.keep("key", Reply("yes"))
    ...     again = store.keep("key", Reply("no"))
    ...     kept = store.get("key")
    >>> again.text, kept.text, kept.cached
    ('yes', 'yes', True)
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = os.fspath(path or default_path())
        self._lock = Lock()
        with self._alone():
            self._db = open_shared(self.path, SCHEMA, VERSION, "KARAT_CACHE")

    def get(self, key: str) -> Reply | None:
        """The reply kept under a key."""
        with self._alone():
            found = self._db.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
            return Reply(**json.loads(found[0]), cached=True) if found else None

    def keep(self, key: str | None, reply: Reply, attempt: int | None = None, cost: float = 0.0) -> Reply:
        """Keep a reply and the end of its attempt, together; the reply that is kept from now on."""
        with self._alone(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            if attempt is not None:
                self._end(attempt, cost, reply)
            if key is None:
                return reply
            said = {name: value for name, value in vars(reply).items() if name != "cached"}
            row = (key, json.dumps(said, ensure_ascii=False), time())
            new = self._db.execute("INSERT INTO replies VALUES (?, ?, ?) ON CONFLICT DO NOTHING", row).rowcount
        return reply if new else self.get(key) or reply

    def begin(self, run: str, cost: float = 0.0) -> int:
        """Write down that a call is about to be made, at its estimated cost; the attempt's number."""
        with self._alone():
            sql = "INSERT INTO attempts (run, started, cost) VALUES (?, ?, ?)"
            return self._db.execute(sql, (run, time(), cost)).lastrowid or 0

    def end(self, attempt: int, cost: float) -> None:
        """Write down that an attempt has ended without a reply, and what it did cost."""
        with self._alone():
            self._end(attempt, cost)

    def spent(self, run: str) -> tuple[int, float]:
        """The calls of a run and their cost in USD; one that never ended counts as estimated."""
        with self._alone():
            sql = "SELECT count(*), total(cost) FROM attempts WHERE run = ?"
            calls, cost = self._db.execute(sql, (run,)).fetchone()
            return calls, cost

    def forget(self, run: str) -> None:
        """Count nothing for a run that begins anew; its replies stay."""
        with self._alone():
            self._db.execute("DELETE FROM attempts WHERE run = ?", (run,))

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end(self, attempt: int, cost: float, reply: Reply | None = None) -> None:
        tokens = (reply.input_tokens, reply.output_tokens) if reply else (None, None)
        sql = "UPDATE attempts SET ended = ?, input_tokens = ?, output_tokens = ?, cost = ? WHERE attempt = ?"
        self._db.execute(sql, (time(), *tokens, cost, attempt))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread at a time; an error says which file it was, and what to do."""
        try:
            with self._lock:
                yield
        except DataError:
            raise
        except (sqlite3.Error, OSError, ValueError, TypeError) as error:
            raise DataError(
                f"{self.path}, where replies are kept: {error}; move it away, or set KARAT_CACHE"
            ) from error
