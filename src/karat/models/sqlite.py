"""Opens SQLite files that several processes share."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from time import sleep, time

from karat.core.errors import DataError

TIMEOUT = 60.0  # seconds to wait for another process that writes


def open_shared(path: str, schema: str, version: int, variable: str) -> sqlite3.Connection:
    """Open a database of this schema; create it if it is missing. `:memory:` and the empty path are not on disk.

    A killed process loses nothing that it committed; a power failure may lose the last commits. Raises what SQLite
    raises, and `DataError` for a file of a newer version, with the environment `variable` that names another file.
    """
    file = path not in ("", ":memory:")
    if file:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, TIMEOUT, isolation_level=None, check_same_thread=False)
    (current,) = db.execute("PRAGMA user_version").fetchone()
    if current > version:
        raise DataError(
            f"{path} was written by a newer karat (version {current} of the file; this karat reads {version}); "
            f"set {variable} to another file"
        )
    if current < version:
        if file:
            _use_write_ahead_log(db)
        db.executescript(f"BEGIN IMMEDIATE; {schema}; PRAGMA user_version = {version}; COMMIT;")
    db.execute("PRAGMA synchronous = NORMAL")
    return db


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
