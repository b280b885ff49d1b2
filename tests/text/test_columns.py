"""Columns: the kernel equals the definitions on every string, in every layout of Arrow."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.core.columns.column_cache import column_cache
from karat.core.errors import RowError
from karat.text import columns
from karat.text.columns import distinct_words, normalise, tokenise
from karat.text.normalise import NORMALIZERS
from karat.text.tokenise import TOKENIZERS

PIECES = [
    *"aAiIxéßΣσςİıǅÅK_&<>/:;~^`|=()[]{}!?@\\*'\"‘’“”.,-+−–#%‰$€0159٣½²①ﬁﷺ、。»北のカไ가कｶ़",
    *["a", "an", "the", "THE", "la", "der", "einen", "của", "là", "những", "...", "--", "3.14", "1,000", "..5", "5-"],
    *["inf", "Nan", "in.finity"],
    *["C++.5", "C++", "++", "C#", "中#", "5‰", "5%", "+$.5", "€.5", "₹", "ไท้", "，", "：", "·", "_", "タワー", "٥"],
    *[
        "&amp;",
        "&quot;",
        "&lt;",
        "<skipped>",
        "-\n",
        "\n",
        "\r\n",
        "\t",
        "\x0b",
        "\x1c",
        "\x1f",
        "\x00",
        "\x01",
        "\x7f",
        "\x85",
    ],
    *[
        " ",
        "  ",
        " ",
        " ",
        " ",
        "\u00a0",
        "\u2003",
        "\u3000",
        "\u200b",
        "\ufeff",
        "\u0301",
        "\u0307",
        "\u1160",
        "\u11a8",
        "\u09be",
    ],
    *["👍", "👨\u200d👩", "🇫", "𐐀", "𝔸", "𠀀", "\U000e0001", "\U0010ffff"],
]
TEXTS = st.lists(
    st.lists(st.sampled_from(PIECES), max_size=9).map("".join) | st.text(max_size=9), min_size=100, max_size=100
)
MAPS = [(normalise, name) for name in NORMALIZERS] + [(tokenise, name) for name in TOKENIZERS]
# the others are their definitions
KERNELS = [(apply, name) for apply, name in MAPS if name == "drop" or name not in columns.INTERPRETED]
each_map = pytest.mark.parametrize(("apply", "name"), MAPS, ids=[name for _, name in MAPS])
each_kernel = pytest.mark.parametrize(("apply", "name"), KERNELS, ids=[name for _, name in KERNELS])


def define(apply, name: str):
    split = TOKENIZERS.get(name)
    return NORMALIZERS[name] if apply is normalise else lambda text: " ".join(split(text))


@settings(max_examples=2 * settings.default.max_examples)
@given(texts=TEXTS)
def test_kernels_equal_their_definitions(texts: list[str]) -> None:
    for apply, name in KERNELS:
        assert apply(pa.array(texts), name).to_pylist() == list(map(define(apply, name), texts)), name


@each_kernel
def test_every_character_is_mapped_as_defined(apply, name: str) -> None:
    texts = [f"{chr(code)}b {chr(code)}5" for code in range(0x20100) if not 0xD800 <= code < 0xE000]
    assert apply(pa.array(texts), name).to_pylist() == list(map(define(apply, name), texts))


def test_threads_that_ask_for_the_first_time_get_what_a_later_one_gets() -> None:
    with ThreadPoolExecutor(8) as pool:
        texts = pa.array(["The Σ. ½ ÉTÉ, 1.5"] * 100)
        asked = [pool.submit(apply, texts, name) for apply, name in MAPS * 4]
    assert [each.result() for each in asked] == [apply(texts, name) for apply, name in MAPS * 4]


@each_map
def test_an_answer_of_100_000_tokens_is_one_row_like_any_other(apply, name: str) -> None:
    texts = ["The, 1.5 x-1 & " * 25_000, "-" * 100_000, "." * 100_001 + "5", "é. " * 33_000]
    assert apply(pa.array(texts), name).to_pylist() == list(map(define(apply, name), texts))


@each_map
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_slices_nulls_and_dictionaries(apply, name: str, kind: pa.DataType) -> None:
    texts = ["The Σ.", None, "a b", "", "-5", None, "\n x", "İ 5%"] * 3
    want = [text if text is None else define(apply, name)(text) for text in texts]
    column = pa.array(texts, kind)
    for start, stop in [(0, 24), (1, 24), (3, 11), (8, 8), (9, 10)]:
        assert apply(column[start:stop], name).to_pylist() == want[start:stop]
        assert apply(column.dictionary_encode()[start:stop], name).to_pylist() == want[start:stop]
    assert apply(pa.array([None, None], kind), name).to_pylist() == [None, None]
    assert apply(pa.array([], kind), name).to_pylist() == []
    apply(column, name).validate(full=True)


@pytest.mark.skipif(not columns.COMPILED, reason="no kernel")
def test_words_of_most_scripts_never_reach_the_definition() -> None:
    texts = [
        "l’écrivain né à Αθήνα, 5 ‰ !",
        "拉羅什富科在哪裡出生？「C++」，100%。",
        "東京タワーは３３３ｍ。",
        "हिन्दी में €5",
        "서울 👍 ไทย",
    ]
    found = columns.map_texts(pa.array(texts), "words", lambda text: pytest.fail(f"{text} is delegated"))
    assert found.to_pylist() == [" ".join(TOKENIZERS["words"](text)) for text in texts]


@each_map
def test_without_kernels_the_definitions_are_used(apply, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    column = pa.array(["The Σ. & co", None, " é-5 "])
    compiled = apply(column, name)
    monkeypatch.setattr(columns, "COMPILED", False)
    assert apply(column, name).to_pylist() == compiled.to_pylist()


@each_map
@pytest.mark.parametrize(
    "junk", [b"\xff", b"ok \xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\x80"]
)
def test_text_that_is_not_utf8_is_named_by_its_row(apply, name: str, junk: bytes) -> None:
    if name == "none":
        pytest.skip("changes nothing and so reads nothing")
    column = pa.array([b"fine", junk, b"x"]).view(pa.string())
    with pytest.raises(RowError, match=r"row 1: .*UTF-8"):
        apply(column, name)


def test_the_bytes_of_a_null_row_are_not_read() -> None:
    hidden = pa.StringArray.from_buffers(
        2, pa.array([0, 2, 4], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xffok"), pa.py_buffer(b"\x02")
    )
    assert normalise(hidden, "squad").to_pylist() == [None, "ok"]


def test_a_kernel_without_the_map_is_not_used() -> None:
    if columns.COMPILED:
        with pytest.raises(ValueError, match="no map 'new': build it again"):
            columns.map_texts(pa.array(["a"]), "new", str.lower)


WORDS = st.lists(st.sampled_from(["a", "b", "ab", "é", "", "\t", *map(str, range(99))]), max_size=150).map(" ".join)


@given(st.lists(WORDS | st.none()))
def test_distinct_words_are_each_word_once(texts: list[str | None]) -> None:
    once = [text if text is None else " ".join(dict.fromkeys(filter(None, text.split(" ")))) for text in texts]
    assert distinct_words(pa.array(texts, pa.string())).to_pylist() == once


def test_a_squeezed_column_is_its_own_whitespace_tokens() -> None:
    squeezed = normalise(pa.array(["The  cat"]).dictionary_encode(), "squad")
    assert tokenise(squeezed, "whitespace") is squeezed
    assert tokenise(normalise(pa.array(["x  y"]), "none"), "whitespace").to_pylist() == ["x y"]


def test_a_column_cache_keeps_results_until_it_ends() -> None:
    column = pa.array(["The cat", "a dog"])
    with column_cache():
        first = normalise(column, "squad")
        assert normalise(column[:], "squad") is first
        assert normalise(column[1:], "squad").to_pylist() == ["dog"]
        assert normalise(column, "unicode").to_pylist() == ["the cat", "a dog"]
    assert normalise(column, "squad") is not first
