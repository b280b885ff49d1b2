import datetime as dt
import decimal
import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core.columns.ids import DOCUMENT_IDS, spell_id
from karat.core.columns.kinds import GRADED, IDS
from karat.errors import ColumnError, RowError
from karat.metrics import ndcg, precision, recall

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

PAIR = pa.struct([("doc_id", pa.string()), ("score", pa.int8())])
ids = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_infinity=False), st.text())
json_values = st.recursive(ids, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (7, "7"),
        (7.0, "7"),
        (-0.0, "0"),
        ("é".encode(), "é"),
        (b"\xff", "\\xff"),
        (np.float32(7), "7"),
        (np.int64(7), "7"),
        (decimal.Decimal(7), "7"),
        (1e300, str(int(1e300))),
        (7.5, "7.5"),
        ("007", "007"),
        (" 7", " 7"),
        (False, "false"),
        ([1.0, "a", None], '[1,"a",null]'),
        (("a", 2), '["a",2]'),
        ({"b": 1, "a": {"d": 2.0, "c": "é"}}, '{"a":{"c":"é","d":2},"b":1}'),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (None, None),
        ("", None),
        (math.nan, None),
        (np.float64("nan"), None),
    ],
)
def test_an_id_is_its_spelling(value, spelled):
    assert spell_id(value) == spelled


def _truths_apart(value):
    """A value in which False is not equal to 0."""
    if isinstance(value, dict):
        return {name: _truths_apart(each) for name, each in value.items()}
    return [*map(_truths_apart, value)] if isinstance(value, list) else (type(value) is bool, value)


@given(json_values, json_values)
def test_equal_values_are_one_id(a, b):
    again = json.loads(json.dumps(a))
    assert spell_id(again) == spell_id(a)
    if _truths_apart(a) == _truths_apart(b):
        assert spell_id(a) == spell_id(b)


@given(st.lists(st.none() | st.lists(json_values)))
def test_python_lists_become_their_spellings(rows):
    read = IDS.of(IDS.read(rows), "retrieved").to_pylist()
    assert [row and list(map(spell_id, row)) for row in read] == [row and list(map(spell_id, row)) for row in rows]


