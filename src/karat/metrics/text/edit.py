"""Metrics of edit distance between a prediction and a reference, and of the similarity of their spelling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc

from karat.core.columns.kinds import Array, Counts, Score, Text
from karat.core.errors import MissingExtra
from karat.core.metric.decorator import metric
from karat.core.metric.definition import EITHER
from karat.core.metric.rows import NOTHING, Rows, find_too_long
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

    The value is that of the corpus: all edits divided by all reference words, so long texts weigh more. It exceeds 1
    where a prediction is far too long. Where the reference has no words the rate is the number of predicted words (as
    in jiwer). A row with more than 10,000,000,000 pairs of words (100,000 x 100,000) is unscored, unless both texts are
    equal. Needs the extra `text`.

    >>> wer(["the cat sat down"], ["the cat sat"]).to_numpy().round(4)
    array([0.3333])
    """
    predicted, expected = (
        [tokens.split() for tokens in tokenise(normalise(column, normalize), tokenize).to_pylist()]
        for column in (prediction, reference)
    )
    edits = _compare(predicted, expected, "Levenshtein", "distance", "wer", unit="words")
    return _count(edits, np.array(list(map(len, expected))))


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
    in jiwer). Needs the extra `text`.

    >>> cer(["Pariss"], ["Paris"]).to_pylist()
    [0.2]
    """
    predicted, expected = (pc.utf8_trim_whitespace(normalise(column, normalize)) for column in (prediction, reference))
    edits = _compare(predicted.to_pylist(), expected.to_pylist(), "Levenshtein", "distance", "cer")
    return _count(edits, np.asarray(pc.utf8_length(expected)))


def _count(edits: Rows, expected: Array) -> Rows:
    return Rows(np.column_stack([edits.statistics, expected]), edits.reasons)


@metric(
    source="Levenshtein 1966, Binary codes capable of correcting deletions, insertions, and reversals",
    lowered_by=EITHER,
)
def levenshtein(prediction: Text, reference: Text, *, normalize: Normalizer = "none") -> Score:
    """1 - the edit distance of characters divided by the longer text's length.

    Two empty texts score 1. Very long texts as in `wer`, by characters. Needs the extra `text`.

    >>> levenshtein(["kitten", ""], ["mitten", ""]).to_numpy().round(4)
    array([0.8333, 1.    ])
    """
    return _similarity(prediction, reference, normalize, "Levenshtein")


@metric(
    source="Winkler 1990, String Comparator Metrics and Enhanced Decision Rules in the Fellegi-Sunter Model",
    lowered_by=EITHER,
)
def jaro_winkler(prediction: Text, reference: Text, *, normalize: Normalizer = "none") -> Score:
    """Jaro-Winkler similarity, for short texts such as names: equal beginnings count more.

    Each of up to four equal first characters has Winkler's weight of 0.1. Two empty texts score 1. Very long texts as
    in `wer`, by characters. Needs the extra `text`.

    >>> jaro_winkler(["MARTHA"], ["MARHTA"]).to_numpy().round(4)
    array([0.9611])
    """
    return _similarity(prediction, reference, normalize, "JaroWinkler")


def _similarity(
    prediction: Text, reference: Text, normalize: str, distance: Literal["Levenshtein", "JaroWinkler"]
) -> Rows:
    predicted, expected = (normalise(column, normalize).to_pylist() for column in (prediction, reference))
    return _compare(predicted, expected, distance, "normalized_similarity", "an edit distance")


def _compare(
    predicted: Sequence[Any], expected: Sequence[Any], distance: str, function: str, need: str, unit: str = "characters"
) -> Rows:
    """A function of one of rapidfuzz's distances, for the two sequences of each row; too long ones are unscored."""
    try:
        from rapidfuzz import distance as distances  # noqa: PLC0415  (an extra)
        from rapidfuzz import process  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("rapidfuzz", extra="text", need=need) from None
    scorer = getattr(getattr(distances, distance), function)
    sizes = (
        np.array([0 if a == b else len(a) for a, b in zip(predicted, expected, strict=True)]),
        list(map(len, expected)),
    )
    reasons = find_too_long(sizes[0], np.array(sizes[1]), unit)
    chosen = np.flatnonzero(np.equal(reasons, NOTHING)).tolist()
    compared = ([side[row] for row in chosen] for side in (predicted, expected))
    found: Array = np.full(len(reasons), np.nan)
    found[chosen] = process.cpdist(*compared, scorer=scorer, dtype=np.float64)
    return Rows(found[:, None], reasons)
