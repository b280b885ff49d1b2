"""Evaluators over a pandas frame beside Phoenix's `evaluate_dataframe`; those that ask a model: phoenix_models.py.

    python bench/phoenix_evals.py [--rows N] [--rounds N]

Phoenix is measured once, in the same process; its scores are compared with ours. Frames are held while they are timed,
so that taking them apart is in no figure. Ours makes its dicts with garbage collection paused: the collection that then
falls due, of all that was made, is told beside it.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from phoenix.evals import evaluate_dataframe as evaluate_phoenix
from side_by_side import machine

from karat.adapters.phoenix import MatchesRegex, as_evaluator, evaluate_dataframe, exact_match


def make(rows: int) -> pd.DataFrame:
    """Answers of some ten words, half of them right."""
    numbers = np.random.default_rng(0).integers(0, rows, rows)
    said = [f"The answer to question {number} is the number {number * 7}, give or take" for number in numbers]
    gold = [text if number % 2 else f"{text} one" for text, number in zip(said, numbers, strict=True)]
    return pd.DataFrame({"output": said, "expected": gold}, index=numbers)


def time_of(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds of the work, of a collection of what is young after it, and what it gave."""
    gc.collect()
    start = time.perf_counter()
    kept = work()
    done = time.perf_counter()
    gc.collect(0)
    return done - start, time.perf_counter() - done, kept


def several(rounds: int, work: Callable[[], Any]) -> tuple[float, float]:
    """The medians of both."""
    each = [time_of(work)[:2] for _ in range(rounds)]
    return median(first for first, _ in each), median(second for _, second in each)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    frame = make(given.rows)
    print(machine())
    theirs, _, expected = time_of(
        lambda: evaluate_phoenix(dataframe=frame, evaluators=[exact_match], hide_tqdm_bar=True)
    )
    found = evaluate_dataframe(frame, [exact_match])
    assert found["exact_match_score"].tolist() == expected["exact_match_score"].tolist()
    assert list(found.columns) == list(expected.columns)
    assert found.index.equals(expected.index)
    del found, expected

    print(f"\nevaluate_dataframe, {given.rows:,} rows, times Phoenix's exact_match\n")
    print("| | seconds | times | with the collection after it | times |\n|---|---|---|---|---|")
    print(f"| Phoenix, exact_match | {theirs:.2f} | | | |")
    for evaluator, data, name in (
        (exact_match, frame, "exact_match"),
        (exact_match, frame.astype(object), "exact_match, columns of Python's str"),
        (MatchesRegex(r"\d7\b"), frame, "MatchesRegex"),
        (as_evaluator("token_f1"), frame, "token_f1"),
    ):
        took, after = several(given.rounds, partial(evaluate_dataframe, data, [evaluator]))
        print(f"| {name} | {took:.4f} | {theirs / took:.0f} | {took + after:.4f} | {theirs / (took + after):.0f} |")


if __name__ == "__main__":
    main()
