"""Metrics of the tokens that a prediction and a reference share."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Array, Score, Text
from karat.core.metric.decorator import metric
from karat.core.metric.definition import EITHER
from karat.core.metric.rows import divide
from karat.metrics.text.string_comparison import equal, longest_run, overlap
from karat.text.columns import Normalizer, Tokenizer, distinct_words, normalise, tokenise

SQUAD_2 = (
    "Rajpurkar, Jia and Liang 2018, Know What You Don't Know: Unanswerable Questions for SQuAD, arXiv:1806.03822; "
    "evaluate-v2.0.py"
)
CLOSED = ["yes", "no", "noanswer"]


@metric(source=SQUAD_2, aliases=("f1",), short={"f1": {}}, encoded=True, lowered_by=EITHER)
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

    Where a side has no token the score is 1 if both have none, else 0 (SQuAD 2.0); with `empty="v1"` it is 0 also if
    both have none (SQuAD 1.1, HippoRAG, REMem). With `yes_no="exact"` the score is 0 where a side is "yes", "no" or
    "noanswer" and the other one differs (HotpotQA).

    >>> token_f1(["the cat sat"], [["cat sat down", "dog"]]).to_pylist()
    [0.8]
    >>> token_f1(["yes, he did"], ["Yes"], yes_no="exact").to_pylist()
    [0.0]
    """
    common, predicted, expected = _counts(prediction, reference, normalize, tokenize, yes_no)
    return _apply_empty_rule(divide(2 * common, predicted + expected), predicted, expected, empty)


@metric(source=SQUAD_2, encoded=True, lowered_by=("longer",))
def token_precision(
    prediction: Text,
    reference: Text,
    *,
    normalize: Normalizer = "squad",
    tokenize: Tokenizer = "whitespace",
    empty: Literal["v2", "v1"] = "v2",
    yes_no: Literal["overlap", "exact"] = "overlap",
) -> Score:
    """The share of the prediction's tokens that the reference also has.

    Where a side has no token the score is 1 if both have none, else 0; with `empty="v1"` it is always 0. `yes_no` as
    in `token_f1`.

    >>> token_precision(["cat sat down now"], ["the cat sat"]).to_pylist()
    [0.5]
    """
    common, predicted, expected = _counts(prediction, reference, normalize, tokenize, yes_no)
    return _apply_empty_rule(divide(common, predicted), predicted, expected, empty)


@metric(source=SQUAD_2, encoded=True, lowered_by=("shorter",))
def token_recall(
    prediction: Text,
    reference: Text,
    *,
    normalize: Normalizer = "squad",
    tokenize: Tokenizer = "whitespace",
    empty: Literal["v2", "v1"] = "v2",
    yes_no: Literal["overlap", "exact"] = "overlap",
) -> Score:
    """The share of the reference's tokens that the prediction also has.

    Where a side has no token the score is 1 if both have none, else 0; with `empty="v1"` it is always 0. `yes_no` as
    in `token_f1`.

    >>> token_recall(["cat sat down now"], ["the cat sat"]).to_pylist()
    [1.0]
    """
    common, predicted, expected = _counts(prediction, reference, normalize, tokenize, yes_no)
    return _apply_empty_rule(divide(common, expected), predicted, expected, empty)


@metric(
    source="Jaccard 1912, The distribution of the flora in the alpine zone, New Phytologist 11",
    encoded=True,
    lowered_by=EITHER,
)
def jaccard(
    prediction: Text, reference: Text, *, normalize: Normalizer = "unicode", tokenize: Tokenizer = "words"
) -> Score:
    """The number of distinct tokens in both texts divided by the number in either text.

    Repeated tokens count once; two texts without tokens score 1.

    >>> jaccard(["the cat sat"], ["The cat lay."]).to_pylist()
    [0.5]
    """
    predicted, expected = (
        distinct_words(tokenise(normalise(column, normalize), tokenize)) for column in (prediction, reference)
    )
    common, in_predicted, in_expected = overlap(predicted, expected)
    return divide(common, in_predicted + in_expected - common, otherwise=1.0)


@metric(
    source="Cui et al. 2019, CMRC 2018, arXiv:1810.07366: the F1 of its cmrc2018_evaluate.py, on v5's rules",
    lowered_by=EITHER,
)
def longest_match_f1(
    prediction: Text, reference: Text, *, normalize: Normalizer = "cmrc", tokenize: Tokenizer = "cmrc_words"
) -> Score:
    """F1 of the longest run of tokens that prediction and reference both have: other tokens in common do not count.

    Precision is the run's share of the prediction's tokens, recall of the reference's. Where a side has no token the
    score is 0, even if both have none.

    >>> longest_match_f1(["北京的故宫"], [["在北京", "故宫博物院"]]).to_pylist()
    [0.5]
    """
    predicted, expected = (tokenise(normalise(column, normalize), tokenize) for column in (prediction, reference))
    common, in_predicted, in_expected = longest_run(predicted, expected)
    return divide(2 * common, in_predicted + in_expected)


def _counts(
    prediction: Text, reference: Text, normalize: str, tokenize: str, yes_no: str
) -> tuple[Array, Array, Array]:
    """For each row the tokens in common (as bags), the prediction's tokens and the reference's."""
    predicted_texts, expected_texts = normalise(prediction, normalize), normalise(reference, normalize)
    common, predicted, expected = overlap(tokenise(predicted_texts, tokenize), tokenise(expected_texts, tokenize))
    if yes_no == "exact":
        closed = _is_closed(predicted_texts) | _is_closed(expected_texts)
        common[closed & (equal(predicted_texts, expected_texts) == 0)] = 0
    return common, predicted, expected


def _is_closed(texts: pa.Array) -> Array:
    """Which texts are answers that HotpotQA compares as a whole. Shape (n,), bool."""
    if pa.types.is_dictionary(texts.type):
        places: Array = texts.indices.to_numpy()
        return _is_closed(texts.dictionary).take(places)
    closed: Array = pc.is_in(texts, pa.array(CLOSED, texts.type)).to_numpy(zero_copy_only=False)
    return closed


def _apply_empty_rule(scores: Array, predicted: Array, expected: Array, empty: str) -> Array:
    """Set the score of rows without tokens on either side."""
    if empty == "v2":
        scores[(predicted == 0) & (expected == 0)] = 1.0
    return scores
