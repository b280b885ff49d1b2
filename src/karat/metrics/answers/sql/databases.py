"""Databases in files, of SQLite or DuckDB, on which queries run that can neither write nor read any other file.

A query has limits: seconds, rows, and bytes. A database is opened once for each thread that asks it at the same time.
"""

from __future__ import annotations

import os
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from math import isnan
from pathlib import Path
from threading import Event
from typing import Any, Self

from karat.core.errors import did_you_mean
from karat.data.storage.query_limits import QueryLimit, QueryThread, run_within_limits
from karat.metrics.answers.sql.results import QueryResult, QueryRow

FOLDER = "KARAT_DATABASES"
"""The environment variable that says in which folder databases are; without it they are in the current one."""
ENDINGS = (".sqlite", ".sqlite3", ".db", ".duckdb")
BYTES = 256 << 20
"""The most that the texts of a result may have together."""
LONGEST = 16 << 20
"""The most bytes of one value."""
_PART = 1000
_GRACE = 1.0  # seconds for an interrupted query to end
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_REFUSED = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}
_DUCKDB = {"enable_external_access": "false", "memory_limit": "1GB", "threads": "1", "temp_directory": ""}
_DUCKDB |= {f"auto{how}_known_extensions": "false" for how in ("install", "load")} | {"lock_configuration": "true"}


class NoDatabase(Exception):
    """Why there is no database of a name."""


class QueryFailed(Exception):
    """Why a query gives no result."""


@dataclass(frozen=True)
class QueryLimits:
    """What a query may take, and how many rows it may return."""

    seconds: float
    rows: int


def find_databases(name: str) -> list[Path]:
    """The files of a database: a file, with or without its ending, or all databases in a folder.

    Raises `NoDatabase`, which names the nearest one.
    """
    root = Path(os.environ.get(FOLDER, ""))
    try:
        paths = [path for ending in ("", *ENDINGS) if (path := root / f"{name}{ending}").exists()]
        if not name or not paths:
            nearest = did_you_mean(
                name, [each.stem if each.suffix in ENDINGS else each.name for each in root.iterdir()]
            )
            raise NoDatabase(f"there is no database {str(root / name)!r}{nearest} ({FOLDER} names their folder)")
        if paths[0].is_file():
            return paths[:1]
        files = [each for each in sorted(paths[0].iterdir()) if each.suffix in ENDINGS and each.name[0] != "."]
    except (OSError, ValueError) as error:
        raise NoDatabase(f"the database {name!r} cannot be read: {error}") from None
    if not files:
        raise NoDatabase(f"the folder {str(paths[0])!r} has no database ({', '.join(ENDINGS)})")
    return files


class Databases:
    """Databases that are opened when a query asks them, and closed at the end of the block; threads may share it."""

    def __init__(self, limits: QueryLimits) -> None:
        self.limits = limits
        self._idle: dict[str, list[_Connection]] = defaultdict(list)
        self._files: dict[str, list[Path] | NoDatabase] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in (each for several in self._idle.values() for each in several):
            connection.thread.close()
            connection.raw.close()

    def find(self, name: str) -> list[Path]:
        """The files of a database, as `find_databases` finds them once."""
        if name not in self._files:
            try:
                self._files[name] = find_databases(name)
            except NoDatabase as error:
                self._files[name] = error
        if isinstance(files := self._files[name], NoDatabase):
            raise files
        return files

    def run(self, path: Path, query: str) -> QueryResult:
        """The rows that a query returns. Raises `QueryFailed`, and `NoDatabase` for a file that is none."""
        try:
            connection = self._idle[str(path)].pop()
        except IndexError:
            connection = _open(path)
        try:
            return connection.run(query, self.limits)
        finally:
            if connection.free:
                self._idle[str(path)].append(connection)
            else:
                connection.thread.close()


def _open(path: Path) -> _Connection:
    try:
        with path.open("rb") as file:
            head = file.read(16)
        if head == b"SQLite format 3\0":
            return _open_sqlite(path)
        if head[8:12] == b"DUCK":
            return _open_duckdb(path)
    except Exception as error:  # noqa: BLE001  (of either library)
        raise NoDatabase(f"the database {str(path)!r} cannot be opened: {error}") from None
    raise NoDatabase(f"the file {str(path)!r} is not a database of SQLite or DuckDB")


