from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.stats.paired.multiple import holm, holm_levels

FAMILIES = st.lists(st.none() | st.floats(0, 1))


@given(FAMILIES, st.randoms())
def test_the_order_of_the_tests_does_not_matter(ps, random):
    order = list(range(len(ps)))
    random.shuffle(order)
    assert holm([ps[i] for i in order]) == [holm(ps)[i] for i in order]


@given(FAMILIES)
def test_a_p_only_grows_and_never_past_bonferronis(ps):
    tests = sum(p is not None for p in ps)
    for p, adjusted in zip(ps, holm(ps), strict=True):
        assert (p is None) == (adjusted is None)
        assert p is None or p <= adjusted <= min(1, tests * p)


@given(FAMILIES)
def test_tests_that_could_not_be_made_are_not_counted(ps):
    made = [p for p in ps if p is not None]
    assert [p for p in holm(ps) if p is not None] == holm(made)
    assert [level for level in holm_levels(ps) if level is not None] == holm_levels(made)


@given(FAMILIES.map(lambda ps: [p for p in ps if p is not None]))
def test_a_p_is_significant_exactly_if_it_is_at_most_its_own_level(ps):
    levels = holm_levels(ps, 0.05)
    if not any(abs(p - level) < 1e-12 for p, level in zip(ps, levels, strict=True)):
        assert [p <= level for p, level in zip(ps, levels, strict=True)] == [p <= 0.05 for p in holm(ps)]


def test_after_one_that_is_not_significant_none_is():
    assert holm_levels([0.022, 0.02, 0.03], 0.05) == pytest.approx([0.05 / 3] * 3)
    assert [p <= 0.05 for p in holm([0.022, 0.02, 0.03])] == [False] * 3


def test_of_equal_ps_the_first_comes_first():
    assert holm_levels([0.01, 0.01, 0.01], 0.06) == pytest.approx([0.02, 0.03, 0.06])
    assert holm([0.02, 0.02, 0.02]) == pytest.approx([0.06] * 3)


def test_false_discoveries_stay_under_the_level_when_some_nulls_are_false():
    random = np.random.default_rng(0)
    wrong = 0
    for _ in range(4_000):
        ps = [*random.random(6).tolist(), 1e-9, 1e-6, 1e-3]
        wrong += min(holm(ps)[:6]) <= 0.05
    assert wrong / 4_000 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4_000)
