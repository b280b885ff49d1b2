"""The F1 of DROP: answers of several spans, paired one to one, in which numbers must be equal."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_list
from karat.core.columns.column_cache import once
from karat.core.columns.kinds import Answers, Array, Score, Texts
from karat.core.metric.decorator import metric
from karat.core.metric.definition import EITHER
from karat.core.metric.rows import NOTHING, Rows, divide, find_too_long, score_rest
from karat.metrics.answers.assignment import assign
from karat.metrics.text.string_comparison import overlap
from karat.text.columns import distinct_words, map_words, normalise, tokenise
from karat.text.normalise import is_number

SPANS = 10_000  # the cost of a pair of spans


@metric(source="Dua et al. 2019, DROP, arXiv:1903.00161; drop_eval.py of AllenNLP", lowered_by=EITHER)
def drop_f1(prediction: Texts, reference: Answers, *, score: Literal["f1", "exact"] = "f1") -> Score:
    """F1 of DROP: spans of prediction and reference are paired one to one, and their F1 of distinct words is averaged.

    A text is one span, a list in `prediction` several; `reference` is a list of answers, each a text or a list of
    spans, of which the best counts. Texts are normalised as by `normalize="drop"`. A pair counts only if the reference
    has no number or both have the same one. The F1 has two decimals, as in the script. With `score="exact"` the score
    is 1 where both have the same spans, as many of them, in any order. An answer whose first span is blank is ignored;
    a row without another one is unscored, and so is one with more than 1,000,000 pairs of spans.

    >>> answers = [[["Cowboys", "New England Patriots"]], [["14"], ["15 yards"]]]
    >>> drop_f1([["Patriots", "The Cowboys"], ["14 yards"]], answers).to_pylist()
    [0.75, 0.67]
    """
    mine, theirs = (np.bincount(*_owners(column), minlength=len(prediction)) for column in (prediction, reference))
    reasons = find_too_long(mine, theirs, "spans", SPANS)
    return score_rest(reasons, (prediction, reference), lambda one, other: _drop_f1(one, other, score))


def _owners(lists: pa.Array) -> tuple[Array, Array]:
    """The row of each item of lists, and how many texts it has: 1, or as many as its list."""
    items = lists.flatten()
    rows = np.asarray(pc.list_parent_indices(lists))
    return rows, np.ones(len(items)) if not is_list(items.type) else _sizes(items)


def _drop_f1(prediction: pa.Array, reference: pa.Array, score: str) -> Rows:
    spans, row, height, width, one, other = once(
        "drop_f1", (prediction, reference), lambda: _pair(prediction, reference)
    )
    counts, ends = height * width, np.cumsum(height * width)
    compare, combine = (_pair_f1, _align) if score == "f1" else (_are_equal, _have_same)
    pairs = compare(spans, one, other)
    values = np.zeros(len(row))
    best_pair = np.maximum.reduceat(pairs, (ends - counts)[counts > 0]) if len(pairs) else pairs
    values[counts > 0] = best_pair / counts[counts > 0]  # where a side has one span
    for at in np.flatnonzero(np.minimum(height, width) > 1).tolist():
        values[at] = combine(pairs[ends[at] - counts[at] : ends[at]].reshape(height[at], width[at]))
    if score == "exact":
        values[height != width] = 0.0
    best = np.full(len(prediction), np.nan)
    np.fmax.at(best, row, values)
    return Rows(np.round(best, 2), np.where(np.isnan(best), "every answer of reference is blank", NOTHING))


def _pair(prediction: pa.Array, reference: pa.Array) -> tuple[pa.Array, Array, Array, Array, Array, Array]:
    """All pairs of a span of a prediction and one of an answer.

    Returns the distinct spans, normalised; of each answer its row, how many spans it has, and how many the prediction;
    and of each pair the numbers of its two spans: an answer's pairs are a matrix with a row for each of its spans.
    """
    predicted, predicted_sizes = _flatten(prediction)
    expected, expected_sizes = _flatten(reference.flatten())
    spans = pa.concat_arrays([predicted, expected]).dictionary_encode()
    codes = spans.indices.to_numpy()
    starts = len(predicted) + np.cumsum(expected_sizes) - expected_sizes

    blank = np.append(pc.equal(tokenise(spans.dictionary, "whitespace"), ""), True)
    kept = ~blank[np.append(codes, len(blank) - 1)[np.where(expected_sizes, starts, len(codes))]]
    row = np.repeat(np.arange(len(reference)), _sizes(reference))[kept]
    height, width = expected_sizes[kept], predicted_sizes[row]
    answer = np.repeat(np.arange(len(row)), height * width)
    place = np.arange(len(answer)) - (np.cumsum(height * width) - height * width)[answer]
    one = codes[(np.cumsum(predicted_sizes) - predicted_sizes)[row][answer] + place % width[answer]]
    other = codes[starts[kept][answer] + place // width[answer]]
    return normalise(spans.dictionary, "drop"), row, height, width, one, other


def _flatten(lists: pa.Array) -> tuple[pa.Array, Array]:
    """The texts of lists one after another, without nulls, and how many each list has."""
    texts = lists.flatten().cast(pa.large_string())
    owner = np.repeat(np.arange(len(lists)), _sizes(lists))[np.asarray(texts.is_valid())]
    return texts.drop_null(), np.bincount(owner, minlength=len(lists))


def _sizes(lists: pa.Array) -> Array:
    return np.asarray(pc.list_value_length(lists).fill_null(0)).astype(np.int64)


def _pair_f1(spans: pa.Array, predicted: Array, expected: Array) -> Array:
    """The F1 of the distinct words of pairs of spans, which are numbered; 0 where no number of the second is shared."""

    def count(words: pa.Array) -> tuple[Array, Array, Array]:
        return overlap(*(pa.DictionaryArray.from_arrays(codes, words) for codes in (predicted, expected)))

    common, in_one, in_other = count(distinct_words(spans))
    some = pc.match_substring_regex(spans, r"[0-9[:^ascii:]]|inf|nan")
    numbers = map_words(spans.filter(some), lambda word: word if is_number(word) else "")
    shared, _, needed = count(pc.replace_with_mask(pa.repeat(pa.scalar("", spans.type), len(spans)), some, numbers))
    precision, recall = divide(common, in_one, 1.0), divide(common, in_other, 1.0)
    return np.where((needed == 0) | (shared > 0), divide(2 * precision * recall, precision + recall), 0.0)


def _align(matrix: Array) -> float:
    """The mean of the pairs with the largest sum; a span that is in no pair counts as 0."""
    paired = np.zeros(max(matrix.shape))
    for row, column in assign(matrix):
        paired[row] = matrix[row, column]
    return float(paired.mean())


def _are_equal(spans: pa.Array, predicted: Array, expected: Array) -> Array:
    numbers = spans.dictionary_encode().indices.to_numpy()
    same: Array = numbers[predicted] == numbers[expected]
    return same.astype(np.float64)


def _have_same(matrix: Array) -> float:
    """1 where each span is among the others, else 0."""
    return float(matrix.any(axis=0).all() and matrix.any(axis=1).all())
