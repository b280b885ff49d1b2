"""What is said to somebody who names the wrong file, forgets the gold, or joins ids that are spelled in two ways."""

import json
import zipfile

import pytest


@pytest.fixture
def folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "rows.xlsx", "w") as book:
        book.writestr("[Content_Types].xml", "<Types/>")
        book.writestr("xl/workbook.xml", "<workbook/>")
    (tmp_path / "utf16.csv").write_text("prediction,gold\na,a\n", "utf-16")
    (tmp_path / "header.csv").write_text("prediction,gold\n", "utf-8")
    (tmp_path / "empty.jsonl").write_text("", "utf-8")
    (tmp_path / "page.csv").write_text("<!DOCTYPE html><html></html>", "utf-8")
    (tmp_path / "runs.parquet").write_text('{"prediction": "a", "gold": "a"}\n', "utf-8")
    (tmp_path / "semicolons.csv").write_text("prediction;gold\na;a\n", "utf-8")
    (tmp_path / "predictions.csv").write_text("id,prediction\n1,a\n2,b\n3,c\n", "utf-8")
    (tmp_path / "gold.csv").write_text("qid,gold\n1,a\n2,b\n3,c\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("rows.xlsx", 1, "rows.xlsx is a workbook; save its sheet as CSV UTF-8"),
        ("utf16.csv", 1, "utf16.csv is UTF-16 or UTF-32, not UTF-8; save it as CSV UTF-8"),
        ("header.csv", 1, "nothing was scored by exact_match: none of 0 rows has a score"),
        ("empty.jsonl", 1, "empty.jsonl is empty; expected rows"),
        ("page.csv", 1, "page.csv is a web page or XML"),
        ("runs.parquet", 1, "runs.parquet is not Parquet, but begins like JSON"),
        (".", 1, ". is a folder; to read the files in it, write ./*.csv"),
        ("semicolons.csv", 0, "1.0000"),
        ("predictions.csv", 1, "no column fits 'reference'; the columns are id, prediction"),
        ("predictions.csv", 1, "Gold in a second file: --gold FILE --on ID"),
        ("predictions.csv --gold gold.csv", 2, "on is missing, the column of ids: --on ID"),
        ("predictions.csv --on id", 2, "gold is missing: --gold FILE"),
        ("predictions.csv --gold gold.csv --on id", 1, "(--on id=qid joins ids that have two names)"),
        ("gold.csv --gold predictions.csv --on id", 1, "(--on qid=id joins ids that have two names)"),
        ("predictions.csv --gold gold.csv --on id=qid", 0, "gold without prediction: 0"),
        ("predictions.csv --gold gold.csv --on number", 1, "no column 'number'; there are: id, prediction"),
    ],
)
def test_a_wrong_file_and_forgotten_gold_say_what_to_type(bare, folder, arguments, code, message):
    done = bare("score", *arguments.split(), "-m", "exact_match", cwd=folder)
    assert done.returncode == code, done.stderr
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_ids_that_differ_in_spelling_alone_are_named(bare, tmp_path):
    for name, key, column in (("predictions", "e\u0301", "prediction"), ("gold", "é", "gold")):
        rows = [{"id": key, column: "a"}, {"id": "same", column: "a"}]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = bare("score", "predictions.jsonl", "--gold", "gold.jsonl", "--on", "id", "-m", "exact_match", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "gold without prediction: 1" in done.stdout
    assert r"gold has '\xe9', predictions 'e\u0301': ids are compared as text, and must be spelled alike" in done.stdout
