"""Two columns compared row by row: the kernels equal the definitions on two texts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.metrics.text import string_comparison

TOKENS = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        "a\0",
        "\0",
        "é",
        "a'b",
        "b.1",
        "a:é",
        "1.a",
        "a는",
        "각a",
        "'b",
        ".",
        "12345678",
        "123456789",
        "12345678a",
        "x" * 16,
        "x" * 17,
        "x" * 23 + "y",
    ]
)
TEXT = st.lists(TOKENS, max_size=90).map(" ".join) | st.text("ab1é는 '.:", max_size=12)
PAIRS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=40)


def shared(a: str, b: str) -> tuple[int, int, int]:
    x, y = a.split(), b.split()
    return sum(min(n, y.count(token)) for token, n in Counter(x).items()), len(x), len(y)


def holds(a: str, b: str) -> bool:
    return string_comparison.has_tokens(a, b)


@settings(max_examples=150)
@given(rows=PAIRS)
def test_kernels_equal_their_definitions(rows: list[tuple[str, str]]) -> None:
    a, b = map(pa.array, zip(*rows, strict=True))
    assert string_comparison.equal(a, b).tolist() == [x == y for x, y in rows]
    assert list(zip(*map(np.ndarray.tolist, string_comparison.overlap(a, b)), strict=True)) == [
        shared(x, y) for x, y in rows
    ]
    assert string_comparison.contains_text(a, b).tolist() == [y in x if y else not x for x, y in rows]
    assert string_comparison.contains(a, b).tolist() == [holds(x, y) for x, y in rows]


@pytest.mark.parametrize(
    "function",
    [string_comparison.equal, string_comparison.overlap, string_comparison.contains, string_comparison.contains_text],
)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_every_arrow_layout_gives_the_same_and_null_counts_as_empty(
    function, kind: pa.DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = pa.array(["x", "a b c", None, "", "a b", "a b"], kind)
    b = pa.array(["y", "b c", "a", None, "a b", "b a"], kind)
    want = np.array(function(a, b))
    assert (np.array(function(a.dictionary_encode(), b.dictionary_encode())) == want).all()
    assert (np.array(function(a.dictionary_encode()[2:], b[2:])) == want[..., 2:]).all()
    assert (np.array(function(a.fill_null(""), b.fill_null(""))) == want).all()
    assert (
        np.array(function(pa.nulls(6, kind).dictionary_encode(), b)) == np.array(function(pa.array([""] * 6), b))
    ).all()
    assert np.array(function(a[:0], b[:0])).size == 0
    monkeypatch.setattr(string_comparison, "COMPILED", False)
    assert (np.array(function(a, b)) == want).all()


def test_a_text_repeated_for_its_references_is_compared_with_each() -> None:
    a = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, 1, 0], pa.int32()), pa.array(["a b", "c"]))
    common, in_a, in_b = string_comparison.overlap(a, pa.array(["a", "a b", "c c", "", "b b a"]))
    assert (common.tolist(), in_a.tolist(), in_b.tolist()) == ([1, 2, 1, 0, 2], [2, 2, 1, 1, 2], [1, 2, 2, 0, 3])


def test_100_000_tokens_are_counted_and_searched() -> None:
    many = [f"t{i % 30_000}" for i in range(100_000)]
    a, b = " ".join(many), " ".join(reversed(many[50_000:])) + " other"
    assert string_comparison.overlap(pa.array([a]), pa.array([b])) == shared_fast(a, b)
    hostile = pa.array(["a " * 100_000 + "a"])
    assert string_comparison.contains(hostile, pa.array(["a " * 50_000 + "b"])).tolist() == [0]
    assert string_comparison.contains(hostile, pa.array(["a " * 50_000 + "a"])).tolist() == [1]


def shared_fast(a: str, b: str) -> tuple[int, int, int]:
    x, y = Counter(a.split()), Counter(b.split())
    return (x & y).total(), x.total(), y.total()
