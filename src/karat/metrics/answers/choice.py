"""Whether the right options were chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Score, Text, Texts
from karat.core.metric.decorator import metric
from karat.core.metric.rows import Rows
from karat.text.choices import plain_options, read_choice, read_choices, read_label


@metric(source="ours; multiple choice of DataFlow, simple-evals and others, without their guesses")
def choice_match(
    prediction: Text,
    reference: Text,
    choices: Texts,
    *,
    count_from: Literal[1, 0] = 1,
    reference_is: Literal["any", "index"] = "any",
) -> Score:
    """1 where the prediction chooses the option that is expected, else 0.

    Either may be an option's own words, its letter (`B`, `(b)`, `B.`) or its number, counted from `count_from`; what
    reads like an option means that one. A prediction may be free text: the last place that settles it counts (`The
    answer is B`, `I choose B`), else the one letter that stands alone in it. `Based on` is not B, and `not B` neither.
    A row is unscored, with the reason, where the prediction names no option, or several and settles on none.
    `reference_is="index"`: the reference is a number or letter even where an option reads like it.

    >>> cities = ["Paris", "Lyon", "Nice"]
    >>> choice_match(["The answer is (A).", "lyon", "Based on it: C", "A or B"], list("A21B"), [cities] * 4).to_pylist()
    [1.0, 1.0, 0.0, None]
    """

    def compare(said: str, sought: str, options: list[str | None]) -> bool | str:
        expected = read_label(sought, _words(options, reference_is), count_from=count_from)
        if expected is None:
            return f"reference {sought!r:.60} is none of {len(options)} options"
        chosen = read_choice(said, options, count_from=count_from)
        return chosen if isinstance(chosen, str) else chosen == expected

    return _each(prediction, reference, choices, compare)


@metric(source="ours; multiple selection of DataFlow's UnifiedBenchDatasetEvaluator, key3_q_choices_as")
def choices_f1(
    prediction: Texts,
    reference: Texts,
    choices: Texts,
    *,
    score: Literal["f1", "precision", "recall", "jaccard", "exact"] = "f1",
    count_from: Literal[1, 0] = 1,
    reference_is: Literal["any", "index"] = "any",
) -> Score:
    """How far the set of options chosen agrees with the set expected; the value is the mean over rows.

    Either is a list, a JSON list, or a text such as `A, C`, `ACD` or `The answers are A and C`; settings as in
    `choice_match`. Two empty sets agree (1, by every `score`), an empty and another one do not (0). A row in which
    anything named is no option is unscored, with the reason.

    >>> choices_f1([["A, B"], ["nice"]], [["A"], ["C"]], [["Paris", "Lyon", "Nice"]] * 2).to_numpy().round(4)
    array([0.6667, 1.    ])
    """

    def compare(said: list[str], sought: list[str], options: list[str | None]) -> float | str:
        expected = read_choices(sought, _words(options, reference_is), count_from=count_from)
        if isinstance(expected, str):
            return f"reference: {expected}"
        chosen = read_choices(said, options, count_from=count_from)
        return chosen if isinstance(chosen, str) else _agreement(chosen, expected, score)

    return _each(prediction, reference, choices, compare)


def _agreement(chosen: set[int], expected: set[int], score: str) -> float:
    if score == "exact" or not chosen or not expected:
        return float(chosen == expected)
    common = len(chosen & expected)
    whole = {
        "f1": (len(chosen) + len(expected)) / 2,
        "precision": len(chosen),
        "recall": len(expected),
        "jaccard": len(chosen | expected),
    }
    return common / whole[score]


def _words(options: list[str | None], reference_is: str) -> list[str | None]:
    """The options' words that a reference may use: none where it is an index."""
    return options if reference_is == "any" else [None] * len(options)


def _each(
    prediction: pa.Array, reference: pa.Array, choices: Texts, compare: Callable[[Any, Any, Any], float | str]
) -> Rows:
    """The score of each row, or as a text the reason why it has none."""
    scores = np.full(len(prediction), np.nan)
    reasons = np.full(len(prediction), None, dtype=object)
    rows: Iterable[Any] = zip(prediction.to_pylist(), reference.to_pylist(), choices.to_pylist(), strict=True)
    for row, (said, sought, options) in enumerate(rows):
        found = compare(said, sought, plain_options(options)) if options else "choices is an empty list"
        if isinstance(found, str):
            reasons[row] = found
        else:
            scores[row] = found
    return Rows(scores, reasons)
