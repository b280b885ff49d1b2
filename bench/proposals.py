"""Rows proposed for labelling, by simulation: are they worth what is said, and do the differences hold the truth?

`python bench/proposals.py` prints three tables. The first compares the promise of `karat label --next N --by
active`, that one proposed row is worth so many drawn uniformly, with the ratio of variances over all rows, whose labels
are known here. The second does so for `--by uncertainty`, for scores that are probabilities of a good label and for
others. The third draws rows for the difference of two systems, half of them uniformly and half by the errors that these
show, and counts the 95 % intervals of the corrected difference that hold the true one.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from karat.stats.corrected.allocation import (
    add_rounds,
    draw_rows,
    erring,
    group_pairs,
    probabilities_of,
    share_of_round,
    squared_errors,
    uncertain,
    worth_of,
)
from karat.stats.corrected.estimate import corrected_difference
from karat.stats.corrected.judged import Judged

Array = NDArray[np.float64]
random = np.random.default_rng(15)
ROWS = 2_000
JUDGES = {"knows what it does not know": (0.02, 0.4), "does not know": (0.2, 0.2)}


def judge(clear: float, unclear: float, right: float, chance: Array | None = None) -> tuple[Array, Array, Array]:
    """Scores, labels, and each row's chance of a wrong verdict: `clear` for half of the rows, else `unclear`."""
    chance = np.where(random.random(ROWS) < 0.5, clear, unclear) if chance is None else chance
    verdict = (random.random(ROWS) < right).astype(float)
    labels = np.abs(verdict - (random.random(ROWS) < chance))
    scores = np.abs(verdict - chance) if clear != unclear else random.beta(2, 2, ROWS) / 2 + verdict / 2
    return scores, labels, chance


def simulate_worth(times: int) -> None:
    print("| judge, labels | promised | true | a gain of 5 % is promised |\n|---|---|---|---|")
    for name, errors in JUDGES.items():
        for count in (10, 20, 50, 100, 300):
            promised, true = [], []
            for _ in range(times):
                scores, labels, _ = judge(*errors, 0.7)
                judged = Judged(scores, np.where(np.arange(ROWS) < count, labels, np.nan))
                error, others, seen = erring(judged), erring(judged, by_others=True), squared_errors(judged)
                promised.append(worth_of(others[:count], seen[:count], typical=float(error[count:].mean())) or 1.0)
                residual = labels - np.polyfit(scores, labels, 1)[0] * scores
                true.append(worth_of(error, (residual - residual.mean()) ** 2) or 1.0)
            gains = 100 * np.mean(np.array(promised) >= 1.05)
            print(f"| {name}, {count} | {np.mean(promised):.2f} | {np.mean(true):.2f} | {gains:.0f} % |", flush=True)


def doubt(kind: str) -> tuple[Array, Array]:
    """Scores and labels: `calibrated` and `certain` scores are probabilities of a good label, the others are not."""
    good, between = random.random(ROWS) < 0.6, random.random(ROWS) < 0.05
    if kind == "overlaps of words":
        high, low = random.choice([1, 1, 0.5, 0.4, 0.67, 0], ROWS), random.choice([0, 0, 0, 0.2, 0.3], ROWS)
        return np.where(good, high, low), good.astype(float)
    if kind == "verdicts, few between":
        scores = np.where(between, random.random(ROWS), good)
        return scores, np.abs(np.round(scores) - (random.random(ROWS) < 0.15))
    chance = random.beta(0.5, 0.5, ROWS)
    scores = chance if kind == "calibrated" else np.clip(4 * chance - 1.5, 0, 1)
    return scores, (random.random(ROWS) < chance).astype(float)


def simulate_doubts(times: int) -> None:
    print("\n| scores, labels | promised | true | without labels | a gain of 5 % is promised |\n|---|---|---|---|---|")
    for kind in ("calibrated", "too sure", "verdicts, few between", "overlaps of words"):
        for count in (10, 20, 50, 100):
            promised, true, taken = [], [], []
            for _ in range(times):
                scores, labels = doubt(kind)
                error = uncertain(scores)
                seen = squared_errors(Judged(scores, np.where(np.arange(ROWS) < count, labels, np.nan)))[:count]
                rest = error[count:]
                said = worth_of(error[:count], seen, typical=float(rest.mean()), guessed=rest)
                promised.append(said or 1.0)
                residual = labels - np.polyfit(scores, labels, 1)[0] * scores
                true.append(worth_of(error, (residual - residual.mean()) ** 2) or 1.0)
                taken.append(worth_of(error, error**2) or 1.0)
            gains = f"{100 * np.mean(np.array(promised) >= 1.05):.0f} %"
            means = " | ".join(f"{np.mean(each):.2f}" for each in (promised, true, taken))
            print(f"| {kind}, {count} | {means} | {gains} |", flush=True)


def simulate_differences(times: int) -> None:
    print("\n| judge; rows | hold the truth | by width of uniform |\n|---|---|---|")
    for name, errors in JUDGES.items():
        for count in (100, 300):
            held, width, uniform = 0, 0.0, 0.0
            for seed in range(times):
                first, chance = (each := judge(*errors, 0.6))[:2], each[2]
                second = judge(*errors, 0.7, chance)[:2]
                truth = 0.1 * (1 - sum(errors))
                drawn, chances = draw_twice(first, second, count, seed)
                sides = [Judged(scores, np.where(drawn, labels, np.nan), chances) for scores, labels in (first, second)]
                plain = [
                    Judged(scores, np.where(np.arange(ROWS) < count, labels, np.nan))
                    for scores, labels in (first, second)
                ]
                found, other = corrected_difference(*sides), corrected_difference(*plain)
                low, high, least, most = np.array([found.low, found.high, other.low, other.high], float).tolist()
                held += low <= truth <= high
                width, uniform = width + high - low, uniform + most - least
            print(f"| {name}; {count} of {ROWS:,} | {100 * held / times:.1f} % | {width / uniform:.2f} |", flush=True)


def draw_twice(
    first: tuple[Array, Array], second: tuple[Array, Array], count: int, seed: int
) -> tuple[NDArray[np.bool_], Array]:
    """Which rows are labelled and with what probability, as `karat label A B --next N` draws two rounds."""
    half = count // 2
    known = np.where(np.arange(ROWS) < half, second[1] - first[1], np.nan)
    judged = Judged(second[0] - first[0], known)
    free = ~judged.labelled
    error = erring(judged, group_pairs(first[0], second[0]))
    chances = probabilities_of(error, count - half, free, most=share_of_round(half, count - half, ROWS))
    drawn = draw_rows(np.where(free, chances, 0.0), seed)
    earlier, fresh = add_rounds(np.full(half, half / ROWS), chances[drawn], ROWS)
    chances[:half], chances[drawn] = earlier, fresh
    labelled = ~free
    labelled[drawn] = True
    return labelled, chances


if __name__ == "__main__":
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    simulate_worth(repeats)
    simulate_doubts(repeats)
    simulate_differences(repeats)
