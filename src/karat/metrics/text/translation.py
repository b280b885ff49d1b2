"""chrF and TER, which compare a prediction with all its references at once."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Annotated

import numpy as np

from karat.core.columns.kinds import Array, Counts, Text, Texts
from karat.core.errors import MissingExtra, SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.rows import Rows

CHRF = "Popović 2015, chrF, W15-3049; 2017, chrF++, W17-4770; as in sacrebleu, https://github.com/mjpost/sacrebleu"
TER = "Snover et al. 2006, A Study of Translation Edit Rate; as in sacrebleu, https://github.com/mjpost/sacrebleu"


def _at_least_0(order: int) -> None:
    if order < 0:
        raise SpecError("0 or more is expected")


def _at_least_1(order: int) -> None:
    if order < 1:
        raise SpecError("1 or more is expected")


def chrf_value(totals: Array, *, beta: float) -> Array:
    """F of the mean precision and the mean recall over the orders that both sides have."""
    said, expected, common = np.moveaxis(totals.reshape(*totals.shape[:-1], -1, 3), -1, 0)
    held = (said != 0) & (expected != 0)
    orders = held.sum(axis=-1)
    precision, recall = (
        _ratio(_ratio(np.where(held, common, 0.0), whole).sum(axis=-1), orders) for whole in (said, expected)
    )
    return _ratio((1 + beta**2) * precision * recall, beta**2 * precision + recall)


@metric(source=CHRF, finish=chrf_value)
def chrf(
    prediction: Text,
    references: Texts,
    *,
    char_order: Annotated[int, _at_least_1] = 6,
    word_order: Annotated[int, _at_least_0] = 0,
    beta: float = 2.0,
    lowercase: bool = False,
) -> Counts:
    """chrF: F of character n-grams, recall weighted `beta` times; chrF++ with `word_order=2`.

    White space does not count. Of several references each row takes the one it is most like. The value is that of the
    corpus: n-grams are counted over all rows. As in sacrebleu, but from 0 to 1; two empty texts score 0 there too.

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

    def compare(said: str, texts: list[str]) -> Array:
        ngrams = count(said)
        pairs = np.array([_common(ngrams, count(text)) for text in texts], float)
        best: Array = pairs[np.argmax(chrf_value(pairs, beta=beta))]
        return best

    return _each(prediction, references, compare, 3 * (char_order + word_order))


def ter_value(totals: Array) -> Array:
    """Edits by words expected; where none are expected any edit is one whole error."""
    edits, expected = totals[..., 0], totals[..., 1]
    return np.where(expected == 0, np.sign(edits), _ratio(edits, expected))


@metric(source=TER, finish=ter_value, high=None, direction="minimize")
def ter(
    prediction: Text,
    references: Texts,
    *,
    normalized: bool = False,
    no_punct: bool = False,
    asian_support: bool = False,
    case_sensitive: bool = False,
) -> Counts:
    """Translation edit rate: edits of words, moves of whole phrases among them, by words expected.

    Of several references the one with the fewest edits counts, by the mean length of all. The value is that of the
    corpus: all edits by all words expected. Computed by sacrebleu, with its settings, but 1 is one edit a word.
    Needs the extra `text`.

    >>> ter(["on the mat the cat sat"], [["the cat sat on the mat"]]).to_numpy().round(4)
    array([0.1667])
    """
    try:
        from sacrebleu.metrics.ter import TER as Rate  # noqa: N811, PLC0415  (an extra)
    except ImportError:
        raise MissingExtra("sacrebleu", extra="text", need="ter") from None
    rate = Rate(normalized=normalized, no_punct=no_punct, asian_support=asian_support, case_sensitive=case_sensitive)

    def compare(said: str, texts: list[str]) -> tuple[float, float]:
        found = rate.sentence_score(said, texts)
        return found.num_edits, found.ref_length

    return _each(prediction, references, compare, 2)


def _each(
    predictions: Text, references: Texts, compare: Callable[[str, list[str]], Iterable[float]], width: int
) -> Rows:
    """The counts of each row; one without a reference is unscored."""
    counts = np.full((len(predictions), width), np.nan)
    reasons = np.full(len(predictions), None, dtype=object)
    for row, (said, texts) in enumerate(zip(predictions.to_pylist(), references.to_pylist(), strict=True)):
        if held := [text for text in texts if text is not None]:
            counts[row] = compare(said, held)
        else:
            reasons[row] = "references is an empty list"
    return Rows(counts, reasons)


def _common(said: list[Counter[str]], expected: list[Counter[str]]) -> list[int]:
    """For each order: n-grams said, expected and in common; none are said of an order in which none are expected."""
    counts = []
    for a, b in zip(said, expected, strict=True):
        common = sum(min(times, b[ngram]) for ngram, times in a.items() if ngram in b)
        counts += [a.total() if b else 0, b.total(), common]
    return counts


def _split_words(text: str) -> list[str]:
    """Words, with one ASCII punctuation mark at the end, or else at the beginning, on its own."""
    words = []
    for word in text.split():
        if len(word) > 1 and word[-1] in string.punctuation:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in string.punctuation:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words


def _ratio(part: Array, whole: Array) -> Array:
    ratio: Array = np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole != 0)
    return ratio
