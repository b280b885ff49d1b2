"""`karat judge` of scores that exist, as users call it."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from karat.cli.main import main


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = ["Yes", "No"] * 20
    judge = [*people[:36], "No", "Yes", "No", "Yes"]
    with Path("rows.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "question", "answer", "topic", "judge"])
        rows.writerows(
            [at, f"why {at}?", f"so {at}", "new" if at > 29 else "old", said] for at, said in enumerate(judge)
        )
    with Path("labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "label"])
        rows.writerows(enumerate(people))


def run(*arguments):
    return CliRunner().invoke(main, ["judge", *arguments])


COMMAND = ("rows.csv", "--column", "judge", "--human", "labels.csv", "--on", "id", "--label-map", "Yes=1,No=0")


def test_the_verdict_comes_first_then_the_coefficients(files):
    shown = run(*COMMAND, "--by", "topic", "--errors", "1")
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert lines[0] == "40 rows, 95 % intervals"
    assert lines[1].startswith("judge gives the label of people in 90.0 % [76.9, 96.0] of 40 rows")
    assert "what people reach among themselves is not known" in lines[2]
    assert "false praise: 10.0 %" in lines[3]
    assert "of the 20 rows that people label No" in lines[3]
    assert lines[4].startswith("judge is worse in new: accuracy 0.600")
    assert any(line.split()[:5] == ["judge", "people", "accuracy", "0.9000", "0.7695"] for line in lines)
    assert "judge (down) by people (across)" in lines
    assert "false praise by judge, 37: why 37?" in lines
    assert lines[-2:] == ["  so 36", "  judge: 0  label: Yes"]


def test_json(files):
    shown = run(*COMMAND, "--json")
    found = json.loads(shown.output)
    assert found["pairs"][0]["figures"]["cohen_kappa"]["value"] == pytest.approx(0.8)
    assert found["pairs"][0]["confusion"] == {"labels": [0, 1], "counts": [[18, 2], [2, 18]]}
    assert found["labels"] == {"Yes": 1, "No": 0}


def test_labels_in_columns_of_the_rows(files):
    shown = run("rows.csv", "--column", "judge", "--human", "judge", "--label-map", "Yes=1,No=0")
    assert "gives the label of people in 100.0 %" in shown.output


def test_one_rater_is_refused(files):
    shown = run("rows.csv", "--column", "id")
    assert shown.exit_code == 2
    assert "agreement is of two raters" in shown.output


def test_the_tables_are_written_to_files(files):
    shown = run(*COMMAND, "-o", "found.md", "-o", "found.csv")
    assert shown.exit_code == 0, shown.output
    assert "| judge | people | accuracy | 0.9000 | 0.7695 to" in Path("found.md").read_text()
    with Path("found.csv").open(newline="") as file:
        kappa = next(row for row in csv.DictReader(file) if row["figure"] == "cohen_kappa")
    assert float(kappa["value"]) == pytest.approx(0.8)
    assert "labels.csv" in run(*COMMAND, "-o", "labels.csv").output
    assert Path("labels.csv").read_text().startswith("id,label")
