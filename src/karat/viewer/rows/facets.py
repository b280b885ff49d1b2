"""How many rows there are of each label and in each part of a range, of all rows and of those that a filter keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias, TypedDict

import numpy as np
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy, lists_text
from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.viewer.rows.fields import Condition, Field, FieldParts
from karat.viewer.rows.filters import field_labels, field_numbers, keep_rows
from karat.viewer.rows.table import RowTable

_MOST = 50  # labels of a facet
_ITEMS = 1000  # of lists
_BINS = 20  # of a score; differences have twice as many and one in the middle, so that 0 is inside a bin
_OUTSIDE = 255


class Count(TypedDict):
    """A label with its numbers of rows: of `all`, and of those that are `kept`; `value` is null for no value."""

    value: str | None
    all: int
    kept: int


class Facet(TypedDict):
    """The labels of a field, the commonest first, and how many `more` there are."""

    field: FieldParts
    title: str
    values: list[Count]
    more: int


class Missing(TypedDict):
    """How many rows have no number."""

    all: int
    kept: int


class Histogram(TypedDict):
    """How many of `all` rows, and of those that are `kept`, lie between two `edges`; `missing`: without a number.

    `binary`: every score is 0 or 1.
    """

    field: FieldParts
    binary: bool
    edges: list[float]
    all: list[int]
    kept: list[int]
    missing: Missing


class Item(TypedDict):
    """An item of a list, and how often it is in the rows that are `kept`."""

    value: str
    kept: int


class Items(TypedDict):
    """How often each item is in a list beside the scores of a `metric`, such as the criteria that failed.

    `system`: the number of the run. `detail`: the list. `more`: how many items are not listed.
    """

    metric: str
    system: int
    detail: str
    values: list[Item]
    more: int


def list_histograms(table: RowTable, metric: str) -> list[Field]:
    """The fields of a metric that are numbers: the scores of each system, and the differences of each but the first."""
    systems = range(len(table.runs))
    scores = [Field("score", metric=metric, system=at) for at in systems]
    return [*scores, *(Field("difference", metric=metric, system=at) for at in systems[1:])]


def list_facets(table: RowTable) -> list[Field]:
    """The fields that group the rows: outcomes, judges' labels, reasons, and columns whose values are names."""
    systems = range(len(table.runs))
    wanted = [Field("outcome", metric=spec, system=at) for spec in table.specs for at in systems[1:]]
    labels = (Field("label", metric=spec, system=at) for spec in table.specs for at in systems)
    wanted += [field for field in labels if _has_labels(table, field)]
    wanted += [Field("reason", system=at) for at in systems if table.columns[at].reason is not None]
    return [*wanted, *(Field("column", name) for name in table.facets)]


Keep: TypeAlias = Callable[[Field], Array | None]
"""Which rows are counted beside all rows, by field, shape (n,); None for all of them."""


def keep_others(table: RowTable, conditions: Sequence[Condition]) -> Keep:
    """The rows that fulfil all conditions but those on the field itself, so that another label can be chosen."""
    return lambda field: keep_rows(table, (each for each in conditions if each.field != field))


def count_facets(table: RowTable, keep: Keep, fields: Sequence[Field]) -> list[Facet]:
    """For each field the labels with their numbers of rows, the commonest first; a field with too many is left out."""
    counted = list[Facet]()
    for field in fields:
        with suppress(DataError):  # too many values: no facet
            labels = field_labels(table, field)
            names = labels.dictionary.to_pylist()
            whole, part = _count(np.asarray(labels.indices), keep(field), len(names))
            ranked = [at for at in np.argsort(-whole, kind="stable").tolist() if whole[at]]
            values: list[Count] = [
                {"value": names[at], "all": int(whole[at]), "kept": int(part[at])} for at in ranked[:_MOST]
            ]
            title = field.name or field.kind
            counted.append({"field": field.as_dict(), "title": title, "values": values, "more": len(ranked[_MOST:])})
    return counted


def count_bins(table: RowTable, keep: Keep, field: Field) -> Histogram:
    """The histogram of a score or a difference, over bins that depend on all rows alone."""
    edges = find_edges(table, field)
    bins = table.keep(("bins", field), lambda: _number_bins(field_numbers(table, field), edges))
    whole, part = _count(bins, keep(field), _OUTSIDE + 1)
    last = len(edges) - 1
    missing: Missing = {"all": int(whole[_OUTSIDE]), "kept": int(part[_OUTSIDE])}
    return {"field": field.as_dict(), "binary": _is_binary(table, field), "edges": edges.tolist(),
            "all": whole[:last].tolist(), "kept": part[:last].tolist(), "missing": missing}  # fmt: skip


def _count(codes: Array, kept: Array | None, most: int) -> tuple[Array, Array]:
    """How many rows have each code below `most`, of all and of those that are kept.

    A `GROUP BY` takes ten times as long: 22 ms for a million rows.
    """
    whole = np.bincount(codes, minlength=most)
    return whole, whole if kept is None else np.bincount(codes[kept], minlength=most)


def count_items(table: RowTable, kept: Array | None, metric: str) -> list[Items]:
    """How often each item is in a list beside a metric's scores, such as the criteria that failed, system by system."""
    counted = list[Items]()
    for at, run in enumerate(table.runs):
        field = Field("score", metric=metric, system=at)
        rows = table.in_run(at, np.arange(table.n) if kept is None else np.flatnonzero(kept))
        for detail, name in table.columns[at].details[table.metric(field).by_run[at].spec].items():
            if lists_text(run.schema.field(name).type):
                items = pc.list_flatten(run.column(name).take(from_numpy(rows))).drop_null()
                counts = {each["values"]: each["counts"] for each in pc.value_counts(items).to_pylist()}
                ranked = sorted((-count, item) for item, count in counts.items())
                values: list[Item] = [{"value": item, "kept": -count} for count, item in ranked[:_ITEMS]]
                more = len(ranked[_ITEMS:])
                counted.append({"metric": metric, "system": at, "detail": detail, "values": values, "more": more})
    return counted


def find_edges(table: RowTable, field: Field) -> Array:
    """The edges of a histogram's bins: over the metric's range where it is known, else over the rows' range."""
    scale, differs = table.metric(field).by_run[0], field.kind == "difference"
    low, high = scale.low, scale.high
    if low is None or high is None:
        numbers = field_numbers(table, field)
        there = numbers[~np.isnan(numbers)]
        low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 1.0)
        if differs:
            low, high = 0.0, max(abs(low), abs(high))
    width = (high - low) or 1.0
    return np.linspace(-width, width, 2 * _BINS + 2) if differs else np.linspace(low, low + width, _BINS + 1)


def _number_bins(numbers: Array, edges: Array) -> Array:
    """The number of each row's bin, uint8; a score beyond the range is in the bin next to it."""
    bins = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    return np.where(np.isnan(numbers), _OUTSIDE, bins).astype(np.uint8)


def _is_binary(table: RowTable, field: Field) -> bool:
    """Whether every score is 0 or 1, or every difference one of two such scores; a missing one does not count."""
    scale = table.metric(field).by_run[0]
    if (scale.low, scale.high) != (0, 1):
        return False
    numbers = field_numbers(table, field)
    return bool(table.keep(("binary", field), lambda: np.array(np.all(np.isnan(numbers) | (numbers % 1 == 0)))))


def _has_labels(table: RowTable, field: Field) -> bool:
    spec = table.metric(field).by_run[field.system].spec
    return "label" in table.columns[field.system].details[spec]
