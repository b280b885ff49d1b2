"""Scores as Phoenix keeps them: annotations of spans, and of the documents that spans retrieved.

An annotation is a dict as Phoenix's API has it: of a span the name, the kind of annotator, the result, and an
identifier, which karat makes of the metric's signature: the same metric logged again takes the place of its first
scores, another model's or another setting's stand beside them. Of documents Phoenix keeps one a name and place.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import pyarrow as pa

from karat.core.errors import ColumnError, DataError
from karat.core.metric.metric import Metric
from karat.judges.judge import PREFIX, Asker
from karat.runs.scoring.result import Result

SPAN_IDS = ("span_id", "context.span_id")
SPANS, POSITIONS = "context_spans", "context_positions"  # of each context: which span retrieved it, and at which place


@dataclass(frozen=True)
class Annotations:
    """What is to be logged, and how many rows have no score to log."""

    found: Sequence[dict[str, Any]]
    unscored: int = 0


def annotations_of(scored: Any) -> Annotations:
    """The annotations that a `karat.score` result makes, or a frame as `to_annotation_dataframe` gives it.

    Raises `karat.ColumnError` where no column says which span a row is of, `karat.DataError` where two rows are of one.
    """
    if isinstance(scored, Result):
        return _of_result(scored)
    from karat.adapters.phoenix.server.annotation_frame import of_frame  # noqa: PLC0415  (needs pandas)

    return of_frame(scored)


def identifier(signature: str) -> str:
    """What marks a metric's annotations as its own.

    >>> identifier("token_f1(normalize='squad')|version=1")
    'karat-24107bc42329b2eb'
    """
    return f"karat-{sha256(signature.encode()).hexdigest()[:16]}"


def _of_result(result: Result) -> Annotations:
    table = result.table
    span_ids = _span_ids(table)
    names = annotation_names(result.metrics)
    found: list[dict[str, Any]] = []
    unscored = 0
    for metric, name in zip(result.metrics, names, strict=True):
        said = _columns(metric, table)
        for row, span_id in enumerate(span_ids):
            if (score := said["score"][row]) is None:
                unscored += 1
            else:
                found.append(_of_span(metric, name, span_id, score, {key: said[key][row] for key in said}))
        if SPANS in table.column_names and result.mapping.get("contexts") == "contexts":
            found += _of_documents(metric, name, said.get("statements"), table, span_ids)
    return Annotations(found, unscored)


def annotation_names(metrics: Sequence[Metric]) -> list[str]:
    """What each metric's annotations are called: as its spec; a judge by its name, unless two share it."""
    shared = Counter(metric.name for metric in metrics)
    return [
        metric.name if metric.name.startswith(PREFIX) and shared[metric.name] == 1 else metric.spec
        for metric in metrics
    ]


def _span_ids(table: pa.Table) -> list[str]:
    name = next((name for name in SPAN_IDS if name in table.column_names), None)
    if name is None:
        raise ColumnError(f"no column says which span a row is of: {SPAN_IDS[0]}; there are {table.column_names}")
    ids: list[Any] = table[name].to_pylist()
    if None in ids:
        raise ColumnError(f"column {name!r}, row {ids.index(None) + 1}: the id of a span is expected, not null")
    if len(set(ids)) < len(ids):
        twice = next(each for each, count in Counter(ids).items() if count > 1)
        first = ids.index(twice)
        raise DataError(
            f"rows {first + 1} and {ids.index(twice, first + 1) + 1} are both of span {twice}: it takes one score"
        )
    return ids


def _columns(metric: Metric, table: pa.Table) -> dict[str, list[Any]]:
    """The score and all that stands beside it, by name."""
    beside = [name for name in metric.details if f"{metric.spec}.{name}" in table.column_names]
    names = {"score": metric.spec} | {name: f"{metric.spec}.{name}" for name in beside}
    return {name: table[column].to_pylist() for name, column in names.items()}


def _of_span(metric: Metric, name: str, span_id: str, score: float, said: Mapping[str, Any]) -> dict[str, Any]:
    result = {
        "score": score,
        "label": said.get("label"),
        "explanation": said.get("explanation", said.get("statements")),
    }
    traced = {"trace_id": said["trace_id"]} if said.get("trace_id") else {}
    return {
        "span_id": span_id,
        **_header(metric, name, traced),
        "identifier": identifier(metric.signature),
        "result": {key: value for key, value in result.items() if value is not None},
    }


def _header(metric: Metric, name: str, more: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "annotator_kind": "LLM" if metric.name.startswith(PREFIX) else "CODE",
        "metadata": {"signature": metric.signature, "direction": metric.definition.direction, **more},
    }


def _of_documents(
    metric: Metric, name: str, given: Sequence[str | None] | None, table: pa.Table, rows: Sequence[str]
) -> list[dict[str, Any]]:
    """An annotation of each document that a judge judged alone, where the row says which span retrieved it.

    Of a document that is in several rows, a chain's and its retriever's, the verdict in its own span's row counts.
    """
    asker = metric.definition.function
    if not given or not isinstance(asker, Asker) or asker.rubric.each != "contexts":
        return []
    header = _header(metric, name, {})
    found: dict[tuple[str, int], dict[str, Any]] = {}
    places = (table[column].to_pylist() for column in (SPANS, POSITIONS))
    for row, verdicts, spans, positions in zip(rows, given, *places, strict=True):
        items = json.loads(verdicts or "[]")
        if items and spans and len(items) == len(spans):  # else the contexts were not those of the spans
            for item, span_id, position in zip(items, spans, positions, strict=True):
                result = {key: value for key, value in item.items() if value is not None}
                one = {"span_id": span_id, "document_position": position, **header, "result": result}
                if span_id == row or (span_id, position) not in found:
                    found[span_id, position] = one
    return list(found.values())
