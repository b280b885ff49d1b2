"""Metrics of machine translation: chrF and TER, which compare a prediction with all its references."""

from __future__ import annotations

import string
from typing import Annotated

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array, Counts, Text, Texts
from karat.core.errors import MissingExtra
from karat.core.metric.decorator import metric
from karat.core.metric.definition import EITHER
from karat.core.metric.rows import NOTHING, Rows, divide, find_too_long, score_rest
from karat.core.metric.setting import NgramOrder, Range, check_not_negative
from karat.metrics.text.bleu import flatten, lower, match_ngrams
from karat.metrics.text.edit_distance import count_words, shifted_edits
from karat.text.columns import map_by_definition, tokenise

CHRF = "Popović 2015, chrF, W15-3049; 2017, chrF++, W17-4770; as in sacrebleu, https://github.com/mjpost/sacrebleu"
TER = "Snover et al. 2006, A Study of Translation Edit Rate; as in sacrebleu, https://github.com/mjpost/sacrebleu"
SHIFTED = (
    10_000  # the cost of a pair of words: those near the diagonal are compared again for each phrase that may move
)


def chrf_value(totals: Array, *, beta: float) -> Array:
    """F of the mean precision and the mean recall over the orders of which both sides have n-grams."""
    predicted, expected, common = np.moveaxis(totals.reshape(*totals.shape[:-1], totals.shape[-1] // 3, 3), -1, 0)
    in_both = (predicted != 0) & (expected != 0)
    orders = in_both.sum(axis=-1)
    precision, recall = (
        divide(divide(np.where(in_both, common, 0.0), whole).sum(axis=-1), orders) for whole in (predicted, expected)
    )
    return divide((1 + beta**2) * precision * recall, beta**2 * precision + recall)


@metric(source=CHRF, finish=chrf_value, lowered_by=EITHER)
def chrf(
    prediction: Text,
    reference: Texts,
    *,
    char_order: NgramOrder = 6,
    word_order: Annotated[int, Range(0, 100)] = 0,
    beta: Annotated[float, check_not_negative] = 2.0,
    lowercase: bool = False,
) -> Counts:
    """chrF: F of character n-grams, in which recall weighs `beta` times as much; chrF++ with `word_order=2`.

    Whitespace does not count. Of several references each row takes the one with the best score. The value is of
    the corpus: n-grams are counted over all rows. As in sacrebleu, two empty texts score 0, but the range is 0 to 1.

    >>> chrf(["the cat sat"], [["the cat sat down", "a dog"]]).to_numpy().round(4)
    array([0.6602])
    >>> chrf(["the cat sat"], ["the cat sat down"], word_order=2).to_numpy().round(4)
    array([0.6836])
    """
    texts, bounds = flatten(reference)
    predicted, expected = (lower(column) if lowercase else column for column in (prediction, texts))
    counts = _count_ngrams(tokenise(predicted, "chars"), tokenise(expected, "chars"), bounds, char_order)
    if word_order:
        counts = np.hstack([counts, _count_ngrams(_words(predicted), _words(expected), bounds, word_order)])
    rows = np.repeat(np.arange(len(prediction)), np.diff(bounds))
    best = np.lexsort((-chrf_value(counts, beta=beta), rows))
    return _place(counts[best[_starts(bounds)]], bounds)


def ter_value(totals: Array) -> Array:
    """Edits divided by words of the references; where there are no words, 1 if there is any edit, else 0."""
    edits, expected = totals[..., 0], totals[..., 1]
    return np.where(expected == 0, np.sign(edits), divide(edits, expected))


@metric(source=TER, finish=ter_value, high=None, direction="minimize", lowered_by=EITHER)
def ter(
    prediction: Text,
    reference: Texts,
    *,
    normalized: bool = False,
    no_punct: bool = False,
    asian_support: bool = False,
    case_sensitive: bool = False,
) -> Counts:
    """Translation edit rate: edited words and moved phrases divided by the number of words in the references.

    Of several references the one with the fewest edits counts; the edits are divided by the mean length of all. The
    value is the corpus's: all edits divided by all words. Settings, limits and values are sacrebleu's, which also
    splits the texts; 1 is one edit per word. A row with more than 1,000,000 pairs of words (1,000 x 1,000) is unscored.
    Needs the extra `text`.

    >>> ter(["on the mat the cat sat"], [["the cat sat on the mat"]]).to_numpy().round(4)
    array([0.1667])
    """
    try:
        from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer  # noqa: PLC0415  (an extra)
    except ImportError:
        raise MissingExtra("sacrebleu", extra="text", need="ter") from None
    split = TercomTokenizer(
        normalized=normalized, no_punct=no_punct, asian_support=asian_support, case_sensitive=case_sensitive
    )
    texts, bounds = flatten(reference)
    predicted, expected = (map_by_definition(side, lambda text: split(text.rstrip())) for side in (prediction, texts))
    predicted, lengths = _repeat(predicted, bounds), count_words(expected)
    reasons = find_too_long(count_words(predicted), lengths, "words", SHIFTED)
    scored = score_rest(reasons, (predicted, expected), shifted_edits)
    starts, sizes = _starts(bounds), np.diff(bounds)
    least = np.minimum.reduceat(scored.statistics.reshape(-1), starts)
    mean = np.add.reduceat(lengths, starts) / sizes[sizes > 0]
    return _place(np.column_stack([least, mean]), bounds, scored.reasons)


def _repeat(predicted: pa.Array, bounds: Array) -> pa.DictionaryArray:
    """The prediction of each reference."""
    return pa.DictionaryArray.from_arrays(np.repeat(np.arange(len(predicted)), np.diff(bounds)), predicted)


def _starts(bounds: Array) -> Array:
    """Where the references of each row start that has any."""
    starts: Array = bounds[:-1][np.diff(bounds) > 0]
    return starts


def _place(counts: Array, bounds: Array, reasons: Array | None = None) -> Rows:
    """The counts of the rows that have references among all rows, and the first reason of any reference of a row."""
    there = np.diff(bounds) > 0
    statistics = np.full((len(there), counts.shape[1]), np.nan)
    statistics[there] = counts
    if reasons is None and there.all():
        return Rows(statistics)
    why = np.where(there, NOTHING, "reference is an empty list")
    if reasons is not None:
        for at in np.flatnonzero(np.not_equal(reasons, NOTHING))[::-1].tolist():
            why[np.searchsorted(bounds, at, "right") - 1] = reasons[at]
    return Rows(statistics, why)


def _count_ngrams(predicted: pa.Array, expected: pa.Array, bounds: Array, order: int) -> Array:
    """For each reference and order the n-grams of the prediction (0 if the reference has none), of it and in common."""
    matches = match_ngrams(_repeat(predicted, bounds), expected, np.arange(len(expected) + 1), order, shortest=True)
    sizes = np.maximum(matches[:, :2, None] - np.arange(order), 0)
    predicted_sizes = np.where(sizes[:, 1] > 0, sizes[:, 0], 0)
    return np.stack([predicted_sizes, sizes[:, 1], matches[:, 2 : 2 + order]], axis=2).reshape(len(matches), 3 * order)


def _words(texts: pa.Array) -> pa.Array:
    return map_by_definition(texts, lambda text: " ".join(_split_words(text)))


def _split_words(text: str) -> list[str]:
    """Words; one ASCII punctuation mark at the end of a word, or else at its beginning, is a word of its own."""
    words = []
    for word in text.split():
        if len(word) > 1 and word[-1] in string.punctuation:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in string.punctuation:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words
