"""CSV for spreadsheets: no cell and no name of a column is a formula, and what is none stays as it is."""

import csv

import pyarrow as pa
import pytest

import karat
from karat.core.errors import SpecError
from karat.data.write import write

FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0", "-", "＝1", "=", "-2+3|x"]
HARMLESS = ["-0.5", "+3", "-1e-5", "-12 %", "-,5", "", "a=b", " =1", "'=1", "1-2", "日本", "[-1]"]


def cells(path, delimiter=","):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.tsv", "\t")])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_formulas_are_shown(name, delimiter, kind, tmp_path, monkeypatch):
    texts = [*FORMULAS, *HARMLESS]
    table = pa.table(
        {"=x": pa.array([*texts, None], kind), "y": [-0.5] * (len(texts) + 1), "z": [["=1"]] * (len(texts) + 1)}
    )
    write(table.to_batches(), table.schema, tmp_path / name)
    assert [row[0] for row in cells(tmp_path / name, delimiter)] == ["=x", *texts, ""]
    monkeypatch.setenv("KARAT_CSV", "spreadsheet")
    write(table.to_batches(), table.schema, tmp_path / name)
    first, *rows = cells(tmp_path / name, delimiter)
    assert first == ["'=x", "y", "z"]
    assert [row[0] for row in rows] == [*(f"'{text}" for text in FORMULAS), *HARMLESS, ""]
    assert {tuple(row[1:]) for row in rows} == {("-0.5", '["=1"]')}


def test_scored_rows_and_tables_of_values(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_CSV", "spreadsheet")
    rows = {"prediction": ["=1", "-0.5"], "reference": ["=1", "b"], "topic": ["=a", "b"]}
    result = karat.score(rows, "exact_match", output=tmp_path / "a.csv", by="topic", keep=True)
    assert [row[:3] for row in cells(tmp_path / "a.csv")[1:]] == [["'=1", "'=1", "'=a"], ["-0.5", "b", "b"]]
    result.save(tmp_path / "values.csv")
    assert "'=a" in {cell for row in cells(tmp_path / "values.csv") for cell in row}
    result = karat.score(rows, "exact_match", output=tmp_path / "a.jsonl")
    assert '"=1"' in (tmp_path / "a.jsonl").read_text()


def test_another_value_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_CSV", "excel")
    with pytest.raises(SpecError, match="KARAT_CSV='excel': expected plain or spreadsheet"):
        karat.score({"prediction": ["a"], "reference": ["a"]}, "exact_match", output=tmp_path / "a.csv")
