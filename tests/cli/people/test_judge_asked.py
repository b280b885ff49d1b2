"""`karat judge` of judges that are asked."""

import json
import random

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.models.testing.fake import FakeServer

ALL = ("--ask", "3", "--reword", "all")


@pytest.fixture
def examine(tmp_path, monkeypatch, own_replies):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    rows = [{"id": n, "question": f"q{n}", "prediction": "a" * (n + 1), "gold": "a"} for n in range(20)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "labels.csv").write_text("id,label\n" + "".join(f"{n},{'in' * (n % 2)}correct\n" for n in range(20)))
    draw = random.Random(1)  # noqa: S311

    def reply(_):
        return {"explanation": "…", "label": draw.choice(["correct", "incorrect"])}

    with FakeServer(reply, price=(1.0, 2.0)) as server:

        def run(*words):
            given = ["judge", "answers.jsonl", "-m", "judge:correctness", "--model", "small"]
            return CliRunner().invoke(main, [*given, "--base-url", server.url, *words])

        run.server = server
        yield run


def test_the_cost_is_said_before_and_a_dry_run_asks_nothing(examine):
    dry = examine(*ALL, "--dry-run", "--price", "1,2")
    assert (dry.exit_code, examine.server.calls) == (0, 0)
    assert dry.stdout.startswith("140 calls, of which 0 are in the cache; about ")
    report = examine("--ask", "2")
    assert report.stderr.splitlines()[0].startswith("40 calls, of which 0 are in the cache")
    assert examine.server.calls == 40
    assert "models: 40 calls" in report.stderr


def test_the_report_in_lines_and_as_json(examine):
    lines = examine(*ALL, "--human", "labels.csv", "--on", "id", "--keep-calibration", "kept.json")
    assert lines.exit_code == 0, lines.output
    assert lines.stdout.splitlines()[1] == "judge:correctness(model='small'): 140 verdicts on 20 rows"
    for words in (
        "another verdict when asked again",
        "error by doubling of the answer",
        "Brier score",
        "Calibration of judge",
    ):
        assert words in lines.stdout
    assert "asked again, it gives another verdict with a probability of" in lines.stdout
    found = json.loads(examine(*ALL, "--json", "--calibration", "kept.json").stdout)["judges"][0]
    assert found["kept"]["holds"]
    flips = found["noise"]["flips"]
    assert flips["low"] < flips["value"] < flips["high"]
    assert found["position"] is None
    changed = examine(
        "--ask", "1", "--calibration", "kept.json", "-m", "judge:correctness(temperature=1.0)", "--dry-run"
    )
    assert changed.exit_code == 0


def test_several_judges_stand_beside_each_other(examine, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    report = examine("-m", "judge:correctness(temperature=0.7)", "--ask", "2")
    assert report.exit_code == 0, report.output
    lines = report.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "judge:correctness(model='small', temperature=0.7): 40 verdicts on 20 rows" in lines
    assert "B: judge:correctness(model='small', temperature=0.7)" in lines
    (first, second), *found = (line.split()[5:7] for line in lines if line.startswith("another verdict when"))
    assert [each[0] for each in found] == [first, second]


def test_without_labels_the_report_says_how_to_draw_rows_for_people(examine):
    report = examine("--ask", "1")
    assert report.stdout.splitlines()[-3:] == [
        "  karat label answers.jsonl --next 100 -o drawn.csv",
        "  karat label drawn.csv -o labels.jsonl -m judge:correctness",
        "  karat judge answers.jsonl --human labels.jsonl --on id …",
    ]
    drawn = CliRunner().invoke(main, ["label", "answers.jsonl", "--next", "5", "-o", "drawn.csv"])
    assert drawn.output == "drawn.csv: 5 rows to label, drawn with probabilities from 0.25 to 0.25\n"
    labelled = examine("--ask", "1", "--human", "labels.csv", "--on", "id")
    assert "no labels by people yet" not in labelled.stdout


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "--model and --dry-run are about models, and none is asked: --ask N"),
        (["--ask", "1", "--reword", "roles"], 2, "there is no rewording 'roles'"),
        (["--ask", "1", "--keep-calibration", "kept.json"], 2, "--human names their labels"),
        (["--ask", "1", "--author", "autor"], 1, "author: there is no column 'autor'"),
        (["--ask", "1", "--human", "labels.csv", "--on", "id", "--label-map", "yes=1"], 1, "labels.csv, row 1 "),
    ],
)
def test_mistakes_are_found_before_anything_is_asked(examine, words, code, message):
    result = examine(*words)
    assert (result.exit_code, examine.server.calls) == (code, 0), result.output
    assert message in result.stderr
