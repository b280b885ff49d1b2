"""Lists of references in cells of text: read as lists, refused, or texts; never one text without a word."""

from __future__ import annotations

import csv
import json
import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat

pd = pytest.importorskip("pandas")

LISTS = [["Paris", "alt Paris"], ["it's", 'say "hi"', "a\nb"], ["Zürich"], ["[Music]", "x, y"]]
ANSWERS = ["alt Paris", "a\nb", "Zürich", "x, y"]


def written(folder, form, cells, answers=ANSWERS, name="gold"):
    table = {"prediction": answers, name: cells}
    path = folder / f"rows.{form}"
    if form == "csv":
        pd.DataFrame(table).to_csv(path, index=False)
    elif form == "parquet":
        pq.write_table(pa.table(table), path)
    elif form == "jsonl":
        path.write_text(
            "\n".join(json.dumps(dict(zip(table, row, strict=True))) for row in zip(*table.values(), strict=True))
        )
    elif form == "pandas":
        return pd.DataFrame(table)
    elif form == "table":
        return pa.table(table)
    return path


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "pandas", "table"])
@pytest.mark.parametrize("spell", [str, json.dumps, lambda cell: json.dumps(cell, indent=1)])
@pytest.mark.parametrize("mapped", [False, True])
def test_a_column_of_lists_in_text_holds_references(tmp_path, form, spell, mapped):
    name = "our_own" if mapped else "gold"
    data = written(tmp_path, form, [spell(cell) for cell in LISTS], name=name)
    result = karat.score(data, "exact_match(normalize=none)", map={"reference": name} if mapped else {})
    assert (result.values["exact_match(normalize='none')"].value, result.mapping["reference"]) == (1.0, f"{name}[*]")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "pandas"])
@pytest.mark.parametrize(("first", "row"), [("Bern", 2), ("[Music]", 2), ("", 2)])
def test_a_list_among_texts_is_an_error_whose_two_remedies_read_both_ways(tmp_path, form, first, row):
    cells, answers = [first, "['Rome', 'Roma']", "x"], [first, "Roma", "x"]
    if first:
        with pytest.raises(
            karat.errors.RowError, match=rf"row {row}\b.*'Rome', 'Roma'.*gold\[\*\].*gold::text"
        ) as error:
            karat.score(written(tmp_path, form, cells, answers), "exact_match(normalize=none)")
        assert "reads each cell as one text" in str(error.value)
    data = written(tmp_path, form, cells, answers)
    as_lists = karat.score(data, "exact_match(normalize=none)", map={"reference": "gold[*]"})
    assert [value.value for value in as_lists.values.values()] == [1.0]
    as_texts = karat.score(data, "exact_match(normalize=none)", map={"reference": "gold::text"})
    assert [round(value.value, 4) for value in as_texts.values.values()] == [0.6667]


def test_many_lists_far_below_the_first_rows_are_an_error_too(tmp_path):
    cells = ["x"] * 70_000 + ['["x", "y"]'] * 20_000
    with pytest.raises(karat.errors.RowError, match="row 70001: a list among texts"):
        karat.score(written(tmp_path, "csv", cells, ["y"] * 90_000), "exact_match")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "pandas"])
@pytest.mark.parametrize("cell", ["['a', 'b']", '["a", "b"]'])
def test_one_list_among_many_texts_is_a_text_which_a_warning_says(tmp_path, form, cell):
    cells = ["x"] * 23 + [cell]
    with pytest.warns(UserWarning, match=r"gold' \(reference\) looks like JSON lists .*gold\[\*\].*gold::text"):
        result = karat.score(written(tmp_path, form, cells, ["x"] * 23 + ["b"]), "exact_match")
    assert result.values["exact_match"].value == 23 / 24


@pytest.mark.parametrize(
    "cell",
    ["[Music]", "[0, 1)", "(1, 2]", "[1, 2]", "[0.5, 1e3]", "['a','b']", "[x for x in y]", "[", "[]", "['a' + 'b']"],
)
def test_a_text_that_begins_like_a_list_stays_a_text(tmp_path, cell):
    cells = ["Bern", cell]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = karat.score(written(tmp_path, "csv", cells, cells), "exact_match(normalize=none)")
    assert [value.value for value in result.values.values()] == [1.0]


def test_a_text_among_lists_is_one_reference(tmp_path):
    cells = ["['Rome', 'Roma']"] * 150 + ["[Music]", "plain"]
    result = karat.score(
        written(tmp_path, "csv", cells, ["Roma"] * 150 + ["[Music]", "plain"]), "exact_match(normalize=none)"
    )
    assert [(value.value, value.scored) for value in result.values.values()] == [(1.0, 152)]


@pytest.mark.parametrize("cells", [["['a' 'b']", "['a']"], ["['a']", "['b'\n 'c']"]])
def test_numpys_spelling_of_lists_is_refused_and_not_joined(tmp_path, cells):
    with pytest.raises(karat.errors.RowError, match=r"gold"):
        karat.score(written(tmp_path, "csv", cells, ["ab", "bc"]), "exact_match")


def test_lists_of_lists_name_the_path_that_flattens_them(tmp_path):
    data = written(tmp_path, "csv", ["[['a', 'b'], ['c']]", "[['d']]"], ["c", "d"])
    with pytest.raises(karat.errors.RowError, match="row 1") as error:
        karat.score(data, "exact_match")
    assert "--map reference=gold[*]" in str(error.value)
    with pytest.raises(karat.errors.RowError, match=r"--map reference=gold\[\*\]\[\*\] .*makes one flat list"):
        karat.score(data, "exact_match", map={"reference": "gold[*]"})
    assert karat.score(data, "exact_match", map={"reference": "gold[*][*]"}).values["exact_match"].value == 1.0


@pytest.mark.parametrize("spell", [str, json.dumps])
def test_lm_evaluation_harness_writes_every_list_of_targets_as_text(tmp_path, spell):
    path = tmp_path / "samples_qa.jsonl"
    rows = [
        {"doc_id": at, "doc": {"question": "Q"}, "target": spell(gold), "arguments": {}, "resps": [[answer]]}
        | {"filtered_resps": [answer], "filter": "none", "exact_match": 1.0}
        for at, (gold, answer) in enumerate(zip(LISTS, ANSWERS, strict=True))
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert karat.score(path, "exact_match(normalize=none)").values["exact_match(normalize='none')"].value == 1.0


def test_gold_of_a_second_file_is_read_as_lists(tmp_path):
    for name, cells in (("a.csv", ANSWERS), ("gold.csv", map(str, LISTS))):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([["id", name[:-4].replace("a", "prediction", 1)[:10]], *enumerate(cells)])
    result = karat.score(tmp_path / "a.csv", "exact_match(normalize=none)", gold=tmp_path / "gold.csv", on="id")
    assert [value.value for value in result.values.values()] == [1.0]
