"""Whether an answer finally says what a gold answer says, without asking a model."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from karat.core.metric.extract import extract_answers
from karat.core.metric.registry import all_metrics
from karat.metrics import exact_match


def match_answers(answers: Sequence[str | None], golds: Sequence[Sequence[str]]) -> list[bool]:
    """Whether each answer says one of its gold answers: as text, as normalised text, or as mathematics.

    >>> match_answers(["The answer is 4.", "Paris", "I know", "15"], [["4"], ["paris"], ["no"], ["1"]])
    [True, True, False, False]
    """
    whole = pa.array([answer or "" for answer in answers], pa.large_string())
    final = extract_answers(whole, "auto")
    gold = pa.array(golds, pa.list_(pa.large_string()))
    boxed = extract_answers(gold.flatten(), "boxed").to_pylist()
    texts = [box or text for box, text in zip(boxed, gold.flatten().to_pylist(), strict=True)]
    gold = pa.ListArray.from_arrays(gold.offsets, pa.array(texts, pa.large_string()))
    same = [False] * len(answers)
    for metric, said in (
        (exact_match.using(normalize="unicode"), whole),
        (exact_match.using(normalize="unicode"), final),
        *((metric, final) for metric in all_metrics() if metric.name == "math_match"),
    ):
        left = pa.array(
            [row for row, known in enumerate(same) if not known and golds[row] and answers[row]], pa.int64()
        )
        for row, score in zip(left.to_pylist(), metric(said.take(left), gold.take(left)).to_pylist(), strict=True):
            same[row] = score == 1
    return same
