"""A cache of replies and a journal of attempts, in one SQLite file: nothing that was paid for is requested again."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from time import time
from typing import Any

from karat.core.paths import cache_path
from karat.models.request import Reply
from karat.models.sqlite import SharedDatabase, checksum, compare

SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL, created REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS attempts (
    attempt INTEGER PRIMARY KEY, run TEXT NOT NULL, started REAL NOT NULL, ended REAL,
    input_tokens INTEGER, output_tokens INTEGER, cost REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS attempts_of_run ON attempts (run);
CREATE TABLE IF NOT EXISTS rejected (key TEXT PRIMARY KEY, reply TEXT NOT NULL, run TEXT NOT NULL) WITHOUT ROWID
"""

_OF_RUN = "(run = :run OR (run > :run || char(10) AND run < :run || char(11)))"


class ReplyCache(SharedDatabase):
    """Replies by key, and the attempts of each run, in one SQLite file that processes share.

    The file is `path`, else `$KARAT_CACHE`, else `karat/replies.sqlite` in the user's cache folder. A reply is
    committed before it is returned, so killing the process loses none. Only the first reply to a key is stored, until
    it is rejected; without `replies` none is, and the file holds attempts alone. The attempts of a run within another
    (`run_within`) are also the other's.

    >>> with ReplyCache(":memory:") as cache:
    ...     first = cache.put("key", Reply("yes"))
    ...     again = cache.put("key", Reply("no"))
    ...     cached = cache.get("key")
    >>> again.text, cached.text, cached.cached
    ('yes', 'yes', True)
    """

    schema, version, purpose, variable = SCHEMA, 2, "the cache of replies", "KARAT_CACHE"

    def __init__(self, path: str | os.PathLike[str] | None = None, *, replies: bool = True) -> None:
        self.replies = replies
        super().__init__(os.fspath(path or cache_path("replies.sqlite", self.variable)))

    def get(self, key: str, run: str | None = None) -> Reply | None:
        """The reply stored under a key; one that was rejected is for its own `run` alone."""
        if not self.replies:
            return None
        sql = "SELECT reply FROM replies WHERE key = ? UNION ALL SELECT reply FROM rejected WHERE key = ? AND run = ?"
        with self._locked():
            row = self._db.execute(sql, (key, key, run)).fetchone()
            return _read(key, row[0]) if row else None

    def reject(self, keys: Sequence[str], run: str | None) -> None:
        """Let other runs than this one ask anew for these replies, which gave no verdict; without a run, let all."""
        with self.transaction() as db:
            if run is None:
                db.executemany("DELETE FROM rejected WHERE key = ?", [(key,) for key in keys])
            else:
                db.executemany(
                    "INSERT OR REPLACE INTO rejected SELECT key, reply, ? FROM replies WHERE key = ?",
                    [(run, key) for key in keys],
                )
            db.executemany("DELETE FROM replies WHERE key = ?", [(key,) for key in keys])

    def put(self, key: str | None, reply: Reply, attempt: int | None = None, cost: float = 0.0) -> Reply:
        """Store a reply and the end of its attempt in one transaction. Returns the reply stored under the key."""
        with self.transaction() as db:
            if attempt is not None:
                _end_attempt(db, attempt, cost, reply)
            new = key is None or not self.replies or _insert(db, key, reply)
        return reply if new or key is None else self.get(key) or reply

    def begin_attempt(self, run: str, cost: float = 0.0) -> int:
        """Record a call that is about to start, at its estimated cost. Returns the attempt's number."""
        with self._locked():
            sql = "INSERT INTO attempts (run, started, cost) VALUES (?, ?, ?)"
            return self._db.execute(sql, (run, time(), cost)).lastrowid or 0

    def end_attempt(self, attempt: int, cost: float) -> None:
        """Record that an attempt has ended without a reply, and what it did cost."""
        with self._locked():
            _end_attempt(self._db, attempt, cost)

    def forget_attempt(self, attempt: int) -> None:
        """Delete an attempt that was never made."""
        with self._locked():
            self._db.execute("DELETE FROM attempts WHERE attempt = ?", (attempt,))

    def spent(self, run: str) -> tuple[int, float]:
        """The calls of a run and their cost in USD; an attempt that never ended counts as estimated."""
        with self._locked():
            sql = "SELECT count(*), total(cost) FROM attempts WHERE "
            calls, cost = self._db.execute(sql + _OF_RUN, {"run": run}).fetchone()
            return calls, cost

    def usage(self, run: str, since: float = 0.0) -> dict[str, Any]:
        """The calls of a run that began after `since` (as in `time.time`), with their tokens and their cost in USD.

        `interrupted` calls have no recorded end, because their process was killed: they cost what was estimated or,
        without an estimate, what a call costs on average.
        """
        sql = """SELECT count(*), total(input_tokens), total(output_tokens), total(cost), count(*) - count(ended),
            total(ended IS NULL AND cost = 0) * coalesce(avg(CASE WHEN cost > 0 THEN cost END), 0)
            FROM attempts WHERE started >= :since AND """
        with self._locked():
            counted = self._db.execute(sql + _OF_RUN, {"run": run, "since": since}).fetchone()
        calls, read, written, cost, interrupted, more = counted
        counts = {"calls": calls, "input_tokens": int(read), "output_tokens": int(written)}
        return {**counts, "cost": cost + more, "interrupted": interrupted}

    def count_answers(self) -> tuple[int, int]:
        """The number of replies in the file, and of those in which a task says that it failed."""
        failed = "json_extract(json_extract(reply, '$.text'), '$.error') IS NOT NULL"
        with self._locked():
            replies, errors = self._db.execute(f"SELECT count(*), total({failed}) FROM replies").fetchone()  # noqa: S608
            return replies, int(errors)

    def forget_run(self, run: str) -> None:
        """Delete the attempts of a run that starts again, and what it has rejected. Other replies stay."""
        with self.transaction() as db:
            db.execute("DELETE FROM attempts WHERE " + _OF_RUN, {"run": run})  # noqa: S608
            db.execute("DELETE FROM rejected WHERE run = ?", (run,))


