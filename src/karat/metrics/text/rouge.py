"""ROUGE: the n-grams, or the longest common subsequence of tokens, that a prediction and a reference share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from karat.core.columns.kinds import Array, Score, Text, Texts
from karat.core.metric.decorator import metric
from karat.core.metric.definition import EITHER, Definition, Length
from karat.core.metric.rows import NOTHING, Rows, divide, find_too_long, score_rest
from karat.core.metric.setting import NgramOrder, Positive
from karat.metrics.text import bleu
from karat.metrics.text.stemmer import Stemmer, stem
from karat.metrics.text.string_comparison import parts
from karat.text.columns import tokenise

if bleu.COMPILED:
    from karat.metrics._kernels import sequence

LIN = (
    "Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries, https://aclanthology.org/W04-1013; "
    "the figures of rouge_score 0.1.2"
)

RougeFigure: TypeAlias = Literal["f", "precision", "recall"]
RougeTokens: TypeAlias = Literal["rouge", "words", "whitespace", "chars"]
TokenNumbers: TypeAlias = NDArray[np.int64]
UNION = 10  # the cost of a pair of words in union_common, which keeps a bit of memory for it


def _lower_part(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """Precision is low where the prediction is longer, recall where it is shorter."""
    by: Mapping[str, tuple[Length, ...]] = {"precision": ("longer",), "recall": ("shorter",)}
    return replace(definition, lowered_by=by.get(settings["score"], EITHER))


@metric(source=LIN, encoded=True, lowered_by=EITHER, specialise=_lower_part)
def rouge_n(
    prediction: Text,
    reference: Text,
    *,
    n: NgramOrder = 1,
    score: RougeFigure = "f",
    tokenize: RougeTokens = "rouge",
    stemmer: Stemmer = "none",
) -> Score:
    """ROUGE-N: how many n-grams of prediction and reference are the same, as F, precision or recall.

    `score="recall"` divides by the number of n-grams of the reference, `"precision"` by the prediction's; `"f"` is the
    harmonic mean of both. The score is 0 where a side has no n-gram, even if both have none. `tokenize="rouge"` is that
    of rouge_score: lower-cased ASCII letters and digits; use `words` for other scripts. `stemmer="porter"` compares the
    stems of English words, as rouge_score does with `use_stemmer`.

    >>> rouge_n(["the cat sat on the mat"], ["the cat was on the mat"]).to_pylist()
    [0.8333333333333334]
    >>> rouge_n(["the cat sat on the mat"], ["the cat was on the mat"], n=2, score="recall").to_pylist()
    [0.6]
    """
    predicted, expected = (stem(tokenise(column, tokenize), stemmer) for column in (prediction, reference))
    counts = bleu.match_ngrams(predicted, expected, np.arange(len(predicted) + 1), n, shortest=True)
    return _share(counts[:, 1 + n], counts[:, -1], np.maximum(counts[:, 1] - (n - 1), 0), score)


@metric(source=LIN, encoded=True, lowered_by=EITHER, specialise=_lower_part)
def rouge_l(
    prediction: Text,
    reference: Text,
    *,
    score: RougeFigure = "f",
    tokenize: RougeTokens = "rouge",
    stemmer: Stemmer = "none",
    beta: Positive = 1.0,
) -> Score:
    """ROUGE-L: the longest common subsequence of tokens of prediction and reference, as F, precision or recall.

    Settings and empty sides as in `rouge_n`; in F, recall weighs `beta` times as much as precision. A text of several
    lines is one sequence; see `rouge_lsum`. A row with more than 10,000,000,000 pairs of words (100,000 x 100,000) is
    unscored.

    >>> rouge_l(["the cat sat on the mat"], ["on the mat the cat sat"]).to_pylist()
    [0.5]
    """
    predicted, expected = (stem(tokenise(column, tokenize), stemmer) for column in (prediction, reference))
    return score_rest(
        _too_long(predicted, expected),
        (predicted, expected),
        lambda one, other: _share(*longest_common(one, other), score, beta),
    )


@metric(source=LIN, lowered_by=EITHER, specialise=_lower_part)
def rouge_lsum(
    prediction: Text,
    reference: Text,
    *,
    score: RougeFigure = "f",
    tokenize: RougeTokens = "rouge",
    stemmer: Stemmer = "none",
) -> Score:
    r"""ROUGE-Lsum: as ROUGE-L, but each line is a sentence, and the order of sentences does not matter.

    A token of a reference line counts if it is in the longest common subsequence with any line of the prediction, each
    token at most as often as the prediction has it. Of several longest subsequences the one of rouge_score is taken.
    Settings and empty sides as in `rouge_n`. A row with more than 1,000,000,000 pairs of words is unscored.

    >>> rouge_lsum(["the mat\nthe cat sat"], ["the cat sat\nthe mat"]).to_pylist()
    [1.0]
    """
    predicted, expected = (_sentences(column, tokenize, stemmer) for column in (prediction, reference))
    mine, theirs = (_sum_by_row(_most_tokens(column.flatten()), column) for column in (predicted, expected))
    reasons = find_too_long(mine, theirs, "words", UNION)
    return score_rest(reasons, (predicted, expected), lambda one, other: _share(*union_common(one, other), score))


@metric(
    source="pycocoevalcap 1.2 (coco-caption), rouge.py: the ROUGE-L of captions and of NarrativeQA", lowered_by=EITHER
)
def caption_rouge_l(
    prediction: Text, reference: Texts, *, tokenize: RougeTokens = "whitespace", beta: Positive = 1.2
) -> Score:
    """ROUGE-L of captions: F of the highest precision and the highest recall over all references.

    The two may be of different references, so the score may exceed `rouge_l`'s. Recall weighs `beta` times as
    much as precision; empty sides as in `rouge_n`, very long texts as in `rouge_l`. Null references are ignored.

    >>> caption_rouge_l(["the cat sat"], [["the cat", "a cat sat down today"]]).to_numpy().round(4)
    array([0.8299])
    """
    return score_rest(
        _too_long_of_several(prediction, reference, tokenize),
        (prediction, reference),
        lambda predicted, expected: _caption_rouge_l(predicted, expected, tokenize, beta),
    )


def _caption_rouge_l(prediction: pa.Array, reference: pa.Array, tokenize: str, beta: float) -> Rows:
    sizes = np.asarray(pc.list_value_length(reference))
    row = np.repeat(np.arange(len(sizes)), sizes)
    texts = reference.flatten()
    row, texts = row[np.asarray(texts.is_valid())], texts.drop_null()
    predicted = pa.DictionaryArray.from_arrays(row, tokenise(prediction, tokenize))
    common, in_one, in_other = longest_common(predicted, tokenise(texts, tokenize))
    precision, recall = np.full((2, len(sizes)), np.nan)
    np.fmax.at(precision, row, divide(common, in_one))
    np.fmax.at(recall, row, divide(common, in_other))
    scores = divide((1 + beta**2) * precision * recall, recall + beta**2 * precision)
    return Rows(scores, np.where(np.isnan(precision), "reference is an empty list", NOTHING))


def _most_tokens(texts: pa.Array) -> Array:
    """How many tokens texts have, which single spaces separate: at most."""
    if pt.is_dictionary(texts.type):
        counts: Array = _most_tokens(texts.dictionary)[np.asarray(texts.indices)]
        return counts
    return np.asarray(pc.count_substring(texts, " ").fill_null(0)).astype(np.int64) + 1


def _too_long(a: pa.Array, b: pa.Array) -> Array:
    return find_too_long(_most_tokens(a), _most_tokens(b), "words")


def _sum_by_row(counts: Array, lists: pa.Array) -> Array:
    ends = np.concatenate([[0], np.cumsum(counts)])
    bounds = _bounds(lists)
    sums: Array = ends[bounds[1:]] - ends[bounds[:-1]]
    return sums


def _too_long_of_several(prediction: pa.Array, reference: pa.Array, tokenize: str) -> Array:
    """As `_too_long`, of the references of a row together."""
    texts = reference.flatten().fill_null("")
    bytes_of = (np.asarray(pc.binary_length(column)).astype(np.int64) for column in (prediction, texts))
    mine, theirs = bytes_of  # a text has at most as many tokens
    reasons = find_too_long(mine, _sum_by_row(theirs, reference), "words")
    if np.equal(reasons, NOTHING).all():
        return reasons
    counts = _most_tokens(tokenise(texts, tokenize))
    return find_too_long(_most_tokens(tokenise(prediction, tokenize)), _sum_by_row(counts, reference), "words")


def longest_common(a: pa.Array, b: pa.Array) -> tuple[TokenNumbers, TokenNumbers, TokenNumbers]:
    """The length of the longest common subsequence of a row's two texts, and the tokens of each. Shape (n,) each.

    >>> longest_common(pa.array(["a b c"]), pa.array(["c b x c a"]))
    (array([2]), array([3]), array([5]))
    """
    common, in_a, in_b = np.empty((3, len(a)), np.int64)
    if bleu.COMPILED:
        sequence.lcs(*parts(a), *parts(b), common, in_a, in_b)
    else:
        for row, pair in enumerate(zip(a.to_pylist(), b.to_pylist(), strict=True)):
            x, y = map(str.split, pair)
            common[row], in_a[row], in_b[row] = len(choose_lcs(x, y)), len(x), len(y)
    return common, in_a, in_b


def union_common(a: pa.Array, b: pa.Array) -> tuple[TokenNumbers, TokenNumbers, TokenNumbers]:
    """The tokens of b's sentences in their union LCS with a's, and the tokens of each. Shape (n,) each.

    >>> union_common(pa.array([["a b", "c d"]]), pa.array([["a x d", "b b"]]))
    (array([3]), array([4]), array([5]))
    """
    common, in_a, in_b = np.empty((3, len(a)), np.int64)
    if bleu.COMPILED:
        sequence.union_lcs(*parts(a.flatten()), _bounds(a), *parts(b.flatten()), _bounds(b), common, in_a, in_b)
    else:
        for row, pair in enumerate(zip(a.to_pylist(), b.to_pylist(), strict=True)):
            x, y = ([sentence.split() for sentence in sentences] for sentences in pair)
            common[row], in_a[row], in_b[row] = count_union(x, y), sum(map(len, x)), sum(map(len, y))
    return common, in_a, in_b


def choose_lcs(a: Sequence[str], b: Sequence[str]) -> list[int]:
    """The places in b of its longest common subsequence with a: the definition of `longest_common`.

    >>> choose_lcs("a b c".split(), "c b x c a".split())
    [1, 3]
    """
    lengths = [[0] * (len(a) + 1)]
    for token in b:
        above, row = lengths[-1], [0]
        for j, other in enumerate(a):
            row.append(above[j] + 1 if token == other else max(above[j + 1], row[j]))
        lengths.append(row)
    i, j, places = len(b), len(a), []
    while i and j:
        if b[i - 1] == a[j - 1]:
            i, j = i - 1, j - 1
            places.append(i)
        elif lengths[i][j - 1] > lengths[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return places[::-1]


def count_union(a: Sequence[Sequence[str]], b: Sequence[Sequence[str]]) -> int:
    """The definition of `union_common` for one row.

    >>> count_union(["a b".split(), "c d".split()], ["a x d".split(), "b b".split()])
    3
    """
    chosen = Counter(
        sentence[place] for sentence in b for place in set().union(*(choose_lcs(other, sentence) for other in a))
    )
    return (chosen & Counter(token for sentence in a for token in sentence)).total()


def _sentences(column: pa.Array, tokenize: str, stemmer: Stemmer) -> pa.Array:
    """The tokenised lines of each text, as a list."""
    lines = pc.split_pattern(column.cast(pa.large_string()), "\n")
    return pa.LargeListArray.from_arrays(_bounds(lines), stem(tokenise(lines.flatten(), tokenize), stemmer))


def _bounds(lists: pa.Array) -> TokenNumbers:
    return np.concatenate([[0], np.cumsum(np.asarray(pc.list_value_length(lists)), dtype=np.int64)])


def _share(common: Array, predicted: Array, expected: Array, score: RougeFigure, beta: float = 1.0) -> Array:
    """Precision, recall or F, from the counts in common, of the prediction and of the reference."""
    if score == "f":
        return divide((1 + beta**2) * common, predicted + beta**2 * expected)
    return divide(common, predicted if score == "precision" else expected)
