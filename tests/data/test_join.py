from __future__ import annotations

import pytest

from karat.core.errors import ColumnError, JoinError
from karat.data.join import join
from karat.data.raw import decode_text
from karat.data.read import open_source


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
    assert (result.missing, result.missing_ids, result.unknown, result.unknown_ids) == (1, ("b",), 1, ("x",))
    assert result.sides == {"id": "reference", "gold": "reference", "answer": "prediction"}


def test_the_order_holds_over_many_batches():
    ids = [str(i * 7919 % 200_003) for i in range(200_003)]
    result = joined({"id": sorted(ids), "p": sorted(ids)}, {"id": ids})
    assert [row["p"] for row in rows(result)] == ids


def test_ids_compare_as_text():
    result = joined({"id": ["7", "007"], "p": ["a", "b"]}, {"id": [7, 8]})
    assert (rows(result)[0]["p"], result.missing_ids, result.unknown_ids) == ("a", ("8",), ("007",))


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
        (["a", None], ["a"], "predictions .*null in row 2"),
        (["a"], [None, "a"], "gold .*null in row 1"),
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
    batch = next(result.batches(text={"gold"}))
    assert decode_text(batch.column("gold")).to_pylist() == ["1.10", "x", None]


def test_a_file_without_predictions_leaves_all_rows_missing(tmp_path):
    (tmp_path / "p.csv").write_text("id,answer\n")
    result = joined(tmp_path / "p.csv", {"id": ["1"]})
    assert (rows(result), result.missing) == ([{"id": "1", "answer": None}], 1)
