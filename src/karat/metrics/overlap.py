"""How many tokens a prediction and a reference share."""

from __future__ import annotations

from typing import Literal

import numpy as np

from karat.core.metric import metric
from karat.core.types import Array, Score, Text
from karat.metrics.pairs import overlap
from karat.text.columns import Normalizer, Tokenizer, normalise, tokenise

SQUAD_2 = (
    "Rajpurkar, Jia and Liang 2018, Know What You Don't Know: Unanswerable Questions for SQuAD, arXiv:1806.03822; "
    "evaluate-v2.0.py"
)


@metric(source=SQUAD_2, aliases=("f1",), encoded=True)
def token_f1(
    prediction: Text,
    reference: Text,
    *,
    normalize: Normalizer = "squad",
    tokenize: Tokenizer = "whitespace",
    empty: Literal["v2", "v1"] = "v2",
) -> Score:
    """F1 between the bags of tokens of a prediction and a reference.

    Where either side has no token the score is 1 if both have none, else 0 (SQuAD 2.0); with `empty="v1"` it is 0 also
    where both have none (SQuAD 1.1, HippoRAG, REMem).

    >>> token_f1(["the cat sat"], [["cat sat down", "dog"]]).to_pylist()
    [0.8]
    """
    common, predicted, expected = _counts(prediction, reference, normalize, tokenize)
    return _settle(_ratio(2 * common, predicted + expected), predicted, expected, empty)


@metric(source=SQUAD_2, encoded=True)
def token_precision(
    prediction: Text,
    reference: Text,
    *,
    normalize: Normalizer = "squad",
    tokenize: Tokenizer = "whitespace",
    empty: Literal["v2", "v1"] = "v2",
) -> Score:
    """The share of the prediction's tokens that the reference has too.

    Where either side has no token the score is 1 if both have none, else 0; with `empty="v1"` always 0.

    >>> token_precision(["cat sat down now"], ["the cat sat"]).to_pylist()
    [0.5]
    """
    common, predicted, expected = _counts(prediction, reference, normalize, tokenize)
    return _settle(_ratio(common, predicted), predicted, expected, empty)


@metric(source=SQUAD_2, encoded=True)
def token_recall(
    prediction: Text,
    reference: Text,
    *,
    normalize: Normalizer = "squad",
    tokenize: Tokenizer = "whitespace",
    empty: Literal["v2", "v1"] = "v2",
) -> Score:
    """The share of the reference's tokens that the prediction has too.

    Where either side has no token the score is 1 if both have none, else 0; with `empty="v1"` always 0.

    >>> token_recall(["cat sat down now"], ["the cat sat"]).to_pylist()
    [1.0]
    """
    common, predicted, expected = _counts(prediction, reference, normalize, tokenize)
    return _settle(_ratio(common, expected), predicted, expected, empty)


def _counts(prediction: Text, reference: Text, normalize: str, tokenize: str) -> tuple[Array, Array, Array]:
    """Tokens in common (as bags), of the prediction and of the reference, one of each a row."""
    return overlap(
        tokenise(normalise(prediction, normalize), tokenize), tokenise(normalise(reference, normalize), tokenize)
    )


def _ratio(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _settle(scores: Array, predicted: Array, expected: Array, empty: str) -> Array:
    """Give rows without tokens on one side or both the score that the rule says."""
    if empty == "v2":
        scores[(predicted == 0) & (expected == 0)] = 1.0
    return scores
