"""Whether rankings keep what they promise, by simulation, and how long they take: `python bench/ranking.py`.

Prints, as Markdown, how often all sets of ranks hold the true ranks at once, how often any pair of equal systems is
separated, how many ranks the sets hold, and the time for many systems on many rows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.core.metric.definition import Direction
from karat.stats.aggregate import Scale
from karat.stats.paired.pair_tests import PairTests
from karat.stats.paired.systems import Systems
from karat.stats.ranking.bradley_terry import estimate_strengths, find_unbeaten
from karat.stats.ranking.standing import stand

Array = NDArray[np.float64]
Draw: TypeAlias = Callable[[int], Array]
random = np.random.default_rng(7)
OPEN = Scale(bounds=(None, None))
QUALITIES = {
    "5, all equal": np.zeros(5),
    "5, two equal": np.array([0.0, 0, 0.3, 0.6, 1.2]),
    "20, all equal": np.zeros(20),
    "20, in four groups": np.repeat([0.0, 0.4, 0.8, 1.2], 5),
    "50, evenly apart": np.linspace(0, 2, 50),
}


def latent(quality: Array, n: int) -> Array:
    """A row's quality in each system: half of what varies is how hard the row is."""
    return quality + random.standard_normal((n, 1)) + random.standard_normal((n, len(quality)))


def answers(quality: Array, n: int) -> Array:
    return (latent(quality, n) > 0).astype(float)


def scores(quality: Array, n: int) -> Array:
    return np.clip(0.5 + latent(quality, n) / 3, 0, 1)


def seconds(quality: Array, n: int) -> Array:
    return np.exp(-latent(quality, n) / 2)


def verdicts(quality: Array, n: int) -> PairTests | None:
    """Tests of strengths from verdicts with ties and an order effect; None where a system never lost."""
    first = random.integers(len(quality), size=n)
    second = (first + random.integers(1, len(quality), size=n)) % len(quality)
    logs = [quality[first] + 0.3, quality[second], (quality[first] + quality[second]) / 2 - 0.5]
    odds = np.exp(np.stack(logs, axis=1))
    chosen = (odds.cumsum(axis=1) / odds.sum(axis=1, keepdims=True) < random.random((n, 1))).sum(axis=1)
    shares = np.array([1, 0, 0.5])[chosen]
    if find_unbeaten(first, second, shares) or len(np.union1d(first, second)) < len(quality):
        return None
    return estimate_strengths(first, second, shares).test()


def test(kind: str, quality: Array, n: int) -> PairTests | None:
    if kind == "verdicts":
        return verdicts(quality, n)
    draw, scale = {"right or wrong": (answers, Scale()), "scores": (scores, Scale()), "seconds": (seconds, OPEN)}[kind]
    systems = Systems(len(quality), 1, scale)
    systems.add(draw(quality, n)[:, :, None], np.arange(n, dtype=np.uint64))
    return systems.test()


def simulate(kind: str, quality: Array, n: int, times: int) -> str:
    """Coverage of all true ranks, false separations, and the mean number of ranks in a set."""
    direction: Direction = "minimize" if kind == "seconds" else "maximize"
    lowest, highest = (quality[:, None] > quality).sum(axis=0) + 1, (quality[:, None] >= quality).sum(axis=0)
    equal = quality[:, None] == quality
    held = false = done = 0
    sizes = []
    while done < times:
        tests = test(kind, quality, n)
        if tests is None:
            continue
        (found,) = stand([tests.difference[:, 0].tolist()], [tests], [direction])
        least, most = np.array(found.least), np.array(found.most)
        held += bool((least <= lowest).all() and (most >= highest).all())
        false += bool((found.separated & equal).any())
        sizes.append((most - least + 1).mean())
        done += 1
    return f"{100 * held / times:.1f} / {100 * false / times:.1f} / {np.mean(sizes):.1f}"


def measure(systems: int, n: int, kind: str) -> str:
    rows = {"right or wrong": answers, "scores": scores}[kind](np.linspace(0, 1, systems), n)
    began = time.process_time()
    added = Systems(systems, 1, Scale())
    for start in range(0, n, 65_536):
        part = rows[start : start + 65_536]
        added.add(part[:, :, None], np.arange(start, start + len(part), dtype=np.uint64))
    values, tests = added.values, added.test()
    stand([values.tolist()], [tests], ["maximize"])
    return f"{time.process_time() - began:.1f}"


def main(times: int) -> None:
    sizes = (50, 200, 1_000)
    print("| systems | rows are |", " | ".join(f"n = {n:,}" for n in sizes), "|\n|---|---|" + "---|" * len(sizes))
    for name, quality in QUALITIES.items():
        for kind in ("right or wrong", "scores", "seconds", "verdicts"):
            cells = [
                simulate(
                    kind,
                    quality,
                    n * (len(quality) if kind == "verdicts" else 1),
                    times if len(quality) < 50 else times // 4,
                )
                for n in sizes
            ]
            print(f"| {name} | {kind} |", " | ".join(cells), "|", flush=True)
    print("\n| systems | rows | right or wrong, s | scores, s |\n|---|---|---|---|")
    for systems, n in ((10, 10_000), (50, 10_000), (200, 10_000), (200, 100_000)):
        print(
            f"| {systems} | {n:,} |",
            " | ".join(measure(systems, n, kind) for kind in ("right or wrong", "scores")),
            "|",
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
