"""Which rows of several runs belong together: `align` against its definition in plain Python."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.errors import JoinError
from karat.runs.match.keys import align
from karat.runs.match.streams import zip_streams
from karat.runs.match.systems import open_systems
from karat.runs.match.text_order import sort_texts

random = np.random.default_rng(1)
texts = st.text(st.sampled_from("ab\0zé\U0001f600"), max_size=20)


@given(st.lists(texts, unique=True), texts, st.integers(0, 3))
def test_texts_are_sorted_by_their_bytes(rows, prefix, first):
    column = pa.array([prefix + row for row in rows], pa.large_string())[first:]
    cut = len(column) // 3
    order, twice = sort_texts(lambda: [column[:cut], column[cut:]])
    assert column.take(pa.array(order)).to_pylist() == sorted(column.to_pylist(), key=str.encode)
    assert twice is None


@given(st.lists(texts, min_size=2, unique=True), texts)
def test_a_text_that_is_there_twice_is_named(rows, prefix):
    column = pa.array([prefix + row for row in rows], pa.large_string())
    assert sort_texts(lambda: [column, column[-1:]])[1] == prefix + rows[-1]


def test_streams_are_read_in_pieces_of_the_same_rows_and_their_lengths_are_seen():
    whole = pa.array(IDS, pa.large_string())
    pieces = list(zip_streams([iter([whole[:7], whole[7:7], whole[7:]]), iter([whole[:100], whole[100:]])]))
    assert all(one.equals(other) for one, other in pieces)
    assert pa.concat_arrays([one for one, _ in pieces]).equals(whole)
    assert not all(one.equals(other) for one, other in zip_streams([iter([whole]), iter([whole[:-1]])]))
    assert not all(one.equals(other) for one, other in zip_streams([iter([]), iter([whole])]))


@pytest.mark.parametrize("ids", [["a", "b", "a"], ["a", None, "b"]], ids=["twice", "null"])
def test_equal_runs_whose_ids_do_not_tell_rows_apart_say_so(tmp_path, monkeypatch, ids):
    monkeypatch.chdir(tmp_path)
    systems = open_systems([stored(ids, "run", "one"), stored(ids, "run", "two")], [])
    with pytest.raises(JoinError, match=r"one: column 'id' (has 'a' more than once|is null or empty in row 2)"):
        align(systems, "id")


@pytest.mark.parametrize("spell", ["{}", "q{:07}", "split/{:03}/{}", "{:032x}", "x" * 30 + "{}", "{}" + "x" * 30])
def test_ids_of_many_forms_are_sorted_as_arrow_sorts_them(spell):
    numbers = random.choice(10**6, 2_000, replace=False).tolist()
    column = pa.array([spell.format(number, number) for number in numbers], pa.large_string())
    assert sort_texts(lambda: [column])[0].tolist() == pc.sort_indices(column).to_pylist()


def scored(ids, name="id"):
    return karat.score({name: ids, "gold": ["x"] * len(ids), "prediction": ["x"] * len(ids)}, "exact_match", keep=True)


IDS = [f"question {number}" for number in random.choice(10**4, 300, replace=False).tolist()]
OTHER = random.permutation(IDS).tolist()


def stored(ids, kind, name):
    """A system with these ids: rows in memory, a run, or a plain file of scored rows."""
    if kind == "memory":
        return scored(ids)
    rows = {"id": ids, "gold": ["x"] * len(ids), "prediction": ["x"] * len(ids)}
    if kind == "run":
        karat.score(rows, "exact_match", run=name)
        return name
    path = Path(f"{name}.{kind}")
    karat.score(rows, "exact_match", output=path)
    return path


@pytest.mark.parametrize("kinds", [("run", "run"), ("run", "parquet"), ("jsonl", "run"), ("memory", "csv")])
@pytest.mark.parametrize("ids", [IDS, OTHER, sorted(IDS)], ids=["same order", "other order", "sorted"])
def test_rows_with_equal_ids_belong_together(tmp_path, monkeypatch, kinds, ids):
    monkeypatch.chdir(tmp_path)
    rows = align(open_systems([stored(IDS, kinds[0], "a"), stored(ids, kinds[1], "b")], []))
    assert rows.ids.to_pylist() == sorted(IDS)
    assert rows.orders[0].tolist() == np.argsort(IDS).tolist()
    assert rows.orders[1].tolist() == np.argsort(ids).tolist()
    assert rows.left_out == ()
    assert (rows.orders[1] is rows.orders[0]) == (ids == IDS)  # the same ids are sorted once


def refuse(ids, others=IDS, **chosen):
    with pytest.raises(JoinError) as refused:
        align(open_systems([scored(ids), scored(others)], []), "id", **chosen)
    return str(refused.value)


def test_ids_that_do_not_tell_rows_apart_are_refused():
    assert refuse(["b", "c", "a", "c", "b"]) == (
        "A: column 'id' has 'b' more than once; 2 of 5 rows repeat an earlier one"
    )
    assert refuse(IDS, ["b", "c" * 20, "a", "c" * 20]) == (
        f"B: column 'id' has {'c' * 20!r} more than once; 1 of 4 rows repeat an earlier one"
    )
    assert refuse(["b", "b"], ["b", "b"]) == (
        "A: column 'id' has 'b' more than once; 1 of 2 rows repeat an earlier one"
    )
    assert refuse(IDS, ["a", None, "b", None]) == "B: column 'id' is null or empty in row 2"
    assert refuse([None, "a"], [None, "a"]) == "A: column 'id' is null or empty in row 1"
    assert refuse(["a", ""], ["", "a"]) == "A: column 'id' is null or empty in row 2"
    assert refuse([1.0, 2.0], [1.0, float("nan")]) == "B: column 'id' is null or empty in row 2"
    assert "1 of 300 rows only in A (such as question " in refuse(IDS, IDS[1:])
    assert "0 of 0 rows only in B. Score both" in refuse(IDS, [])