def run_within(outer: str | None, run: str | None) -> str | None:
    r"""The name under which the attempts of a run are recorded that is a part of another.

    >>> run_within("caps", "first"), run_within("first", "first"), run_within(None, "first")
    ('caps\nfirst', 'first', 'first')
    """
    return f"{outer}\n{run}" if outer and run and outer != run else outer or run


def _insert(db: sqlite3.Connection, key: str, reply: Reply) -> bool:
    """Store a reply, inside a transaction; False where there is one under the key already."""
    members = {name: value for name, value in vars(reply).items() if name != "cached"}
    text = _write(members)
    sum_of_all = checksum(key.encode(), text.encode())
    row = (key, f'{text[:-1]}, "crc32": {sum_of_all}}}', time())
    return bool(db.execute("INSERT INTO replies VALUES (?, ?, ?) ON CONFLICT DO NOTHING", row).rowcount)


def _write(members: Mapping[str, Any]) -> str:
    return json.dumps(members, ensure_ascii=False)


def _read(key: str, text: str) -> Reply:
    """The reply in a text, whose checksum is compared."""
    members = json.loads(text)
    stored = members.pop("crc32", None)
    compare(stored, key.encode(), _write(members).encode())
    return Reply(**members, cached=True)


def _end_attempt(db: sqlite3.Connection, attempt: int, cost: float, reply: Reply | None = None) -> None:
    """Record the end of an attempt and what it did cost, inside a transaction."""
    tokens = (reply.input_tokens, reply.output_tokens) if reply else (None, None)
    sql = "UPDATE attempts SET ended = ?, input_tokens = ?, output_tokens = ?, cost = ? WHERE attempt = ?"
    db.execute(sql, (time(), *tokens, cost, attempt))
