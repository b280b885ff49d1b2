"""Metrics of machine translation: chrF and TER, which compare a prediction with all its references."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Annotated

import numpy as np

from karat.core.columns.kinds import Array, Counts, Text, Texts
from karat.core.errors import MissingExtra
from karat.core.metric.decorator import metric
from karat.core.metric.definition import EITHER
from karat.core.metric.rows import Rows, collect_rows, divide, find_too_long
from karat.core.metric.setting import NgramOrder, Range, check_not_negative

CHRF = "Popović 2015, chrF, W15-3049; 2017, chrF++, W17-4770; as in sacrebleu, https://github.com/mjpost/sacrebleu"
TER = "Snover et al. 2006, A Study of Translation Edit Rate; as in sacrebleu, https://github.com/mjpost/sacrebleu"
SHIFTED = 10_000  # the cost of a pair of words: all are compared again for each phrase that may be moved


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

    Whitespace does not count. Of several references each row takes the one with the best score. The value is that of
    the corpus: n-grams are counted over all rows. As in sacrebleu, two empty texts score 0, but the range is 0 to 1.

    >>> chrf(["the cat sat"], [["the cat sat down", "a dog"]]).to_numpy().round(4)
    array([0.6602])
    >>> chrf(["the cat sat"], ["the cat sat down"], word_order=2).to_numpy().round(4)
    array([0.6836])
    """

    def count(text: str) -> list[Counter[str]]:
        text = text.lower() if lowercase else text
        characters, words = "".join(text.split()), _split_words(text) if word_order else []
        return [
            *(Counter(characters[i : i + n] for i in range(len(characters) - n + 1)) for n in range(1, char_order + 1)),
            *(Counter(" ".join(words[i : i + n]) for i in range(len(words) - n + 1)) for n in range(1, word_order + 1)),
        ]

    def compare(predicted: str, expected: list[str]) -> Array:
        ngrams = count(predicted)
        counts = np.array([_common(ngrams, count(text)) for text in expected], float)
        best: Array = counts[np.argmax(chrf_value(counts, beta=beta))]
        return best

    return _compare_each(prediction, reference, compare, 3 * (char_order + word_order))


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
    value is that of the corpus: all edits divided by all words. Computed by sacrebleu, with its settings; 1 is one edit
    per word. A row with more than 1,000,000 pairs of words (1,000 x 1,000) is unscored. Needs the extra `text`.

    >>> ter(["on the mat the cat sat"], [["the cat sat on the mat"]]).to_numpy().round(4)
    array([0.1667])
    """
    try:
        from sacrebleu.metrics.ter import TER as Rate  # noqa: N811, PLC0415  (an extra)
    except ImportError:
        raise MissingExtra("sacrebleu", extra="text", need="ter") from None
    rate = Rate(normalized=normalized, no_punct=no_punct, asian_support=asian_support, case_sensitive=case_sensitive)

    def compare(predicted: str, expected: list[str]) -> tuple[float, float] | str:
        mine, theirs = (np.array([len(text.split())]) for text in (predicted, max(expected, key=len)))
        if (reason := find_too_long(mine, theirs, "words", SHIFTED)[0]) is not None:
            return str(reason)
        score = rate.sentence_score(predicted, expected)
        return score.num_edits, score.ref_length

    return _compare_each(prediction, reference, compare, 2)


def _compare_each(
    predictions: Text, references: Texts, compare: Callable[[str, list[str]], Iterable[float] | str], width: int
) -> Rows:
    """The counts of each row, from its prediction and its references that are not null."""
    columns = zip(predictions.to_pylist(), references.to_pylist(), strict=True)
    rows = ((predicted, [text for text in expected if text is not None]) for predicted, expected in columns)
    return collect_rows((compare(*row) if row[1] else "reference is an empty list" for row in rows), width)


def _common(predicted: list[Counter[str]], expected: list[Counter[str]]) -> list[int]:
    """For each order the n-grams of the prediction (0 if the reference has none), of the reference and in common."""
    counts = []
    for a, b in zip(predicted, expected, strict=True):
        common = sum(min(times, b[ngram]) for ngram, times in a.items() if ngram in b)
        counts += [a.total() if b else 0, b.total(), common]
    return counts


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
