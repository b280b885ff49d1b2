"""Calibration: whether answers with a score of 0.8 are right eight times in ten."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from karat.stats.agreement.accuracy import mean
from karat.stats.agreement.coefficient import value_of_sums
from karat.stats.agreement.distance import number_values
from karat.stats.value import Estimate

BINS = 10
PRECISION = 1e-6


@dataclass(frozen=True)
class Bin:
    """Rows whose scores lie from `low` to `high`: how many, their mean score, and the mean that people gave them."""

    low: float
    high: float
    n: int
    score: float
    people: Estimate


@dataclass(frozen=True)
class Calibration:
    """How scores from 0 to 1 compare with people's.

    `bins`: the numbers of a reliability diagram. `ece`: the expected calibration error, the mean distance between the
    two means of a bin. Noise makes it larger: `ece_by_chance` is what it would be on so few rows if the means were
    equal, and the low end of its interval allows for this. `brier`: the mean squared distance between a score and
    people's.
    """

    bins: tuple[Bin, ...]
    ece: Estimate
    ece_by_chance: float | None
    brier: Estimate


def calibrate(
    scores: NDArray[np.float64],
    people: NDArray[np.float64],
    *,
    weights: NDArray[np.float64] | None = None,
    clusters: NDArray[np.int64] | None = None,
    confidence: float = 0.95,
) -> Calibration:
    """Compare scores from 0 to 1 with people's, shape (rows,) each. Rows where one is NaN do not count.

    Where there are at most ten different scores, each has a bin; else there are ten of equal width. `weights`:
    the inverse of the probability with which a row was drawn. `clusters`: numbers from 0, equal in rows
    which are not independent.

    Sources: G. Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78 (1950);
    M. Naeini, G. Cooper and M. Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.

    >>> found = calibrate(np.array([1, 1, 1, 1, 1, 0, 0, 0.0]), np.array([1, 1, 1, 0, 0, 0, 0, 0.0]))
    >>> found.ece.value, found.brier.value, [(each.score, each.n, each.people.value) for each in found.bins]
    (0.25, 0.25, [(0.0, 3, 0.0), (1.0, 5, 0.6)])
    """
    present = ~(np.isnan(scores) | np.isnan(people))
    scores, people, clusters = scores[present], people[present], None if clusters is None else clusters[present]
    weights = np.ones(len(scores)) if weights is None else weights[present]
    gap, (ends, bin_of) = scores - people, _bins(scores)
    units = np.arange(len(scores)) if clusters is None else clusters
    bins, numbers = [], np.unique(bin_of)
    shares, gaps, spreads = np.empty((3, len(numbers)))
    for at, number in enumerate(numbers.tolist()):
        rows, (low, high) = bin_of == number, ends[number]
        weight = weights[rows]
        score = float(np.average(scores[rows], weights=weight))
        here = mean(np.where(rows, people, np.nan), weights=weights).estimate(clusters, confidence)
        bins.append(Bin(low, high, len(weight), score, here))
        shares[at], gaps[at] = weight.sum(), np.average(gap[rows], weights=weight)
        distances = np.bincount(units[rows], weight * (gap[rows] - gaps[at]))
        spreads[at] = distances @ distances
    cells = np.zeros((len(scores), len(ends) + 1))
    cells[np.arange(len(scores)), bin_of], cells[:, -1] = gap, 1.0
    error = value_of_sums(cells, _expected_error, weights=weights, empty="there is no row")
    ece, brier = (each.estimate(clusters, confidence) for each in (error, mean(gap**2, weights=weights)))
    if ece.value is None or ece.low is None:
        return Calibration(tuple(bins), ece, None, brier)
    # A bin of few rows may not vary by chance; each gets the spread of one more row, taken from all bins.
    further = spreads.sum() / max(len(np.unique(units * len(ends) + bin_of)) - len(bins), 1)
    errors = np.sqrt(spreads + further) / shares
    least, by_chance = _lowest_error(gaps, errors, shares / shares.sum(), confidence)
    return Calibration(tuple(bins), replace(ece, low=min(ece.low, least)), by_chance, brier)


def _lowest_error(
    gaps: NDArray[np.float64], errors: NDArray[np.float64], shares: NDArray[np.float64], confidence: float
) -> tuple[float, float]:
    """The low end of the expected calibration error, and the error by chance of a calibrated judge.

    Noise makes the mean of absolute gaps larger. The low end belongs to the smallest gaps, in the proportions observed,
    with which noise (the standard `errors`) would reach the error observed: the mean and variance of its terms are
    those of folded normal distributions.

    Source: F. Leone, L. Nelson and R. Nottingham, "The folded normal distribution", Technometrics 3 (1961).
    """

    def moments(part: float) -> tuple[float, float]:
        z = np.divide(part * gaps, errors, out=np.full(len(gaps), np.inf), where=errors > 0)
        inside = np.array([math.erf(abs(each) / math.sqrt(2)) for each in z.tolist()])
        mean = errors * math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2) + np.abs(part * gaps) * inside
        variance = (part * gaps) ** 2 + errors**2 - mean**2
        return float(shares @ mean), float(shares**2 @ variance)

    observed, reach = float(shares @ np.abs(gaps)), NormalDist().inv_cdf((1 + confidence) / 2)
    low, high = 0.0, 1.0
    while high - low > PRECISION:
        middle = (low + high) / 2
        mean, variance = moments(middle)
        low, high = (middle, high) if mean + reach * math.sqrt(max(variance, 0.0)) < observed else (low, middle)
    return low * observed, moments(0.0)[0]


def _expected_error(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The expected calibration error from the summed gap of each bin and the number of rows."""
    error: NDArray[np.float64] = np.abs(sums[..., :-1]).sum(axis=-1) / sums[..., -1]
    return error


def _bins(scores: NDArray[np.float64]) -> tuple[list[tuple[float, float]], NDArray[np.integer]]:
    """The ends of each bin, and the bin of each score, shape (rows,)."""
    values, bin_of = number_values(scores)
    if len(values) <= BINS:
        return [(value, value) for value in values.tolist()], bin_of
    edges = [at / BINS for at in range(BINS + 1)]
    return list(pairwise(edges)), np.searchsorted(edges[1:-1], scores)
