"""Metrics of edit distance between a prediction and a reference, and of the similarity of their spelling."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Array, Counts, Score, Text
from karat.core.metric.decorator import metric
from karat.core.metric.definition import EITHER
from karat.core.metric.rows import Rows, divide, find_too_long, score_rest
from karat.metrics.text.edit_distance import compare_spelling, count_words, edits, most_bytes
from karat.metrics.text.string_comparison import TokenCounts, equal
from karat.text.columns import Normalizer, Tokenizer, normalise, tokenise


def error_rate(totals: Array) -> Array:
    """The first of two counts, edits, divided by the second, the length of the references, or by 1 where that is 0."""
    edits, expected = totals[..., 0], totals[..., 1]
    rate: Array = edits / np.where(expected == 0, 1.0, expected)
    return rate


@metric(
    source="Levenshtein distance of words by words expected, as in jiwer, https://github.com/jitsi/jiwer",
    finish=error_rate,
    high=None,
    direction="minimize",
    lowered_by=EITHER,
)
def wer(
    prediction: Text, reference: Text, *, normalize: Normalizer = "none", tokenize: Tokenizer = "whitespace"
) -> Counts:
    """Word error rate: inserted, deleted and replaced words divided by the number of words in the reference.

    The value is over the corpus: all edits divided by all reference words, so long texts weigh more. It exceeds 1
    where a prediction is far too long. Where the reference has no words the rate is the number of predicted words (as
    in jiwer). A row with more than 10,000,000,000 pairs of words (100,000 x 100,000) is unscored, unless both texts are
    equal.

    >>> wer(["the cat sat down"], ["the cat sat"]).to_numpy().round(4)
    array([0.3333])
    """
    predicted, expected = (tokenise(normalise(column, normalize), tokenize) for column in (prediction, reference))
    return _compare(predicted, expected, _rate, words=True)


@metric(
    source="Levenshtein distance of characters by characters expected, as in jiwer, https://github.com/jitsi/jiwer",
    finish=error_rate,
    high=None,
    direction="minimize",
    lowered_by=EITHER,
)
def cer(prediction: Text, reference: Text, *, normalize: Normalizer = "none") -> Counts:
    """Character error rate: inserted, deleted and replaced characters divided by the reference's length.

    As `wer`, with code points in place of words. Whitespace at either end of a text does not count, within it does (as
    in jiwer).

    >>> cer(["Pariss"], ["Paris"]).to_pylist()
    [0.2]
    """
    predicted, expected = (pc.utf8_trim_whitespace(normalise(column, normalize)) for column in (prediction, reference))
    return _compare(predicted, expected, _rate)


def _rate(edits: TokenCounts, _: TokenCounts, expected: TokenCounts) -> Array:
    return np.column_stack([edits, expected])


def _compare(predicted: pa.Array, expected: pa.Array, combine: Callable[..., Array], *, words: bool = False) -> Rows:
    """What `combine` makes of the edits and the lengths of both texts; a row that is too long is unscored."""
    unit, size = ("words", count_words) if words else ("characters", _count_characters)
    if find_too_long(most_bytes(predicted), most_bytes(expected), unit)[0] is None:  # so that no text is measured
        return Rows(combine(*edits(predicted, expected, words=words)))
    reasons = find_too_long(size(predicted), size(expected), unit)
    reasons[equal(predicted, expected) == 1] = None
    return score_rest(reasons, (predicted, expected), lambda a, b: combine(*edits(a, b, words=words)))


def _count_characters(texts: pa.Array) -> Array:
    return np.asarray(pc.utf8_length(texts))


@metric(
    source="Levenshtein 1966, Binary codes capable of correcting deletions, insertions, and reversals",
    lowered_by=EITHER,
)
def levenshtein(prediction: Text, reference: Text, *, normalize: Normalizer = "none") -> Score:
    """1 - the edit distance of characters divided by the longer text's length.

    Two empty texts score 1. Very long texts as in `wer`, by characters.

    >>> levenshtein(["kitten", ""], ["mitten", ""]).to_numpy().round(4)
    array([0.8333, 1.    ])
    """
    predicted, expected = (normalise(column, normalize) for column in (prediction, reference))

    def similarity(edits: TokenCounts, in_a: TokenCounts, in_b: TokenCounts) -> Array:
        return 1 - divide(edits, np.maximum(in_a, in_b))

    return _compare(predicted, expected, similarity)


@metric(
    source="Winkler 1990, String Comparator Metrics and Enhanced Decision Rules in the Fellegi-Sunter Model",
    lowered_by=EITHER,
)
def jaro_winkler(prediction: Text, reference: Text, *, normalize: Normalizer = "none") -> Score:
    """Jaro-Winkler similarity, for short texts such as names: equal beginnings count more.

    Each of up to four equal first characters has Winkler's weight of 0.1, where the similarity is above 0.7 without
    them. Two empty texts score 1.

    >>> jaro_winkler(["MARTHA"], ["MARHTA"]).to_numpy().round(4)
    array([0.9611])
    """
    return compare_spelling(*(normalise(column, normalize) for column in (prediction, reference)))
