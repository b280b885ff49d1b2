"""Compare final answers with gold answers without a model."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from karat.core.metric.extract import extract_answers
from karat.metrics import exact_match, math_match


def match_answers(answers: Sequence[str | None], golds: Sequence[Sequence[str]]) -> list[bool]:
    """Whether each answer equals one of its gold answers: as text, as normalised text, or as mathematics.

    >>> match_answers(["The answer is 4.", "Paris", "I know", "15"], [["4"], ["paris"], ["no"], ["1"]])
    [True, True, False, False]
    """
    whole = pa.array([answer or "" for answer in answers], pa.large_string())
    final = extract_answers(whole, "auto")
    gold = pa.array(golds, pa.list_(pa.large_string()))
    boxed = extract_answers(gold.flatten(), "boxed").to_pylist()
    gold_texts = [box or text for box, text in zip(boxed, gold.flatten().to_pylist(), strict=True)]
    gold = pa.ListArray.from_arrays(gold.offsets, pa.array(gold_texts, pa.large_string()))
    same = [False] * len(answers)
    normalized = exact_match.using(normalize="unicode")
    for metric, texts in ((normalized, whole), (normalized, final), (math_match, final)):
        open_rows = [row for row, matched in enumerate(same) if not matched and golds[row] and answers[row]]
        rows = pa.array(open_rows, pa.int64())
        for row, score in zip(open_rows, metric(texts.take(rows), gold.take(rows)).to_pylist(), strict=True):
            same[row] = score == 1
    return same
