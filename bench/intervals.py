"""How often intervals that say 95 % hold the truth, by simulation: `python bench/intervals.py`.

Draws samples from populations whose value is known and prints, for each population and number of units, how many
intervals hold it in %, how many lie above it and below it, the median width, and how many have an open end.
"""

from __future__ import annotations

import csv
import gzip
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from karat.core.metric.definition import Finish
from karat.judges.replies.criteria import clipped_mean
from karat.judges.replies.forms import correct_given_attempted, f_of_attempts
from karat.metrics.tools.call_counts import f1_of, precision_of, recall_of
from karat.stats.aggregate import Bounds
from karat.stats.intervals.interval import interval
from karat.stats.sums.units import Units

Array = NDArray[np.float64]
random = np.random.default_rng(7)
SQUAD = Path(__file__).parents[1] / "../shared/data/squad"


def ratio(sums: Array) -> Array:
    quotient: Array = sums[..., 0] / sums[..., 1]
    return quotient


def micro_f1(sums: Array) -> Array:
    f1: Array = 2 * sums[..., 0] / (2 * sums[..., 0] + sums[..., 1] + sums[..., 2])
    return f1


def correlation(sums: Array) -> Array:
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    r: Array = (n * xy - x * y) / np.sqrt((n * xx - x**2) * (n * yy - y**2))
    return r


def proportion(p: float) -> Callable[[int], Array]:
    return lambda n: (random.random((n, 1)) < p).astype(float)


def resampled(population: Array) -> Callable[[int], Array]:
    return lambda n: population[random.integers(len(population), size=n)][:, None]


def mixture(zeros: float, ones: float) -> Array:
    """F1-like scores: a mass at 0, a mass at 1, the rest spread between."""
    size = 100_000
    between = random.beta(3, 2, size - round(size * zeros) - round(size * ones))
    return np.concatenate([np.zeros(round(size * zeros)), np.ones(round(size * ones)), between])


def squad(name: str) -> Array:
    with gzip.open(SQUAD / f"per_question_{name}.csv.gz", "rt") as file:
        return np.array([float(row["f1"]) for row in csv.DictReader(file)])


def labels(quality: float) -> Callable[[int], Array]:
    """True positives, false positives and false negatives of rows with one to five labels."""

    def draw(n: int) -> Array:
        gold = random.integers(1, 6, n)
        hits = random.binomial(gold, random.beta(4 * quality, 4 * (1 - quality), n))
        return np.column_stack([hits, random.poisson(1 - quality, n), gold - hits]).astype(float)

    return draw


def calls(quality: float) -> Callable[[int], Array]:
    """Matched, predicted and expected tool calls of rows, of which a quarter expect none."""

    def draw(n: int) -> Array:
        expected = random.integers(0, 4, n)
        matched = random.binomial(expected, random.beta(4 * quality, 4 * (1 - quality), n))
        return np.column_stack([matched, matched + random.poisson(1 - quality, n), expected]).astype(float)

    return draw


def words(rate: float) -> Callable[[int], Array]:
    """Word errors and reference words of rows, some much worse than others."""

    def draw(n: int) -> Array:
        length = 1 + random.poisson(12, n)
        return np.column_stack([random.poisson(length * rate * random.gamma(0.7, 1 / 0.7, n)), length]).astype(float)

    return draw


def grades(n: int) -> Array:
    """Correct answers, attempts and rows: 40 % correct, 35 % wrong, 25 % not attempted."""
    grade = random.choice(3, n, p=[0.4, 0.35, 0.25])
    return np.column_stack([grade == 0, grade < 2, np.ones(n)]).astype(float)


def points(mean: float) -> Callable[[int], Array]:
    """Scores from criteria with points, of which penalties make some negative, and rows."""
    return lambda n: np.column_stack([np.minimum(random.normal(mean, 0.45, n), 1), np.ones(n)])


def normal_pairs(r: float) -> Callable[[int], Array]:
    def draw(n: int) -> Array:
        x, e = random.normal(size=(2, n))
        y = r * x + np.sqrt(1 - r * r) * e
        return np.column_stack([np.ones(n), x, y, x * x, y * y, x * y])

    return draw


def clusters(population: Array, alike: float) -> Callable[[int], tuple[Array, NDArray[np.uint64]]]:
    """Rows of `n` clusters of 1 to 20, whose underlying normal scores correlate by `alike` within a cluster."""
    ordered = np.sort(population)

    def draw(n: int) -> tuple[Array, NDArray[np.uint64]]:
        keys = np.repeat(np.arange(n, dtype=np.uint64), random.integers(1, 21, n))
        z = np.sqrt(alike) * random.normal(size=n)[keys] + np.sqrt(1 - alike) * random.normal(size=len(keys))
        rank = 0.5 + 0.5 * np.sign(z) * np.sqrt(1 - np.exp(-2 * z * z / np.pi))  # close to the normal distribution
        return ordered[np.minimum((rank * len(ordered)).astype(int), len(ordered) - 1)][:, None], keys

    return draw


