"""Whether comparisons of two systems keep what they promise, by simulation: `python bench/comparing.py`.

Prints, as Markdown, how often 95 % intervals of a difference hold the true one, how often ten comparisons without any
true difference report one, and how often a difference is found with the rows that were said to be enough.
"""

from __future__ import annotations

import csv
import gzip
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.core.metric.definition import Finish
from karat.stats.aggregate import Bounds, Scale
from karat.stats.inference import Inference
from karat.stats.paired.compare import Pairing
from karat.stats.paired.mcnemar import mcnemar_test, tango_interval
from karat.stats.paired.multiple import holm
from karat.stats.paired.power import pairs_needed, rows_needed
from karat.stats.paired.systems import Systems

Array = NDArray[np.float64]
Draw: TypeAlias = Callable[[int], tuple[Array, Array]]
random = np.random.default_rng(7)
SQUAD = Path(__file__).parents[1] / "../shared/data/squad"
SIZES = (30, 100, 500, 2_000)
BOUNDED: Bounds = (0.0, 1.0)


def answers(discordant: float, difference: float, right: float = 0.5) -> Draw:
    """Right and wrong answers: the share on which one system alone is right, and how much more often that is B."""

    def draw(n: int) -> tuple[Array, Array]:
        u = random.random((n, 1))
        b = u < (discordant + difference) / 2
        a = (u < discordant) & ~b
        both = (u >= discordant) & (random.random((n, 1)) < right)
        return (a | both).astype(float), (b | both).astype(float)

    return draw


def scores(changed: float, better: float = 1.0) -> Draw:
    """F1-like scores, half of them 0 or 1; on a share of rows B's are drawn anew, the largest of `better` draws."""

    def one(n: int, power: float) -> Array:
        z = random.random((n, 1)) ** (1 / power)
        return np.clip((z - 0.25) / 0.5, 0, 1)

    def draw(n: int) -> tuple[Array, Array]:
        a = one(n, 1.0)
        return a, np.where(random.random((n, 1)) < changed, one(n, better), a)

    return draw


def squad(first: str, second: str) -> Draw:
    """F1 of two real systems on the same questions."""
    read = []
    for name in (first, second):
        with gzip.open(SQUAD / f"per_question_{name}.csv.gz", "rt") as file:
            read.append({row["id"]: float(row["f1"]) for row in csv.DictReader(file)})
    rows = np.array([[score, read[1][key]] for key, score in read[0].items() if key in read[1]])

    def draw(n: int) -> tuple[Array, Array]:
        drawn = rows[random.integers(len(rows), size=n)]
        return drawn[:, :1], drawn[:, 1:]

    return draw


def labels(changed: float, qualities: tuple[float, float]) -> Draw:
    """True positives, false positives and false negatives; B says otherwise than A on a share of rows."""

    def say(gold: NDArray[np.int64], quality: float) -> Array:
        hits = random.binomial(gold, quality)
        return np.column_stack([hits, random.poisson(1 - quality, len(gold)), gold - hits]).astype(float)

    def draw(n: int) -> tuple[Array, Array]:
        gold = random.integers(1, 6, n)
        a = say(gold, qualities[0])
        return a, np.where(random.random((n, 1)) < changed, say(gold, qualities[1]), a)

    return draw


def words(rates: tuple[float, float]) -> Draw:
    """Word errors and reference words; the rows that are hard are so for both systems."""

    def draw(n: int) -> tuple[Array, Array]:
        length, hard = 1 + random.poisson(12, n), random.gamma(0.7, 1 / 0.7, n)
        a, b = (np.column_stack([random.poisson(length * rate * hard), length]).astype(float) for rate in rates)
        return a, b

    return draw


def micro_f1(sums: Array) -> Array:
    f1: Array = 2 * sums[..., 0] / (2 * sums[..., 0] + sums[..., 1] + sums[..., 2])
    return f1


def ratio(sums: Array) -> Array:
    quotient: Array = sums[..., 0] / sums[..., 1]
    return quotient


def rare(low: float, high: float, power: float) -> Draw:
    """B loses .9 of a score, or all of it, on 3 % of rows, and gains .05 on the rest; A's are from `low` to `high`."""

    def draw(n: int) -> tuple[Array, Array]:
        a = low + (high - low) * random.random((n, 1)) ** (1 / power)
        return a, np.where(random.random((n, 1)) < 0.03, np.maximum(a - 0.9, 0), a + 0.05)

    return draw


class Found(NamedTuple):
    """The second system minus the first: NaN is what is not known."""

    difference: float
    low: float
    high: float
    p: float
    error: float

    def holds(self, truth: float) -> bool:
        return not (self.low > truth + 1e-9 or self.high < truth - 1e-9)


def pair(
    a: Array, b: Array, finish: Finish | None = None, bounds: Bounds = BOUNDED, keys: NDArray[np.uint64] | None = None
) -> Found:
    systems = Systems(2, a.shape[1], Scale(finish, bounds), clustered=keys is not None)
    systems.add(np.stack([a, b], axis=1), np.arange(len(a), dtype=np.uint64), keys)
    tests = systems.test()
    return Found(*(float(each[1, 0]) for each in (tests.difference, tests.low, tests.high, tests.p, tests.error)))


