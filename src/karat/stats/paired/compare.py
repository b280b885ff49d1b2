"""Compares two systems on the same rows: the difference, its interval, and the paired test that suits the metric."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from karat.core.errors import DataError, RowError, SpecError
from karat.stats.aggregate import Scale
from karat.stats.inference import Inference
from karat.stats.paired.comparison import Comparison
from karat.stats.paired.paired_rows import PairedRows
from karat.stats.wilson import ROUNDING


def compare(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    scale: Scale,
    *,
    keys: NDArray[np.uint64] | None = None,
    inference: Inference = Inference(),  # noqa: B008  (it is frozen)
    power: float = 0.8,
) -> Comparison:
    """Compare two systems by their row statistics, each of shape (rows, statistics), NaN where a row is not scored.

    Row i of `a` and of `b` answer the same question. `keys`, shape (rows,), are equal for rows of one cluster. The test
    is McNemar's where every score is 0 or 1 and rows are independent, else a permutation test by row or cluster.

    Raises `RowError` for shapes that differ and statistics that are infinite, `DataError` for scores beyond the bounds,
    `SpecError` for a power that is not between 1 - confidence and 1.

    >>> a = np.array([[1.0], [0.0], [0.0], [0.0], [0.0], [np.nan], [1.0], [0.0]])
    >>> b = np.array([[1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0]])
    >>> found = compare(a, b, Scale())
    >>> round(found.difference, 3), found.test, found.p, found.wins, found.losses, found.missing_a
    (0.714, 'mcnemar', 0.0625, 5, 0, 1)
    >>> found.verdict(), found.could_turn()
    ('unclear', True)
    """
    confidence = inference.confidence
    level = round(1 - confidence, 12)
    if not 0 < level < power < 1:
        raise SpecError(f"0 < 1 - confidence < power < 1 expected, found confidence {confidence} and power {power}")
    _check(a, b, scale, keys)
    pairs = PairedRows(a, b, keys, scale.finish, scale.bounds, inference.seed)
    scored_a, scored_b = (~np.isnan(side).any(axis=1) for side in (a, b))
    both = scored_a & scored_b
    scored = pairs if both.all() else replace(pairs, a=a[both], b=b[both], keys=None if keys is None else keys[both])
    defined = scored.values is not None
    p, draws = scored.test() if defined else (None, 0)
    low, high = scored.interval(confidence) if defined else (None, None)
    wins, losses = scored.higher if scale.direction == "maximize" else scored.higher[::-1]
    least, p_least, most, p_most = (scored.difference, p) * 2 if scored is pairs else _fill(pairs)
    return Comparison(
        a=scored.values[0] if scored.values else None,
        b=scored.values[1] if scored.values else None,
        difference=scored.difference,
        low=low,
        high=high,
        p=p,
        test=scored.kind,
        draws=draws,
        effect=scored.effect if defined else None,
        wins=wins,
        losses=losses,
        ties=len(scored.a) - wins - losses,
        n=len(a),
        scored=len(scored.a),
        units=scored.independent,
        missing_a=int(np.count_nonzero(~scored_a)),
        missing_b=int(np.count_nonzero(~scored_b)),
        least=least,
        most=most,
        p_least=p_least,
        p_most=p_most,
        deviation=scored.deviation if defined else None,
        smallest_visible=scored.visible(power, level) if defined else None,
        power=power,
        level=level,
        direction=scale.direction,
    )


def _fill(pairs: PairedRows) -> tuple[float | None, float | None, float | None, float | None]:
    """The difference and its p if the missing rows had the worst scores for B and the best for A, and the reverse.

    With a finish, rows have no scores, so any difference is possible; without two bounds, nothing is known.
    """
    low, high = pairs.bounds
    if low is None or high is None:
        return None, None, None, None
    if pairs.finish is not None:
        return low - high, None, high - low, None
    least, most = (
        replace(pairs, a=np.where(np.isnan(pairs.a), a, pairs.a), b=np.where(np.isnan(pairs.b), b, pairs.b))
        for a, b in ((high, low), (low, high))
    )
    return least.difference, least.test()[0], most.difference, most.test()[0]


def _check(a: NDArray[np.float64], b: NDArray[np.float64], scale: Scale, keys: NDArray[np.uint64] | None) -> None:
    if a.ndim != 2 or a.shape != b.shape:
        raise RowError(f"two systems' statistics of one shape (rows, width) expected, found {a.shape} and {b.shape}")
    if scale.finish is None and a.shape[1] != 1:
        raise SpecError(f"a metric with {a.shape[1]} statistics a row needs a finish")
    if keys is not None and len(keys) != len(a):
        raise RowError(f"{len(a)} cluster keys expected, found {len(keys)}")
    low, high = (math.inf * sign if end is None else end for end, sign in zip(scale.bounds, (-1, 1), strict=True))
    slack = 0.0 if math.isinf(high - low) else ROUNDING * (high - low)
    for name, side in (("A", a), ("B", b)):
        if (wrong := np.isinf(side).any(axis=1)).any():
            row = int(np.argmax(wrong))
            raise RowError(f"row {row} of {name}: a finite statistic expected, found {side[row].tolist()}")
        if scale.finish is None and ((side < low - slack) | (side > high + slack)).any():
            raise DataError(f"{name}: scores from {scale.bounds[0]} to {scale.bounds[1]} expected, found some beyond")
