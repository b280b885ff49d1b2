"""`karat label --gold`, with keys from a list in the place of a keyboard."""

import json
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from karat.cli.main import main

WORDS = ["label", "--gold", "doubts.jsonl", "-o", "patch.jsonl", "--annotator", "ada"]


@pytest.fixture
def label(tmp_path, monkeypatch):
    """Calls the command; gets the keys that are pressed, and the lines that are typed."""
    monkeypatch.chdir(tmp_path)
    answers = [{"system": "gpt", "answer": "Paris"}, {"system": "bert", "answer": "Nice"}]
    rows = [{"id": at, "question": f"q{at}", "reference": ["Lyon"], "answers": answers} for at in "1234"]
    Path("doubts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)

    def call(keys, typed=""):
        pressed = iter(keys)

        @contextmanager
        def keyboard():
            yield lambda: next(pressed)

        monkeypatch.setattr("karat.cli.people.terminal._keyboard", keyboard)
        return CliRunner().invoke(main, WORDS, input=typed)

    return call


def test_a_patch_by_keys(label):
    first = label("124q", "z\na\na slip\nb =Marseille\n\n")
    assert first.exit_code == 0, first.output
    assert "1 right   2 wrong   3 ambiguous   4 also right   s skip" in first.output
    assert "Error: expected letters from a to b, or =TEXT, found 'z'" in first.output
    assert "gpt" not in first.output
    assert "3 of 4 rows are done; 3 are in the gold patch patch.jsonl" in first.output
    patch = {line["verdict"]: line for line in map(json.loads, Path("patch.jsonl").read_text().splitlines())}
    assert patch["wrong"]["new"] in ("Paris", "Nice")
    assert patch["wrong"]["why"] == "a slip"
    assert patch["also right"]["new"][1] == "Marseille"
    again = label("41", "\n")
    assert "row 4 of 4" in again.output
    assert "4 of 4 rows are done" in again.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rows.jsonl"], "leave ROWS out"),
        (["-m", "em"], "leave --metric out"),
        (["--until-width", "0.1"], "leave --until-width out"),
        (["--label-map", "a=1,b=0"], "leave --label-map out"),
    ],
)
def test_the_rows_and_the_verdicts_are_of_the_file(words, message):
    assert message in CliRunner().invoke(main, [*WORDS, *words]).output


def test_rows_or_doubtful_gold_are_needed():
    found = CliRunner().invoke(main, ["label", "-o", "a.jsonl", "--label-map", "a=1,b=0"])
    assert (found.exit_code, "Missing argument 'ROWS...'" in found.output) == (2, True)
