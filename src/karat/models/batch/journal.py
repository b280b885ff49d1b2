"""What was uploaded in batches, on disk before and after each step, so that a stopped run finds it again."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from time import time

from karat.models.governor.faults import Fault
from karat.models.reply_cache import ReplyCache, end_attempt, insert_reply
from karat.models.request import Reply

SCHEMA = (
    """CREATE TABLE IF NOT EXISTS batches (
        name TEXT PRIMARY KEY, endpoint TEXT NOT NULL, model TEXT NOT NULL, requests INTEGER NOT NULL,
        started REAL NOT NULL, touched REAL NOT NULL, file TEXT, id TEXT, ended REAL, status TEXT
    )""",
    """CREATE TABLE IF NOT EXISTS batch_requests (
        key TEXT PRIMARY KEY, name TEXT NOT NULL, attempt INTEGER NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS requests_of_batch ON batch_requests (name)",
)
COLUMNS = "name, requests, started, touched, file, id"


@dataclass(frozen=True)
class PendingBatch:
    """A batch that has not ended: `file` and `id` are the endpoint's names for its file and for it, once known.

    `name` is ours: it is in the batch's metadata and in the name of its file. `started` and `touched` are in seconds of
    `time.time`.
    """

    name: str
    requests: int
    started: float
    touched: float
    file: str | None
    id: str | None


class BatchJournal:
    """The batches of one model, and which requests they hold, in the file of the cache of replies.

    The key of a request in the cache is its `custom_id` in a batch. A request is in at most one batch that has not
    ended; it counts as an attempt of `run` at its estimated cost from the moment before its upload.
    """

    def __init__(self, store: ReplyCache, run: str, endpoint: str, model: str) -> None:
        self.store, self._run, self._model = store, run, (endpoint, model)
        with store.transaction() as db:
            _create_tables(db)

    def find(self, key: str) -> tuple[str, float | None] | None:
        """The name of the batch that holds a request, and its estimated cost if it counts for this run already."""
        sql = "SELECT name, run, cost FROM batch_requests LEFT JOIN attempts USING (attempt) WHERE key = ?"
        with self.store.transaction() as db:
            row = db.execute(sql, (key,)).fetchone()
        return row and (row[0], row[2] if row[1] == self._run else None)

    def adopt(self, key: str, cost: float) -> None:
        """Count a request that another run has uploaded for this run."""
        attempt = self.store.begin_attempt(self._run, cost)
        with self.store.transaction() as db:
            db.execute("UPDATE batch_requests SET attempt = ? WHERE key = ?", (attempt, key))

    def prepare(self, name: str, costs: Mapping[str, float]) -> set[str]:
        """Record a batch that is about to be uploaded. Its keys: those that are in no other batch and have no reply."""
        new, now = set(), time()
        with self.store.transaction() as db:
            for key, cost in costs.items():
                sql = "SELECT 1 FROM replies WHERE key = ? UNION SELECT 1 FROM batch_requests WHERE key = ?"
                if not db.execute(sql, (key, key)).fetchone():
                    row = (self._run, now, cost)
                    attempt = db.execute("INSERT INTO attempts (run, started, cost) VALUES (?, ?, ?)", row).lastrowid
                    db.execute("INSERT INTO batch_requests VALUES (?, ?, ?)", (key, name, attempt))
                    new.add(key)
            sql = "INSERT INTO batches (name, endpoint, model, requests, started, touched) VALUES (?, ?, ?, ?, ?, ?)"
            if new:
                db.execute(sql, (name, *self._model, len(new), now, now))
        return new

    def record(self, name: str, what: str, value: str) -> None:
        """Record the endpoint's `file` or `id` of a batch."""
        with self.store.transaction() as db:
            db.execute(f"UPDATE batches SET {what} = ?, touched = ? WHERE name = ?", (value, time(), name))  # noqa: S608

    def touch(self, name: str, since: float | None = None) -> bool:
        """Say that this process is uploading a batch; False if another one has said so after `since`."""
        sql, row = "UPDATE batches SET touched = ? WHERE name = ?", (time(), name)
        with self.store.transaction() as db:
            if since is None:
                return bool(db.execute(sql, row).rowcount)
            return bool(db.execute(f"{sql} AND touched = ?", (*row, since)).rowcount)

    def batch(self, name: str) -> PendingBatch | None:
        """The batch of this name; None if it has ended."""
        with self.store.transaction() as db:
            row = db.execute(f"SELECT {COLUMNS} FROM batches WHERE name = ? AND ended IS NULL", (name,)).fetchone()  # noqa: S608
        return row and PendingBatch(*row)

    def costs(self, name: str) -> dict[str, float | None]:
        """The requests in a batch, with their estimated costs; None for those that count for another run."""
        sql = "SELECT key, run, cost FROM batch_requests LEFT JOIN attempts USING (attempt) WHERE name = ?"
        with self.store.transaction() as db:
            rows = db.execute(sql, (name,)).fetchall()
        return {key: cost if run == self._run else None for key, run, cost in rows}

    def finish(self, name: str, outcomes: Mapping[str, Reply | Fault], status: str) -> None:
        """Store the replies of a batch that has ended, and the ends of its attempts, in one transaction."""
        with self.store.transaction() as db:
            attempts = dict(db.execute("SELECT key, attempt FROM batch_requests WHERE name = ?", (name,)).fetchall())
            for key in attempts.keys() & outcomes.keys():
                outcome = outcomes[key]
                if isinstance(outcome, Reply):
                    insert_reply(db, key, outcome)
                    end_attempt(db, attempts[key], outcome.cost or 0.0, outcome)
                else:
                    end_attempt(db, attempts[key], 0.0)
            db.execute("DELETE FROM batch_requests WHERE name = ?", (name,))
            db.execute("UPDATE batches SET ended = ?, status = ? WHERE name = ?", (time(), status, name))

    def release(self, name: str, status: str) -> None:
        """Record that no request of a batch was sent: none counts as an attempt."""
        with self.store.transaction() as db:
            sql = "DELETE FROM attempts WHERE attempt IN (SELECT attempt FROM batch_requests WHERE name = ?)"
            db.execute(sql, (name,))
            db.execute("DELETE FROM batch_requests WHERE name = ?", (name,))
            db.execute("UPDATE batches SET ended = ?, status = ? WHERE name = ?", (time(), status, name))


def open_batches(store: ReplyCache, run: str) -> list[str]:
    """The ids of the batches with requests of a run that have not ended, and how many requests each has."""
    sql = """SELECT id, count(*) FROM batches JOIN batch_requests USING (name) JOIN attempts USING (attempt)
        WHERE run = ? AND batches.ended IS NULL AND id IS NOT NULL GROUP BY id ORDER BY batches.started"""
    with store.transaction() as db:
        _create_tables(db)
        return [f"{batch} ({count} requests)" for batch, count in db.execute(sql, (run,)).fetchall()]


def _create_tables(db: sqlite3.Connection) -> None:
    for statement in SCHEMA:
        db.execute(statement)