@dataclass
class _Connection:
    """An open database: `errors` are what its queries raise, also for texts; `check` raises for one that may not run.

    `cell` turns a cell into a value that can be compared, where it is not one. `free`: whether no query runs on it.
    """

    raw: Any
    errors: tuple[type[Exception], ...]
    check: Callable[[str], None]
    cell: Callable[[Any], Any] | None = None
    free: bool = True
    thread: QueryThread = field(default_factory=QueryThread)

    def run(self, query: str, limits: QueryLimits) -> QueryResult:
        ended = Event()

        def fetch() -> list[QueryRow]:
            try:
                self.check(query)
                return self._fetch(query, limits)
            finally:
                ended.set()

        try:
            return run_within_limits(self.raw, fetch, limits.seconds, self.thread.start)
        except QueryLimit as error:
            ended.wait(_GRACE)
            raise QueryFailed(str(error)) from None
        except MemoryError:
            raise QueryFailed("it takes too much memory") from None
        except self.errors as error:
            raise QueryFailed(str(error).partition("\n")[0]) from None
        finally:
            self.free = ended.is_set()

    def _fetch(self, query: str, limits: QueryLimits) -> list[QueryRow]:
        cursor = self.raw.execute(query)
        if cursor.description is None:
            raise QueryFailed("it returns no rows: a query such as SELECT is expected")
        rows: list[QueryRow] = []
        size = 0
        while part := cursor.fetchmany(_PART):
            if self.cell is not None:
                part = [tuple(map(self.cell, row)) for row in part]
            rows += part
            size += sum(len(cell) for row in part for cell in row if isinstance(cell, str | bytes))
            if len(rows) > limits.rows:
                raise QueryFailed(f"it returns more than {limits.rows:,} rows")
            if size > BYTES:
                raise QueryFailed(f"it returns more than {BYTES >> 20} MB")
        return rows


def _open_sqlite(path: Path) -> _Connection:
    """Read-only: neither a lock nor a file beside it is written, unless its log holds what the file lacks."""
    log = path.with_name(f"{path.name}-wal")
    logged = log.exists() and log.stat().st_size > 0
    address = f"{path.resolve().as_uri()}?mode=ro{'' if logged else '&immutable=1'}"
    raw = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
    raw.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    raw.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000)
    raw.set_authorizer(_authorize)
    return _Connection(raw, (sqlite3.Error, sqlite3.Warning, ValueError), lambda _: None)


def _authorize(action: int, _table: str | None, name: str | None, *_: str | None) -> int:
    reads = action in _ALLOWED and not (action == sqlite3.SQLITE_FUNCTION and (name or "").lower() in _REFUSED)
    return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY


def _open_duckdb(path: Path) -> _Connection:
    import duckdb  # noqa: PLC0415  (SQLite needs no DuckDB)

    def check(query: str) -> None:
        kinds = [each.type for each in duckdb.extract_statements(query)]
        if kinds != [duckdb.StatementType.SELECT]:
            raise QueryFailed("one query that reads, such as SELECT, is expected")

    raw = duckdb.connect(str(path), read_only=True, config=dict(_DUCKDB))
    return _Connection(raw, (duckdb.Error, ValueError), check, _plain)


class _NotANumber:
    """In place of NaN, which equals no other."""

    def __repr__(self) -> str:
        return "NaN"


_NAN = _NotANumber()


def _plain(cell: Any) -> Any:
    """A cell of DuckDB that equals others of its value and can be a key.

    >>> _plain(Decimal("2.50")), _plain([1, float("nan")]), _plain({"b": 1, "a": None})
    (2.5, (1, NaN), (('a', None), ('b', 1)))
    """
    if isinstance(cell, Decimal):
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    if isinstance(cell, float) and isnan(cell):
        return _NAN
    if isinstance(cell, list | tuple):
        return tuple(map(_plain, cell))
    if isinstance(cell, dict):
        return tuple(sorted((str(key), _plain(value)) for key, value in cell.items()))
    return bytes(cell) if isinstance(cell, bytearray | memoryview) else cell