def measure(
    name: str, draw: Callable[[int], object], finish: Finish | None, *, bounds: Bounds, n: int, times: int
) -> None:
    """Print how often the interval of `times` samples of `n` units holds the population's value."""
    big = draw(1_000_000 if "cluster" not in name else 200_000)
    sums, clustered = (big[0], True) if isinstance(big, tuple) else (np.asarray(big), False)
    truth = float(finish(sums.sum(axis=0)) if finish else sums.mean())
    below = above = unknown = 0
    widths = []
    for _ in range(times):
        sample = draw(n)
        rows, keys = sample if isinstance(sample, tuple) else (np.asarray(sample), None)
        units = Units(rows.shape[1], clustered=clustered)
        units.add(rows, keys)
        low, high = interval(units, finish, bounds=bounds)
        unknown += low is None or high is None
        low, high = (-np.inf if low is None else low), (np.inf if high is None else high)
        below += truth < low - 1e-9
        above += truth > high + 1e-9
        widths.append(high - low)
    held = 100 * (1 - (below + above) / times)
    print(
        f"| {name:34} | {n:5} | {held:5.1f} | {100 * below / times:4.1f} | {100 * above / times:4.1f} "
        f"| {np.median(widths):7.4f} | {100 * unknown / times:4.1f} | {times} |",
        flush=True,
    )


def simulate_means() -> None:
    populations: dict[str, Callable[[int], object]] = {
        "proportion .5": proportion(0.5),
        "proportion .95": proportion(0.95),
        "F1-like, 40 % at 0, 40 % at 1": resampled(mixture(0.4, 0.4)),
        "F1-like, 4 % at 0, 86 % at 1": resampled(mixture(0.04, 0.86)),
        "uniform": lambda n: random.random((n, 1)),
        "cosine-like, Beta(14, 6)": lambda n: random.beta(14, 6, (n, 1)),
        "narrow, Beta(50, 50)": lambda n: random.beta(50, 50, (n, 1)),
    }
    if SQUAD.exists():
        for system in ("1.1_logistic_regression_baseline", "2.0_bidaf_selfattn_elmo_single", "1.1_bert_ensemble"):
            populations[f"SQuAD F1, {system[:12]}"] = resampled(squad(system))
    for name, draw in populations.items():
        for n in (5, 10, 30, 50, 200, 2_000):
            measure(name, draw, None, bounds=(0.0, 1.0), n=n, times=10_000 if n < 2_000 else 5_000)


def simulate_clusters() -> None:
    for name, population in (("proportion .5", np.repeat([0.0, 1.0], 5_000)), ("F1-like", mixture(0.4, 0.4))):
        for alike in (0.5, 0.9):
            for n in (5, 10, 40, 200):
                draw = clusters(population, alike)
                measure(f"clusters alike {alike}, {name}", draw, None, bounds=(0.0, 1.0), n=n, times=4_000)


def simulate_finishes() -> None:
    for quality in (0.6, 0.9, 0.98):
        for n in (5, 30, 50, 200, 2_000):
            measure(f"micro-F1 {quality}", labels(quality), micro_f1, bounds=(0.0, 1.0), n=n, times=4_000)
    for finish in (precision_of, recall_of, f1_of):
        for n in (30, 200):
            name = f"tool calls .8, {finish.__name__.removesuffix('_of')}"
            measure(name, calls(0.8), finish, bounds=(0.0, 1.0), n=n, times=4_000)
    for name, finish in (("given attempted", correct_given_attempted), ("f", f_of_attempts)):
        for n in (5, 30, 50, 200, 2_000):
            measure(f"SimpleQA, {name}", grades, finish, bounds=(0.0, 1.0), n=n, times=4_000)
    for mean in (0.02, 0.1, 0.35):
        for n in (5, 30, 50, 200, 2_000):
            measure(f"criteria, mean {mean}", points(mean), clipped_mean, bounds=(0.0, 1.0), n=n, times=4_000)
    for r in (0.0, 0.8):
        for n in (10, 30, 50, 200, 2_000):
            measure(f"correlation {r}", normal_pairs(r), correlation, bounds=(-1.0, 1.0), n=n, times=4_000)


def simulate_unbounded() -> None:
    populations: dict[str, tuple[Callable[[int], object], Finish | None]] = {
        "word error rate .1": (words(0.1), ratio),
        "word error rate .3": (words(0.3), ratio),
        "exponential mean": (lambda n: random.exponential(size=(n, 1)), None),
        "lognormal mean, sigma 1": (lambda n: random.lognormal(size=(n, 1)), None),
        "lognormal mean, sigma .5": (lambda n: random.lognormal(sigma=0.5, size=(n, 1)), None),
    }
    for name, (draw, finish) in populations.items():
        for n, times in ((5, 2_000), (30, 4_000), (300, 1_000)):
            measure(name, draw, finish, bounds=(0.0, None), n=n, times=times)


def main() -> None:
    """Run every simulation; about three minutes on one core."""
    print("| population | units | held % | truth below % | truth above % | width | open % | samples |")
    print("|---|---|---|---|---|---|---|---|")
    start = time.perf_counter()
    simulate_means()
    simulate_clusters()
    simulate_finishes()
    simulate_unbounded()
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
