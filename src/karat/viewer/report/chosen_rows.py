"""Which rows a report holds: those that differ most, the worst, some without a score, and a random sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

import numpy as np

from karat.core.columns.kinds import Array

_SHARES = {"differ": 0.5, "worst": 0.15, "unscored": 0.1}  # of the rows; the rest is a random sample


@dataclass(frozen=True)
class MetricScores:
    """The scores of one metric, shape (systems, rows), and whether less is better, and which rows a rule `left_out`."""

    spec: str
    scores: Array
    minimize: bool
    left_out: Array | None = None

    @property
    def gains(self) -> Array:
        """How much better than the first each other system is, shape (systems - 1, rows)."""
        gains: Array = (self.scores[1:] - self.scores[0]) * (-1 if self.minimize else 1)
        return gains


@dataclass(frozen=True)
class ChosenRows:
    """The numbers of the chosen rows, in order; how many were taken for which reason; the random sample's numbers."""

    rows: Array
    counts: dict[str, int]
    sampled: frozenset[int]


def choose_rows(metrics: Sequence[MetricScores], most: int, seed: int) -> ChosenRows:
    """At most this many rows; each counts for the first reason for which it is taken.

    >>> scores = np.array([[0, 0, 1, 1.0], [0, 1, 1, np.nan]])
    >>> choice = choose_rows([MetricScores("em", scores, False)], 4, 0)
    >>> choice.rows.tolist(), choice.counts
    ([0, 1, 2, 3], {'differ': 1, 'worst': 0, 'unscored': 0, 'sample': 3})
    """
    n = metrics[0].scores.shape[1]
    chosen = {"differ": _differing(metrics, most), "worst": _worst(metrics, most), "unscored": _unscored(metrics, most)}
    taken, counts = dict[int, str](), dict[str, int]()
    for reason, rows in chosen.items():
        fresh = list(islice((row for row in dict.fromkeys(rows) if row not in taken), int(_SHARES[reason] * most)))
        taken |= dict.fromkeys(fresh, reason)
        counts[reason] = len(fresh)
    drawn = np.random.default_rng(seed).permutation(n).tolist()
    sample = list[int]()
    for row in drawn:  # one that is here for another reason belongs to the sample too, else this would be biased
        if len(taken) >= most:
            break
        sample.append(row)
        taken.setdefault(row, "sample")
    counts["sample"] = len(taken) - sum(counts.values())
    return ChosenRows(np.array(sorted(taken), np.int64), counts, frozenset(sample))


def _in_turn(ranked: Sequence[Iterable[int]]) -> Iterator[int]:
    """The first of each, then the second of each, and so on."""
    for several in zip_longest(*ranked):
        yield from (row for row in several if row is not None)


def _differing(metrics: Sequence[MetricScores], most: int) -> Iterator[int]:
    """The rows on which a system differs from the first, largest loss and largest gain in turn."""
    ranked = []
    for metric in metrics:
        for gains in np.nan_to_num(metric.gains):
            for signed in (gains, -gains):
                order = np.argsort(signed, kind="stable")
                ranked.append(order[signed[order] < 0][:most].tolist())
    return _in_turn(ranked)


def _worst(metrics: Sequence[MetricScores], most: int) -> Iterator[int]:
    """The rows with the worst scores of each system, the last system first."""
    ranked = []
    for metric in metrics:
        for scores in metric.scores[::-1] * (-1 if metric.minimize else 1):
            order = np.argsort(scores, kind="stable")
            ranked.append(order[~np.isnan(scores[order])][:most].tolist())
    return _in_turn(ranked)


def _unscored(metrics: Sequence[MetricScores], most: int) -> Iterator[int]:
    unscored = (np.isnan(each.scores) if each.left_out is None else np.isnan(each.scores) & ~each.left_out
                for each in metrics)  # fmt: skip
    return _in_turn([np.flatnonzero(rows.any(axis=0))[:most].tolist() for rows in unscored])
