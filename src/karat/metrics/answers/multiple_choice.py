"""Metrics of multiple choice: whether the right option, or the right set of options, was chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa

from karat.core.columns.kinds import Score, Text, Texts
from karat.core.metric.decorator import metric
from karat.core.metric.rows import Rows, collect_rows
from karat.text.answers.choices import plain_options, read_choice, read_choices, read_label

SetScore: TypeAlias = Literal["f1", "precision", "recall", "jaccard", "exact"]
SET_SCORES: tuple[SetScore, ...] = get_args(SetScore)


@metric(source="ours; multiple choice of DataFlow, simple-evals and others, without their guesses")
def choice_match(
    prediction: Text,
    reference: Text,
    choices: Texts,
    *,
    count_from: Literal[1, 0] = 1,
    reference_is: Literal["any", "index"] = "any",
) -> Score:
    """1 where the prediction chooses the option that the reference names, else 0.

    Both may be an option's own words, its letter (`B`, `(b)`, `B.`) or its number, counted from `count_from`; words of
    an option come before letter and number. A prediction may be free text: its last statement of a choice counts (`The
    answer is B`, `I choose B`), else the only letter that stands alone. `Based on` and `not B` do not choose B.
    A row is unscored, with the reason, where the prediction names no option, or several without choosing one.
    With `reference_is="index"` the reference is a letter or number even if an option has the same words.

    >>> cities = ["Paris", "Lyon", "Nice"]
    >>> choice_match(["The answer is (A).", "lyon", "Based on it: C", "A or B"], list("A21B"), [cities] * 4).to_pylist()
    [1.0, 1.0, 0.0, None]
    """

    def compare(predicted: str, reference: str, options: list[str | None]) -> bool | str:
        expected = read_label(reference, _words(options, reference_is), count_from=count_from)
        if expected is None:
            return f"reference {reference!r:.60} is none of {len(options)} options"
        chosen = read_choice(predicted, options, count_from=count_from)
        return chosen if isinstance(chosen, str) else chosen == expected

    return _compare_each(prediction, reference, choices, compare)


@metric(source="ours; multiple selection of DataFlow's UnifiedBenchDatasetEvaluator, key3_q_choices_as")
def choices_f1(
    prediction: Texts,
    reference: Texts,
    choices: Texts,
    *,
    score: SetScore = "f1",
    count_from: Literal[1, 0] = 1,
    reference_is: Literal["any", "index"] = "any",
) -> Score:
    """F1 of the set of options that the prediction chooses and the set of the reference, averaged over rows.

    Each is a list, a JSON list, or a text such as `A, C`, `ACD` or `The answers are A and C`; settings as in
    `choice_match`. `score` selects another comparison of the sets. Two empty sets score 1, one empty set scores 0, by
    every `score`. A row that names anything that is not an option is unscored, with the reason.

    >>> choices_f1([["A, B"], ["nice"]], [["A"], ["C"]], [["Paris", "Lyon", "Nice"]] * 2).to_numpy().round(4)
    array([0.6667, 1.    ])
    """

    def compare(predicted: list[str], reference: list[str], options: list[str | None]) -> float | str:
        expected = read_choices(reference, _words(options, reference_is), count_from=count_from)
        if isinstance(expected, str):
            return f"reference: {expected}"
        chosen = read_choices(predicted, options, count_from=count_from)
        return chosen if isinstance(chosen, str) else agreement(chosen, expected, score)

    return _compare_each(prediction, reference, choices, compare)


def agreement(chosen: set[int], expected: set[int], score: str) -> float:
    """How far two sets agree, by one of `SET_SCORES`.

    >>> [agreement({0, 1}, {0}, score) for score in SET_SCORES]
    [0.6666666666666666, 0.5, 1.0, 0.5, 0.0]
    """
    if score == "exact" or not chosen or not expected:
        return float(chosen == expected)
    p, r = len(chosen), len(expected)
    whole = {"f1": (p + r) / 2, "precision": p, "recall": r, "jaccard": len(chosen | expected)}
    return len(chosen & expected) / whole[score]


def _words(options: list[str | None], reference_is: str) -> list[str | None]:
    """The words that a reference may use for each option: none if it is an index."""
    return options if reference_is == "any" else [None] * len(options)


def _compare_each(
    prediction: pa.Array, reference: pa.Array, choices: Texts, compare: Callable[[Any, Any, Any], float | str]
) -> Rows:
    rows: Iterable[Any] = zip(prediction.to_pylist(), reference.to_pylist(), choices.to_pylist(), strict=True)
    return collect_rows(
        compare(predicted, expected, plain_options(options)) if options else "choices is an empty list"
        for predicted, expected, options in rows
    )
