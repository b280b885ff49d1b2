"""`match` against a join of plain dictionaries, and what comes with the rows: clusters, slices, notes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.core.errors import ColumnError, JoinError
from karat.data.open import open_source
from karat.runs.match.match import match
from karat.runs.match.systems import OpenRows
from karat.runs.store.manifest import Manifest, describe_metric

SCORED = (describe_metric(karat.metrics.column.using(name="score"), "score"),)
TYPES = {"int": pa.int64(), "float": pa.float64(), "text": pa.string(), "small": pa.uint16(), "codes": pa.string()}


def open_table(name, columns):
    return OpenRows(Path(), Manifest(name, "", SCORED, {}), source=open_source(pa.table(columns)))


def spell(kind, ids):
    texts = pa.array([None if at is None else str(at) for at in ids], pa.string())
    return texts.dictionary_encode() if kind == "codes" else texts.cast(TYPES[kind])


@st.composite
def sides(draw):
    """The rows of a system: ids of any type, in any order, some of them missing, or there twice."""
    ids = draw(st.lists(st.integers(0, 12), max_size=10, unique=draw(st.booleans()) or draw(st.booleans())))
    if ids and draw(st.integers(0, 9)) == 0:
        ids[draw(st.integers(0, len(ids) - 1))] = None
    return draw(st.sampled_from(sorted(TYPES))), ids


@settings(max_examples=100, deadline=None)
@given(st.lists(sides(), min_size=1, max_size=3), st.booleans())
def test_rows_are_those_of_a_join_of_dictionaries(drawn, common):
    tables = [
        {"id": spell(kind, ids), "score": pa.array([100.0 * number + at for at in range(len(ids))], pa.float64())}
        for number, (kind, ids) in enumerate(drawn)
    ]
    places = [{str(each): at for at, each in enumerate(ids)} for _, ids in drawn]
    broken = any(None in ids or len(place) < len(ids) for place, (_, ids) in zip(places, drawn, strict=True))
    shared = set.intersection(*map(set, places))
    differ = any(set(place) != shared for place in places) and not (common and shared)
    systems = [open_table(name, table) for name, table in zip("abc", tables, strict=False)]
    if broken or differ:
        with pytest.raises(JoinError):
            match(systems, on="id", common=common)
        return
    matched = match(systems, on="id", common=common)
    orders = [matched.rows.order(at).tolist() for at in range(len(systems))]
    expected = {tuple(place[each] for place in places) for each in shared}
    assert len(matched.rows) == len(shared)
    assert set(zip(*orders, strict=True)) == expected
    assert matched.rows.ids.to_pylist() == [list(places[0])[at] for at in orders[0]]
    assert orders[0] == sorted(orders[0]) if len(systems) == 1 else True
    left = [len(place) - len(shared) for place in places]
    assert list(matched.rows.left_out) == (left if any(left) else [])


def test_clusters_and_slices_are_those_of_the_rows_as_they_are_read():
    ids = ["c", "a", "b", "d"]
    one = {"id": ids, "topic": ["x", "y", "x", "y"], "page": [1, 2, 1, 3], "score": [0.0, 1.0, 2.0, 3.0]}
    other = {"id": ids[::-1], "score": [3.0, 2.0, 1.0, 0.0]}
    matched = match([open_table("a", one), open_table("b", other)], by="topic", cluster="page")
    order = matched.rows.order(0).tolist()
    assert [matched.slices.labels[code] for code in matched.slices.codes] == [one["topic"][at] for at in order]
    groups = np.unique(matched.clusters.keys, return_inverse=True)[1]
    pages = np.unique([one["page"][at] for at in order], return_inverse=True)[1]
    assert (groups[:, None] == groups).tolist() == (pages[:, None] == pages).tolist()
    assert matched.column("topic").to_pylist() == [one["topic"][at] for at in order]
    assert matched.names == ("a", "b")
    assert "rows that share page are taken together" in matched.notes
    assert match([open_table("a", one), open_table("b", other)], cluster="none").clusters is None
    with pytest.raises(ColumnError, match="there is no column 'topics'; did you mean 'topic'"):
        match([open_table("a", one), open_table("b", other)], by="topics")


def test_a_single_system_stays_in_its_order_whatever_tells_its_rows_apart():
    named = open_table("a", {"id": ["c", "a", "b"], "score": [0.0, 1.0, 2.0]})
    twice = open_table("a", {"id": ["c", "a", "c"], "score": [0.0, 1.0, 2.0]})
    for run, by, ids in ((named, "id", ["c", "a", "b"]), (twice, "order", ["1", "2", "3"])):
        matched = match([run], cluster="none")
        assert (matched.rows.by, matched.rows.ids.to_pylist()) == (by, ids)
        assert matched.rows.order(0).tolist() == [0, 1, 2]
        assert np.concatenate(
            [piece for (piece,) in matched.rows.read([run.read_scores("column(score)")])]
        ).tolist() == [0.0, 1.0, 2.0]
        assert matched.notes == ()
    with pytest.raises(JoinError, match="'c' more than once"):
        match([twice], on="id")
