"""A join that is read in parts has the rows of the join that is read as a whole."""

import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from karat.core.columns.json_text import RAW
from karat.data.join import parts as parts_module
from karat.data.join.join import join
from karat.data.join.parts import open_joined, place_predictions
from karat.data.open import open_source
from karat.data.source import group_parts

GOLD, PREDICTED, UNKNOWN = 500, 430, 17
ORDERS = {
    "same": lambda random: np.arange(PREDICTED),
    "reversed": lambda random: np.arange(PREDICTED)[::-1],
    "shuffled": lambda random: random.permutation(PREDICTED),
}


def write(folder, order):
    """Gold in two files, predictions in three, of row groups of several sizes; some ids are in one of them alone."""
    random = np.random.default_rng(3)
    ids = [f"q{at}" for at in random.permutation(GOLD)]
    gold = pa.table({"id": ids, "answer": [f"gold of {each}" for each in ids], "weight": np.arange(GOLD)})
    answered = [*ids[GOLD - PREDICTED + UNKNOWN :], *(f"unknown {at}" for at in range(UNKNOWN))]
    answered = [answered[at] for at in order(random)]
    json = pa.ExtensionArray.from_storage(RAW, pa.array([f'{{"n": 1.{at}0}}' for at in range(PREDICTED)]))
    kinds = pa.array(["a", "b", None, "a", "c"] * (PREDICTED // 5)).dictionary_encode()
    prediction = pa.array([None if at % 9 == 2 else f"answer of {each}" for at, each in enumerate(answered)])
    predicted = pa.table({"key": answered, "prediction": prediction, "answer": json, "kind": kinds})
    for name, table, cuts, size in (("g", gold, [0, 180, GOLD], 60), ("p", predicted, [0, 30, 31, PREDICTED], 70)):
        for at, (low, high) in enumerate(pairwise(cuts)):
            pq.write_table(table.slice(low, high - low), folder / f"{name}{at}.parquet", row_group_size=size)
    return join(open_source(folder / "p*.parquet"), open_source(folder / "g*.parquet"), "key=id")


def read(joined, parts, columns=None):
    """The rows of all parts, as a worker elsewhere reads them."""
    elsewhere = pickle.loads(pickle.dumps(joined.without_rows()))  # noqa: S301  (what we just wrote)
    sources = [open_joined(elsewhere, part, columns) for part in parts]
    for part, source in zip(parts, sources, strict=True):
        assert next(numbers[0] for numbers, _ in source.numbered_batches()) == part.first
    return pa.concat_tables([pa.Table.from_batches(source.batches(), source.schema) for source in sources])


@pytest.mark.parametrize(("order", "rows"), [("same", 60), ("reversed", 1000), ("shuffled", 150)])
def test_the_parts_have_the_rows_of_the_whole(tmp_path, order, rows, monkeypatch):
    monkeypatch.setattr(parts_module, "BATCH_ROWS", 1)
    monkeypatch.setattr(parts_module, "CHUNK_BYTES", 5_000)
    joined = write(tmp_path, ORDERS[order])
    assert (joined.match().missing.rows, joined.match().unknown.rows) == (GOLD - PREDICTED + UNKNOWN, UNKNOWN)
    whole = pa.Table.from_batches(joined.batches(), joined.schema)
    assert whole["prediction"].null_count > joined.match().missing.rows
    parts = group_parts(joined.parts, rows)
    for folder in (None, tmp_path / "ordered"):
        placed = place_predictions(joined, parts, None, folder)
        assert [(part.first, part.rows) for part in placed] == [(part.first, part.rows) for part in parts]
        assert read(joined, placed).to_pylist() == whole.to_pylist()
    for columns in ({"answer_gold", "kind"}, {"weight"}, {"prediction"}):
        some = read(joined, place_predictions(joined, parts, columns, tmp_path / "some"), columns)
        assert columns <= set(some.column_names)
        assert len(some.column_names) <= len(columns) + 1
        assert some.to_pylist() == whole.select(some.column_names).to_pylist()


def test_predictions_in_the_order_of_the_gold_are_not_written_again(tmp_path):
    joined = write(tmp_path, ORDERS["same"])
    folder = tmp_path / "ordered"
    placed = place_predictions(joined, group_parts(joined.parts, 150), None, folder)
    assert not folder.exists()
    assert sum(each.rows for part in placed for each in part.predictions) < 2 * PREDICTED


def test_each_part_reads_its_own_predictions_alone_once_these_are_in_its_order(tmp_path, monkeypatch):
    monkeypatch.setattr(parts_module, "BATCH_ROWS", 1)
    joined = write(tmp_path, ORDERS["shuffled"])
    placed = place_predictions(joined, group_parts(joined.parts, 60), None, tmp_path / "ordered")
    for part in placed:
        assert sum(each.rows for each in part.predictions) == np.count_nonzero(part.partners >= 0)
    assert sum(each.rows for part in placed for each in part.predictions) == PREDICTED - UNKNOWN


def test_a_join_of_anything_but_files_in_parts_has_no_parts(tmp_path):
    write(tmp_path, ORDERS["same"])
    assert not join(open_source([{"id": "q1", "x": 1}]), open_source(tmp_path / "g0.parquet"), "id").parts
    assert not join(open_source(tmp_path / "g0.parquet"), open_source([{"id": "q1", "x": 1}]), "id").parts
