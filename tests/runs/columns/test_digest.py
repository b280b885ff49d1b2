"""Digests of columns: equal for equal values in the same order, whatever the batches."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.runs.columns.digest import Digests

KINDS = [
    (pa.string(), st.text(max_size=5)),
    (pa.list_(pa.string()), st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=3)),
    (pa.int64(), st.integers(-5, 5)),
    (pa.bool_(), st.booleans()),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.map_(pa.string(), pa.int8()), st.lists(st.tuples(st.text(max_size=2), st.integers(0, 3)), max_size=3)),
    (pa.struct([("a", pa.string()), ("b", pa.list_(pa.int32()))]),
     st.fixed_dictionaries({"a": st.text(max_size=2), "b": st.lists(st.integers(0, 9), max_size=2)})),
    (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["x", "y"])),
    (pa.null(), st.none()),
]  # fmt: skip


def digest(*pieces):
    digests = Digests({"role": "c"})
    for piece in pieces:
        digests.add(pa.record_batch({"c": piece}))
    return digests.by_role["role"]


@pytest.mark.parametrize(("kind", "values"), KINDS, ids=lambda each: str(each) if isinstance(each, pa.DataType) else "")
@given(data=st.data())
def test_a_digest_tells_values_and_their_order_and_nothing_else(kind, values, data):
    rows = data.draw(st.lists(st.one_of(st.none(), values), min_size=1, max_size=12))
    column = pa.array([None, *rows, None], kind).slice(1, len(rows))
    at = data.draw(st.integers(0, len(rows)))
    assert digest(column) == digest(column.slice(0, at), column.slice(at)) == digest(pa.array(rows, kind))
    other = data.draw(st.lists(st.one_of(st.none(), values), min_size=1, max_size=12))
    if repr(pa.array(other, kind).to_pylist()) != repr(column.to_pylist()):
        assert digest(pa.array(other, kind)) != digest(column)


def test_texts_have_one_digest_in_every_layout():
    texts = ["a", None, "", "bc"]
    layouts = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
    assert len({digest(pa.array(texts, kind)) for kind in layouts}) == 1
    assert digest(pa.array(["ab", "c"])) != digest(pa.array(["a", "bc"]))
    assert digest(pa.array([None, ""])) != digest(pa.array(["", None]))
