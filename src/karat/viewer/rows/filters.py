"""Which rows fulfil conditions, in which order they come, and what each has: `RowSql` over the columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.viewer.rows.fields import Condition, Field, Order
from karat.viewer.rows.sql import RowSql
from karat.viewer.rows.table import OUTCOMES, RowTable

_AHEAD = 1_000  # rows in an order that are found at once


def keep_rows(table: RowTable, conditions: Iterable[Condition]) -> Array | None:
    """Which rows fulfil all conditions, shape (n,); None where there are no conditions."""
    kept = None
    for condition in conditions:
        mask = table.keep(condition, partial(_mark, table, condition))
        kept = mask if kept is None else kept & mask
    return kept


def sort_rows(
    table: RowTable, order: Order | None, conditions: Sequence[Condition] = (), most: int | None = None
) -> Array:
    """The rows that fulfil all conditions, in an order: at least the first `most`, by default all.

    Rows without a value are last, and rows with equal values in the first run's order, which None stands for.
    """
    kept = keep_rows(table, conditions)
    if order is None:
        return np.arange(table.n) if kept is None else np.flatnonzero(kept)
    first = table.n if most is None else -(-most // _AHEAD) * _AHEAD
    rows: Array = table.keep((order, *conditions, first), partial(_rank, table, order, kept, first))
    return rows


def field_numbers(table: RowTable, field: Field) -> Array:
    """The number of each row, float64, NaN where it has none; `SpecError` for a field without numbers."""
    _check_numbers(table, field)
    if field.kind in {"difference", "size"}:
        numbers = table.keep(field, lambda: _evaluate(table, lambda sql: f"{sql.value(field)} FROM matched"))
    else:
        numbers = table.numbers(*table.column_of(field))
    return np.asarray(numbers.to_numpy(zero_copy_only=False))


def field_labels(table: RowTable, field: Field) -> pa.DictionaryArray:
    """The label of each row; `SpecError` for a field without labels, `DataError` where they are too many."""
    if field.kind != "outcome":
        return table.labels(*table.labelled_column(field))
    kind = f"::ENUM{OUTCOMES}"
    return table.keep(
        ("labels", field), lambda: _evaluate(table, lambda sql: f"{sql.outcome(field, kind)} FROM matched")
    )


def _evaluate(table: RowTable, write: Callable[[RowSql], str], **columns: pa.Array) -> pa.Array:
    """What follows SELECT in a query over `matched`, which has these columns and those that the query names."""

    def name(at: int, column: str | None, text: bool) -> str:
        if column is None:
            spelled, column_read = ("id", table.ids) if text else ("place", pa.array(table.ranks))
        else:
            labelled = text or not table.is_number(at, column)
            spelled = f"{'label' if labelled else 'number'}_{at}_{table.runs[at].schema.names.index(column)}"
            column_read = (table.labels if labelled else table.numbers)(at, column)
        columns[spelled] = column_read
        return spelled

    query = write(RowSql(table, name))
    return table.relation.evaluate(query, columns)


def _rank(table: RowTable, order: Order, kept: Array | None, most: int) -> Array:
    if not table.holds_numbers(order.field):
        _check_labels(table, order.field)
    columns, where = {"row": pa.array(np.arange(table.n, dtype=np.int32))}, ""
    if kept is not None:
        columns, where = columns | {"kept": pa.array(kept)}, "WHERE kept"
    end = f"NULLS LAST, row LIMIT {most}"
    return np.asarray(
        _evaluate(table, lambda sql: f"row FROM matched {where} ORDER BY {sql.order(order)} {end}", **columns)
    )


def _mark(table: RowTable, condition: Condition) -> Array:
    """Which rows fulfil a condition, shape (n,); `SpecError` where it does not fit its field."""
    field, op = condition.field, condition.op
    if op == "contains" and field.kind != "id":
        if field.kind not in {"column", "text"}:
            raise SpecError(f"a field of kind {field.kind!r} is not searched for a text")
        return table.search(field, condition.values[0])
    if op in {"between", "range"}:
        _check_numbers(table, field)
    elif op != "missing" or not table.holds_numbers(field):
        _check_labels(table, field)
    holds = _evaluate(table, lambda sql: f"coalesce({sql.where([condition])}, false) FROM matched")
    return np.asarray(holds.to_numpy(zero_copy_only=False))


def _check_numbers(table: RowTable, field: Field) -> None:
    if not table.holds_numbers(field):
        raise SpecError(f"{field.name or field.kind!r} holds no numbers")


def _check_labels(table: RowTable, field: Field) -> None:
    if field.kind not in {"id", "outcome"}:
        table.labelled_column(field)
