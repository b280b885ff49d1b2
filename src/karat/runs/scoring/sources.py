"""Opening what is scored: one source, or predictions joined with gold; one query a row, or one question a row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from karat.core.columns.arrow import is_list
from karat.core.columns.json_text import decode_text
from karat.core.errors import ColumnError, DataError, SpecError
from karat.core.metric.metric import Metric
from karat.data.join.gather import Gathered, gather_rows, repeats
from karat.data.join.join import join, split_on
from karat.data.open import open_source
from karat.data.roles import Side, matches_role
from karat.data.source import Source
from karat.runs.columns.ids import item_columns

QUESTION = "question"  # the role whose column says which question a row answers, where the user names it


def open_sources(data: Any, gold: Any, on: str | None, *, ranked: bool, answers: Collection[str] = ()) -> Source:
    """Open the data, joined with its gold where there is one.

    With `ranked`, for metrics of rankings, a table with one document a row becomes one with a query a row, and where
    both sides have a column of queries, it joins them without `on`. With `answers`, the columns or roles of
    several answers to one question, rows of the data that have one id become one row.

    Raises `SpecError` where only one of gold and on is given, `ColumnError` for a run without judgements, and what
    reading and joining raise.
    """
    if (gold is None and on is not None) or (gold is not None and on is None and not ranked):
        lacking = "on is missing, the column of ids: --on ID" if on is None else "gold is missing: --gold FILE"
        raise SpecError(
            f"gold and on go together, and {lacking}; gold is a second table, on the id column that joins it, "
            "or --on ID=OTHER where gold has another name for it"
        )
    source = open_source(data)
    if gold is None:
        if ranked:
            _refuse_ungrouped(source)
        return source
    judged = open_source(gold, role="reference")
    if not ranked:
        by, _ = split_on(on or "")
        if answers and repeats(source, by):
            columns = source.schema.names
            fitting = {name for name in columns for role in answers if name == role or matches_role(role, name)}
            source = gather_rows(source, by, fitting)
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


def gather_repeats(source: Source, metrics: Sequence[Metric], mapping: Mapping[str, str], named: str | None) -> Source:
    """The rows of each question as one row, for metrics of several answers; the same where no rows belong together.

    The column of questions is the one that is `named`, else the first known one that repeats: the row of an experiment,
    an id, the question. Nothing is gathered where answers are in lists already.

    Raises `ColumnError` where the rows of one question differ in another column than the answers.
    """
    answers = {mapping[metric.definition.samples] for metric in metrics if metric.definition.samples}
    if any(_holds_lists(source, name) for name in answers):
        return source
    candidates = item_columns(source.schema, mapping) if named is None else [named]
    by = next((name for name in candidates if repeats(source, name)), named)
    if by is None:
        return source
    gathered = gather_rows(source, by, answers)
    for metric in metrics:
        for role in metric.definition.columns.keys() & mapping.keys() - {"prediction", metric.definition.samples}:
            if mapping[role] in gathered.lists:
                problem = f"{source.name}: column {mapping[role]!r} ({role}) differs in rows with the same {by!r}"
                remedy = f"say which column tells the questions apart, --map {QUESTION}=COLUMN (in Python, map=)"
                raise ColumnError(f"{problem}, so they are not answers to one question: {remedy}")
    return gathered


def describe_gathered(base: Source) -> str:
    """How the rows were gathered, in words; empty where they were not."""
    about = next((file for _, file, _ in base.files if isinstance(file, Gathered)), None)
    if about is None:
        return ""
    return f"{about.gathered:,} rows are answers to {about.rows:,} question{'s' * (about.rows != 1)}, by {about.by}"


def _holds_lists(source: Source, name: str) -> bool:
    return is_list(decode_text(source.first.column(name)).type)
