"""The F1 of LoCoMo, whose rule follows from the category of a question."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
import regex

from karat.core.columns.kinds import Array, Number, Score, Text, Texts
from karat.core.metric.decorator import metric
from karat.core.metric.definition import EITHER
from karat.core.metric.rows import NOTHING, Rows
from karat.metrics.text.stemmer import stem_word

ComparedParts: TypeAlias = Literal["all", "first"]

MULTI_HOP, ADVERSARIAL, CATEGORIES = 1, 5, range(1, 6)
DECLINED = ("no information available", "not mentioned")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DROPPED = regex.compile(r"\b(a|an|the|and)\b")


@metric(
    source="Maharana et al. 2024, LoCoMo, arXiv:2402.17753; 'first': REMem's QAF1ScoreLocomo, arXiv:2602.13530",
    lowered_by=EITHER,
)
def locomo_f1(prediction: Text, reference: Texts, category: Number, *, compared: ComparedParts = "all") -> Score:
    """F1 of the stems of words, by the category of the question: 1 multi-hop, 2 to 4 one answer, 5 adversarial.

    1: the mean over the gold answer's parts between commas of the best F1 of a part of the prediction. 2 to 4: the F1
    of the whole texts; with `compared="first"`, as in REMem, of what precedes the prediction's first comma, and of the
    first gold answer alone. 5: whether the prediction has "no information available" or "not mentioned"; the gold is
    not read. Of several gold answers the best counts; scores are rounded to four decimals. Case, ASCII punctuation,
    "a", "an", "the" and "and" are dropped. A row of another category, or of 1 to 4 without gold, is unscored.

    >>> locomo_f1(["hiking, two dogs"], [["Dogs, a cat, hiking trails"]], [1]).to_pylist()
    [0.4444]
    >>> [locomo_f1(["In May, 2023"], [["May 2023"]], [2], compared=each).to_pylist() for each in ("all", "first")]
    [[0.8], [0.5]]
    """
    scores = np.full(len(prediction), np.nan)
    reasons: Array = np.full(len(prediction), NOTHING, dtype=object)
    rows = zip(prediction.to_pylist(), reference.to_pylist(), category.to_pylist(), strict=True)
    for row, (answer, gold, kind) in enumerate(rows):
        reasons[row] = reason = why_not(gold, kind)
        if reason is None:
            scores[row] = round(max(gold_scores(answer, gold, kind, compared)), 4)
    return Rows(scores, reasons)


def why_not(gold: Sequence[str], category: float) -> str | None:
    """Why a row is not scored; None if it is.

    >>> why_not(["Paris"], 7), why_not([], 2), why_not([], 5)
    ('category is 7, 1 to 5 is expected', 'reference has no answers', None)
    """
    if category not in CATEGORIES:
        return f"category is {category:g}, 1 to 5 is expected"
    return "reference has no answers" if not gold and category != ADVERSARIAL else None


def gold_scores(prediction: str, gold: Sequence[str], category: float, compared: ComparedParts) -> list[float]:
    """The score of a prediction against each gold answer that is compared; not rounded.

    >>> gold_scores("Rome, Paris", ["Paris", "Rome"], 1, "all")
    [1.0, 1.0]
    """
    if category == ADVERSARIAL:
        return [float(any(words in prediction.lower() for words in DECLINED))]
    parts = prediction.split(",")
    if category == MULTI_HOP:
        return [float(np.mean([max(_f1(mine, part) for mine in parts) for part in each.split(",")])) for each in gold]
    return [_f1(parts[0], gold[0])] if compared == "first" else [_f1(prediction, each) for each in gold]


def _f1(prediction: str, gold: str) -> float:
    one, other = _stems(prediction), _stems(gold)
    common = (Counter(one) & Counter(other)).total()
    precision, recall = common / (len(one) or 1), common / (len(other) or 1)
    return 2 * precision * recall / (precision + recall) if common else 0.0


@lru_cache(1 << 12)
def _stems(text: str) -> tuple[str, ...]:
    words = _DROPPED.sub(" ", text.lower().translate(_PUNCTUATION)).split()
    return tuple(word if len(word) < 3 else stem_word(word) for word in words)
