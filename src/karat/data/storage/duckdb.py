"""DuckDB connections that stay offline and within limits of memory and threads; SQL quoting; error messages."""

from __future__ import annotations

import os
import re
import weakref
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from karat.core.parallel import threads
from karat.data.storage.batches import coalesce
from karat.data.storage.files import temporary_folder

_AT_ONCE = 64 << 20
MOST_COLUMNS = 10_000
"""Of a table: DuckDB reserves memory for each."""


_IDLE: dict[str, deque[duckdb.DuckDBPyConnection]] = defaultdict(lambda: deque(maxlen=4))
"""Open databases without a connection, by their settings: to open one takes 30 ms."""
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_IDLE.clear)  # the threads of a database are not in the child


def connect(columns: int = 0, /, **settings: str) -> duckdb.DuckDBPyConnection:
    """Open a connection that never installs or loads extensions and uses at most `KARAT_THREADS` threads.

    No other connection uses its database meanwhile; a later one may, so no query makes tables or sets an option but
    its memory: see `connect_alone`.
    `columns`: how many a query reads or writes, where these may be thousands.
    """
    idle = _IDLE[f"{threads()} {sorted(settings.items())}"]
    while idle:
        with suppress(IndexError, duckdb.FatalException):  # another thread took the last; a broken one answers nothing
            return _lend(idle.pop(), idle, columns)
    return _lend(_open(**settings), idle, columns)


def _lend(
    database: duckdb.DuckDBPyConnection, idle: deque[duckdb.DuckDBPyConnection], columns: int
) -> duckdb.DuckDBPyConnection:
    """A connection to a database, which is idle again when nothing holds the connection."""
    connection = _prepare(database.cursor())
    widen(connection, columns)
    weakref.finalize(connection, idle.append, database).atexit = False
    return connection


def connect_alone(*, memory_limit: str, **settings: str) -> duckdb.DuckDBPyConnection:
    """Open a connection to a database that nothing uses later: it may hold tables and lock its options."""
    return _prepare(_open(memory_limit=memory_limit, **settings))


def _open(**settings: str) -> duckdb.DuckDBPyConnection:
    config: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    return duckdb.connect(config=config | {"threads": str(threads())} | settings)


def _prepare(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    connection.execute("SET enable_progress_bar = false; SET python_enable_replacements = false")  # no Python variables
    return connection


def memory_for(columns: int) -> str:
    """A limit of memory: DuckDB reserves 32 KB for a column several times, of which it uses a part.

    >>> memory_for(12), memory_for(10_000)
    ('384MB', '2500MB')
    """
    return f"{max(384, columns // 4)}MB"


def too_many_columns(owner: str) -> str:
    """The message about more columns than `MOST_COLUMNS`."""
    return f"{owner} has more than {MOST_COLUMNS:,} columns; put values of one kind into a list or an object"


def widen(connection: duckdb.DuckDBPyConnection, columns: int) -> None:
    """Give an open connection the memory for this many columns."""
    connection.execute(f"SET memory_limit = {literal(memory_for(columns))}")


@contextmanager
def connect_on_disk() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection that uses a temporary folder for what does not fit into 200 MB of memory."""
    with (
        temporary_folder() as folder,
        connect_alone(memory_limit="200MB", temp_directory=folder) as connection,
    ):
        yield connection


def stream(
    connection: duckdb.DuckDBPyConnection, query: str, rows: int, longest: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Run a query and yield its rows in batches, without holding them all in memory.

    DuckDB counts rows and not bytes: with `longest`, the most bytes that a row may have, it is asked for so few at a
    time that they fit into 64 MB, and these are put together to about 32 MB. Raises `duckdb.Error`, also for errors in
    later batches, which Arrow reports as `OSError`.
    """
    at_once = rows if longest is None else max(1, min(rows, _AT_ONCE // max(longest, 1)))
    try:
        with interruptible():
            batches = connection.sql(query).to_arrow_reader(at_once)
            yield from batches if at_once == rows else coalesce(batches, rows)
    except OSError as error:
        raise duckdb.Error(str(error)) from error


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise `KeyboardInterrupt` where DuckDB reports an interrupt as another error; works as a decorator too."""
    try:
        yield
    except (RuntimeError, duckdb.InterruptException, OSError) as error:
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from error
        raise


def to_duckdb(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The column in a type that DuckDB knows: not a float of 16 bits, and decimals of more than 38 digits as text."""
    return column if (kind := duckdb_type(column.type)) == column.type else column.cast(kind)


def duckdb_type(kind: pa.DataType) -> pa.DataType:
    """The type in which DuckDB takes values of a plain type.

    >>> print(duckdb_type(pa.list_(pa.float16())), duckdb_type(pa.decimal256(40, 2)))
    list<item: float> string
    """
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        layout = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return layout(kind.value_field.with_type(duckdb_type(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(duckdb_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_field.with_type(duckdb_type(kind.key_type)), duckdb_type(kind.item_type))
    return pa.float32() if pa.types.is_float16(kind) else pa.string() if pa.types.is_decimal256(kind) else kind


def quote(name: str) -> str:
    """A name as an SQL identifier.

    >>> print(quote('say "hi" twice'))
    "say ""hi"" twice"
    """
    return '"' + name.replace('"', '""') + '"'


def spell(name: str) -> str:
    """A name as it is written in SQL: in quotes only where it needs them.

    >>> [spell(name) for name in ("exact_match", "ndcg@10", "Topic", "order")]
    ['exact_match', '"ndcg@10"', '"Topic"', '"order"']
    """
    plain = re.fullmatch(r"[a-z_][a-z0-9_]*", name) and not is_keyword(name)
    return name if plain else quote(name)


def is_keyword(name: str) -> bool:
    """Whether a name is a word of SQL, in any case, and needs quotes.

    >>> is_keyword("Order"), is_keyword("answer")
    (True, False)
    """
    return name.casefold() in _keywords()


@cache
def _keywords() -> frozenset[str]:
    """SQL's reserved words."""
    rows = connect().execute("SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'")
    return frozenset(name for (name,) in rows.fetchall())


def structure(columns: dict[str, str]) -> str:
    """Columns and their types as an argument of DuckDB's readers.

    >>> structure({"a b": "VARCHAR"})
    "{'a b': 'VARCHAR'}"
    """
    return f"{{{', '.join(f'{literal(name)}: {literal(kind)}' for name, kind in columns.items())}}}"


def one_file(path: str | Path) -> str:
    """One path as an argument of DuckDB's readers: not a glob pattern, and without columns from folder names.

    >>> one_file("/runs/k=1/a[1].csv")
    "'/runs/k=1/a[[]1].csv', hive_partitioning=false, union_by_name=false, filename=false"
    """
    return f"{literal(one_pattern(path))}, hive_partitioning=false, union_by_name=false, filename=false"


def one_pattern(path: str | Path) -> str:
    """The glob pattern that fits one path alone."""
    return re.sub(r"([*?\[])", r"[\1]", os.path.abspath(path))  # noqa: PTH100  (does not resolve links)


def literal(text: str) -> str:
    """A text as an SQL literal.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def where_option(condition: str) -> str:
    r"""The option with a condition, as a shell takes it.

    >>> print(where_option('"f1 score" > 0'))
    --where "\"f1 score\" > 0"
    """
    escaped = re.sub(r'(["$`\\])', r"\\\1", condition)
    return f'--where "{escaped}"'


def explain(error: Exception) -> str:
    """The first line of DuckDB's message, without the error class, hints about settings, and source lines."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].split(": ", 1)[-1].strip()
