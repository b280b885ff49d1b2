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
    in jiwer). Needs the extra `text`.

    >>> wer(["the cat sat down"], ["the cat sat"]).to_numpy().round(4)
    array([0.3333])
    """
    predicted, expected = (
        [tokens.split() for tokens in tokenise(normalise(column, normalize), tokenize).to_pylist()]
        for column in (prediction, reference)
    )
    edits = _compare(predicted, expected, "Levenshtein", "distance", "wer")
    return np.column_stack([edits, list(map(len, expected))])


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
    return np.column_stack([edits, pc.utf8_length(expected)])


@metric(
    source="Levenshtein 1966, Binary codes capable of correcting deletions, insertions, and reversals",
    lowered_by=EITHER,
)
def levenshtein(prediction: Text, reference: Text, *, normalize: Normalizer = "none") -> Score:
    """1 - the edit distance of characters divided by the longer text's length.

    Two empty texts score 1. Needs the extra `text`.

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

    Each of up to four equal first characters has Winkler's weight of 0.1. Two empty texts score 1. Needs the extra
    `text`.

    >>> jaro_winkler(["MARTHA"], ["MARHTA"]).to_numpy().round(4)
    array([0.9611])
    """
    return _similarity(prediction, reference, normalize, "JaroWinkler")


def _similarity(
    prediction: Text, reference: Text, normalize: str, distance: Literal["Levenshtein", "JaroWinkler"]
) -> Array:
    predicted, expected = (normalise(column, normalize).to_pylist() for column in (prediction, reference))
    return _compare(predicted, expected, distance, "normalized_similarity", "an edit distance")


def _compare(predicted: Sequence[Any], expected: Sequence[Any], distance: str, function: str, need: str) -> Array:
    """A function of one of rapidfuzz's distances, for the two sequences of each row. Shape (n,)."""
    try:
        from rapidfuzz import distance as distances  # noqa: PLC0415  (an extra)
        from rapidfuzz import process  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("rapidfuzz", extra="text", need=need) from None
    scorer = getattr(getattr(distances, distance), function)
    return process.cpdist(predicted, expected, scorer=scorer, dtype=np.float64)
