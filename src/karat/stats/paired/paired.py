"""Two systems on the same rows: the difference, its interval, and the paired test that fits the metric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from karat.core.errors import DataError, RowError, SpecError
from karat.core.metric.definition import Direction
from karat.stats.aggregate import Finish
from karat.stats.interval import Bounds
from karat.stats.paired.comparison import Comparison
from karat.stats.paired.pairs import Pairs
from karat.stats.wilson import ROUNDING


def compare(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    finish: Finish | None = None,
    *,
    bounds: Bounds,
    keys: NDArray[np.uint64] | None = None,
    direction: Direction = "maximize",
    confidence: float = 0.95,
    power: float = 0.8,
    seed: int = 0,
) -> Comparison:
    """Compare two systems by their row statistics, each of shape (rows, statistics), NaN where a row is not scored.

    Row i of `a` and of `b` are about the same question. `finish`, `bounds` and `direction` are the metric's, as in
    `summarise`; `keys`, shape (rows,), say which rows hang together. The test is McNemar's exact one where every
    score is 0 or 1 and rows are independent; else random swaps of the two systems (for means: sign flips), of
    whole clusters where there are any.

    `RowError` for shapes that differ and statistics that are infinite, `DataError` for scores beyond the bounds,
    `SpecError` for a confidence or a power that is none.

    >>> a = np.array([[1.0], [0.0], [0.0], [0.0], [0.0], [np.nan], [1.0], [0.0]])
    >>> b = np.array([[1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0]])
    >>> found = compare(a, b, bounds=(0.0, 1.0))
    >>> round(found.difference, 3), found.test, found.p, found.wins, found.losses, found.missing_a
    (0.714, 'mcnemar', 0.0625, 5, 0, 1)
    >>> found.verdict(), found.could_turn()
    ('unclear', True)
    """
    level = round(1 - confidence, 12)
    if not 0 < level < power < 1:
        raise SpecError(f"0 < 1 - confidence < power < 1 expected, found confidence {confidence} and power {power}")
    _check(a, b, finish, bounds, keys)
    pairs = Pairs(a, b, keys, finish, bounds, seed)
    here_a, here_b = (~np.isnan(side).any(axis=1) for side in (a, b))
    both = here_a & here_b
    seen = pairs if both.all() else replace(pairs, a=a[both], b=b[both], keys=None if keys is None else keys[both])
    known = seen.values is not None
    p, draws = seen.test() if known else (None, 0)
    low, high = seen.interval(confidence) if known else (None, None)
    wins, losses = seen.higher if direction == "maximize" else seen.higher[::-1]
    least, p_least, most, p_most = (seen.difference, p) * 2 if seen is pairs else _fill(pairs)
    return Comparison(
        a=seen.values[0] if seen.values else None,
        b=seen.values[1] if seen.values else None,
        difference=seen.difference,
        low=low,
        high=high,
        p=p,
        test=seen.kind,
        draws=draws,
        effect=seen.effect if known else None,
        wins=wins,
        losses=losses,
        ties=len(seen.a) - wins - losses,
        n=len(a),
        scored=len(seen.a),
        units=seen.independent,
        missing_a=int(np.count_nonzero(~here_a)),
        missing_b=int(np.count_nonzero(~here_b)),
        least=least,
        most=most,
        p_least=p_least,
        p_most=p_most,
        deviation=seen.deviation if known else None,
        smallest_visible=seen.visible(power, level) if known else None,
        power=power,
        level=level,
        direction=direction,
    )


def _fill(pairs: Pairs) -> tuple[float | None, float | None, float | None, float | None]:
    """The difference and its p had the missing rows scored as badly as can be for B and well for A, and the reverse.

    With a finish a row has no score, so the difference may be any; with an open end, nothing is known.
    """
    low, high = pairs.bounds
    if low is None or high is None:
        return None, None, None, None
    if pairs.finish is not None:
        return low - high, None, high - low, None
    ends = []
    for a, b in ((high, low), (low, high)):
        filled = replace(pairs, a=np.where(np.isnan(pairs.a), a, pairs.a), b=np.where(np.isnan(pairs.b), b, pairs.b))
        ends += [filled.difference, filled.test()[0]]
    return ends[0], ends[1], ends[2], ends[3]


def _check(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    finish: Finish | None,
    bounds: Bounds,
    keys: NDArray[np.uint64] | None,
) -> None:
    if a.ndim != 2 or a.shape != b.shape:
        raise RowError(
            f"two systems with statistics of one shape (rows, width) expected, found {a.shape} and {b.shape}"
        )
    if finish is None and a.shape[1] != 1:
        raise SpecError(f"a metric with {a.shape[1]} statistics a row needs a finish")
    if keys is not None and len(keys) != len(a):
        raise RowError(f"{len(a)} cluster keys expected, found {len(keys)}")
    low, high = bounds
    slack = 0.0 if low is None or high is None else ROUNDING * (high - low)
    for name, side in (("A", a), ("B", b)):
        if (wrong := np.isinf(side).any(axis=1)).any():
            row = int(np.argmax(wrong))
            raise RowError(f"row {row} of {name}: a finite statistic expected, found {side[row].tolist()}")
        if finish is None and (
            (low is not None and (side < low - slack).any()) or (high is not None and (side > high + slack).any())
        ):
            raise DataError(f"{name}: scores from {low} to {high} expected, found some beyond")
