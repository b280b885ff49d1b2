"""Rows of one or several runs by SQL: a condition on them, and their order."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import duckdb
import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.data.filter import OFFLINE, names_in
from karat.data.open import open_source
from karat.data.paths.nested import extract_nested
from karat.data.storage.duckdb import connect, explain, interruptible, quote
from karat.data.storage.query_limits import QueryLimit, run_within_limits
from karat.runs.store.run import Run

NUMBER = "karat_row"
"""The name, in SQL, of a row's number in the first run, from 1."""


def select_rows(
    runs: Sequence[Run], places: Sequence[Array] = (), where: str | None = None, order: str | None = None
) -> list[Array]:
    """The row numbers, from 0, of each run's rows for which a condition holds; all have shape (n,).

    `places`: the numbers of the matched rows in each run, in the order of the first one; of a single run by default
    all. A column is a name in `where` and in `order`, or `run.name` where several runs have it. Rows come in `order`,
    such as `length DESC, id`, and where that is equal in the order of the first run; those without a value are last.
    Raises `DataError` for SQL that does not work or that reads more than one row at a time.
    """
    known = {run.name for run in runs}.union(*(open_source(run.rows).schema.names for run in runs))
    names = (names_in(where, columns=known) if where else set()) | (
        names_in(order, "SELECT 1 ORDER BY {}") if order else set()
    )
    columns = [_read(run, names) for run in runs]
    places = places or [np.arange(len(columns[0]))]
    connection, joined = connect(**OFFLINE), list[str]()
    for at, (run, table, rows) in enumerate(zip(runs, columns, places, strict=True)):
        numbered = table.take(pa.array(rows)).append_column(NUMBER, pa.array(np.arange(1, len(rows) + 1)))
        connection.register(f"karat_{at}", numbered)
        joined.append(f"karat_{at} AS {quote(run.name)}" + (f" USING ({NUMBER})" if at else ""))
    query = f"SELECT {NUMBER} FROM {' JOIN '.join(joined)} WHERE ({where or 'true'}\n) ORDER BY "  # noqa: S608
    query += f"{order}\n, {NUMBER}" if order else NUMBER
    try:
        with interruptible():
            chosen = run_within_limits(connection, lambda: connection.execute(query).fetchnumpy()[NUMBER]) - 1
    except (duckdb.Error, MemoryError, QueryLimit) as error:
        clauses = " with ".join(f"{what} {sql!r}" for what, sql in (("condition", where), ("order", order)) if sql)
        raise DataError(f"the {clauses} does not work: {explain(error)}") from error
    return [each[chosen] for each in places]


def _read(run: Run, names: Collection[str]) -> pa.Table:
    """The columns of a run, and the values inside them, that SQL names in any case; and one without values."""
    source = extract_nested(open_source(run.rows), names, keep_json=False).as_values()
    folded = {name.casefold() for name in names}
    used = [name for name in source.schema.names if name.casefold() in folded]
    schema = pa.schema([*(source.schema.field(name) for name in used), ("karat_no_column", pa.null())])
    return pa.Table.from_batches(
        (batch.append_column("karat_no_column", pa.nulls(batch.num_rows)) for batch in source.batches(used)),
        schema,
    )