def measure_coverage(
    name: str, draw: Draw, finish: Finish | None, bounds: Bounds, times: int, known: float | None = None
) -> None:
    """Print how often the interval holds the difference in the population, for each number of rows."""
    truth = pair(*draw(2_000_000), finish, bounds).difference if known is None else known
    cells = []
    for n in SIZES:
        held = 0
        for _ in range(times):
            held += pair(*draw(n), finish, bounds).holds(truth)
        cells.append(f"{100 * held / times:.1f}")
    print(f"| {name} | {round(100 * truth, 1) + 0.0} | {' | '.join(cells)} |", flush=True)


def enumerate_answers() -> None:
    """Three forms of McNemar's test beside Tango's interval: no simulation, but the sum over all counts."""
    print("| right or wrong | n | exact | mid-p | asymptotic | intervals that hold 0 | exact, other | mid-p, other |")
    print("|---|---|---|---|---|---|---|---|")
    z = NormalDist().inv_cdf(0.975)
    for discordant in (0.05, 0.1, 0.2, 0.4):
        for n in (20, 50, 100, 200):
            shares = np.zeros(6)
            for rows in range(n + 1):
                for wins in range(rows + 1):
                    ways = (
                        math.lgamma(n + 1)
                        - math.lgamma(n - rows + 1)
                        - math.lgamma(wins + 1)
                        - math.lgamma(rows - wins + 1)
                    )
                    chance = math.exp(ways + (n - rows) * math.log1p(-discordant) + rows * math.log(discordant / 2))
                    if chance < 1e-9:
                        continue
                    middle, losses = mcnemar_test(wins, rows - wins), rows - wins
                    same = math.comb(rows, wins) / 2**rows
                    exact = 1.0 if wins == losses else middle + same
                    low, high = tango_interval(wins, losses, n, z)
                    out, distance = low > 0 or high < 0, abs(wins - losses) / math.sqrt(max(rows, 1))
                    shares += chance * np.array(
                        [
                            exact <= 0.05,
                            middle <= 0.05,
                            distance > z,
                            not out,
                            (exact <= 0.05) != out,
                            (middle <= 0.05) != out,
                        ]
                    )
            print(f"| {100 * discordant:.0f} % differ | {n} | {' | '.join(f'{100 * each:.1f}' for each in shares)} |")
    print()


def simulate_coverage() -> None:
    print(f"| difference of two systems | in points | {' | '.join(f'n = {n:,}' for n in SIZES)} |")
    print("|---|---|---|---|---|---|")
    for discordant, difference in ((0.05, 0.0), (0.1, 0.0), (0.1, 0.05), (0.2, 0.1), (0.4, 0.0), (0.4, 0.3)):
        name = f"right or wrong, {100 * discordant:.0f} % differ"
        measure_coverage(name, answers(discordant, difference), None, BOUNDED, 2_000, difference)
    for changed, better in ((0.1, 1.0), (0.1, 2.0), (0.3, 1.2), (0.9, 1.0), (0.9, 2.0)):
        known = 0.0 if better == 1 else None
        measure_coverage(
            f"F1-like, {100 * changed:.0f} % drawn anew", scores(changed, better), None, BOUNDED, 2_000, known
        )
    if SQUAD.exists():
        real = squad("1.1_logistic_regression_baseline", "1.1_bert_ensemble")
        measure_coverage("SQuAD F1, BERT ensemble against logistic regression", real, None, BOUNDED, 2_000)
        real = squad("1.1_bert_ensemble", "2.0_bidaf_selfattn_elmo_single")
        measure_coverage("SQuAD F1, BiDAF against BERT ensemble", real, None, BOUNDED, 2_000)
    for changed, qualities in ((0.3, (0.7, 0.75)), (1.0, (0.7, 0.75)), (0.3, (0.93, 0.95))):
        name = f"micro-F1 {qualities[0]}, {100 * changed:.0f} % drawn anew"
        measure_coverage(name, labels(changed, qualities), micro_f1, BOUNDED, 2_000)
    measure_coverage("word error rate .15 and .1", words((0.15, 0.1)), ratio, (0.0, None), 2_000)
    for name, draw in (
        ("of scores from 0 to .95", rare(0.0, 0.95, 3.0)),
        ("of scores from .9 to .95", rare(0.9, 0.95, 1.0)),
    ):
        measure_coverage(f"3 % lose .9, the rest gain .05, {name}", draw, None, BOUNDED, 2_000)


