from __future__ import annotations

import json

import pyarrow as pa
import pytest

from karat.core.columns.json_text import RAW, decode_text
from karat.core.errors import ColumnError, JoinError
from karat.data.join.join import join
from karat.data.join.match import Unmatched, find_variants
from karat.data.open import open_source


def joined(predictions, gold, on="id"):
    return join(open_source(predictions), open_source(gold), on)


def rows(source):
    return [row for batch in source.batches() for row in batch.to_pylist()]


def test_every_gold_row_stays_in_gold_order():
    result = joined(
        {"id": ["c", "x", "a"], "answer": ["C", "X", "A"]}, {"id": ["a", "b", "c"], "gold": [["1"], [], None]}
    )
    assert rows(result) == [
        {"id": "a", "gold": ["1"], "answer": "A"},
        {"id": "b", "gold": [], "answer": None},
        {"id": "c", "gold": None, "answer": "C"},
    ]
    match = result.match()
    assert (match.missing, match.unknown) == (Unmatched(1, ((1, "b"),)), Unmatched(1, ((1, "x"),)))
    assert result.sides == {"id": "reference", "gold": "reference", "answer": "prediction"}


def test_the_order_holds_over_many_batches():
    ids = [str(i * 7919 % 200_003) for i in range(200_003)]
    result = joined({"id": sorted(ids), "p": sorted(ids)}, {"id": ids})
    assert [row["p"] for row in rows(result)] == ids


KINDS = [
    *(pa.timestamp("ns", "Europe/Berlin"), pa.dictionary(pa.int8(), pa.string()), pa.large_string(), pa.uint64()),
    *(pa.large_list(pa.float32()), pa.decimal128(9, 2), pa.binary(), pa.null(), pa.struct([("a", pa.date32())]), RAW),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_types_stay_on_both_sides(kind):
    values = {pa.string(): ["x", "y", None], RAW: ["1.10", "[1]", None]}
    plain = values[pa.string()] if pa.types.is_dictionary(kind) or kind == pa.large_string() else [None] * 3
    cells = pa.array(values[RAW], pa.string()).cast(RAW) if kind == RAW else pa.array(plain).cast(kind)
    result = joined(pa.table({"id": ["b", "c", "a"], "p": cells}), pa.table({"id": ["a", "b", "x"], "g": cells}))
    assert result.schema == pa.schema([("id", pa.string()), ("g", kind), ("p", kind)])
    table = pa.Table.from_batches(result.batches())
    assert table.schema == result.schema
    assert table["g"].to_pylist() == cells.to_pylist()
    assert table["p"].to_pylist() == [cells[2].as_py(), cells[0].as_py(), None]


def test_predictions_that_come_in_batches_with_dictionaries_of_their_own_are_one_column():
    batches = [
        pa.record_batch({"id": pa.array([str(i)]), "p": pa.array([f"p{i}"]).dictionary_encode()}) for i in range(5)
    ]
    result = joined(pa.Table.from_batches(batches), {"id": ["4", "0", "9", "2"]})
    assert [row["p"] for row in rows(result)] == ["p4", "p0", None, "p2"]


def test_a_side_whose_numbers_have_types_keeps_them_where_the_other_is_json(tmp_path):
    (tmp_path / "p.jsonl").write_text('{"id": "1", "answer": 1.10}\n')
    result = joined(tmp_path / "p.jsonl", {"id": ["1"], "gold": [7]})
    batch = next(result.batches())
    assert batch.schema == result.schema
    assert batch.to_pylist() == [{"id": "1", "gold": 7, "answer": "1.10"}]


def test_ids_compare_as_text():
    result = joined({"id": ["7", "007"], "p": ["a", "b"]}, {"id": [7, 8]})
    assert (rows(result)[0]["p"], result.match().missing.ids, result.match().unknown.ids) == ("a", ["8"], ["007"])


def test_whole_numbers_of_json_are_one_id_with_and_without_a_fraction_of_zero(tmp_path):
    for name, ids in (("a", (1.0, "2.0", 1.5)), ("b", (1, "2.0", 1.5))):
        (tmp_path / f"{name}.jsonl").write_text("".join(f'{{"id": {json.dumps(i)}, "x": "{name}"}}\n' for i in ids))
    joined = join(open_source(tmp_path / "a.jsonl"), open_source(tmp_path / "b.jsonl"), "id")
    assert joined.match().missing.ids == joined.match().unknown.ids == []


def test_names_that_both_sides_have_are_kept_apart():
    result = joined(
        {"qid": ["1"], "id": ["p"], "answer": ["a"]}, {"id": ["1"], "answer": ["g"], "answer_gold": ["h"]}, "qid=id"
    )
    assert rows(result) == [
        {"id": "1", "answer_gold": "g", "answer_gold_gold": "h", "id_prediction": "p", "answer": "a"}
    ]


@pytest.mark.parametrize(
    ("predictions", "gold", "reason"),
    [
        (["a", "b", "a"], ["a"], "predictions .*'a' in rows 1, 3"),
        (["a"], ["b", "b"], "gold .*'b' in rows 1, 2"),
        (["a", None], ["a"], "predictions .*null or empty in row 2"),
        (["a"], [None, "a"], "gold .*null or empty in row 1"),
    ],
)
def test_ids_that_are_null_or_not_unique_are_refused(predictions, gold, reason):
    with pytest.raises(JoinError, match=reason):
        joined({"id": predictions}, {"id": gold})


def test_an_id_column_that_is_not_there_is_named():
    with pytest.raises(ColumnError, match="no column 'idd'; did you mean 'id'"):
        joined({"id": ["1"]}, {"id": ["1"]}, "idd")


def test_numbers_read_as_text_keep_their_spelling_through_a_join(tmp_path):
    (tmp_path / "gold.jsonl").write_text('{"id": 1, "gold": 1.10}\n{"id": 2, "gold": "x"}\n{"id": 3}\n')
    result = joined({"id": ["2", "1"], "p": ["a", "b"]}, tmp_path / "gold.jsonl")
    batch = next(result.batches())
    assert decode_text(batch.column("gold")).to_pylist() == ["1.10", "x", None]


def test_a_file_without_predictions_leaves_all_rows_missing(tmp_path):
    (tmp_path / "p.csv").write_text("id,answer\n")
    result = joined(tmp_path / "p.csv", {"id": ["1"]})
    assert (rows(result), result.match().missing.rows) == ([{"id": "1", "answer": None}], 1)


@pytest.mark.parametrize(
    ("gold", "prediction", "alike"),
    [
        ("7", "7.0", True),
        ("7", "007", True),
        ("-7.50", "-7.5", True),
        ("7", " 7\t", True),
        ("7", "\ufeff7", True),
        ("7", '"7"', True),
        ("q", "Q", True),
        ("é", "e\u0301", True),
        ("ﬁ", "fi", True),
        ("7", "8", False),
        ("7", "-7", False),
        ("q1", "q01", False),
        ("1" * 40, "1" * 39 + "2", False),
        ("1" * 5000, "1" * 4999 + "2", False),
        ("", " ", True),
    ],
)
def test_ids_that_differ_in_spelling_alone_are_found(gold, prediction, alike):
    assert find_variants(["other", gold], ["no", prediction]) == ((gold, prediction) if alike else None)
