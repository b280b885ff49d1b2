"""SQLite files that processes share."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from time import sleep, time

from karat.core.errors import DataError

PATIENCE = 60.0  # seconds to wait for another process that writes


def open_shared(path: str, schema: str, version: int, variable: str) -> sqlite3.Connection:
    """Open a file of this form, making it where it is missing; `:memory:` and the empty path are no file.

    A killed process loses nothing that it committed; a power cut may lose the last commits. Raises `DataError` for a
    file of a newer form, naming the environment `variable` that says where else it may be, and what SQLite raises.
    """
    file = path not in ("", ":memory:")
    if file:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, PATIENCE, isolation_level=None, check_same_thread=False)
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found > version:
        raise DataError(
            f"{path} was written by a newer karat (form {found}, this one knows {version}); "
            f"set {variable} to another file"
        )
    if found < version:
        if file:
            _write_ahead(db)
        db.executescript(f"BEGIN IMMEDIATE; {schema}; PRAGMA user_version = {version}; COMMIT;")
    db.execute("PRAGMA synchronous = NORMAL")
    return db


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch to write-ahead logging, for which SQLite does not itself wait where another process does the same."""
    end = time() + PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time() > end:
                raise
            sleep(0.02)
        else:
            return
