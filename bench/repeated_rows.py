"""How often intervals hold the truth where questions are answered several times, by question and by row.

    python bench/repeated_rows.py [samples]

`karat.score` of questions whose answers are right with a chance of their own, drawn from a Beta distribution: the
narrower it is, the less do the answers to one question depend on each other. In %, with the mean width of the interval.
"""

from __future__ import annotations

import sys

import numpy as np

import karat

SPREADS = {"very different questions": 0.4, "different questions": 1.0, "like questions": 5.0, "equal questions": 1e6}
SIZES = ((10, 8), (40, 8), (40, 2), (200, 8))


def draw(random: np.random.Generator, questions: int, answers: int, spread: float) -> dict[str, list[object]]:
    """Answers, of which half are right on average."""
    chance = random.beta(spread, spread, questions).repeat(answers)
    right = random.random(len(chance)) < chance
    ids = np.arange(questions).repeat(answers)
    return {"id": ids.tolist(), "prediction": np.where(right, "a", "b").tolist(), "gold": ["a"] * len(ids)}


def cover(samples: int, questions: int, answers: int, spread: float) -> str:
    """The share of intervals that hold the truth, and their mean width: by question, and by row."""
    random, found = np.random.default_rng(31), []
    for _ in range(samples):
        rows = draw(random, questions, answers, spread)
        for cluster in (None, "none"):
            value = karat.score(rows, "exact_match", cluster=cluster, keep=False).values["exact_match"]
            low, high = float(value.low or 0), float(value.high or 0)
            found.append((low <= 0.5 <= high, high - low))
    each = np.array(found).reshape(samples, 2, 2).mean(axis=0)
    return " | ".join(f"{100 * held:.1f} · {width:.3f}" for held, width in each)


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    print("| questions × answers | | by question | by row (`--cluster none`) |\n|---|---|---|---|")
    for questions, answers in SIZES:
        for name, spread in SPREADS.items():
            print(f"| {questions} × {answers} | {name} | {cover(samples, questions, answers, spread)} |", flush=True)


if __name__ == "__main__":
    main()
