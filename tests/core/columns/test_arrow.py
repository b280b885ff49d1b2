"""Columns of Arrow in plain layouts, compared with their values in Python."""

import json
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core.columns.arrow import plain_column

WHOLE = st.integers(-(2**31), 2**31 - 1)


@given(st.lists(st.none() | st.text(max_size=3) | st.integers(-9, 9)), st.booleans())
def test_values_of_several_types_are_json(rows, dense):
    kinds = pa.array([int(isinstance(row, int)) for row in rows], pa.int8())
    sides = [[row if isinstance(row, side) else None for row in rows] for side in (str, int)]
    columns = [pa.array(side, kind) for side, kind in zip(sides, (pa.string(), pa.int64()), strict=True)]
    places = pa.array(range(len(rows)), pa.int32())
    union = pa.UnionArray.from_dense(kinds, places, columns) if dense else pa.UnionArray.from_sparse(kinds, columns)
    texts = plain_column(union).to_pylist()
    assert [text and json.loads(text) for text in texts] == rows
    assert plain_column(pa.ListArray.from_arrays([0, len(rows)], union)).to_pylist() == [
        json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    ]


@given(WHOLE, WHOLE, st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, -1, 10**9, -(10**9)]))
def test_an_interval_has_its_parts_and_no_others(months, days, nanoseconds):
    (text,) = plain_column(pa.array([pa.MonthDayNano([months, days, nanoseconds])])).to_pylist()
    parts = re.fullmatch(r"P(?:(-?\d+)M)?(?:(-?\d+)D)?(?:T(-?)(\d+)(?:\.(\d{1,9}))?S)?", text).groups()
    assert [int(part or 0) for part in parts[:2]] == [months, days]
    assert int(parts[3] or 0) * 10**9 + int((parts[4] or "").ljust(9, "0")) == abs(nanoseconds)
    assert parts[2] == ("-" if nanoseconds < 0 else "" if "T" in text else None)


@pytest.mark.parametrize(
    ("parts", "text"),
    [((0, 0, 0), "PT0S"), ((0, 0, -1), "PT-0.000000001S"), ((1, 0, 0), "P1M"), ((0, -1, 0), "P-1D")],
)
def test_an_interval_names_no_part_that_is_0_unless_all_are(parts, text):
    assert plain_column(pa.array([pa.MonthDayNano(parts)])).to_pylist() == [text]


@pytest.mark.parametrize(("zone", "kept"), [("Europe/Berlin", True), ("+01:00", True), ("Mars/Phobos", False)])
def test_a_time_zone_is_kept_where_its_rules_are_known(zone, kept):
    column = pa.array([0, None, 10**9], pa.timestamp("s", zone))
    plain = plain_column(column)
    kept = kept and ("/" in zone or int(pa.__version__.split(".")[0]) >= 22)  # from which on Arrow knows offsets
    assert plain.type == pa.timestamp("s", zone if kept else "UTC")
    assert plain.cast(pa.int64()).to_pylist() == [0, None, 10**9]
