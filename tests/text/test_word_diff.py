import time
from difflib import SequenceMatcher
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from karat.core.errors import SpecError
from karat.text import word_diff
from karat.text.normalise import NORMALIZERS
from karat.text.tokenise import split_words
from karat.text.word_diff import mark_both, mark_words

TEXTS = st.one_of(
    st.text(max_size=60),
    st.text("\ud800\u202e\u200f\u0301 ,.'\u2019-5%$#+é東京ไท한👩\u200d💻«»\x1b\x00", max_size=60),
    st.lists(st.sampled_from(["the", "cat", "Cat", "sat", "on", "5", "-5", "well-known", ","]), max_size=30).map(
        " ".join
    ),
)
NAMES = st.sampled_from(sorted(NORMALIZERS))


def joined(pieces):
    return "".join(text for text, _ in pieces)


def differing(pieces):
    return [text for text, mark in pieces if mark == "differs"]


def same_words(pieces):
    return sum(len(split_words(text.encode("utf-8", "replace").decode())) for text, mark in pieces if mark == "same")


@given(TEXTS, st.lists(TEXTS, max_size=3), NAMES)
@example("it's '90s", ["x x"], "none")
def test_pieces_joined_are_the_text_and_take_turns(text, others, name):
    pieces = mark_words(text, others, name)
    assert joined(pieces) == text
    assert all(text for text, _ in pieces)
    marks = [mark for _, mark in pieces]
    assert all(a != b for a, b in pairwise(marks))


@given(TEXTS, st.lists(TEXTS, max_size=2), NAMES)
def test_nothing_differs_from_an_equal_text(text, others, name):
    assert differing(mark_words(text, [*others, text], name)) == []
    assert differing(mark_words(text, [], name)) == []


@given(TEXTS, TEXTS)
def test_both_sides_have_as_many_words_that_are_the_same(a, b):
    of_a, of_b = mark_both(a, b, "none")
    assert (joined(of_a), joined(of_b)) == (a, b)
    assert same_words(of_a) == same_words(of_b)
    assert mark_words(a, [b], "none") == of_a


@given(*[st.lists(st.sampled_from("abcd"), max_size=40) for _ in "ab"])
def test_as_many_words_are_the_same_as_in_a_longest_common_subsequence(a, b):
    lengths = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]  # the definition, cell by cell
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            lengths[i + 1][j + 1] = lengths[i][j] + 1 if x == y else max(lengths[i][j + 1], lengths[i + 1][j])
    of_a, of_b = mark_both(" ".join(a), " ".join(b), "none")
    assert same_words(of_a) == same_words(of_b) == lengths[-1][-1]
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    assert same_words(of_a) >= sum(block.size for block in blocks)
    common = [[text for text, mark in pieces if mark == "same"] for pieces in (of_a, of_b)]
    assert " ".join(common[0]).split() == " ".join(common[1]).split()


@pytest.mark.parametrize(
    ("text", "others", "normalize", "expected"),
    [
        ("The Cat sat.", ["a cat ran"], "squad", ["sat"]),
        ("The Cat sat.", ["a cat ran"], "none", ["The Cat sat."]),
        ("Paris.", ["Paris"], "none", ["."]),
        ("Paris.", ["Paris"], "unicode", []),
        ("so, «Paris»!", ["so Paris?"], "unicode", []),
        ("«Paris»", ["Paris"], "squad", ["«", "»"]),  # SQuAD's rules drop the punctuation of ASCII alone
        ("well-known", ["wellknown"], "squad", []),
        ("-5 €", ["5 €"], "unicode", ["-5"]),
        ("東京タワー", ["大阪タワー"], "none", ["東京"]),
        ("กรุงเทพ", ["กรุงไทย"], "none", ["เ", "พ"]),
        ("b a", ["a b"], "none", ["a"]),
        ("red or blue", ["red", "blue"], "none", ["or"]),
        ("x y z", ["a"], "none", ["x y z"]),
        ("x", [""], "none", ["x"]),
    ],
)
def test_what_differs_by_hand(text, others, normalize, expected):
    assert differing(mark_words(text, others, normalize)) == expected


def test_large_texts_are_compared_as_bags_in_bounded_time(monkeypatch):
    words = [f"w{number * 7919 % 5003}" for number in range(60_000)]
    a, b = " ".join(["first", *words, "last"]), " ".join(["1st", *reversed(words), "final"])
    start = time.process_time()
    of_a, of_b = mark_both(a, b, "none")
    assert time.process_time() - start < 10  # about 0.4 s
    assert (differing(of_a), differing(of_b)) == (["first", "last"], ["1st", "final"])
    monkeypatch.setattr(word_diff, "LARGEST", 0)
    assert differing(mark_words("b a a", ["a b"], "none")) == ["a"]


def test_an_unknown_normaliser_is_an_error():
    with pytest.raises(SpecError, match="did you mean 'squad'"):
        mark_words("a", ["b"], "sqaud")
