"""The labelled rows of a source, with the labels as columns of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.core.metric.metric import Metric
from karat.data.join.join import Joined, split_on
from karat.data.source import Source
from karat.runs.agreement.raters import find_consensus
from karat.runs.labels.choices import choices_by_spec
from karat.runs.labels.join import join_labels, why_not_corrected
from karat.runs.labels.labels import Labels
from karat.runs.labels.table import LabelTable
from karat.runs.store.manifest import describe_metric

SCORE, LABEL, WEIGHT = "human.score", "human.label", "human.weight"


def label_rows(source: Source, human: Labels, on: str | None, judges: Sequence[Metric]) -> tuple[Source, LabelTable]:
    """The rows that people labelled, with their mean score in `human.score`, its weight in `human.weight`, and the
    label of most people in `human.label`; and the labels.

    The weight is the inverse of the probability with which a row was proposed for labelling. Raises what reading and
    matching labels raise, and `DataError` for labels that are not on the scale of a judge.
    """
    left, right = (None, None) if on is None else split_on(on)
    pair = None if left is None or right is None else (right if isinstance(source, Joined) else left, right)
    choices = choices_by_spec(judges)
    joined = join_labels(human, source, source, pair, choices.values())
    scored = [describe_metric(judge, judge.spec) for judge in judges]
    for spec, reason in why_not_corrected(scored, joined.labels, {} if human.label_map else choices).items():
        raise DataError(f"{joined.labels.source} and {spec}: {reason}")
    rows = sum(map(len, source.batches()))
    scores, most, weights = np.full(rows, np.nan), np.full(rows, np.nan), np.ones(rows)
    scores[joined.at], most[joined.at] = joined.labels.mean, find_consensus(joined.labels.scores)[0]
    if joined.labels.probabilities is not None:
        weights[joined.at] = 1 / joined.labels.probabilities
    columns = {SCORE: scores, LABEL: most, WEIGHT: weights}
    return _with_columns(source, columns, ~np.isnan(scores)), joined.labels


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
