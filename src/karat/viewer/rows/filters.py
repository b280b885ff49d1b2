"""Which rows fulfil conditions, and in which order they come."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.viewer.rows.fields import Condition, Field, Order
from karat.viewer.rows.table import MISSING, RowTable


def filter_rows(table: RowTable, conditions: Iterable[Condition]) -> Array | None:
    """Which rows fulfil all conditions, shape (n,); None where there are no conditions."""
    kept = None
    for condition in conditions:
        mask = table.keep(condition, partial(_mark, table, condition))
        kept = mask if kept is None else kept & mask
    return kept


def sort_rows(table: RowTable, order: Order | None, kept: Array | None) -> Array:
    """The rows that are kept, in an order; without one, in that of the first run."""
    if order is None:
        return np.arange(table.n) if kept is None else np.flatnonzero(kept)
    ranked = table.keep(order, lambda: _rank(table, order))
    return ranked if kept is None else ranked[kept[ranked]]


def _rank(table: RowTable, order: Order) -> Array:
    """All rows in an order; rows without a value are last, and rows with equal values in the first run's order."""
    values = _sort_key(table, order.field)
    return np.argsort(-values if order.descending else values, kind="stable").astype(np.int32)


def _sort_key(table: RowTable, field: Field) -> Array:
    if field.kind == "id":
        return table.ranks
    if table.holds_numbers(field):
        return table.numbers(field)
    codes = table.codes(field)
    ranks = np.empty(len(codes.labels))
    ranks[sorted(range(len(ranks)), key=codes.labels.__getitem__)] = np.arange(len(ranks))
    ranks[[label == MISSING for label in codes.labels]] = np.nan
    return ranks[codes.numbers]


def _mark(table: RowTable, condition: Condition) -> Array:
    """Which rows fulfil a condition, shape (n,); `SpecError` where it does not fit its field."""
    field, values = condition.field, condition.values
    if condition.op == "contains":
        return _search(table, field, values[0])
    if condition.op in {"between", "range"}:
        numbers = table.numbers(field)
        low, high = (-np.inf if values[0] is None else values[0]), (np.inf if values[1] is None else values[1])
        below = numbers < high if condition.op == "range" and values[1] is not None else numbers <= high
        return (numbers >= low) & below
    if field.kind == "id":
        marked = table.find_rows(pa.array([value for value in values if value is not None], pa.string()))
    elif condition.op == "missing":
        marked = _mark_missing(table, field)
    else:
        codes, chosen = table.codes(field), {MISSING if value is None else value for value in values}
        marked = np.array([label in chosen for label in codes.labels], bool)[codes.numbers]
    return ~marked if condition.op == "not in" else marked


def _mark_missing(table: RowTable, field: Field) -> Array:
    if table.holds_numbers(field):
        return np.isnan(table.numbers(field))
    codes = table.codes(field)
    return np.array([label == MISSING for label in codes.labels], bool)[codes.numbers]


def _search(table: RowTable, field: Field, text: str) -> Array:
    """Which rows contain a text: in a column, in the id, or in the question, the gold or an answer of any system."""
    if field.kind == "id":
        return table.match_ids(text)
    if field.kind not in {"column", "text"}:
        raise SpecError(f"a field of kind {field.kind!r} is not searched for a text")
    found = np.zeros(table.n, bool)
    for at, (run, columns) in enumerate(zip(table.runs, table.columns, strict=True)):
        shared = (columns.question, columns.reference) if at == 0 else ()
        names = [name for name in (columns.prediction, *shared) if name is not None]
        if field.kind == "column":
            names = [field.name] if at == table.run_with(field.name) else []
        if names:
            found |= table.mark(at, table.texts.search(run, names, text))
    return found
