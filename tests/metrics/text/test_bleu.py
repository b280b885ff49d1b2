"""N-grams and longest common subsequences: the kernels equal the definitions, whatever the tokens and however many."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.errors import SpecError
from karat.metrics import bleu, rouge_l, rouge_lsum, rouge_n, sentence_bleu
from karat.metrics.text import bleu as ngram
from karat.metrics.text import rouge

TOKENS = ["a", "b", "ab", "a\0", "\0", "é", "1234567", "12345678", "x" * 16, "x" * 17, "x" * 23 + "y"]
SHORT = st.lists(st.sampled_from(TOKENS), max_size=9)
LONG = st.builds(
    lambda draw, many: draw.choices(TOKENS, k=many), st.randoms(use_true_random=True), st.integers(60, 140)
)
TEXT = (SHORT | LONG).map(" ".join)
ROWS = st.lists(st.tuples(TEXT, st.lists(TEXT, max_size=3)), min_size=1, max_size=12)


@settings(max_examples=150)
@given(rows=ROWS, order=st.integers(1, 6), shortest=st.booleans())
def test_n_grams_are_counted_as_defined(rows, order, shortest) -> None:
    predicted, expected = zip(*rows, strict=True)
    bounds = np.cumsum([0, *map(len, expected)])
    flat = pa.array([each for row in expected for each in row], pa.string())
    counts = ngram.match_ngrams(pa.array(predicted), flat, bounds, order, shortest=shortest)
    assert counts.tolist() == [ngram.count_ngrams(*row, order, shortest=shortest) for row in rows]


@settings(max_examples=150)
@given(pairs=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8))
def test_longest_common_subsequences_are_as_defined(pairs) -> None:
    a, b = map(pa.array, zip(*pairs, strict=True))
    want = [(len(rouge.choose_lcs(x.split(), y.split())), len(x.split()), len(y.split())) for x, y in pairs]
    assert list(zip(*map(np.ndarray.tolist, rouge.longest_common(a, b)), strict=True)) == want


@settings(max_examples=100)
@given(pairs=st.lists(st.tuples(st.lists(TEXT, max_size=4), st.lists(TEXT, max_size=4)), min_size=1, max_size=5))
def test_union_common_subsequences_are_as_defined(pairs) -> None:
    a, b = (pa.array(each, pa.list_(pa.string())) for each in zip(*pairs, strict=True))
    want = [rouge.count_union([s.split() for s in x], [s.split() for s in y]) for x, y in pairs]
    assert rouge.union_common(a, b)[0].tolist() == want


@pytest.mark.parametrize("metric", [bleu, sentence_bleu, rouge_n.using(n=2), rouge_l, rouge_lsum], ids=str)
def test_without_kernels_the_definitions_are_used(metric, monkeypatch) -> None:
    rows = (["a b c d e", "", "x\ny a", None, "a b"], [["a b c d f", "a b c"], ["a"], ["y a\nx"], ["a"], [""]])
    compiled = metric(*rows).to_pylist()
    monkeypatch.setattr(ngram, "COMPILED", False)
    assert metric(*rows).to_pylist() == pytest.approx(compiled, nan_ok=True)


def test_10_000_tokens_are_counted_as_counters_do() -> None:
    draw = random.Random(0)  # noqa: S311
    predicted, gold = ([f"t{draw.randrange(900)}" for _ in range(10_000)] for _ in range(2))
    statistics = ngram.match_ngrams(
        pa.array([" ".join(predicted)]), pa.array([" ".join(gold)]), np.array([0, 1]), 4, shortest=False
    )
    grams = [[Counter(zip(*(t[i:] for i in range(n)), strict=False)) for t in (predicted, gold)] for n in range(1, 5)]
    assert statistics[0, 2:6].tolist() == [(a & b).total() for a, b in grams]


def test_a_long_common_subsequence_is_found() -> None:
    draw = random.Random(0)  # noqa: S311
    common = [f"c{i}" for i in range(3_000)]
    predicted, gold = (sorted([*range(3_000), *(draw.uniform(0, 3_000) for _ in range(3_000))]) for _ in range(2))
    texts = [
        pa.array([" ".join(common[place] if isinstance(place, int) else f"{name}{place}" for place in places)])
        for name, places in (("predicted", predicted), ("gold", gold))
    ]
    assert [each.tolist() for each in rouge.longest_common(*texts)] == [[3_000], [6_000], [6_000]]
    hostile = [pa.array([" ".join(["a", "b"] * 5_000)]), pa.array([" ".join(["b"] * 4_000 + ["a"] * 6_000)])]
    assert rouge.longest_common(*hostile)[0].tolist() == [5_000]
    assert rouge.union_common(*(pa.array([each.to_pylist()]) for each in hostile))[0].tolist() == [5_000]


def test_bleu_ignores_null_references_and_refuses_bad_settings() -> None:
    assert bleu(["Paris", "Paris"], [["Paris", None], [None]]).to_pylist() == [0.0, None]
    assert sentence_bleu(["Paris"], ["Paris"], order=1, smooth="none").to_pylist() == [1.0]
    for wrong in ({"order": 0}, {"smooth_value": -1.0}, {"smooth": "add"}, {"tokenize": "whitespace"}):
        with pytest.raises(SpecError):
            bleu.using(**wrong)
    with pytest.raises(SpecError):
        rouge_n.using(n=0)


def test_words_work_for_every_script() -> None:
    assert rouge_n(["北京 是"], ["北京"]).to_pylist() == [0.0]
    assert rouge_n(["北京 是"], ["北京"], tokenize="words").to_pylist() == [0.8]
