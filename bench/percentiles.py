"""How often intervals and tests of percentiles are right, by simulation: `python bench/percentiles.py`.

Prints, as Markdown, for p = 50, 90 and 95: how often the 95 % interval of a percentile holds that of the population,
and of two equal systems, how often the interval of the difference holds 0, and how often p is at most 0.05. A
difference without an interval counts as one that holds 0.
"""

from __future__ import annotations

import math
import sys
from statistics import NormalDist

import numpy as np

from karat.core.metric.in_order import Percentile
from karat.stats.aggregate import Scale
from karat.stats.ordered.percentile_values import ScoreCounts
from karat.stats.paired.compare import Pairing

SIZES, SHARES = (50, 200, 1_000), (0.5, 0.9, 0.95)
random = np.random.default_rng(0)


def simulate(n: int, share: float, times: int) -> tuple[float, float, float]:
    """The three shares, in %, of lognormal scores of two systems that correlate by 0.8 in their logarithms."""
    true = math.exp(NormalDist(0, math.sqrt(1.25)).inv_cdf(share))
    held = zero = found = 0
    for _ in range(times):
        hard = random.normal(size=n)
        a, b = (np.exp(hard + random.normal(size=n) / 2)[:, None] for _ in range(2))
        values, pairing = ScoreCounts(), Pairing(Scale(Percentile(share), (None, None)), 1)
        values.add(a)
        low, high = values.interval(share, 0.95)
        held += (low is None or low <= true) and (high is None or true <= high)
        pairing.add(a, b, np.arange(n, dtype=np.uint64))
        compared = pairing.compare()
        zero += compared.low is None or compared.high is None or compared.low <= 0 <= compared.high
        found += compared.p is not None and compared.p <= 0.05
    return 100 * held / times, 100 * zero / times, 100 * found / times


def main(times: int) -> None:
    """Print the table."""
    cells = [[simulate(n, share, times) for share in SHARES] for n in SIZES]
    print("|", "".join(f"| n = {n:,} " for n in SIZES) + "|\n|---|" + "---|" * len(SIZES))
    for at, name in enumerate(("the interval holds it", "that of the difference holds 0", "p ≤ .05 of equal systems")):
        print(f"| {name}, % |", " | ".join(", ".join(f"{each[at]:.1f}" for each in row) for row in cells), "|")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
