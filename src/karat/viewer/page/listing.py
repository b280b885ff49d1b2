"""Answers with rows: which columns there are, rows that a filter keeps, how many there are, and one row whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from karat.core.errors import SpecError
from karat.viewer.page.catalog import describe_metric, run_id
from karat.viewer.page.query import Query, Unknown
from karat.viewer.page.workspace import Workspace
from karat.viewer.rows.columns import name_type
from karat.viewer.rows.display import WHOLE, show_row, show_rows
from karat.viewer.rows.facets import count_bins, count_facets, list_facets
from karat.viewer.rows.fields import Condition, Field, Order, read_field, read_filter, read_order
from karat.viewer.rows.filters import filter_rows, sort_rows
from karat.viewer.rows.table import RowTable
from karat.viewer.rows.where import to_where

MOST_ROWS, MOST_FIELDS = 200, 100
_PAGE = 50  # rows
_ANY = 1 << 53  # the largest whole number that a browser holds exactly


def list_columns(space: Workspace, query: Query) -> dict[str, Any]:
    """The systems, the metrics that all have, and the columns of the first run that has each."""
    table = space.table(query)
    names = dict.fromkeys(name for run in table.runs for name in run.schema.names)
    added = {name for columns in table.columns for name in columns.added}
    scores = {metric.column for run in table.runs for metric in run.manifest.metrics}
    return {
        "systems": [{"id": run_id(run.name), "name": run.name} for run in table.runs],
        "n": table.n,
        "aligned_by": table.by,
        "columns": [_describe_column(table, name) for name in names if name not in added | scores],
        "metrics": [describe_metric(metric.by_run[0]) for metric in table.metrics],
        "facets": [field.as_dict() for field in list_facets(table)],
        "unshared": table.unshared,
        "command": _command(space, table),
    }


def list_rows(space: Workspace, query: Query) -> dict[str, Any]:
    """A page of the rows that a filter keeps, in an order."""
    table, conditions = space.table(query), read_filter(query.data.get("filter"))
    order = read_order(query.data.get("sort"))
    rows = sort_rows(table, order, filter_rows(table, conditions))
    offset, limit = query.number("offset", _ANY) or 0, query.number("limit", MOST_ROWS)
    shown = show_rows(table, rows[offset : offset + (_PAGE if limit is None else limit)])
    command = _command(space, table, conditions, order)
    return {"n": table.n, "total": len(rows), "offset": offset, "rows": shown, "command": command}


def count_rows(space: Workspace, query: Query) -> dict[str, Any]:
    """How many rows have each label of some fields, and the histograms of others."""
    table, conditions = space.table(query), read_filter(query.data.get("filter"))
    fields, histograms = (_read_fields(query.data.get(name)) for name in ("fields", "histograms"))
    kept = filter_rows(table, conditions)
    return {
        "n": table.n,
        "total": table.n if kept is None else int(np.count_nonzero(kept)),
        "facets": count_facets(table, conditions, list_facets(table) if fields is None else fields),
        "histograms": [count_bins(table, conditions, field) for field in histograms or ()],
        "command": _command(space, table),
    }


def read_row(space: Workspace, query: Query) -> dict[str, Any]:
    """One row, whole."""
    table, name = space.table(query), query.text("id")
    found = np.flatnonzero(table.find_rows(pa.array([name], pa.string())))
    if name is None or not len(found):
        raise Unknown(f"no row has the id {(name or '')[:80]!r}")
    shown = show_row(table, int(found[0]), most=_ANY if query.flag("full") else WHOLE)
    return {**shown, "command": _command(space, table, [Condition(Field("id"), "in", (name,))])}


def _read_fields(data: Any) -> list[Any] | None:
    if data is None:
        return None
    if not isinstance(data, list) or len(data) > MOST_FIELDS:
        raise SpecError(f"a list of up to {MOST_FIELDS} fields is expected")
    return [read_field(each) for each in data]


def _describe_column(table: RowTable, name: str) -> dict[str, Any]:
    at = table.run_with(name)
    kind = name_type(table.runs[at].schema.field(name).type)
    facet = name in table.facets
    return {"name": name, "type": kind, "role": table.columns[at].roles.get(name), "facet": facet,
            "slice": facet, "sort": facet or kind in {"number", "boolean"}}  # fmt: skip


def _command(
    space: Workspace, table: RowTable, conditions: Sequence[Condition] = (), order: Order | None = None
) -> str:
    """The command that prints rows: `karat show` where they are those of one system, else `karat compare`."""
    by_score = order is not None and order.field.kind == "score"
    system = order.field.system if order is not None and by_score else 0
    where = to_where(table, conditions, system)
    if where is None or not (where or by_score or len(table.runs) == 1):
        return space.command("compare", *map(space.name, table.runs), flipped=_PAGE)
    options: dict[str, Any] = {"worst": _PAGE} if where else {}  # as many as the page shows
    missing = [each.field.metric for each in conditions if each.op == "missing" and each.field.kind == "score"]
    if missing:
        options = {"unscored": _PAGE, "metric": missing[0]}
    elif order is not None and by_score:
        best = order.descending == (table.metric(order.field).by_run[system].direction == "maximize")
        options = {"best" if best else "worst": _PAGE, "metric": order.field.metric}
    return space.command("show", space.name(table.runs[system]), **options, where=where or None)
