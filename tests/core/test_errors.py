import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core.errors import (
    ColumnError,
    DataError,
    JoinError,
    KaratError,
    MissingExtra,
    RowError,
    SpecError,
    did_you_mean,
    is_misspelt,
)

OSA = pytest.importorskip("rapidfuzz.distance").OSA


@given(st.text("abcd", min_size=5, max_size=12), st.data())
def test_a_typing_error_in_a_long_name_is_an_edit_or_two(right, data):
    letters = list(right)
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(letters) - 1))
        edit = data.draw(st.sampled_from([["x"], [], [letters[at], "y"], letters[at : at + 2][::-1]]))
        letters[at : at + (2 if edit == letters[at : at + 2][::-1] else 1)] = edit
    wrong = "".join(letters)
    shorter = min(len(wrong), len(right))
    if shorter >= 4:
        assert is_misspelt(wrong, right) == (OSA.distance(wrong, right) <= 1 + (shorter >= 9))


@pytest.mark.parametrize(
    ("wrong", "right", "misspelt"),
    [
        ("jude", "judge", True), ("bleuu", "bleu", True), ("lbeu", "bleu", True), ("blue", "bleu", True),
        ("blez", "bleu", False), ("gleu", "bleu", False), ("cer", "wer", False), ("rcer", "cer", False),
    ],
)  # fmt: skip
def test_a_typing_error_in_a_short_name_is_a_doubled_letter_or_two_in_another_order(wrong, right, misspelt):
    assert is_misspelt(wrong, right) == misspelt


@pytest.mark.parametrize("error", [SpecError, DataError, ColumnError, RowError, JoinError])
def test_every_error_is_karats_and_a_value_error(error):
    assert issubclass(error, KaratError)
    assert issubclass(error, ValueError)


def test_a_missing_extra_is_an_import_error_that_says_what_to_install():
    error = MissingExtra("sympy", extra="math", need="math_match")
    assert isinstance(error, ImportError)
    assert "pip install 'karat[math]'" in str(error)


def test_all_right_names_are_listed_and_of_some_the_number_that_is_not():
    names = [f"q{n:03}" for n in range(40)]
    assert did_you_mean("zzz", reversed(names)) == f"; there are: {', '.join(names)}"
    some = did_you_mean("zzz", names, total=1000)
    shown = some.removeprefix("; there are: ").partition(" … ")[0].split(", ")
    assert 1 <= len(shown) < 40
    assert some == f"; there are: {', '.join(names[: len(shown)])} … and {1000 - len(shown)} more"
    assert did_you_mean("zzz", ["a", "b"], total=2) == "; there are: a, b"
