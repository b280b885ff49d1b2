"""Exports of runs and of scored files."""

import json
from xml.etree import ElementTree as ET

import pytest

import karat
from karat.runs.export.one_file import export_run
from karat.runs.store.run import open_scored

ROWS = {"id": ["a", "b", "c"], "prediction": ["yes", "no", None], "gold": ["yes"] * 3, "reason": ["mine"] * 3}
METRICS = ["exact_match", "token_f1"]


@pytest.fixture
def exported(tmp_path, monkeypatch):
    """A run and a file of the same rows, each as the text of its export."""
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "kept"))

    def export(ending, name, rows=ROWS):
        scored = tmp_path / f"first.{name.rpartition('.')[2]}"
        result = karat.score(rows, METRICS, run=name, output=scored)
        texts = []
        for run in (result.run, open_scored(scored)):
            export_run(run, tmp_path / f"out.{ending}")
            texts.append((tmp_path / f"out.{ending}").read_text("utf-8"))
        return texts

    return export


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_the_test_cases_of_a_scored_file_are_those_of_the_run(exported, form):
    run, file = (ET.fromstring(text) for text in exported("xml", f"a.{form}"))  # noqa: S314  (we wrote it)
    assert "timestamp" not in file[0].attrib
    assert [each.attrib for each in file.iter("testcase")] == [each.attrib for each in run.iter("testcase")]
    assert [each.attrib for each in file[0].iter("error")] == [{"message": "prediction is null"}]
    assert [each.attrib["name"] for each in file[0]] == ["a", "b", "c"]
    assert len(list(file.iter("failure"))) == len(list(run.iter("failure"))) == 2


def test_rows_without_an_id_are_numbered(exported):
    run, file = exported("xml", "a.parquet", {name: cells for name, cells in ROWS.items() if name != "id"})
    assert 'name="row 3"' in run
    assert 'name="row 3"' in file


def test_the_values_of_a_scored_file_are_those_of_the_run(exported):
    run, file = exported("md", "a.parquet")
    run_table, file_table = ([line for line in text.splitlines() if line.startswith("|")] for text in (run, file))
    assert run_table == file_table
    assert "| exact\\_match | 0.5000 |" in file


def test_rows_or_values_are_exported_as_the_ending_says(exported, tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "kept"))
    result = karat.score({**ROWS, "topic": ["x", "y", "y"]}, METRICS, by="topic", run="a", output=tmp_path / "a.csv")
    export_run(result.run, tmp_path / "rows.json")
    export_run(result.run, tmp_path / "values.json", values=True)
    export_run(result.run, tmp_path / "values.csv", values=True)
    export_run(result.run, tmp_path / "values.tex", percent=True, plus_minus=True)
    assert len(json.loads((tmp_path / "rows.json").read_text())) == 3
    assert json.loads((tmp_path / "values.json").read_text()) == result.as_dict()
    rows = (tmp_path / "values.csv").read_text().splitlines()
    assert [row.split(",")[:3] for row in rows[1:4]] == [
        ['"exact_match"', "", "0.5"], ['"exact_match"', '"x"', "1"], ['"exact_match"', '"y"', "0"],
    ]  # fmt: skip
    assert r"exact\_match & 50.0 $\pm$ 4" in (tmp_path / "values.tex").read_text()