@pytest.mark.parametrize(
    ("column", "rows"),
    [
        (pa.array([["a", None], None, []]), [["a", None], None, []]),
        (pa.array([[1, 2]], pa.large_list(pa.int64())), [[1, 2]]),
        (pa.array([[1, None]], pa.list_(pa.uint8())), [[1, None]]),
        (pa.array([[2**64 - 1]], pa.list_(pa.uint64())), [[str(2**64 - 1)]]),
        (pa.array([[1.0, math.nan, None]]), [[1, None, None]]),
        (pa.array([[1.5, 2.0]]), [["1.5", "2"]]),
        (pa.array([[True, False]]), [["true", "false"]]),
        (pa.array([["a"]], pa.list_(pa.string_view())), [["a"]]),
        (pa.array([["a"]], pa.list_view(pa.string())), [["a"]]),
        (pa.array([["a", "b"]], pa.list_(pa.string(), 2)), [["a", "b"]]),
        (pa.array([[b"a", None]]), [["a", None]]),
        (pa.array([["a", "a"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))), [["a", "a"]]),
        (pa.array([None, []]), [None, []]),
        (pa.nulls(2), [None, None]),
        (pa.array([[[1.0]]]), [["[1]"]]),
        (pa.array([[{"a": 1.0, "b": "c"}]]), [['{"a":1,"b":"c"}']]),
        (pa.array([[{"doc_id": "a", "score": 1}]], pa.list_(PAIR)), [["a"]]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_every_kind_of_arrow_list_is_a_list_of_ids(column, rows):
    assert IDS.of(column, "retrieved").to_pylist() == rows
    tripled = pa.concat_arrays([column] * 3)
    assert IDS.of(tripled.slice(len(column), len(column)), "retrieved").to_pylist() == rows


@pytest.mark.parametrize(
    ("column", "rows"),
    [
        (pa.array([["a"], None]), [["a"], None]),
        (pa.array(["a", None, ""]), [["a"], None, [""]]),
        (pa.array([7]), [[7]]),
        (pa.array([{"a": 1, "b": None}, None, {"a": 0, "b": 2}]), [[("a", 1)], None, [("a", 0), ("b", 2)]]),
        (pa.array([{"a": 1}], pa.struct([("a", pa.int8()), ("b", pa.string())])), [[("a", 1)]]),
        (pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8())), [[("a", 1)], None]),
        (pa.array([[(1, 0.5)]], pa.map_(pa.int16(), pa.float32())), [[(1, 0.5)]]),
        (pa.array([[(1.5, True)]], pa.map_(pa.float64(), pa.bool_())), [[("1.5", 1)]]),
        (pa.array([[{"doc_id": "a", "score": 2}], None, []], pa.list_(PAIR)), [[("a", 2)], None, []]),
        (pa.array([[{"doc_id": None, "score": 2}]], pa.list_(PAIR)), [[("", 2)]]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_every_kind_of_arrow_column_of_grades_is_one(column, rows):
    assert GRADED.of(column, "relevant").to_pylist() == rows
    tripled = pa.concat_arrays([column] * 3)
    assert GRADED.of(tripled.slice(len(column), len(column)), "relevant").to_pylist() == rows


@given(st.lists(st.none() | st.lists(st.sampled_from([1.0, 2.0, 2.5, math.nan])), min_size=3))
def test_rows_beyond_a_slice_change_nothing_in_it(rows):
    kind = pa.list_(pa.float64())
    inside = pa.array(rows, kind)[1:-1]
    assert IDS.of(inside, "retrieved").equals(IDS.of(pa.array(rows[1:-1], kind), "retrieved"))


@pytest.mark.parametrize("column", [pa.array(["a"]), pa.array([1]), pa.array([{"a": 1}])])
def test_a_ranking_is_a_list(column):
    with pytest.raises(ColumnError, match="a list of ids is expected"):
        precision(column, [["a"]])


@pytest.mark.parametrize(
    "column", [pa.array([{"a": "x"}]), pa.array([[("a", "x")]], pa.map_(pa.string(), pa.string()))]
)
def test_grades_are_numbers(column):
    with pytest.raises(ColumnError, match="grades by id is expected"):
        precision([["a"]], column)


def test_python_rows_that_hold_no_ids_are_named():
    with pytest.raises(RowError, match="row 2: a list of ids"):
        precision([["a"], "b"], [["a"], ["b"]])
    with pytest.raises(RowError, match="row 1: grades by id"):
        precision([["a"]], [{"a": "high"}])


@pytest.mark.parametrize(
    "relevant",
    [
        {"a": 2, "7": 1},
        {"a": 2, 7: 1.0},
        {"a": 2, 7.0: True, "b": None},
        [{"id": "a", "grade": 2}, {"id": 7, "grade": 1}],
    ],
)
def test_ids_of_mixed_types_match_by_their_spelling(relevant):
    assert ndcg([["a", 7, math.nan, None, ""]], [relevant]).to_pylist() == [1.0]


def test_retrieved_documents_may_stand_with_their_scores():
    rows = [[{"doc_id": "x", "score": 2.5}, {"doc_id": "a", "score": 1, "text": "t"}], ["x", "a"]]
    assert recall(rows, [["a"], ["a"]], k=2).to_pylist() == [1.0, 1.0]
    assert recall(pa.array(rows[:1]), pa.array([["a"]]), k=2).to_pylist() == [1.0]


@pytest.mark.parametrize("name", DOCUMENT_IDS)
def test_objects_name_their_ids_as_tables_do(name):
    row = [{name: "a", "score": 2.5}]
    assert recall([row], [["a"]], k=1).to_pylist() == recall(pa.array([row]), pa.array([["a"]]), k=1).to_pylist() == [1]


def test_of_several_ids_the_best_known_name_counts():
    assert recall([[{"document": "A text.", "doc_id": "a", "score": 1}]], [["a"]], k=1).to_pylist() == [1]


@pytest.mark.parametrize("row", [{"a", "b"}, frozenset("a")])
def test_a_set_has_no_order_and_is_no_ranking(row):
    with pytest.raises(RowError, match="row 1: a list of ids, best first"):
        precision([row], [["a"]])
    assert precision([["a"]], [row]).to_pylist() == [1.0]


def test_numbers_match_their_text_but_not_another_spelling():
    numbers, texts = pa.array([[7, 8, 9]]), pa.array([["7", "08", "9.0"]])
    assert recall(numbers, texts, k=3).to_pylist() == recall(texts, numbers, k=3).to_pylist() == [1 / 3]


def test_columns_of_pandas_and_polars_are_read():
    frame = pd.DataFrame({"retrieved": [["a", "b"], ["c"]], "relevant": [["a"], ["d"]]})
    assert recall(frame["retrieved"], frame["relevant"]).to_pylist() == [1.0, 0.0]
    lists = pl.Series([["a", "b"], ["c"]]), pl.Series([["a"], ["d"]])
    assert recall(*lists).to_pylist() == [1.0, 0.0]
    chosen = [each.cast(pl.List(pl.Categorical)) for each in lists]
    assert recall(*chosen).to_pylist() == [1.0, 0.0]
    mixed = pd.Series([["a", 7], np.array([1.0, 2.0])])
    assert recall(mixed, [["7"], [2]]).to_pylist() == [1.0, 1.0]
