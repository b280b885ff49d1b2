"""How many edits lead from a prediction to a reference, and other likenesses of spelling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc

from karat.core.columns.kinds import Array, Counts, Score, Text
from karat.core.errors import MissingExtra
from karat.core.metric.decorator import metric
from karat.text.columns import Normalizer, Tokenizer, normalise, tokenise


def error_rate(totals: Array) -> Array:
    """Edits (the first of two counts) by the length of what was expected, which counts as one where it is none."""
    edits, expected = totals[..., 0], totals[..., 1]
    rate: Array = edits / np.where(expected == 0, 1.0, expected)
    return rate


@metric(
    source="Levenshtein distance of words by words expected, as in jiwer, https://github.com/jitsi/jiwer",
    finish=error_rate,
    high=None,
    direction="minimize",
)
def wer(
    prediction: Text, reference: Text, *, normalize: Normalizer = "none", tokenize: Tokenizer = "whitespace"
) -> Counts:
    """Word error rate: insertions, deletions and replacements of words by the number of words expected.

    The value is that of the corpus: all edits by all words expected, so that long texts weigh more; it exceeds 1 where
    far too much was said. Where nothing is expected each word said counts as one whole error (as in jiwer).
    Needs the extra `text`.

    >>> wer(["the cat sat down"], ["the cat sat"]).to_numpy().round(4)
    array([0.3333])
    """
    said, expected = (
        [tokens.split() for tokens in tokenise(normalise(column, normalize), tokenize).to_pylist()]
        for column in (prediction, reference)
    )
    return np.column_stack(
        [_compare(said, expected, "Levenshtein", "distance", "wer"), [len(words) for words in expected]]
    )


@metric(
    source="Levenshtein distance of characters by characters expected, as in jiwer, https://github.com/jitsi/jiwer",
    finish=error_rate,
    high=None,
    direction="minimize",
)
def cer(prediction: Text, reference: Text, *, normalize: Normalizer = "none") -> Counts:
    """Character error rate: insertions, deletions and replacements of characters by the number expected.

    As `wer`, with code points in place of words. White space at either end of a text does not count, within it does
    (as in jiwer). Needs the extra `text`.

    >>> cer(["Pariss"], ["Paris"]).to_pylist()
    [0.2]
    """
    said, expected = (pc.utf8_trim_whitespace(normalise(column, normalize)) for column in (prediction, reference))
    edits = _compare(said.to_pylist(), expected.to_pylist(), "Levenshtein", "distance", "cer")
    return np.column_stack([edits, pc.utf8_length(expected)])


@metric(source="Levenshtein 1966, Binary codes capable of correcting deletions, insertions, and reversals")
def levenshtein(prediction: Text, reference: Text, *, normalize: Normalizer = "none") -> Score:
    """1 less the edit distance of characters by the length of the longer text; two empty texts score 1.

    Needs the extra `text`.

    >>> levenshtein(["kitten", ""], ["mitten", ""]).to_numpy().round(4)
    array([0.8333, 1.    ])
    """
    return _likeness(prediction, reference, normalize, "Levenshtein")


@metric(source="Winkler 1990, String Comparator Metrics and Enhanced Decision Rules in the Fellegi-Sunter Model")
def jaro_winkler(prediction: Text, reference: Text, *, normalize: Normalizer = "none") -> Score:
    """Likeness of short texts such as names, where equal beginnings count more; two empty texts score 1.

    Winkler's weight of 0.1 for each of up to four equal first characters. Needs the extra `text`.

    >>> jaro_winkler(["MARTHA"], ["MARHTA"]).to_numpy().round(4)
    array([0.9611])
    """
    return _likeness(prediction, reference, normalize, "JaroWinkler")


@metric(source="Jaccard 1912, The distribution of the flora in the alpine zone, New Phytologist 11")
def jaccard(
    prediction: Text, reference: Text, *, normalize: Normalizer = "unicode", tokenize: Tokenizer = "words"
) -> Score:
    """The share of tokens, of all that stand in either text, that stand in both.

    Each token counts once, however often it stands there; two texts without tokens score 1.

    >>> jaccard(["the cat sat"], ["The cat lay."]).to_pylist()
    [0.5]
    """
    said, expected = (
        (set(tokens.split()) for tokens in tokenise(normalise(column, normalize), tokenize).to_pylist())
        for column in (prediction, reference)
    )
    return [len(a & b) / len(a | b) if a or b else 1.0 for a, b in zip(said, expected, strict=True)]


def _likeness(
    prediction: Text, reference: Text, normalize: str, distance: Literal["Levenshtein", "JaroWinkler"]
) -> Array:
    said, expected = (normalise(column, normalize).to_pylist() for column in (prediction, reference))
    return _compare(said, expected, distance, "normalized_similarity", "an edit distance")


def _compare(said: Sequence[Any], expected: Sequence[Any], distance: str, measure: str, need: str) -> Array:
    """What rapidfuzz measures between the sequences of each row. Shape (n,)."""
    try:
        from rapidfuzz import distance as distances  # noqa: PLC0415  (an extra)
        from rapidfuzz import process  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("rapidfuzz", extra="text", need=need) from None
    scorer = getattr(getattr(distances, distance), measure)
    return process.cpdist(said, expected, scorer=scorer, dtype=np.float64)
