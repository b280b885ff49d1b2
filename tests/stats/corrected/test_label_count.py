"""How many labels a width takes: the interval with so many labels is as wide as was asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from karat.core.errors import DataError, SpecError
from karat.stats.corrected.estimate import corrected_mean
from karat.stats.corrected.judged import Judged
from karat.stats.corrected.label_count import count_labels, count_labels_from_pilot


def draw(random, rows, known, errors=0.1, alike=1):
    labels = np.repeat((random.random(rows // alike) < 0.7).astype(float), alike)
    scores = np.where(random.random(rows) < errors, 1 - labels, labels)
    keys = np.repeat(np.arange(rows // alike, dtype=np.uint64), alike) if alike > 1 else None
    return Judged(scores, np.where(np.arange(rows) < known, labels, np.nan), clusters=keys)


@pytest.mark.parametrize(("errors", "alike"), [(0.1, 1), (0.5, 1), (0.1, 3)])
def test_the_interval_of_so_many_labels_is_so_wide(errors, alike):
    random = np.random.default_rng(1)
    counts, widths = [], []
    for _ in range(40):
        count = count_labels_from_pilot(draw(random, 6_000, 150, errors, alike), 0.08)
        counts.append(count.labels)
        found = corrected_mean(draw(random, 6_000, count.labels, errors, alike))
        widths.append(found.high - found.low)
    assert np.mean(widths) == pytest.approx(0.08, rel=0.08)
    assert np.std(counts) < 0.4 * np.mean(counts)


def test_all_rows_without_a_judge_are_as_good_as_with_one():
    for rows in (500, 2_000):
        smallest = count_labels(1, rows, 0.4, 0.9).smallest
        just = count_labels(smallest * 1.000001, rows, 0.4, 0.9)
        assert rows - 2 <= just.labels <= just.alone <= rows
        assert count_labels(smallest * 0.999, rows, 0.4, 0.9).alone is None


@given(
    rows=st.integers(2, 3_000),
    deviation=st.floats(0.01, 10),
    correlation=st.floats(-1, 1) | st.sampled_from([-1.0, 0.0, 1.0]),
    wider=st.just(1.0) | st.floats(1, 5),
)
def test_fewer_labels_give_a_wider_interval(rows, deviation, correlation, wider):
    """The variance as it is documented; the smallest width is one that all rows give."""
    smallest = count_labels(1, rows, deviation, correlation).smallest
    width = smallest * wider
    found = count_labels(width, rows, deviation, correlation)

    def width_of(labels, explained):
        variance = deviation**2 * ((1 - explained) / labels + explained / rows)
        return 2 * norm.ppf(0.975) * math.sqrt(variance)

    for labels, explained in ((found.labels, correlation**2), (found.alone, 0)):
        assert 2 <= labels <= rows
        assert width_of(labels, explained) <= width * (1 + 1e-8)
        assert labels == 2 or width_of(labels - 1, explained) >= width * (1 - 1e-8)


@pytest.mark.parametrize(
    ("width", "deviation", "correlation"), [(0, 0.4, 0.5), (0.1, 0, 0.5), (0.1, 0.4, 1.1), (0.1, np.nan, 0.5)]
)
def test_impossible_assumptions(width, deviation, correlation):
    with pytest.raises(SpecError, match="a deviation above 0 and a correlation from -1 to 1 expected"):
        count_labels(width, 100, deviation, correlation)


def test_pilots_that_show_nothing():
    random = np.random.default_rng(0)
    with pytest.raises(DataError, match="at least 2 labels expected, found 1"):
        count_labels_from_pilot(draw(random, 100, 1), 0.1)
    with pytest.raises(DataError, match="labels that vary expected, found 5 that are equal"):
        count_labels_from_pilot(Judged(random.random(50), np.where(np.arange(50) < 5, 1.0, np.nan)), 0.1)


def test_labels_of_unequal_weights_allow_for_an_error_in_the_row_that_counts_most():
    judged = draw(np.random.default_rng(2), 1_000, 100, errors=0.05)
    chances = np.where(np.arange(1_000) < 5, 0.02, 0.11)
    plain, uneven = (
        count_labels_from_pilot(Judged(judged.scores, judged.labels, each), 0.1)
        for each in (np.full(1_000, 0.1), chances)
    )
    assert uneven.correlation**2 < plain.correlation**2 - 0.1
