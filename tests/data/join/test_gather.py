"""Rows of one question as one row: the same as a dictionary of lists."""

from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.data.join.gather import gather_rows, repeats
from karat.data.open import open_source
from karat.data.storage import batches
from karat.errors import JoinError

ROWS = st.lists(
    st.fixed_dictionaries({
        "id": st.integers(0, 4),
        "text": st.none() | st.sampled_from("ab"),
        "number": st.none() | st.floats(0, 1),
        "items": st.none() | st.lists(st.sampled_from("xy"), max_size=2),
        "about": st.fixed_dictionaries({"tag": st.sampled_from("pq")}),
    }),
    min_size=1,
)  # fmt: skip
SCHEMA = pa.schema([
    ("id", pa.int64()), ("text", pa.string()), ("number", pa.float64()), ("items", pa.list_(pa.string())),
    ("about", pa.struct([("tag", pa.string())])),
])  # fmt: skip


def gathered(rows, names, answers):
    """What gathering means, in Python."""
    groups = {}
    for row in rows:
        groups.setdefault(row["id"], []).append(row)
    different = {name for group in groups.values() for name in names for row in group if row[name] != group[0][name]}
    different |= answers
    return [
        {name: [row[name] for row in group] if name in different else group[0][name] for name in names}
        for group in groups.values()
    ]


@given(ROWS, st.integers(1, 5), st.sets(st.sampled_from(SCHEMA.names[1:])))
@settings(deadline=None)
def test_rows_are_gathered_as_in_a_dictionary(rows, piece, answers):
    table = pa.Table.from_pylist(rows, SCHEMA)
    source = open_source(pa.Table.from_batches(table.to_batches(max_chunksize=piece)))
    with mock.patch.object(batches, "rows_per_batch", return_value=piece):
        found = gather_rows(source, "id", answers)
    read = [row for batch in found.batches() for row in batch.to_pylist()]
    assert read == gathered(rows, SCHEMA.names, answers)
    assert all(batch.schema == found.schema for batch in found.batches())
    assert (found.rows, found.gathered) == (len(read), len(rows))


def test_numbers_of_json_keep_their_spelling(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a", "x": 1.10}\n{"id": "b", "x": 1e3}\n{"id": "a", "x": null}\n', "utf-8")
    found = gather_rows(open_source(path), "id")
    assert pa.table(found).column("x").to_pylist() == [[1.1, None], [1000.0]]
    assert [row["x"] for batch in found.batches() for row in batch.to_pylist()] == ["[1.10, null]", "[1e3]"]


def test_values_are_compared_and_not_their_spelling(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"id": 1, "n": 1, "gold": {"a": 1, "b": [2]}, "mixed": "1", "answer": "x"}\n'
        '{"id": 1.0, "n": 1.0, "gold": {"b": [2.0], "a": 1}, "mixed": 1, "answer": "y"}\n'
    )
    source = open_source(path)
    assert repeats(source, "id")
    gathered = gather_rows(source, "id", ["answer"])
    assert gathered.lists == {"answer", "mixed"}
    (batch,) = gathered.batches()
    assert (batch.column("n").to_pylist(), batch.column("answer").to_pylist()) == (["1"], [["x", "y"]])


def test_a_column_repeats():
    source = open_source({"id": [1, 2], "topic": ["a", "a"], "null": ["a", None], "lists": [["a"], ["a"]]})
    assert [repeats(source, name) for name in ("id", "topic", "null", "lists")] == [False, True, False, False]


def test_a_row_without_an_id_is_refused():
    with pytest.raises(JoinError, match="column 'id' is null or empty in row 2"):
        gather_rows(open_source({"id": ["a", None]}), "id")
