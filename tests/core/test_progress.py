"""Progress within a batch: what is told adds up to the rows, whatever the parts are."""

from hypothesis import given
from hypothesis import strategies as st

from karat.core.progress import advance, advance_by_parts, report_progress_to


@given(st.integers(0, 50), st.lists(st.integers(0, 9), max_size=30), st.integers(0, 3))
def test_parts_are_told_as_rows_and_all_rows_in_the_end(rows, steps, missed):
    parts, told = sum(steps) + missed, []
    with report_progress_to(told.append), advance_by_parts(rows, parts):
        for at, step in enumerate(steps):
            advance(step)
            assert sum(told) == sum(steps[: at + 1]) * rows // max(parts, 1)  # whole rows, none twice
    assert sum(told) == rows
    assert all(each > 0 for each in told)


def test_nobody_need_be_told():
    with advance_by_parts(rows=2, parts=4):
        advance(2)
