"""What a metric returns: one row of statistics for each row, or the reason why there is none; and how it is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from karat.core.columns.arrow import from_numpy
from karat.core.columns.kinds import Array
from karat.core.errors import RowError, SpecError
from karat.core.metric.definition import Configured

UNMATCHED = "karat_unmatched"
"""Beside the columns of the roles, which rows have no prediction at all: their nulls are none that a metric keeps."""
NOTHING: Array = np.array(None, dtype=object)
NOT_ASKED = "not asked: "  # in the reason of a row where a cap is reached, or a rule ended the asking
LEFT_OUT = f"{NOT_ASKED}the rule"
"""Begins the reason of a row that was left out at random, since a rule ended the asking: it is not an unscored one."""
ROUNDING = 1e-9  # by how much a score may exceed its range

MOST_PAIRS = 10**10
"""The most pairs of words, or of characters, that are compared for one row: 100,000 with 100,000; of other parts, whose
comparison costs more, fewer. Beyond it the row is unscored: its time would grow with the product of the lengths."""


class TooLong(ValueError):
    """Why a row is not compared: its parts make too many pairs."""


@dataclass
class PairBudget:
    """Counts the pairs that are compared for one row, each at a `cost` in pairs of words; `spend` raises `TooLong`."""

    unit: str
    cost: int = 1
    spent: int = 0

    def spend(self, pairs: int) -> None:
        self.spent += pairs
        if self.spent * self.cost > MOST_PAIRS:
            raise TooLong(f"more than {MOST_PAIRS // self.cost:,} pairs of {self.unit} would be compared; {_ADVICE}")


_ADVICE = "shorten the texts or lists of this row, or use a metric whose time is linear, such as token_f1 or bleu"


def find_too_long(a: Array, b: Array, unit: str, cost: int = 1) -> Array:
    """Why rows with so many parts on either side are not compared, None where they are: shape (n,), objects.

    >>> find_too_long(np.array([3, 10**6]), np.array([2, 10**6]), "words")[1]
    '1,000,000 x 1,000,000 words are more than 10,000,000,000 pairs; shorten the texts or lists of this row, or use ...
    """
    reasons: Array = np.full(len(a), None, dtype=object)
    for row in np.flatnonzero(np.multiply(a, b, dtype=np.float64) * cost > MOST_PAIRS).tolist():
        pairs = f"{int(a[row]):,} x {int(b[row]):,} {unit} are more than {MOST_PAIRS // cost:,} pairs"
        reasons[row] = f"{pairs}; {_ADVICE}"
    return reasons


def score_rest(reasons: Array, columns: Sequence[pa.Array], compute: Callable[..., Array | Rows]) -> Rows:
    """What `compute` returns for the rows of some columns that have no reason to be unscored, among all rows."""
    chosen: Array = np.equal(reasons, NOTHING)
    if not chosen.any():
        return Rows(np.full((len(reasons), 1), np.nan), reasons)
    whole = bool(chosen.all())
    returned = compute(*columns) if whole else compute(*(column.filter(from_numpy(chosen)) for column in columns))
    rows = returned if isinstance(returned, Rows) else Rows(np.asarray(returned, np.float64))
    if whole:
        return rows
    flat = rows.statistics.reshape(len(rows.statistics), -1)
    statistics: Array = np.full((len(reasons), flat.shape[1]), np.nan)
    statistics[chosen] = flat
    if rows.reasons is not None:
        reasons[chosen] = rows.reasons
    return Rows(statistics, reasons)


@dataclass(frozen=True)
class Rows:
    """What a metric returns: one row of statistics for each row.

    `statistics` has shape (n, k), float64; a row of NaN is unscored. `reasons`, shape (n,), say why as text, None for a
    scored row; or it is None where every row is scored. `details` are further columns, such as a judge's label.
    """

    statistics: Array
    reasons: Array | None = None
    details: Mapping[str, pa.Array] = field(default_factory=dict)

    @property
    def scored(self) -> Array:
        """Which rows are scored: shape (n,), bool."""
        has_score: Array = ~np.isnan(self.statistics[:, 0])
        return has_score

    def scores(self, metric: Configured) -> Array:
        """The score of each row, shape (n,): the finish of the row's own statistics, NaN where it is unscored."""
        finish = metric.finish
        if finish is None or not self.scored.any():  # without a scored row there is only one column, of NaN
            return self.statistics[:, 0]
        values: Array = finish(self.statistics)
        return np.where(self.scored, values, np.nan)

    def slice(self, first: int, size: int) -> Rows:
        """So many rows from the first of them, counted from 0."""
        reasons = None if self.reasons is None else self.reasons[first : first + size]
        details = {name: column.slice(first, size) for name, column in self.details.items()}
        return Rows(self.statistics[first : first + size], reasons, details)

    def score_column(self, metric: Configured) -> pa.Array:
        """One float64 a row as an Arrow array, null where a row is unscored; without a copy where none is."""
        scores = self.scores(metric)
        missing = np.isnan(scores)
        return from_numpy(scores, ~missing if missing.any() else None)

    def reason_column(self) -> pa.Array:
        """Why each row is unscored, as an Arrow array of strings, null where a row is scored."""
        if self.reasons is None:
            return pa.nulls(len(self.statistics), pa.string())
        return pa.array(self.reasons.tolist(), pa.string())

    def detail_columns(self, metric: Configured) -> list[pa.Array]:
        """The details in the order of the metric's definition; null where the metric returned none."""
        rows = len(self.statistics)
        return [self.details.get(name, pa.nulls(rows, kind)) for name, kind in metric.details.items()]


