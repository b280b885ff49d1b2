"""BLEU: how many n-grams of a prediction are in its references, for a corpus and for single rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from karat.core.columns.kinds import Array, Counts, Score, Text, Texts
from karat.core.metric.decorator import metric
from karat.core.metric.definition import EITHER
from karat.core.metric.rows import NOTHING, Rows
from karat.core.metric.setting import NgramOrder, check_not_negative
from karat.metrics.text.string_comparison import parts
from karat.text.columns import tokenise

try:
    from karat.metrics._kernels import sequence

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False

PAPINENI = (
    "Papineni et al. 2002, BLEU: a Method for Automatic Evaluation of Machine Translation, "
    "https://aclanthology.org/P02-1040; the figures of sacrebleu 2.6.0 (Post 2018, arXiv:1804.08771)"
)


BleuTokens: TypeAlias = Literal["13a", "intl", "none", "words", "chars"]
BLOCK = 4096  # rows whose totals are in the processor's cache
Smooth: TypeAlias = Literal["exp", "none", "floor", "add-k"]
Nearest: TypeAlias = Literal["closest", "shortest"]
Amount: TypeAlias = Annotated[float | None, check_not_negative]


def finish_bleu(totals: Array, *, smooth: str, smooth_value: float | None, order: int, effective_order: bool) -> Array:
    """BLEU, shape (...), from totals of shape (..., 2 + 2 * order).

    Totals are the tokens of the predictions, the tokens of the references, the matches of each order, and the n-grams
    of the predictions of each order. Without a token or without a match BLEU is 0.

    >>> finish_bleu(np.array([3.0, 3, 3, 1, 3, 2]), smooth="none", smooth_value=None, order=2, effective_order=False)
    array(0.70710678)
    """
    rows = totals.reshape(-1, totals.shape[-1])
    values = np.zeros(len(rows))
    matched = np.flatnonzero(np.logical_or.reduce([rows[:, 2 + n] > 0 for n in range(order)]))
    for first in range(0, len(matched), BLOCK):
        block = matched[first : first + BLOCK]
        counts = np.ascontiguousarray(rows[block].T)
        values[block] = _divide_counts(counts, smooth, smooth_value, order, effective_order=effective_order)
    return values.reshape(totals.shape[:-1])


def _divide_counts(
    counts: Array, smooth: str, smooth_value: float | None, order: int, *, effective_order: bool
) -> Array:
    """`finish_bleu` of columns that have a match each."""
    predicted, expected = counts[:2]
    logs, orders, smoothed = np.zeros(predicted.shape), np.zeros(predicted.shape), np.ones(predicted.shape)
    reached = np.full(predicted.shape, True)
    with np.errstate(divide="ignore", invalid="ignore"):
        for n in range(order):
            matches, possible = counts[2 + n], counts[2 + order + n]
            if smooth == "add-k" and n:
                more = 1.0 if smooth_value is None else smooth_value
                matches, possible = matches + more, possible + more
            reached &= possible > 0
            missed = reached & (matches == 0)
            if smooth == "exp":
                smoothed = np.where(missed, smoothed / 2, smoothed)
                matches = np.where(missed, smoothed, matches)
            elif smooth == "floor":
                matches = np.where(missed, 0.1 if smooth_value is None else smooth_value, matches)
            logs += np.log(np.where(reached, matches / possible, float(effective_order)))
            orders += reached if effective_order else 1
        brevity: Array = np.exp(np.minimum(1 - expected / predicted, 0)) * np.exp(logs / orders)
    return brevity


@metric(source=PAPINENI, finish=finish_bleu, lowered_by=EITHER)
def bleu(
    prediction: Text,
    reference: Texts,
    *,
    tokenize: BleuTokens = "13a",
    lowercase: bool = False,
    order: NgramOrder = 4,
    smooth: Smooth = "exp",  # noqa: ARG001  (a setting of the finish)
    smooth_value: Amount = None,  # noqa: ARG001
    effective_order: bool = False,  # noqa: ARG001
    reference_length: Nearest = "closest",
) -> Counts:
    """BLEU of the corpus, from 0 to 1: each prediction is compared with all its references.

    The n-grams of all rows are added up before they are divided, as in sacrebleu, whose settings are the defaults. The
    settings of Hugging Face `evaluate`, and so of REMem, are `bleu(smooth='none', reference_length='shortest')`.

    `tokenize`: `none` splits at whitespace; `intl`, `words` and `chars` suit every script. `smooth` says how an order
    without a match counts: `exp` as 1/2 match, 1/4 for the next such order and so on; `floor` as `smooth_value` (0.1)
    matches; `add-k` adds `smooth_value` (1) to matches and n-grams from order 2 on. `reference_length`, for the brevity
    penalty, is the length `closest` to the prediction's, or the `shortest`.

    A row's own score needs n-grams of every order: one word that equals its reference has no 4-grams and scores 0. With
    `effective_order=True` only orders count of which the predictions have n-grams. Null references are ignored.

    >>> [row] = bleu(["The cat sat on the mat."], [["The cat sat on a mat.", "The cat was sitting there."]]).to_pylist()
    >>> round(row, 4)
    0.4889
    >>> bleu(["Paris"], ["Paris"]).to_pylist(), bleu(["Paris"], ["Paris"], effective_order=True).to_pylist()
    ([0.0], [1.0])
    """
    return _statistics(prediction, reference, tokenize, lowercase, order, reference_length)


@metric(source=PAPINENI, lowered_by=EITHER)
def sentence_bleu(
    prediction: Text,
    reference: Texts,
    *,
    tokenize: BleuTokens = "13a",
    lowercase: bool = False,
    order: NgramOrder = 4,
    smooth: Smooth = "exp",
    smooth_value: Amount = None,
    effective_order: bool = True,
    reference_length: Nearest = "closest",
) -> Score:
    """BLEU of each prediction by itself, compared with all its references; the value is the mean over rows.

    The settings are `bleu`'s. As sacrebleu advises for sentences, only orders count of which the prediction has
    n-grams: one word that equals its reference scores 1. Hugging Face `evaluate`, row by row, is
    `sentence_bleu(smooth='none', effective_order=False, reference_length='shortest')`.

    >>> scores = sentence_bleu(["The cat sat on the mat.", "Paris"], [["The cat sat on a mat."], ["Paris"]])
    >>> [round(score, 4) for score in scores.to_pylist()]
    [0.4889, 1.0]
    """
    rows = _statistics(prediction, reference, tokenize, lowercase, order, reference_length)
    scores = finish_bleu(
        rows.statistics, smooth=smooth, smooth_value=smooth_value, order=order, effective_order=effective_order
    )
    return Rows(scores[:, None], rows.reasons)


def match_ngrams(
    prediction: pa.Array, references: pa.Array, bounds: NDArray[np.int64], order: int, *, shortest: bool
) -> NDArray[np.float64]:
    """The counts of each row that `finish_bleu` takes, shape (n, 2 + 2 * order).

    Columns hold tokens joined by spaces; the references of row r are those from `bounds[r]` to `bounds[r + 1]`.

    >>> tokens = pa.array(["a b a b", "b a b", "a"])
    >>> match_ngrams(tokens[:1], tokens[1:], np.array([0, 2]), 3, shortest=False).tolist()
    [[4.0, 3.0, 3.0, 2.0, 1.0, 4.0, 3.0, 2.0]]
    """
    out = np.empty((len(prediction), 2 + 2 * order))
    if COMPILED:
        sequence.ngrams(*parts(prediction), *parts(references), bounds, shortest, out)
        return out
    texts = references.to_pylist()
    for row, text in enumerate(prediction.to_pylist()):
        out[row] = count_ngrams(text, texts[bounds[row] : bounds[row + 1]], order, shortest=shortest)
    return out


def count_ngrams(prediction: str, references: Sequence[str], order: int, *, shortest: bool) -> list[int]:
    """The definition of `match_ngrams` for one row.

    An n-gram matches as often as it occurs in the prediction, but at most as often as in any one reference.

    >>> count_ngrams("a b a b", ["b a b", "a"], 3, shortest=False)
    [4, 3, 3, 2, 1, 4, 3, 2]
    """
    predicted, *expected = [text.split() for text in (prediction, *references)]
    lengths = map(len, expected)
    nearest = min(lengths, key=lambda n: (0 if shortest else abs(n - len(predicted)), n), default=0)
    matches = []
    for n in range(1, order + 1):
        most: Counter[tuple[str, ...]] = Counter()
        for tokens in expected:
            most |= Counter(_ngrams(tokens, n))
        matches.append((Counter(_ngrams(predicted, n)) & most).total())
    return [len(predicted), nearest, *matches, *(max(len(predicted) - n, 0) for n in range(order))]


def _ngrams(tokens: list[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def _statistics(
    prediction: pa.Array, reference: pa.Array, tokenize: str, lowercase: bool, order: int, reference_length: str
) -> Rows:
    texts, bounds = flatten(reference)
    predicted, expected = (_tokens(column, tokenize, lowercase) for column in (prediction, texts))
    statistics = match_ngrams(predicted, expected, bounds, order, shortest=reference_length == "shortest")
    empty = bounds[1:] == bounds[:-1]
    if not empty.any():
        return Rows(statistics)
    return Rows(statistics, np.where(empty, "reference is an empty list", NOTHING))


def flatten(reference: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """The references of all rows that are not null, and where each row's start and the last ones stop.

    >>> texts, bounds = flatten(pa.array([["a", None], [], ["b", "c"]]))
    >>> texts.to_pylist(), bounds.tolist()
    (['a', 'b', 'c'], [0, 1, 1, 3])
    """
    bounds = np.concatenate([[0], np.cumsum(np.asarray(pc.list_value_length(reference)), dtype=np.int64)])
    texts = reference.flatten()
    if texts.null_count:
        bounds = np.concatenate([[0], np.cumsum(np.asarray(texts.is_valid()), dtype=np.int64)])[bounds]
        texts = texts.drop_null()
    return texts, bounds


def lower(column: pa.Array) -> pa.Array:
    """Every text in lower case, as Python makes it.

    >>> lower(pa.array(["Ünï"])).to_pylist()
    ['ünï']
    """
    return pa.array([text.lower() for text in column.to_pylist()], pa.large_string())


def _tokens(column: pa.Array, tokenize: str, lowercase: bool) -> pa.Array:
    return tokenise(lower(column) if lowercase else column, "whitespace" if tokenize == "none" else tokenize)
