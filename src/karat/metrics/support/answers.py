"""Scores answers by their sentences: some rows at a time, so that the model gets many pairs of texts at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from karat.core.metric.rows import Rows
from karat.core.progress import advance
from karat.metrics.support.entailment import Entailment
from karat.metrics.support.sentences import Sentence, read_sentences

PART = 256  # rows at a time


class Answer(NamedTuple):
    """The sentences of a prediction, at least one, and the texts of its contexts, empty where one is null."""

    sentences: list[Sentence]
    contexts: list[str]


SupportVerdict: TypeAlias = tuple[float, str | None, float | None]
"""The score of an answer, the first sentence that lowers it, and a number that belongs to this sentence."""


def score_answers(
    prediction: pa.Array,
    contexts: pa.Array,
    entailment: Entailment,
    judge: Callable[[Sequence[Answer]], Iterable[SupportVerdict]],
    details: Mapping[str, pa.DataType],
) -> Rows:
    """The verdicts of `judge`; `details` are the names and types of their last two parts, and of `truncated`."""
    verdicts: list[SupportVerdict] = []
    reasons: list[str | None] = []
    cut: list[bool] = []
    for start in range(0, len(prediction), PART):
        entailment.forget()
        texts, lists = (column[start : start + PART].to_pylist() for column in (prediction, contexts))
        pairs = ((read_sentences(text, entailment.language), each) for text, each in zip(texts, lists, strict=True))
        answers = [Answer(sentences, [text or "" for text in each]) for sentences, each in pairs]
        judged = iter(judge([answer for answer in answers if answer.sentences]))
        for claims in ({sentence.claim for sentence in answer.sentences} for answer in answers):
            verdicts.append(next(judged) if claims else (np.nan, None, None))
            failed = "the model gives no probability for one of the sentences" if claims & entailment.failed else None
            reasons.append(failed if claims else "prediction has no sentence")
            cut.append(bool(claims & entailment.cut))
        advance(len(answers))
    if any(cut):
        window = f"the model reads at most {entailment.max_length} tokens of a sentence and a passage"
        warnings.warn(f"sentences are cut: {window}", stacklevel=2)
    scores, *cells = zip(*verdicts, strict=True)
    columns = zip(details.items(), (*cells, cut), strict=True)
    return Rows(
        np.array(scores)[:, None],
        np.array(reasons, dtype=object),
        {name: pa.array(values, kind) for (name, kind), values in columns},
    )
