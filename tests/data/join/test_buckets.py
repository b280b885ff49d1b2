"""A join in buckets has the rows of the join as a whole, with their numbers, types and partners."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from karat.core.columns.json_text import RAW
from karat.data.join import buckets as buckets_module
from karat.data.join import join as join_module
from karat.data.join.buckets import Bucket, HalfPart, join_bucket, write_buckets
from karat.data.join.join import join
from karat.data.join.match import Unmatched
from karat.data.open import open_source
from karat.errors import JoinError

GOLD, BUCKETS = 400, 7


@pytest.fixture(autouse=True)
def _large(monkeypatch):
    monkeypatch.setattr(join_module, "GOLD_BYTES", 0)
    monkeypatch.setattr(buckets_module, "CHUNK_BYTES", 4_000)


def write(folder, gold, predictions):
    pq.write_table(gold, folder / "gold.parquet", row_group_size=90)
    pq.write_table(predictions, folder / "predictions.parquet", row_group_size=70)
    return join(open_source(folder / "predictions.parquet"), open_source(folder / "gold.parquet"), "key=id")


def divide(folder, joined, columns=None):
    """What comes of each bucket, as workers elsewhere see it."""
    there = folder / "buckets"
    there.mkdir()
    elsewhere = pickle.loads(pickle.dumps(joined.without_rows()))  # noqa: S301  (what we just wrote)
    for half in joined.halves:
        for task, part in enumerate(half.source.parts):
            share = HalfPart(**vars(part), side=half.side, buckets=BUCKETS, folder=str(there))
            write_buckets(elsewhere, share, columns, task, None)
    for at in range(BUCKETS):
        bucket = Bucket(str(there), 0, "", (at,), 0, 0)
        yield join_bucket(elsewhere, bucket.read("reference"), bucket.read("prediction"), columns)


def tables(random, unknown=17):
    ids = [f"q{at}" for at in random.permutation(GOLD)]
    gold = {"id": ids, "karat_row": [f"gold {each}" for each in ids], "weight": np.arange(GOLD)}
    answered = random.permutation([*ids[20:], *(f"unknown {at}" for at in range(unknown))]).tolist()
    prediction = pa.array([None if at % 9 == 2 else f"answer {each}" for at, each in enumerate(answered)])
    json = pa.ExtensionArray.from_storage(RAW, pa.array([f'{{"n": 1.{at}0}}' for at in range(len(answered))]))
    kinds = pa.array([["a", "b", None, "a", "c"][at % 5] for at in range(len(answered))]).dictionary_encode()
    lists = [[each] * (at % 3) for at, each in enumerate(answered)]
    return pa.table(gold), pa.table(
        {"key": answered, "prediction": prediction, "weight": json, "kind": kinds, "lists": lists}
    )


@pytest.mark.parametrize(
    "columns", [None, {"kind", "lists"}, {"karat_row"}, {"prediction"}], ids=["all", "two", "numbers", "texts"]
)
def test_the_buckets_have_the_rows_of_the_whole(tmp_path, columns):
    joined = write(tmp_path, *tables(np.random.default_rng(3)))
    whole = pa.Table.from_batches(joined.batches(), joined.schema).to_pylist()
    seen, missing, unknown = {}, Unmatched(), Unmatched()
    for source, alone, others in divide(tmp_path, joined, columns):
        missing, unknown = missing + alone, unknown + others
        for numbers, batch in source.numbered_batches():
            assert batch.schema == source.schema
            for number, row in zip(numbers.tolist(), batch.to_pylist(), strict=True):
                assert number not in seen
                assert row == {name: whole[number][name] for name in row}
                assert row.keys() >= (columns or whole[number].keys())
                seen[number] = row
    assert seen.keys() == set(range(GOLD))
    assert (missing, unknown) == (joined.match().missing, joined.match().unknown)
    assert (missing.rows, unknown.rows) == (20, 17)


@pytest.mark.parametrize("only", ["ids", "no rows"])
def test_predictions_may_have_no_other_column_and_no_row(tmp_path, only):
    gold, predictions = tables(np.random.default_rng(3))
    predictions = predictions.select(["key"]) if only == "ids" else predictions.slice(0, 0)
    joined = write(tmp_path, gold, predictions)
    found = [(len(pa.table(source)), missing.rows) for source, missing, _ in divide(tmp_path, joined)]
    assert sum(rows for rows, _ in found) == GOLD
    assert sum(missing for _, missing in found) == (20 if only == "ids" else GOLD)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("key", [None, "q3"])
def test_ids_that_are_null_or_not_unique_are_refused(tmp_path, side, key):
    both = list(tables(np.random.default_rng(3)))
    keys = both[side].column(0).to_pylist()
    keys[keys.index("q4")] = key
    both[side] = both[side].set_column(0, both[side].schema.names[0], pa.array(keys))
    joined = write(tmp_path, *both)
    with pytest.raises(JoinError, match="ids are null or not unique"):
        list(divide(tmp_path, joined))
    with pytest.raises(JoinError, match="the id is null or empty in row" if key is None else "expected every id once"):
        joined.match()
