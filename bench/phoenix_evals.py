"""Evaluators over a pandas frame beside the same evaluators in Phoenix's `evaluate_dataframe`, by processor time.

    python bench/phoenix_evals.py [--rows N] [--rounds N]

Evaluators that ask a model: phoenix_models.py. Phoenix scores a tenth of the rows, once, in the same process; its
scores are compared with ours. Token F1, which Phoenix lacks, is SQuAD's own function as a Phoenix evaluator. Frames are
held while they are timed, so that taking them apart is in no figure. Ours makes its dicts with garbage collection
paused: the collection that then falls due, of all that was made, is told beside it.
"""

from __future__ import annotations

import argparse
import gc
import re
import string
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from phoenix.evals import create_evaluator
from phoenix.evals import evaluate_dataframe as evaluate_phoenix
from side_by_side import machine

from karat.adapters.phoenix import MatchesRegex, as_evaluator, evaluate_dataframe, exact_match

PUNCTUATION = set(string.punctuation)


def make(rows: int) -> pd.DataFrame:
    """Answers of some ten words, half of them right."""
    numbers = np.random.default_rng(0).integers(0, rows, rows)
    said = [f"The answer to question {number} is the number {number * 7}, give or take" for number in numbers]
    gold = [text if number % 2 else f"{text} one" for text, number in zip(said, numbers, strict=True)]
    return pd.DataFrame({"output": said, "expected": gold}, index=numbers)


def time_of(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds of the processor for the work, for a collection of what is young after it, and what it gave."""
    gc.collect()
    start = time.process_time()
    kept = work()
    done = time.process_time()
    gc.collect(0)
    return done - start, time.process_time() - done, kept


def several(rounds: int, work: Callable[[], Any]) -> tuple[float, float]:
    """The medians of both."""
    each = [time_of(work)[:2] for _ in range(rounds)]
    return median(first for first, _ in each), median(second for _, second in each)


@create_evaluator(name="squad_f1", kind="code")
def squad_f1(output: str, expected: str) -> float:
    """SQuAD's F1 of two texts."""
    said, gold = (
        re.sub(r"\b(a|an|the)\b", " ", "".join(each for each in text.lower() if each not in PUNCTUATION)).split()
        for text in (output, expected)
    )
    same = sum((Counter(said) & Counter(gold)).values())
    return 2 * same / (len(said) + len(gold)) if same else float(said == gold)


def check(ours: pd.DataFrame, theirs: pd.DataFrame, name: str, peer: str) -> None:
    """Both have the same scores, in the same rows."""
    found = [score["score"] for score in ours[f"{name}_score"]]
    assert np.allclose(found, [score["score"] for score in theirs[f"{peer}_score"]], rtol=0, atol=1e-12)
    assert ours.index.equals(theirs.index)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    frame = make(given.rows)
    print(machine())
    print(f"\nevaluate_dataframe, {given.rows:,} rows, microseconds of the processor a row\n")
    print("| | Phoenix | karat | times | with the collection after it | times |\n|---|---|---|---|---|---|")
    few = frame[: given.rows // 10]
    for evaluator, peer, data, name in (
        (exact_match, exact_match, frame, "exact_match"),
        (exact_match, exact_match, frame.astype(object), "exact_match, columns of Python's str"),
        (MatchesRegex(r"\d7\b"), MatchesRegex(r"\d7\b"), frame, "MatchesRegex"),
        (as_evaluator("token_f1"), squad_f1, frame, "token_f1"),
    ):
        theirs, _, expected = time_of(partial(evaluate_phoenix, dataframe=few, evaluators=[peer], hide_tqdm_bar=True))
        check(evaluate_dataframe(few, [evaluator]), expected, evaluator.name, peer.name)
        took, after = several(given.rounds, partial(evaluate_dataframe, data, [evaluator]))
        ours, all_of_it, theirs = (
            1e6 * each / len(of) for each, of in ((took, data), (took + after, data), (theirs, few))
        )
        print(
            f"| {name} | {theirs:.0f} | {ours:.3f} | {theirs / ours:.0f} | {all_of_it:.3f} | {theirs / all_of_it:.0f} |"
        )


if __name__ == "__main__":
    main()
