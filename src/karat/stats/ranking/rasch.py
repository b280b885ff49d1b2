"""Rasch's model of who answers what: abilities of systems, and rows on which the strong miss what the weak get.

The log odds that a system is right are its ability less the row's difficulty. Given how many systems are right on a
row, which ones they are depends on the abilities alone: difficulties need not be known.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

RIDGE = 0.01
"""The precision by which abilities are shrunk towards 0, so that a system that is never right has one too."""
_STEPS = 100
_CLOSE = 1e-9


def fit_abilities(hits: NDArray[np.bool_], ridge: float = RIDGE) -> NDArray[np.float64]:
    """The abilities of systems, in log odds, shape (systems,), with mean 0; `hits` has shape (rows, systems).

    They maximise the likelihood given how many systems are right on each row, which is McFadden's conditional logit.

    Source: G. Rasch, "Probabilistic models for some intelligence and attainment tests" (1960); E. B. Andersen,
    "Conditional inference for multiple-choice questionnaires", BJMSP 26 (1973).

    >>> hits = np.array([[True, False]] * 30 + [[False, True]] * 10)
    >>> fit_abilities(hits, ridge=0.0).round(4).tolist()  # half of log 3 apart from 0 each
    [0.5493, -0.5493]
    """
    counts = np.bincount(hits.sum(axis=1), minlength=hits.shape[1] + 1)
    right = hits[(hits.sum(axis=1) > 0) & ~hits.all(axis=1)].sum(axis=0).astype(float)
    abilities = np.zeros(hits.shape[1])
    for _ in range(_STEPS):
        expected, information = np.zeros(len(abilities)), np.zeros((len(abilities),) * 2)
        for count in range(1, hits.shape[1]):
            if counts[count]:
                chances, spread = _moments(abilities, count)
                expected += counts[count] * chances
                information += counts[count] * spread
        information += (ridge + 1e-12) * np.eye(len(abilities)) + 1 / len(abilities)
        step = np.linalg.solve(information, right - expected - ridge * abilities)
        abilities += step * min(1.0, 2 / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < _CLOSE:
            break
    centred: NDArray[np.float64] = abilities - abilities.mean()
    return centred


def find_misfit(hits: NDArray[np.bool_], abilities: NDArray[np.float64]) -> float:
    """How far the systems that are right on one row are weaker than expected of so many, in standard deviations.

    `hits` has shape (systems,). 0 where all are right or none is.
    """
    count = int(hits.sum())
    if not 0 < count < len(hits):
        return 0.0
    chances, spread = _moments(abilities, count)
    variance = float(abilities @ spread @ abilities)
    return float(abilities @ (chances - hits)) / math.sqrt(variance) if variance > 1e-12 else 0.0


def _moments(abilities: NDArray[np.float64], count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The probability that each system is among `count` that are right, and the covariances."""
    odds = np.exp(abilities - abilities.max())
    systems = len(odds)
    whole = _symmetric(odds)[count]
    chances = np.array([odds[at] * _symmetric(np.delete(odds, at))[count - 1] for at in range(systems)]) / whole
    both = np.diag(chances)
    for one in range(systems if count > 1 else 0):
        for other in range(one):
            rest = _symmetric(np.delete(odds, [one, other]))[count - 2]
            both[one, other] = both[other, one] = odds[one] * odds[other] * rest / whole
    return chances, both - np.outer(chances, chances)


def _symmetric(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The elementary symmetric polynomials of odds, of degree 0 to all."""
    sums = np.zeros(len(odds) + 1)
    sums[0] = 1.0
    for at, each in enumerate(odds.tolist(), 1):
        sums[1 : at + 1] += each * sums[:at].copy()
    return sums
