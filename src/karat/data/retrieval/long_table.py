"""Long tables of retrieval: one document per row, with its query and its score or grade."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from karat.core.columns.ids import DOCUMENT_IDS, GRADES, QUERY_IDS, spell_values
from karat.core.columns.json_text import RAW, decode_text
from karat.core.columns.subtopics import SUBTOPICS
from karat.core.errors import ColumnError, RowError
from karat.data.json.values import read_values, value_type
from karat.data.roles import Side, matches_role, singular
from karat.data.source import Source

_DOCUMENTS = [name for name in DOCUMENT_IDS if name not in ("id", "document")]
"""In a table, `id` names the row, and `document` may be a text."""
_VALUES = {"prediction": ("score",), "reference": GRADES}

LONG_SCHEMA = pa.schema(
    [("query", pa.string()), ("document", pa.string()), ("value", pa.float64()), ("subtopic", pa.string())]
)


@dataclass(frozen=True)
class Columns:
    """The names of the columns of a long table; `subtopic` is None where documents are not judged by subtopic."""

    query: str
    document: str
    value: str
    subtopic: str | None = None


def find_query_column(schema: pa.Schema) -> str | None:
    """The column with the id of the query."""
    return _find(schema, QUERY_IDS)


def find_columns(source: Source, side: Side, query: str | None = None) -> Columns | None:
    """The columns of a long table; `None` if the source is not one.

    `query` is the name of the query column, if it is not a known one. Raises `ColumnError` for documents without
    a score or grade.
    """
    schema = source.schema
    query, document = query or find_query_column(schema), _find(schema, _DOCUMENTS)
    if query is None or query not in schema.names or document is None or _has_lists(schema, side):
        return None
    if value := _find(schema, _VALUES[side]):
        return Columns(query, document, value, _find_subtopic(source) if side == "reference" else None)
    missing = "score (is it the gold?)" if side == "prediction" else f"such as {_VALUES[side][0]}"
    layout = f"one document per row (columns {query!r} and {document!r})"
    raise ColumnError(f"{source.name} has {layout}, but no column {missing}")


def read_long(source: Source, columns: Columns) -> Iterator[pa.RecordBatch]:
    """The rows of a long table: ids as they are spelled, scores or grades as numbers.

    A row with neither document nor number is a query without results. Raises `RowError` for a row without a query, or
    with a document but no number.
    """
    done = 0
    texts = [columns.query, columns.document, *([columns.subtopic] if columns.subtopic else [])]
    numbers = source.schema.field(columns.value)
    for batch in source.batches():
        where = f"{source.name}, row "
        query, document, *subtopic = (spell_values(batch.column(name)).cast(pa.string()) for name in texts)
        value = _numbers(read_values(batch.column(columns.value), numbers), columns.value, where, done)
        for wrong, text in (
            (pc.equal(pc.fill_null(query, ""), ""), f"expected a query in column {columns.query!r}, found none"),
            (pc.and_(document.is_valid(), value.is_null()), f"expected a number in column {columns.value!r}"),
        ):
            if pc.any(wrong).as_py():
                raise RowError(f"{where}{done + pc.index(wrong, True).as_py() + 1}: {text}")
        (topic,) = subtopic or (pa.nulls(batch.num_rows, pa.string()),)
        yield pa.RecordBatch.from_arrays([query, document, value, topic], schema=LONG_SCHEMA)
        done += batch.num_rows


def _find_subtopic(source: Source) -> str | None:
    """The column of subtopics; one called iteration, which qrels always have, if it varies in the first rows."""
    name = _find(source.schema, SUBTOPICS)
    if name is None or singular(name) != "iteration":
        return name
    first = next(source.batches([name]), None)
    return name if first is not None and len(spell_values(first.column(name)).unique()) > 1 else None


def _find(schema: pa.Schema, names: Sequence[str]) -> str | None:
    """The column with the first of the names that there is."""
    plain = {singular(field.name): field.name for field in schema if not pt.is_nested(value_type(field))}
    return next((plain[name] for name in names if name in plain), None)


def _has_lists(schema: pa.Schema, side: Side) -> bool:
    """Whether a table already has all documents of a query in one row."""
    role = "retrieved" if side == "prediction" else "relevant"
    kinds = (value_type(field) for field in schema if matches_role(role, field.name))
    return any(pt.is_nested(kind) or kind == RAW for kind in kinds)


def _numbers(column: pa.Array, name: str, where: str, done: int) -> pa.Array:
    """Scores or grades as numbers, also from text, as in CSV; NaN becomes null."""
    column = decode_text(column, lambda at: f"{where}{done + at + 1}")
    try:
        numbers = column.cast(pa.float64())
        return pc.if_else(pc.is_nan(numbers), None, numbers)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        cells = enumerate(column.to_pylist(), done + 1)
        return pa.array([_number(cell, name, f"{where}{row}") for row, cell in cells], pa.float64())


def _number(cell: Any, name: str, where: str) -> float | None:
    try:
        return None if cell is None or math.isnan(number := float(cell)) else number
    except (TypeError, ValueError) as error:
        raise RowError(f"{where}: expected a number in column {name!r}, found {cell!r:.80}") from error
