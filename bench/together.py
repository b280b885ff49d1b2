"""How often the intervals of several differences hold together, beside how often those that hold alone do.

`python bench/together.py 500` draws so many comparisons of each case: normal differences of 80 rows, whose true means
are the numbers shown, independent or correlated by 0.8 across metrics, of unbounded range.
"""

from __future__ import annotations

import sys

import numpy as np

from karat.stats.aggregate import Bounds, Scale
from karat.stats.paired.compare import Pairing
from karat.stats.paired.multiple import bonferroni, holm

ROWS = 80
CASES: list[list[float]] = [
    [0, 0, 0, 0], [0.3, 0.3, 0.3, 0], [0.3, 0.3, 0.3, 0.3], [1, 1, 1, 0.001], [1, -0.0001], [0.4, 0.2, 0.1, -0.1, 0, 0],
]  # fmt: skip


def known(ends: Bounds) -> tuple[float, float]:
    """Both ends, which rows that vary have."""
    low, high = (float("nan") if end is None else end for end in ends)
    return low, high


def count(true: list[float], draws: int, correlation: float, random: np.random.Generator) -> tuple[float, float, int]:
    """The shares of draws in which all intervals hold, together and alone, and how many ends were set to 0."""
    together = alone = moved = 0
    tests, rows = len(true), np.arange(ROWS, dtype=np.uint64)
    for _ in range(draws):
        shared, own = random.normal(0, 1, (ROWS, 1)), random.normal(0, 1, (ROWS, tests))
        differences = np.array(true) + correlation**0.5 * shared + (1 - correlation) ** 0.5 * own
        pairings = [Pairing(Scale(bounds=(None, None)), 1) for _ in true]
        for at, pairing in enumerate(pairings):
            pairing.add(np.zeros((ROWS, 1)), differences[:, [at]], rows)
        found = [pairing.compare() for pairing in pairings]
        adjusted = holm([each.p for each in found])
        ends = [known(pairing.interval(bonferroni(0.95, tests))) for pairing in pairings]
        held = True
        for each, p, (low, high), mean in zip(found, adjusted, ends, true, strict=True):
            verdict = each.verdict(adjusted=p)
            moved += (verdict == "better" and low < 0) or (verdict == "worse" and high > 0)
            held &= (max(low, 0) if verdict == "better" else low) <= mean
            held &= mean <= (min(high, 0) if verdict == "worse" else high)
        together += held
        single = (known((each.low, each.high)) for each in found)
        alone += all(low <= mean <= high for (low, high), mean in zip(single, true, strict=True))
    return together / draws, alone / draws, moved


if __name__ == "__main__":
    random = np.random.default_rng(0)
    for true in CASES:
        for correlation in (0.0, 0.8):
            print(true, correlation, count(true, int(sys.argv[1]), correlation, random), flush=True)
