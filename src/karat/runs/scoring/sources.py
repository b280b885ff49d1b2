"""Opening what is scored: one source, or predictions joined with gold; for retrieval one query a row."""

from __future__ import annotations

from typing import Any

from karat.core.errors import ColumnError, DataError, SpecError
from karat.data.join.join import join, split_on
from karat.data.open import open_source
from karat.data.roles import Side
from karat.data.source import Source


def open_sources(data: Any, gold: Any, on: str | None, *, ranked: bool) -> Source:
    """Open the data, joined with its gold where there is one.

    With `ranked`, for metrics of rankings, a table with one document a row becomes one with a query a row, and where
    both sides have a column of queries, it joins them without `on`.

    Raises `SpecError` where only one of gold and on is given, `ColumnError` for a run without judgements, and what
    reading and joining raise.
    """
    if (gold is None and on is not None) or (gold is not None and on is None and not ranked):
        raise SpecError("gold and on go together: gold is a second table, on the id column that joins it")
    source = open_source(data)
    if gold is None:
        if ranked:
            _refuse_ungrouped(source)
        return source
    judged = open_source(gold, role="reference")
    if not ranked:
        return join(source, judged, on or "")
    left, right = split_on(on) if on else (None, None)
    source, left = _by_query(source, "prediction", left)
    judged, right = _by_query(judged, "reference", right)
    return join(source, judged, (left, right))


def _refuse_ungrouped(source: Source) -> None:
    from karat.data.retrieval.group import group_by_query  # noqa: PLC0415  (only for rankings)

    if group_by_query(source, "prediction") is not source:
        remedy = "name a second table with it as gold (--gold)"
        raise ColumnError(f"{source.name} has one document a row, and no relevance: {remedy}")


def _by_query(source: Source, side: Side, named: str | None) -> tuple[Source, str]:
    """The source with one query a row, and its column of queries: `named`, else the one that is recognised."""
    from karat.data.retrieval.group import group_by_query  # noqa: PLC0415  (only for rankings)
    from karat.data.retrieval.long_table import find_query_column  # noqa: PLC0415

    grouped = group_by_query(source, side, named)
    query = named if named is not None and grouped is source else find_query_column(grouped.schema)
    if query is None:
        if not (names := grouped.schema.names):
            raise DataError(f"{source.name} is empty; expected queries with documents")
        columns = f"its columns: {', '.join(names[:5])}{', …' if len(names) > 5 else ''}"
        problem = f"{source.name} has no column of queries, such as query_id ({columns})"
        raise SpecError(f"{problem}: on (--on) names the id that joins")
    return grouped, query
