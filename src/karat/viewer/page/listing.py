"""Answers with rows: which columns there are, rows that a filter keeps, how many there are, and one row whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from karat.viewer.page.catalog import run_id
from karat.viewer.page.query import Query, Unknown
from karat.viewer.page.workspace import Workspace
from karat.viewer.rows.display import WHOLE, describe_table, show_rows
from karat.viewer.rows.facets import count_bins, count_facets, keep_others, list_facets
from karat.viewer.rows.fields import Condition, Field, Order
from karat.viewer.rows.filters import keep_rows, sort_rows
from karat.viewer.rows.score_curves import draw_curves
from karat.viewer.rows.sql import in_command
from karat.viewer.rows.table import RowTable

_PAGE = 50  # rows
_ANY = 1 << 53  # the largest whole number that a browser holds exactly


def list_columns(space: Workspace, query: Query) -> dict[str, Any]:
    """The systems, the metrics that all have, and the columns of the first run that has each."""
    table = space.table(query)
    systems = [{"id": run_id(run.name), "name": run.name} for run in table.runs]
    return {"systems": systems, **describe_table(table), "command": _command(space, query)}


def list_rows(space: Workspace, query: Query) -> dict[str, Any]:
    """A page of the rows that a filter keeps, in an order."""
    table, offset, end = space.table(query), query.offset, query.offset + query.limit
    rows = sort_rows(table, query.sort, query.filter, min(end, table.n))[offset:end]
    shown, command = show_rows(table, rows), _command(space, query, query.filter, query.sort, max(end, 1))
    return {"n": table.n, "total": _total(table, query.filter), "offset": offset, "rows": shown, "command": command}


def count_rows(space: Workspace, query: Query) -> dict[str, Any]:
    """How many rows have each label of some fields, and the histograms of others."""
    table, fields, others = space.table(query), query.fields, keep_others(space.table(query), query.filter)
    return {
        "n": table.n,
        "total": _total(table, query.filter),
        "facets": count_facets(table, others, list_facets(table) if fields is None else fields),
        "histograms": [count_bins(table, others, field) for field in query.histograms],
        "command": _count_command(space, query),
    }


def draw_scores(space: Workspace, query: Query) -> dict[str, Any]:
    """The scores of each system by another number of the rows."""
    return {"systems": draw_curves(space.table(query), query.metric, query.across)}


def read_row(space: Workspace, query: Query) -> dict[str, Any]:
    """One row, whole."""
    table, own = space.table(query), [Condition(Field("id"), "in", (query.id,))]
    order = sort_rows(table, None, own)
    if not len(order):
        raise Unknown(f"no row has the id {query.id[:80]!r}")
    (shown,) = show_rows(table, order[:1], whole=True, most=_ANY if query.full else WHOLE)
    return {**shown, "command": _command(space, query, own, first=1)}


def _total(table: RowTable, conditions: Sequence[Condition]) -> int:
    kept = keep_rows(table, conditions)
    return table.n if kept is None else int(np.count_nonzero(kept))


def _command(
    space: Workspace,
    query: Query,
    conditions: Sequence[Condition] = (),
    order: Order | None = None,
    first: int = _PAGE,
) -> str:
    """The command that prints the first rows of a filter in an order."""
    table = space.table(query)
    sql = in_command(table)
    where, by = sql.where(conditions), sql.order(order)
    on = query.on if len(table.runs) > 1 else None
    return space.command("show", *map(space.name, table.runs), first=first, where=where, order=by, on=on)


def _count_command(space: Workspace, query: Query) -> str:
    """The command that counts the rows of a filter."""
    table = space.table(query)
    metric = next((field.metric for field in query.histograms if field.metric != table.specs[0]), None)
    on = query.on if len(table.runs) > 1 else None
    names, where = map(space.name, table.runs), in_command(table).where(query.filter)
    return space.command("show", *names, counts=True, metric=metric, where=where, on=on)