def null_reasons(columns: Mapping[str, pa.Array]) -> Array | None:
    """The reason of each row that has a null in one of its columns; None where no row has."""
    reasons: Array | None = None
    for role, column in columns.items():
        if column.null_count:
            if reasons is None:
                reasons = np.full(len(column), None, dtype=object)
            reasons[np.asarray(column.is_null())] = f"{role} is null"
    return reasons


def explained(rows: Rows) -> Rows:
    """The rows with a reason for every row without a score, and without a score for every row with a reason."""
    finite = np.isfinite(rows.statistics)
    if rows.reasons is None and finite.all():
        return rows
    blank = np.asarray(~finite.all(axis=1))
    reasons: Array = np.full(len(blank), None, dtype=object) if rows.reasons is None else rows.reasons
    reasons = np.where(blank & np.equal(reasons, NOTHING), "the metric gave no finite number", reasons)
    statistics = np.where(np.equal(reasons, NOTHING)[:, None], rows.statistics, np.nan)
    return replace(rows, statistics=statistics, reasons=reasons)


def concat_rows(metric: Configured, parts: Sequence[Rows]) -> Rows:
    """The rows of several batches as one."""
    if len(parts) == 1:
        return parts[0]
    columns = zip(*(rows.detail_columns(metric) for rows in parts), strict=True)
    reasons = None
    if any(rows.reasons is not None for rows in parts):
        reasons = np.concatenate([rows.reason_column().to_numpy(zero_copy_only=False) for rows in parts])
    details = {name: pa.concat_arrays(pieces) for name, pieces in zip(metric.details, columns, strict=True)}
    return Rows(stack_statistics([rows.statistics for rows in parts]), reasons, details)


def stack_statistics(parts: Sequence[Array]) -> Array:
    """Statistics of several batches, shape (n, k); a batch without a scored row may be narrower, and is all NaN."""
    width = max(each.shape[1] for each in parts)
    return np.concatenate([widen(each, width) for each in parts])


def widen(statistics: Array, width: int) -> Array:
    """Statistics of this width; without a scored row they are narrower whatever the metric, and are all NaN."""
    return statistics if statistics.shape[1] == width else np.full((len(statistics), width), np.nan)


def collect_rows(values: Iterable[float | Iterable[float] | str], width: int = 1) -> Rows:
    """The statistics of rows from one value each: a score, `width` counts, or a text: why the row is unscored.

    >>> collect_rows([1.0, "reference is empty"]).statistics.tolist()
    [[1.0], [nan]]
    """
    rows = list(values)
    statistics = np.full((len(rows), width), np.nan)
    reasons = np.full(len(rows), None, dtype=object)
    for row, value in enumerate(rows):
        if isinstance(value, str):
            reasons[row] = value
        else:
            statistics[row] = value
    return Rows(statistics, reasons)


def divide(part: Array, whole: Array, otherwise: float = 0.0) -> Array:
    """`part / whole`, and `otherwise` where `whole` is 0; arrays of one shape."""
    ratio: Array = np.divide(part, whole, out=np.full(np.shape(part), float(otherwise)), where=whole != 0)
    return ratio


def to_statistics(returned: Any, name: str) -> Array:
    """What a metric's function returned as float64, shape (n, k); `RowError` for anything else."""
    if isinstance(returned, pa.Array | pa.ChunkedArray):
        returned = returned.cast(pa.float64()).to_numpy(zero_copy_only=False)
    try:
        values = np.asarray(returned, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise RowError(f"{name} must return one float a row, or rows of counts: {error}") from None
    if values.ndim not in (1, 2):
        raise RowError(f"{name} must return one float a row, or rows of counts; it returned {returned!r:.80}")
    return values.reshape(len(values), -1)


def check_rows(metric: Configured, rows: Rows, n: int) -> Rows:
    """What a metric returned for `n` rows, as float64, with a reason for each row without a score."""
    rows = replace(rows, statistics=to_statistics(rows.statistics, metric.name))
    if len(rows.statistics) != n:
        raise RowError(f"{metric.name} returned {len(rows.statistics)} rows of statistics for {n} rows")
    finite = metric.definition.finish is None and check_range(metric, rows.statistics)
    return rows if finite and rows.reasons is None else explained(rows)


def check_range(metric: Configured, scores: Array) -> bool:
    """Whether all scores are finite; raises `SpecError` for one outside the range of the metric."""
    if scores.shape[1] != 1:
        raise SpecError(f"{metric.name} returns {scores.shape[1]} counts a row and so needs a finish")
    low, high = metric.definition.low, metric.definition.high
    lowest, highest = (-np.inf if low is None else low - ROUNDING), (np.inf if high is None else high + ROUNDING)
    least, most = scores.min(), scores.max()
    if least >= lowest and most <= highest:  # not so where one is NaN
        return bool(np.isfinite(least) and np.isfinite(most))
    beyond = ((scores < lowest) & (scores > -np.inf)) | ((scores > highest) & (scores < np.inf))
    if beyond.any():
        problem = f"{metric.name} returned {scores[beyond][0]:g}, outside its range of {low} to {high}"
        declared = (
            "set low= and high= to a range that every score is in"
            if "low" in metric.settings
            else "declare the range with @metric(low=..., high=...), None for an open end"
        )
        raise SpecError(f"{problem}: {declared}")
    return False
