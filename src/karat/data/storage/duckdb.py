"""DuckDB, set up so that it stays offline, within memory and within the cores allowed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from karat.core.parallel import threads

MEMORY_LIMIT = "384MB"


def connect(**settings: str) -> duckdb.DuckDBPyConnection:
    """Open a connection that installs nothing, loads nothing and uses at most `KARAT_THREADS` threads."""
    config: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "memory_limit": MEMORY_LIMIT,
        "threads": threads(),
        **settings,
    }
    connection = duckdb.connect(config=config)
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET python_enable_replacements = false")  # a query sees no Python variables
    return connection


def stream(connection: duckdb.DuckDBPyConnection, query: str, rows: int) -> Iterator[pa.RecordBatch]:
    """Run a query and yield its rows in batches, without holding them all.

    Raises `duckdb.Error` also for what goes wrong in later batches, which reaches us through Arrow.
    """
    try:
        with interruptible():
            yield from connection.sql(query).to_arrow_reader(rows)
    except OSError as error:
        raise duckdb.Error(str(error)) from error


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise `KeyboardInterrupt` where DuckDB, interrupted, raises an error of its own; also a decorator."""
    try:
        yield
    except (RuntimeError, duckdb.InterruptException, OSError) as error:
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from error
        raise


def quote(name: str) -> str:
    """A name as an SQL identifier.

    >>> print(quote('say "hi" twice'))
    "say ""hi"" twice"
    """
    return '"' + name.replace('"', '""') + '"'


def structure(columns: dict[str, str]) -> str:
    """Columns and their types as DuckDB's readers take them.

    >>> structure({"a b": "VARCHAR"})
    "{'a b': 'VARCHAR'}"
    """
    return f"{{{', '.join(f'{literal(name)}: {literal(kind)}' for name, kind in columns.items())}}}"


def one_file(path: str | Path) -> str:
    """A file's path and no other's as DuckDB's readers take it: not a pattern, and no columns from its folders' names.

    >>> one_file("/runs/k=1/a[1].csv")
    "'/runs/k=1/a[[]1].csv', hive_partitioning=false, union_by_name=false, filename=false"
    """
    plain = re.sub(r"([*?\[])", r"[\1]", os.path.abspath(path))  # noqa: PTH100  (links stay)
    return f"{literal(plain)}, hive_partitioning=false, union_by_name=false, filename=false"


def literal(text: str) -> str:
    """A text as an SQL literal.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def explain(error: Exception) -> str:
    """DuckDB's reason, without its class, its suggestions of its own settings and its source lines."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].split(": ", 1)[-1].strip()
