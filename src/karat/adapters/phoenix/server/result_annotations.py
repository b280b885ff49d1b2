"""The annotations of scored rows, a result's or a run's: of spans, and of documents that a judge judged one by one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from karat.adapters.phoenix.server.annotation import Annotation, Annotations, find_ids, identifier
from karat.core.columns.arrow import is_text
from karat.core.columns.python_values import to_python
from karat.core.errors import ColumnError, DataError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse
from karat.judges.judge import JudgeFunction
from karat.runs.columns.output import OutputColumns
from karat.runs.scoring.result import Result
from karat.runs.store.run import Run

SPANS, POSITIONS = "context_spans", "context_positions"  # for each context: the span that retrieved it, and its place


def from_result(result: Result) -> Annotations:
    """The annotations of a result's rows, as `from_rows` gives them."""
    table = result.table
    return from_rows(table, result.schema or table.schema, result.metrics, result.mapping)


def from_run(run: Run) -> Annotations:
    """The annotations of a run's rows, as `from_rows` gives them."""
    return from_rows(run.read(run.schema.names), run.schema, [parse(spec) for spec in run.specs], run.manifest.mapping)


def from_rows(
    table: pa.Table, schema: pa.Schema, metrics: Sequence[Metric], mapping: Mapping[str, str | None]
) -> Annotations:
    """One annotation for each row and metric, and one for each document that a judge judged alone.

    `schema` is the table's where it was scored; in CSV all columns are text. `mapping`: the column of each role.

    They are of spans, else of traces, else of sessions. Raises `ColumnError` if no column holds their ids, `DataError`
    if two rows have the same one.
    """
    target, ids = _ids(table)
    judges_contexts = SPANS in table.column_names and mapping.get("contexts") == "contexts"
    annotations: list[Annotation] = []
    unscored = 0
    output = OutputColumns.of_scored(schema, metrics)
    names = zip(_names(metrics), output.scores, output.details, strict=True)
    for metric, (name, score, details) in zip(metrics, names, strict=True):
        from_csv = is_text(table.schema.field(score).type)
        columns = {
            part: _read_text(table[column], output.schema.field(column).type) if from_csv else table[column].to_pylist()
            for part, column in {"score": score, **details}.items()
        }
        for row, of in enumerate(ids):
            cells = {column: values[row] for column, values in columns.items()}
            if cells["score"] is None:
                unscored += 1
            else:
                annotations.append({target: of, **_of_row(metric, name, cells)})
        if judges_contexts and _judges_each_context(metric):
            annotations += _of_documents(metric, name, columns["statements"], table, ids)
    return Annotations(annotations, unscored)


def _names(metrics: Sequence[Metric]) -> list[str]:
    """The annotation's name for each metric: its spec; for a judge its name, unless two judges share it."""
    counts = Counter(metric.name for metric in metrics)
    return [metric.name if metric.definition.judge and counts[metric.name] == 1 else metric.spec for metric in metrics]


def _ids(table: pa.Table) -> tuple[str, list[str]]:
    """What the rows are of, and the id of each."""
    target, name = find_ids(table.column_names)
    ids = to_python(table[name])
    if None in ids:
        raise ColumnError(f"column {name!r}, row {ids.index(None) + 1}: an id is expected, not null")
    first_rows: dict[Any, int] = {}
    for row, each in enumerate(ids, 1):
        if (first := first_rows.setdefault(each, row)) != row:
            raise DataError(
                f"rows {first} and {row} are both of {target.removesuffix('_id')} {each}: it takes one score"
            )
    return target, ids


def _read_text(column: pa.ChunkedArray, kind: pa.DataType) -> list[Any]:
    """The values of a column that was written to CSV, where all values are text and null is the empty text."""
    values: list[Any] = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column).cast(kind).to_pylist()
    return values


def _read_lists(column: pa.ChunkedArray) -> list[Sequence[Any] | None]:
    """The lists in a column; in CSV they are JSON text."""
    return [json.loads(cell or "null") if isinstance(cell, str) else cell for cell in column.to_pylist()]


def _of_row(metric: Metric, name: str, cells: Mapping[str, Any]) -> Annotation:
    explanation = cells.get("explanation", cells.get("statements"))
    result = {"score": cells["score"], "label": cells.get("label"), "explanation": explanation}
    trace = {"trace_id": cells["trace_id"]} if cells.get("trace_id") else {}
    return {
        **_header(metric, name, trace),
        "identifier": identifier(metric.signature),
        "result": {key: value for key, value in result.items() if value is not None},
    }


def _header(metric: Metric, name: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "annotator_kind": "LLM" if metric.judge else "CODE",
        "metadata": {"signature": metric.signature, "direction": metric.definition.direction, **metadata},
    }


def _judges_each_context(metric: Metric) -> bool:
    function = metric.definition.function
    return isinstance(function, JudgeFunction) and function.rubric.each == "contexts"


def _of_documents(
    metric: Metric, name: str, verdicts: Sequence[str | None], table: pa.Table, span_ids: Sequence[str]
) -> list[Annotation]:
    """One annotation for each context of which the row says which span retrieved it.

    If a chain and its retriever are both rows, their documents are the same; the verdict of the retriever's row counts.
    """
    header = _header(metric, name, {})
    annotations: dict[tuple[str, int], Annotation] = {}
    origins = (_read_lists(table[column]) for column in (SPANS, POSITIONS))
    for row_span, text, spans, positions in zip(span_ids, verdicts, *origins, strict=True):
        items = json.loads(text or "[]")
        if not items or not spans or len(items) != len(spans):
            continue  # the contexts were not the spans'
        for item, span_id, position in zip(items, spans, positions, strict=True):
            if span_id == row_span or (span_id, position) not in annotations:
                result = {key: value for key, value in item.items() if value is not None}
                place = {"span_id": span_id, "document_position": position}
                annotations[span_id, position] = {**place, **header, "result": result}
    return list(annotations.values())
