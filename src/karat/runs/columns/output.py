"""The columns of a scored table: the user's own, then those that scoring adds."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_text
from karat.core.columns.kinds import Array
from karat.core.metric.metric import Metric
from karat.core.metric.rows import LEFT_OUT, Rows


@dataclass(frozen=True)
class OutputColumns:
    """The columns of a scored table, and which of them hold the scores and the reasons.

    After the user's columns come, for each metric, its scores under its spec and its details as `spec.name`; the last
    column says why rows are unscored. A name that is taken gets a number: `exact_match_2`. `schema` has all columns,
    `scores` the name of the score column of each metric, `details` the names of its details by detail.
    """

    metrics: tuple[Metric, ...]
    schema: pa.Schema
    scores: tuple[str, ...]
    details: tuple[Mapping[str, str], ...]
    reason: str

    @classmethod
    def beside(cls, schema: pa.Schema, metrics: Sequence[Metric]) -> OutputColumns:
        """The columns for a table whose own columns `schema` names."""
        taken = set(schema.names)
        fields, scores, details = list(schema), list[str](), list[Mapping[str, str]]()
        for metric in metrics:
            scores.append(_free_name(metric.spec, taken))
            details.append({name: _free_name(f"{metric.spec}.{name}", taken) for name in metric.details})
            fields.append(pa.field(scores[-1], pa.float64()))
            fields += [pa.field(details[-1][name], kind) for name, kind in metric.details.items()]
        reason = _free_name("reason", taken)
        whole = pa.schema([*fields, pa.field(reason, pa.string())])
        return cls(tuple(metrics), whole, tuple(scores), tuple(details), reason)

    @classmethod
    def of_scored(cls, schema: pa.Schema, metrics: Sequence[Metric]) -> OutputColumns:
        """The columns of a table that was scored with these metrics."""
        added = sum(1 + len(metric.details) for metric in metrics) + 1
        return cls.beside(pa.schema(list(schema)[:-added]), metrics)

    def append(self, batch: pa.RecordBatch, scored: Sequence[Rows], errors: pa.Array | None = None) -> pa.RecordBatch:
        """The batch with the added columns; `scored` has the rows of each metric, `errors` explain the reasons."""
        added = [
            column
            for metric, rows in zip(self.metrics, scored, strict=True)
            for column in (rows.score_column(metric), *rows.detail_columns(metric))
        ]
        reasons = self._join_reasons(scored)
        if errors is not None:
            reasons = pc.coalesce(pc.binary_join_element_wise(reasons, errors, ": "), reasons)
        return pa.RecordBatch.from_arrays([*batch.columns, *added, reasons], schema=self.schema)

    def _join_reasons(self, scored: Sequence[Rows]) -> pa.Array:
        """Why rows are unscored: the reason alone where all metrics have the same one, else with the spec of each."""
        n = len(scored[0].statistics)
        if all(rows.reasons is None for rows in scored):
            return pa.nulls(n, pa.string())
        first, *others = (np.full(n, None, dtype=object) if rows.reasons is None else rows.reasons for rows in scored)
        joined = first.copy()
        different = np.any([np.not_equal(each, first) for each in others], axis=0) if others else []
        for row in np.flatnonzero(different):
            reasons = zip(self.metrics, (each[row] for each in (first, *others)), strict=True)
            joined[row] = "; ".join(f"{metric.spec}: {reason}" for metric, reason in reasons if reason)
        return pa.array(joined.tolist(), pa.string())


def find_reason_column(names: Sequence[str], scores: Collection[str]) -> str | None:
    """The column of reasons in a scored table: the first one behind all score columns that is called so.

    >>> find_reason_column(["reason", "exact_match", "token_f1", "reason_2"], ["exact_match", "token_f1"])
    'reason_2'
    """
    last = max(at for at, name in enumerate(names) if name in scores)
    return next((name for name in names[last + 1 :] if re.fullmatch(r"reason(_\d+)?", name)), None)


def find_left_out(reasons: pa.ChunkedArray, spec: str) -> Array:
    """Which rows a rule left out of a metric, by the column of reasons of a scored table: shape (n,), bool.

    >>> reasons = pa.chunked_array([["not asked: the rule (width 0.1) was met before", "no reply", None]])
    >>> find_left_out(reasons, "judge:correctness").tolist()
    [True, False, False]
    """
    if not is_text(reasons.type):  # null in a file of which every row has a score, or a column of the user's own
        return np.zeros(len(reasons), bool)
    whole, part = pc.starts_with(reasons, LEFT_OUT), pc.match_substring(reasons, f"{spec}: {LEFT_OUT}")
    return np.asarray(pc.fill_null(pc.or_(whole, part), False))


def _free_name(name: str, taken: set[str]) -> str:
    """The name, with a number where it is taken; adds it to those taken."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free
