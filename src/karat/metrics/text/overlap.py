"""How many tokens a prediction and a reference share."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Array, Score, Text
from karat.core.metric.decorator import metric
from karat.metrics.text.pairs import equal, overlap
from karat.text.columns import Normalizer, Tokenizer, normalise, tokenise

SQUAD_2 = (
    "Rajpurkar, Jia and Liang 2018, Know What You Don't Know: Unanswerable Questions for SQuAD, arXiv:1806.03822; "
    "evaluate-v2.0.py"
)
CLOSED = ["yes", "no", "noanswer"]


@metric(source=SQUAD_2, aliases=("f1",), encoded=True)
def token_f1(
    prediction: Text,
    reference: Text,
    *,
    normalize: Normalizer = "squad",
    tokenize: Tokenizer = "whitespace",
    empty: Literal["v2", "v1"] = "v2",
    yes_no: Literal["overlap", "exact"] = "overlap",
) -> Score:
    """F1 between the bags of tokens of a prediction and a reference.

    Where either side has no token the score is 1 if both have none, else 0 (SQuAD 2.0); with `empty="v1"` it is 0 also
    where both have none (SQuAD 1.1, HippoRAG, REMem).

    >>> token_f1(["the cat sat"], [["cat sat down", "dog"]]).to_pylist()
    [0.8]
    >>> token_f1(["yes, he did"], ["Yes"], yes_no="exact").to_pylist()
    [0.0]
    """
    common, predicted, expected = _counts(prediction, reference, normalize, tokenize, yes_no)
    return _settle(_ratio(2 * common, predicted + expected), predicted, expected, empty)


@metric(source=SQUAD_2, encoded=True)
def token_precision(
    prediction: Text,
    reference: Text,
    *,
    normalize: Normalizer = "squad",
    tokenize: Tokenizer = "whitespace",
    empty: Literal["v2", "v1"] = "v2",
    yes_no: Literal["overlap", "exact"] = "overlap",
) -> Score:
    """The share of the prediction's tokens that the reference has too.

    Where either side has no token the score is 1 if both have none, else 0; with `empty="v1"` always 0.
    `yes_no` as in `token_f1`.

    >>> token_precision(["cat sat down now"], ["the cat sat"]).to_pylist()
    [0.5]
    """
    common, predicted, expected = _counts(prediction, reference, normalize, tokenize, yes_no)
    return _settle(_ratio(common, predicted), predicted, expected, empty)


@metric(source=SQUAD_2, encoded=True)
def token_recall(
    prediction: Text,
    reference: Text,
    *,
    normalize: Normalizer = "squad",
    tokenize: Tokenizer = "whitespace",
    empty: Literal["v2", "v1"] = "v2",
    yes_no: Literal["overlap", "exact"] = "overlap",
) -> Score:
    """The share of the reference's tokens that the prediction has too.

    Where either side has no token the score is 1 if both have none, else 0; with `empty="v1"` always 0.
    `yes_no` as in `token_f1`.

    >>> token_recall(["cat sat down now"], ["the cat sat"]).to_pylist()
    [1.0]
    """
    common, predicted, expected = _counts(prediction, reference, normalize, tokenize, yes_no)
    return _settle(_ratio(common, expected), predicted, expected, empty)


def _counts(
    prediction: Text, reference: Text, normalize: str, tokenize: str, yes_no: str
) -> tuple[Array, Array, Array]:
    """Tokens in common (as bags), of the prediction and of the reference, one of each a row."""
    said, sought = normalise(prediction, normalize), normalise(reference, normalize)
    common, predicted, expected = overlap(tokenise(said, tokenize), tokenise(sought, tokenize))
    if yes_no == "exact":
        common[(_is_closed(said) | _is_closed(sought)) & (equal(said, sought) == 0)] = 0
    return common, predicted, expected


def _is_closed(texts: pa.Array) -> Array:
    """Where a text is one of the answers of which HotpotQA takes no part."""
    if pa.types.is_dictionary(texts.type):
        places: Array = texts.indices.to_numpy()
        return _is_closed(texts.dictionary).take(places)
    found: Array = pc.is_in(texts, pa.array(CLOSED, texts.type)).to_numpy(zero_copy_only=False)
    return found


def _ratio(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _settle(scores: Array, predicted: Array, expected: Array, empty: str) -> Array:
    """Give rows without tokens on one side or both the score that the rule says."""
    if empty == "v2":
        scores[(predicted == 0) & (expected == 0)] = 1.0
    return scores
