"""Combines the scores of a row's pairs, one pair for each of its references or samples, into the row's score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from karat.core.columns.arrow import from_numpy
from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.core.metric.definition import Configured
from karat.core.metric.rows import NOTHING, Rows, explained


def combine(metric: Configured, pairs: Rows, sizes: Array, across: Any) -> Rows:
    """The statistics of each row from its pairs' statistics: the best pair's, the worst's, the first's or the mean.

    `sizes`, shape (rows,), is the number of pairs of each row, whose pairs stand one after the other.
    """
    statistics = np.full((len(sizes), pairs.statistics.shape[1]), np.nan)
    held = slice(None) if sizes.all() else sizes > 0
    starts = (np.cumsum(sizes) - sizes)[held]
    if not len(starts):
        return Rows(statistics)
    chosen = None  # the pair of each row whose statistics and details are the row's
    if callable(across):
        statistics[held, 0] = _aggregate(metric, across, pairs, starts)
    elif across == "first":
        chosen = starts
    elif across == "mean":
        scored = pairs.scored
        counts = np.add.reduceat(scored.astype(np.float64), starts)
        sums = np.add.reduceat(np.where(scored[:, None], pairs.statistics, 0.0), starts, axis=0)
        with np.errstate(invalid="ignore"):
            statistics[held] = sums / counts[:, None]
    elif metric.definition.finish is None and all(pt.is_boolean(each.type) for each in pairs.details.values()):
        statistics[held] = (np.fmax if across == "max" else np.fmin).reduceat(pairs.statistics, starts)
    else:
        chosen = _chosen(across, pairs.scores(metric), starts, sizes[held])
    details = {name: _any(column, held, starts) for name, column in pairs.details.items() if pt.is_boolean(column.type)}
    if chosen is not None:
        statistics[held] = pairs.statistics[chosen]
        places = np.zeros(len(sizes), dtype=np.int64)
        places[held] = chosen
        picked = from_numpy(places, sizes > 0)
        details = {
            name: details[name] if name in details else each.take(picked) for name, each in pairs.details.items()
        }
    if pairs.reasons is None:
        return Rows(statistics, details=details)
    reasons = np.full(len(sizes), None, dtype=object)
    reasons[held] = pairs.reasons[starts]
    return explained(Rows(statistics, np.where(np.isnan(statistics[:, 0]), reasons, NOTHING), details))


def _any(column: pa.Array, held: Any, starts: Array) -> pa.Array:
    """Whether a detail is true of any pair of a row; null where it is null for all pairs."""
    known, true = np.asarray(column.is_valid()), np.asarray(column.fill_null(False))
    rows = len(held) if isinstance(held, np.ndarray) else len(starts)
    any_known, any_true = np.zeros((2, rows), dtype=bool)
    any_known[held], any_true[held] = (np.logical_or.reduceat(each, starts) for each in (known, true))
    return pa.array(any_true, mask=~any_known)


def _chosen(across: str, scores: Array, starts: Array, sizes: Array) -> Array:
    """The index of each row's best (or worst) pair; unscored pairs are skipped."""
    pick = np.fmax if across == "max" else np.fmin
    best = np.repeat(pick.reduceat(scores, starts), sizes)
    places = np.where(scores == best, np.arange(len(scores)), len(scores))
    first = np.minimum.reduceat(places, starts)
    return np.where(first < len(scores), first, starts)


def _aggregate(metric: Configured, across: Any, pairs: Rows, starts: Array) -> list[float]:
    if metric.definition.finish is not None:
        allowed = "across takes max, mean, min, first"
        raise SpecError(f"{metric.name} gives counts, which a callable cannot combine; {allowed}")
    groups = (part[~np.isnan(part)].tolist() for part in np.split(pairs.scores(metric), starts[1:]))
    return [float(across(group)) if group else np.nan for group in groups]
