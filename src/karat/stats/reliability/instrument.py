"""The mean of verdicts with an interval that other prompts and judges are part of, beside the one over rows alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.core.columns.kinds import Array
from karat.data.json.objects import JsonObject
from karat.stats.agreement.accuracy import mean
from karat.stats.inference import Inference
from karat.stats.intervals.student import student_quantile
from karat.stats.intervals.wilson import Ends, effective_interval
from karat.stats.reliability.components import (
    REPEAT,
    ROW,
    Components,
    Levels,
    factors_of,
    find_components,
    number_cells,
    widening,
)
from karat.stats.value import Estimate


@dataclass(frozen=True)
class Instrument(JsonObject):
    """The mean over rows, prompts and judges, and what its interval consists of.

    `value`: with the interval for other rows, other prompts and other judges such as these; `rows_alone`: the same mean
    with the interval for other rows. `share`: how much of the variance of the mean is the instrument's, and would be
    left with very many rows or is the noise of verdicts. `single`: half the width of the interval if each of the rows
    had one verdict, by one judge with one prompt.
    """

    value: Estimate
    rows_alone: Estimate
    share: float
    single: float
    components: Components


def measure_instrument(
    scores: Array,
    facets: Levels,
    *,
    bounds: Ends = (0.0, 1.0),
    weights: Array | None = None,
    clusters: NDArray[np.int64] | None = None,
    inference: Inference = Inference(),  # noqa: B008  (it is frozen)
) -> Instrument:
    """The mean of scores of rows by crossed facets, shape (rows, verdicts), as in `find_components`.

    Each combination of levels counts the same, however often it was asked. To the variance over rows, by cluster where
    there are `clusters`, it adds what the facets add, as wide as Student's t with their levels makes it; the interval
    is the one of a mean of rows with that variance. A facet whose variance is 0 leaves the interval over rows.
    `weights`, shape (rows,), are the rows' weights in the mean; the components do not know them.

    Raises `DataError` as `find_components`.

    Source: R. Brennan, "Generalizability Theory" (2001), for the sum.

    >>> random = np.random.default_rng(1)
    >>> chances = random.random((200, 1)) * 0.6 + np.array([0.1, 0.2, 0.3, 0.4])  # the fourth prompt is lenient
    >>> found = measure_instrument((random.random((200, 4)) < chances).astype(float), {"prompt": np.arange(4)})
    >>> print(found.rows_alone, found.value, sep="; ")
    0.5650 (0.5231 – 0.6060); 0.5650 (0.3841 – 0.7301)
    """
    components = find_components(scores, facets)
    means = _mean_by_cell(scores, number_cells(facets) if facets else np.zeros(scores.shape[1], np.int64))
    over_rows = mean(means, bounds=bounds, weights=weights)
    alone = over_rows.estimate(clusters, inference.confidence)
    parts = components.parts(components.rows, components.levels, components.repeats)
    share = 1 - parts[ROW] / total if (total := sum(parts.values())) else 0.0
    single = half_width(components, components.parts(components.rows, {}), inference.confidence)
    value = alone
    wide = components.widened(parts, inference.confidence)
    added = sum(each for name, each in wide.items() if ROW not in factors_of(name) and name != REPEAT)
    if alone.value is not None and added:
        variance, (weight, freedom) = over_rows.spread(clusters)
        variance = variance * widening(freedom, inference.confidence) + added
        ends = effective_interval(alone.value, variance, (weight, math.inf), bounds, inference.confidence)
        low, high = min(ends[0], alone.low or ends[0]), max(ends[1], alone.high or ends[1])
        value = Estimate(alone.value, low, high, alone.n)
    return Instrument(value, alone, share, single, components)


def half_width(components: Components, parts: dict[str, float], confidence: float) -> float:
    """Half the width of the interval of a mean whose variance has these parts."""
    variance = sum(components.widened(parts, confidence).values())
    return student_quantile((1 + confidence) / 2, math.inf) * math.sqrt(variance)


def _mean_by_cell(scores: Array, cells: NDArray[np.int64]) -> Array:
    """The mean of each row over cells, shape (rows,), of the mean of each cell's verdicts; NaN where there is none."""
    there = ~np.isnan(scores)
    member = (cells[:, None] == np.arange(cells.max() + 1)).astype(np.float64)
    count = there @ member
    with np.errstate(invalid="ignore"):
        means = np.where(there, scores, 0.0) @ member / count
    known = (count > 0).sum(axis=1)
    mean_: Array = np.where(known > 0, np.nansum(means, axis=1) / np.maximum(known, 1), np.nan)
    return mean_
