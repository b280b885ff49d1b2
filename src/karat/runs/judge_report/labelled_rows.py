"""The labelled rows of a source, with the labels as columns of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError, DataError, did_you_mean
from karat.core.metric.metric import Metric
from karat.data.join import Joined, split_on
from karat.data.json.raw import spell_ids
from karat.data.source import Source
from karat.runs.labels.choices import judge_choices
from karat.runs.labels.labels import Labels, match_labels, read_labels

SCORE, WEIGHT = "human.score", "human.weight"


@dataclass(frozen=True)
class Human:
    """Labels by people: what `read_labels` reads, or the name of a column of the rows; joined by the ids in `on`."""

    labels: Any
    on: str | None = None
    label_map: Mapping[str, float] | str | None = None


def label_rows(source: Source, human: Human, judges: Sequence[Metric]) -> Source:
    """The rows that people labelled, with their mean score in `human.score` and its weight in `human.weight`.

    The weight is the inverse of the probability with which a row was proposed for labelling. Raises what `read_labels`
    and `match_labels` raise, and `DataError` for a label beyond the scores of the judges.
    """
    choices = judge_choices(judges)
    if isinstance(human.labels, str) and human.labels in source.schema.names:
        labels = read_labels(
            source, on=None, label_map=human.label_map, columns=[human.labels], choices=choices, where=source.name
        )
        ids = _ids(source, None)
    else:
        left, right = (None, None) if human.on is None else split_on(human.on)
        labels = read_labels(human.labels, on=right, label_map=human.label_map, choices=choices)
        ids = _ids(source, right if isinstance(source, Joined) else left)
    _check_range(labels, judges)
    at = match_labels(labels, ids, source.name)
    scores, weights = np.full(len(ids), np.nan), np.ones(len(ids))
    scores[at] = labels.mean
    if labels.probabilities is not None:
        weights[at] = 1 / labels.probabilities
    return _with_columns(source, {SCORE: scores, WEIGHT: weights}, ~np.isnan(scores))


def _check_range(labels: Labels, judges: Sequence[Metric]) -> None:
    low, high = np.nanmin(labels.scores), np.nanmax(labels.scores)
    for judge in judges:
        least, most = judge.definition.low, judge.definition.high
        if (least is not None and low < least) or (most is not None and high > most):
            found = f"{labels.source}: labels from {low:g} to {high:g}"
            remedy = "--label-map (label_map=) says which score each label is, such as '5=1,4=0.75'"
            raise DataError(f"{found}, but {judge.spec} scores from {least:g} to {most:g}: {remedy}")


def _ids(source: Source, column: str | None) -> pa.Array:
    """The ids of all rows as text: of a column, or their numbers from 1."""
    if column is None:
        return pa.array(np.arange(1, 1 + sum(map(len, source.batches())))).cast(pa.large_string())
    if column not in source.schema.names:
        raise ColumnError(f"{source.name}: there is no column {column!r}{did_you_mean(column, source.schema.names)}")
    where, ids, first = f"{source.name}: column {column!r}", [], 1
    for batch in source.batches([column]):
        ids.append(spell_ids(batch.column(column), where, first))
        first += len(batch)
    return pa.chunked_array(ids, pa.large_string()).combine_chunks()


def _with_columns(source: Source, columns: Mapping[str, Array], kept: Array) -> Source:
    """The source with further columns of numbers, without the rows where `kept` is false."""
    own = [name for name in source.schema.names if name not in columns]
    added = [pa.field(name, pa.float64()) for name in columns]

    def read(text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        first = 0
        for batch in source.read(text):
            rows = slice(first, first + len(batch))
            first += len(batch)
            fields = [*(batch.schema.field(name) for name in own), *added]
            cells = [*(batch.column(name) for name in own), *(pa.array(column[rows]) for column in columns.values())]
            yield pa.RecordBatch.from_arrays(cells, schema=pa.schema(fields)).filter(pa.array(kept[rows]))

    schema = pa.schema([*(source.schema.field(name) for name in own), *added])
    return replace(source, schema=schema, rows=int(kept.sum()), read=read)
