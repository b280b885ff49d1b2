"""Letters: two systems share one exactly if they are not separated, and no letter can be left out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from karat.stats.ranking.letters import assign_letters, name_letter


@st.composite
def separations(draw):
    systems = draw(st.integers(1, 9))
    upper = np.triu(
        np.array(draw(st.lists(st.booleans(), min_size=systems**2, max_size=systems**2))).reshape(-1, systems), 1
    )
    return upper | upper.T


@st.composite
def sparse_separations(draw):
    """Of more systems, few of which are separated: there letters make each other unnecessary."""
    systems, share = draw(st.integers(8, 12)), draw(st.sampled_from([0.2, 0.35]))
    upper = np.triu(np.random.default_rng(draw(st.integers(0, 2**32))).random((systems, systems)) < share, 1)
    return upper | upper.T


def _together(letters):
    return np.array([[not {*one}.isdisjoint(other) for other in letters] for one in letters])


@given(separations() | sparse_separations())
def test_systems_share_a_letter_exactly_if_they_are_not_separated(separated):
    letters = assign_letters(separated)
    assert (_together(letters) == ~separated | np.eye(len(separated), dtype=bool)).all()
    assert all(each == tuple(sorted(each)) for each in letters)


@given(separations() | sparse_separations())
def test_no_letter_can_be_left_out(separated):
    letters = assign_letters(separated)
    for letter in {each for own in letters for each in own}:
        less = [tuple(each for each in own if each != letter) for own in letters]
        assert (_together(less) != _together(letters)).any()


def test_where_neighbours_are_together_the_letters_are_runs_in_the_order():
    place = np.arange(7)
    assert assign_letters(np.abs(place[:, None] - place) > 2) == [
        ("a",), ("a", "b"), ("a", "b", "c"), ("b", "c", "d"), ("c", "d", "e"), ("d", "e"), ("e",),
    ]  # fmt: skip


def test_hundreds_of_systems_have_more_letters_than_the_alphabet():
    place = np.arange(200)
    letters = assign_letters(np.abs(place[:, None] - place) > 5)
    assert [len(each) for each in letters[5:-5]] == [6] * 190
    assert letters[-1] == (name_letter(194),) == ("gm",)