def simulate_clusters(times: int = 400) -> None:
    """Clusters of one to ten rows, half of the spread of whose differences they share; no true difference."""
    print("\n| clusters of 1 to 10 rows | clusters | intervals that hold 0 | p ≤ .05 |")
    print("|---|---|---|---|")
    for name, cut in (("scores", False), ("right or wrong", True)):
        for clusters in (10, 40, 200):
            held = found = 0
            for _ in range(times):
                keys = np.repeat(np.arange(clusters, dtype=np.uint64), random.integers(1, 11, clusters))
                a = random.random(len(keys))
                b = a + 0.15 * random.normal(size=clusters)[keys] + 0.15 * random.normal(size=len(keys))
                sides = [(side > 0.5).astype(float) if cut else np.clip(side, 0, 1) for side in (a, b)]
                pairs = pair(sides[0][:, None], sides[1][:, None], keys=keys)
                held += pairs.holds(0)
                found += pairs.p <= 0.05
            print(f"| {name} | {clusters} | {100 * held / times:.1f} % | {100 * found / times:.1f} % |", flush=True)


def simulate_many(times: int = 200, rows: int = 20_000) -> None:
    """More rows than are kept apart: they are added up, in groups by a hash of their keys; no true difference."""
    print(f"\n| {rows:,} rows, added up | intervals that hold 0 | p ≤ .05 |")
    print("|---|---|---|")
    cases: list[tuple[str, Draw, Scale]] = [
        ("F1-like, 90 % drawn anew", scores(0.9), Scale()),
        ("micro-F1 0.7, all drawn anew", labels(1.0, (0.7, 0.7)), Scale(micro_f1)),
        ("word error rate .15", words((0.15, 0.15)), Scale(ratio, (0.0, None))),
    ]
    for name, draw, scale in cases:
        held = found = 0
        for _ in range(times):
            a, b = draw(rows)
            pairing = Pairing(scale, a.shape[1], inference=Inference(seed=int(random.integers(2**32))))
            pairing.add(a, b, random.integers(2**64, size=rows, dtype=np.uint64))
            compared = pairing.compare()
            low, high = compared.low, compared.high
            held += (low is None or low <= 0) and (high is None or high >= 0)
            found += compared.p is not None and compared.p <= 0.05
        print(f"| {name} | {100 * held / times:.1f} % | {100 * found / times:.1f} % |", flush=True)


def unrelated(n: int) -> list[tuple[Array, Array]]:
    """Ten metrics that have nothing to do with each other: five of right and wrong, five of scores between."""
    right, between = answers(0.2, 0.0), scores(0.3)
    return [draw(n) for draw in (right, between) for _ in range(5)]


def related(n: int) -> list[tuple[Array, Array]]:
    """Ten metrics of the same answers: one score, blurred more and more or held against five thresholds."""
    drawn = scores(0.3)(n)
    seen = []
    for blur in (0.0, 0.05, 0.1, 0.2, 0.3):
        seen += [tuple(np.clip(side + blur * random.random(side.shape), 0, 1) for side in drawn)]
        seen += [tuple((side > 0.2 + blur).astype(float) for side in drawn)]
    return [(a, b) for a, b in seen]


def simulate_null(times: int = 400) -> None:
    print("\n| ten metrics, no difference | n | p ≤ .05, of all tests | any of ten | any of ten, with Holm |")
    print("|---|---|---|---|---|")
    for name, draw in (("unrelated", unrelated), ("of the same answers", related)):
        for n in (50, 200):
            single = either = corrected = 0
            for _ in range(times):
                ps = [pair(a, b).p for a, b in draw(n)]
                single += sum(p <= 0.05 for p in ps)
                either += min(ps) <= 0.05
                corrected += min(p for p in holm(ps) if p is not None) <= 0.05
            shares = (single / 10, either, corrected)
            print(f"| {name} | {n} | {' | '.join(f'{100 * found / times:.1f} %' for found in shares)} |", flush=True)


def simulate_power(times: int = 1_000) -> None:
    print("\n| difference | rows said to be enough for 80 % | found |")
    print("|---|---|---|")
    for discordant, difference in ((0.05, 0.03), (0.1, 0.02), (0.1, 0.05), (0.3, 0.1), (0.3, 0.2)):
        rows = pairs_needed(difference, discordant)
        draw = answers(discordant, difference)
        found = sum(pair(*draw(rows)).p <= 0.05 for _ in range(times))
        print(f"| {difference} right, {100 * discordant:.0f} % differ | {rows:,} | {100 * found / times:.1f} % |")
    for name, draw, finish in (
        ("F1-like, 10 % drawn anew", scores(0.1, 2.0), None),
        ("F1-like, 90 % drawn anew", scores(0.9, 1.5), None),
        ("micro-F1, 30 % drawn anew", labels(0.3, (0.7, 0.8)), micro_f1),
    ):
        big = pair(*draw(2_000_000), finish)
        rows = rows_needed(big.difference, big.error * math.sqrt(2_000_000))
        found = sum(pair(*draw(rows), finish).p <= 0.05 for _ in range(times // 2))
        print(f"| {big.difference:.3f} {name} | {rows:,} | {200 * found / times:.1f} % |", flush=True)


def main() -> None:
    """Run every simulation; about five minutes on one core."""
    start = time.perf_counter()
    enumerate_answers()
    simulate_coverage()
    simulate_clusters()
    simulate_many()
    simulate_null()
    simulate_power()
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
