"""Edit distances and spelling: the kernel equals the definitions, and rapidfuzz to the last bit."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.metrics.text import edit_distance
from karat.metrics.text.string_comparison import parts

TEXT = st.text("ab", max_size=140) | st.text("abcd é北😀\0", max_size=24) | st.text(max_size=12)
PAIRS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=20)


def edited(draw: random.Random, letters: str, size: int) -> tuple[str, str]:
    """A long text, and the same with a part in another place and other letters in between."""
    text = "".join(draw.choices(letters, k=size))
    return text, text[: size // 3] + "".join(draw.choices(letters, k=90)) + text[size // 2 :] + text[:40]


def rows_of(pairs: list[tuple[str, str]]) -> tuple[pa.Array, pa.Array]:
    a, b = zip(*pairs, strict=True)
    return pa.array(a, pa.large_string()), pa.array(b, pa.large_string())


@settings(max_examples=100)
@given(pairs=PAIRS)
def test_kernel_equals_its_definitions(pairs: list[tuple[str, str]]) -> None:
    a, b = rows_of(pairs)
    found, in_a, in_b = edit_distance.edits(a, b)
    assert found.tolist() == [edit_distance.count_edits(x, y) for x, y in pairs]
    assert (in_a.tolist(), in_b.tolist()) == ([len(x) for x, _ in pairs], [len(y) for _, y in pairs])
    assert edit_distance.compare_spelling(a, b).tolist() == [edit_distance.winkler(x, y) for x, y in pairs]


@pytest.mark.parametrize("letters", ["ab", "abcdefgh ", "aé北😀 "])
def test_long_texts_equal_rapidfuzz(letters: str, monkeypatch: pytest.MonkeyPatch) -> None:
    distance = pytest.importorskip("rapidfuzz.distance")
    draw = random.Random(0)  # noqa: S311
    pairs = [edited(draw, letters, size) for size in (64, 65, 200, 255, 256, 257, 512, 1_300, 3_000)]
    pairs += [(x, "".join(letters[0] if at % 40 == 7 else char for at, char in enumerate(x))) for x, _ in pairs[-2:]]
    pairs += [(x, x[::-1]) for x, _ in pairs[-2:]]
    spaced = [(" ".join(x.replace(" ", "_")), " ".join(y.replace(" ", "_"))) for x, y in pairs]
    for compiled in (True, False):
        monkeypatch.setattr(edit_distance, "COMPILED", compiled and edit_distance.COMPILED)
        found, *_ = edit_distance.edits(*rows_of(pairs))
        assert found.tolist() == [distance.Levenshtein.distance(x, y) for x, y in pairs]
        assert edit_distance.edits(*rows_of(spaced), words=True)[0].tolist() == found.tolist()
        similar = edit_distance.compare_spelling(*rows_of(pairs)).tolist()
        assert similar == [distance.JaroWinkler.similarity(x, y) for x, y in pairs]


def test_ter_compares_each_word_at_most_as_often_as_the_limits_of_its_search_allow() -> None:
    kernel = pytest.importorskip("karat.metrics._kernels.edits")
    draw = random.Random(0)  # noqa: S311
    for words in (20, 100, 1_000):
        a, b = (pa.array([" ".join(draw.choices("abcdefgh", k=words))]) for _ in range(2))
        edits, rows = np.empty((2, 1), np.int64)
        kernel.ter(*parts(a), *parts(b), edits, rows)
        assert edits[0] <= words
        assert rows[0] <= 2 * 1_010 * words  # 1,000 phrases that are tried, and as many that are moved


def steps(text: str, other: str) -> tuple[int, int]:
    """The edits between two texts, and the steps that counting them takes: 64 characters beside one."""
    kernel = pytest.importorskip("karat.metrics._kernels.edits")
    edits, in_a, in_b = np.empty((3, 1), np.int64)
    taken = kernel.levenshtein(*parts(pa.array([text])), *parts(pa.array([other])), False, edits, in_a, in_b)
    return edits[0], taken


def test_long_texts_with_few_edits_are_compared_near_the_diagonal_only() -> None:
    for size in (10_000, 40_000):
        text = "".join(random.Random(0).choices("abcdefgh", k=size))  # noqa: S311
        for every, most in ((5_000, 5), (100, 14)):
            other = "".join("x" if at % every == 1 else char for at, char in enumerate(text))
            edits, taken = steps(text, other)
            assert edits == other.count("x")
            assert taken <= most * size  # all pairs would take 157 and 625 a character


def test_texts_of_which_nothing_is_alike_take_fewer_steps_than_all_pairs() -> None:
    for size in (2_000, 10_000):
        text, other = ("".join(random.Random(seed).choices("abcdefgh", k=size)) for seed in (1, 2))  # noqa: S311
        assert steps(text, other)[1] <= 0.8 * size * size / 64


def test_bytes_that_are_not_utf8_are_compared_within_their_row() -> None:
    raw = pa.array([b"\xf0\x9f", b"\xff", b"a\xc3"], pa.large_binary()).view(pa.large_string())
    found, *_ = edit_distance.edits(raw, pa.array(["", "", "a"], pa.large_string()))
    assert found.tolist() == [1, 1, 1]
