from __future__ import annotations

import json

import numpy as np
import pytest

from karat.stats.aggregate import Scale
from karat.stats.sums.units import Units
from karat.stats.value import Value, summarise


def collect(*rows):
    units = Units(len(rows[0]) if rows else 1)
    units.add(np.array(rows, float).reshape(-1, units.width))
    return units


def ratio(sums):
    return sums[..., 0] / sums[..., 1]


def test_a_mean_says_what_it_rests_on():
    value = summarise(collect([1], [0.5], [0]), Scale())
    assert (value.value, value.n, value.scored, value.unscored) == (0.5, 3, 3, 0)
    assert value.worst == value.best == value.value
    assert value.low < value.value < value.high


@pytest.mark.parametrize(("direction", "worst", "best"), [("maximize", 0.5, 0.75), ("minimize", 0.75, 0.5)])
def test_unscored_rows_widen_what_the_mean_could_have_been(direction, worst, best):
    value = summarise(collect([1], [1], [0]), Scale(direction=direction), unscored=1)
    assert (value.worst, value.best, value.n, value.scored, value.unscored) == (worst, best, 4, 3, 1)
    assert value.value == pytest.approx(2 / 3)


def test_an_open_end_is_not_known():
    value = summarise(collect([2], [4]), Scale(bounds=(0.0, None), direction="minimize"), unscored=2)
    assert (value.value, value.worst, value.best) == (3, None, 1.5)


def test_unscored_rows_of_a_finish_leave_the_whole_range():
    value = summarise(collect([1, 2], [3, 4]), Scale(ratio), unscored=1)
    assert (value.value, value.worst, value.best) == (pytest.approx(4 / 6), 0.0, 1.0)


def test_nothing_scored_is_no_value():
    assert summarise(collect(), Scale(), unscored=2) == Value(None, None, None, 2, 0, 2, 0.0, 1.0)
    assert summarise(collect(), Scale()) == Value(None, None, None, 0, 0, 0, None, None)


def test_an_undefined_finish_is_no_value():
    assert summarise(collect([0, 0], [0, 0]), Scale(ratio)) == Value(None, None, None, 2, 2, 0, None, None)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.0, None), (None, None)])
def test_a_value_is_plain_json(bounds):
    found = summarise(collect([0.25], [0.75], [0.5], [0.1], [0.9]), Scale(bounds=bounds)).as_dict()
    assert json.loads(json.dumps(found)) == found
    assert {type(number) for number in found.values()} == {float, int}
    assert list(found) == ["value", "low", "high", "n", "scored", "unscored", "worst", "best"]


def test_the_earlier_name_of_unscored_is_still_read():
    value = summarise(collect([1], [0]), Scale(), unscored=3)
    assert value.failed == value.unscored == 3
    assert "failed" not in value.as_dict()
