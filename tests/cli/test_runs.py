import json
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.data.open import open_source
from karat.runs.store.folders import unfinished_runs
from karat.runs.store.run import open_run

ANSWERS = """{"id": "a", "prediction": "Paris", "gold": "Paris", "topic": "towns"}
{"id": "b", "prediction": "the Seine", "gold": "Loire", "topic": "rivers"}
{"id": "<c>", "prediction": null, "gold": "Nile", "topic": "rivers"}
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KARAT_RUNS", raising=False)
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "replies.sqlite"))
    (tmp_path / "answers.jsonl").write_text(ANSWERS)

    def invoke(*words):
        return CliRunner().invoke(main, list(words))

    return invoke


def test_a_run_is_kept_listed_shown_and_removed(run):
    assert "no run is kept in karat-runs" in run("runs").stdout
    scored = run("score", "answers.jsonl", "-m", "exact_match", "-m", "bleu", "--by", "topic", "--run", "first")
    assert "run first is kept in karat-runs/first" in scored.stdout
    assert Path("karat-runs/first/manifest.json").is_file()
    line = next(line for line in run("runs").stdout.splitlines() if line.startswith("first"))
    assert line.split()[2:5] == ["3", "exact_match", "0.5000"]
    shown = run("runs", "show", "first").stdout
    values = [line for line in scored.stdout.splitlines() if line.startswith(("metric", "exact_match", "bleu", " "))]
    assert [line for line in shown.splitlines() if line in values] == values
    assert "answers.jsonl" in shown
    assert "settings  by=topic  confidence=0.95  seed=0" in shown
    assert run("runs", "remove", "first").exit_code == 0
    assert list(Path("karat-runs").iterdir()) == []


def test_people_correct_a_run_that_is_kept_as_they_correct_a_scoring(run):
    rows = [{"id": f"q{at}", "prediction": "ab"[at % 3 == 0], "gold": "a", "topic": "xy"[at % 2]} for at in range(40)]
    Path("many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    labels = "".join(f"q{at},{'good' if at % 4 else 'bad'}\n" for at in range(0, 40, 2))
    Path("labels.csv").write_text("qid,label\n" + labels)
    people = ("--human", "labels.csv", "--on", "id=qid", "--label-map", "good=1,bad=0", "--these-rows", "--json")
    scoring = ("score", "many.jsonl", "-m", "exact_match", "-m", "bleu", "--by", "topic", "--seed", "3")
    run(*scoring, "--run", "first")
    shown = json.loads(run("runs", "show", "first", *people).stdout)["values"]
    assert shown == json.loads(run(*scoring, *people).stdout)
    assert shown["metrics"][0]["groups"]["x"]["corrected"]["labelled"] == 20
    assert "labels by people: labels.csv, 20 of 40 rows" in run("runs", "show", "first", *people[:-1]).stdout
    assert "'nothing'" in run("runs", "show", "first", "--human", "labels.csv", "--on", "nothing").output


def test_json_says_all_of_it(run):
    said = json.loads(run("score", "answers.jsonl", "-m", "exact_match", "--run", "first", "--json").stdout)
    shown = json.loads(run("runs", "show", "first", "--json").stdout)
    assert shown["values"] == said
    assert shown["manifest"]["metrics"][0]["signature"] == said["metrics"][0]["signature"]
    listed = json.loads(run("runs", "--json").stdout)
    assert (listed["name"], listed["n"], listed["values"]) == ("first", 3, {"exact_match": 0.5})


@pytest.mark.parametrize("ending", ["csv", "json", "jsonl", "parquet", "arrow"])
def test_rows_are_exported_as_score_writes_them(run, ending):
    run("score", "answers.jsonl", "-m", "exact_match", "--run", "first", "-o", f"rows.{ending}")
    assert run("runs", "export", "first", "-o", f"out.{ending}").exit_code == 0
    exported, written = open_source(f"out.{ending}"), open_source(f"rows.{ending}")
    assert exported.schema == written.schema
    assert list(exported.batches()) == list(written.batches())


def test_values_are_exported_as_a_table_of_markdown(run):
    run("score", "answers.jsonl", "-m", "exact_match", "--by", "topic", "--run", "first")
    run("runs", "export", "first", "-o", "out.md")
    lines = [line for line in Path("out.md").read_text().splitlines()[2:] if line.startswith("|")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert rows[0] == ["metric", "value", "95 % interval", "n", "unscored", "worst to best"]
    assert [(row[0], row[1], *row[3:]) for row in rows[2:]] == [
        (r"exact\_match", "0.5000", "3", "1", "0.3333 to 0.6667"),
        ("&emsp;rivers", "0.0000", "2", "1", "0.0000 to 0.5000"),
        ("&emsp;towns", "1.0000", "1", "0", "1.0000 to 1.0000"),
    ]


def test_rows_are_exported_as_tests_of_junit(run):
    run("score", "answers.jsonl", "-m", "exact_match", "-m", "wer", "--run", "first")
    run("runs", "export", "first", "-o", "out.xml")
    suites = ET.parse("out.xml").getroot().findall("testsuite")  # noqa: S314  (our own)
    assert [(s.get("name"), s.get("tests"), s.get("failures"), s.get("errors")) for s in suites] == [
        ("exact_match", "3", "1", "1"),
        ("wer", "3", "0", "1"),
    ]
    right, wrong, unscored = suites[0].findall("testcase")
    assert [case.get("name") for case in (right, wrong, unscored)] == ["a", "b", "<c>"]
    assert (len(right), wrong[0].tag, unscored[0].tag) == (0, "failure", "error")
    assert unscored[0].get("message") == "prediction is null"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["score", "answers.jsonl", "-m", "exact_match", "--run", "first"], 1, "run first exists already"),
        (["score", "answers.jsonl", "-m", "exact_match", "--run", "../first"], 2, "a name of letters"),
        (["score", "answers.jsonl", "-m", "exact_match", "--resume"], 2, "--run NAME keeps a run that it can continue"),
        (
            ["score", "answers.jsonl", "-m", "exact_match", "--run", "x", "--max-calls", "3"],
            2,
            "--max-calls is about models",
        ),
        (["runs", "show", "frist"], 1, "did you mean 'first'"),
        (["runs", "remove", "frist"], 1, "did you mean 'first'"),
        (["runs", "export", "first", "-o", "out.xlsx"], 1, ".md, .tex, .html, .xml, .json"),
        (["runs", "export", "first", "-o", "nowhere/out.md"], 1, "there is no folder nowhere"),
        (["runs", "export", "first", "-o", "karat-runs/first/rows.parquet"], 1, "is an input file"),
    ],
)
def test_what_cannot_be_done_says_what_to_do(run, words, code, said):
    run("score", "answers.jsonl", "-m", "exact_match", "--run", "first")
    result = run(*words)
    assert result.exit_code == code
    assert said in result.stderr
    assert run("runs", "show", "first").exit_code == 0


def test_a_damaged_run_does_not_hide_the_others(run):
    for name in ("first", "second"):
        run("score", "answers.jsonl", "-m", "exact_match", "--run", name)
    Path("karat-runs/first/manifest.json").write_text("{")
    listed = run("runs")
    assert "first/manifest.json is damaged, and no JSON: " in listed.stdout
    assert "exact_match 0.5000" in listed.stdout


@pytest.mark.parametrize("text", ["{}", "[]", '{"metrics": 5}', '{"metrics": [{}]}', "[" * 100_000])
def test_damaged_values_do_not_hide_the_other_runs(run, text):
    for name in ("first", "second"):
        run("score", "answers.jsonl", "-m", "exact_match", "--run", name)
    Path("karat-runs/first/values.json").write_text(text)
    listed = run("runs")
    assert "values.json" in listed.stdout
    assert "exact_match 0.5000" in listed.stdout
    assert "values.json" in run("runs", "show", "first").stderr


def test_a_dry_run_keeps_nothing(run):
    words = ["score", "answers.jsonl", "-m", "judge:correctness", "--model", "m", "--map", "question=id"]
    assert run(*words, "--dry-run", "--run", "first").exit_code == 0
    assert not Path("karat-runs").exists()


SLOW = """
import sys, time
import karat
from karat.cli.main import main

@karat.metric(source="ours")
def slow(prediction: karat.kinds.Text) -> karat.kinds.Score:
    "1 for each."
    print("scored", file=sys.__stdout__, flush=True)
    time.sleep(0.05)
    return [1.0] * len(prediction)

sys.argv[0] = "karat"
main()
"""


HANGING = """
import sys, time
import karat
from karat.cli.main import main

@karat.metric(source="ours")
def hanging(prediction: karat.kinds.Text) -> karat.kinds.Score:
    "Waits for a minute."
    print("waits", file=sys.__stdout__, flush=True)
    time.sleep(60)
    return [1.0] * len(prediction)

sys.argv[0] = "karat"
main()
"""


@pytest.mark.usefixtures("run")
def test_a_second_interrupt_ends_a_metric_that_hangs(python):
    pq.write_table(pa.table({"prediction": ["a"] * 4}), "rows.parquet", row_group_size=2)
    words = ["score", "rows.parquet", "-m", "hanging", "--run", "first", "--engine", "threads"]
    with python("-c", HANGING, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "waits\n"
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(1)  # two that arrive together are one
        _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert said.splitlines()[-2:] == [
        "run first is kept up to here: the same command with --resume continues it",
        "interrupted",
    ]


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_keeps_all_that_was_scored_and_goes_on(run, monkeypatch, sent, code, python):
    monkeypatch.setenv("KARAT_THREADS", "1")
    rows = pa.table({"prediction": [f"a{row}" for row in range(500)], "gold": ["a1"] * 500})
    with pa.ipc.new_file("rows.arrow", rows.schema) as writer:
        writer.write_table(rows, max_chunksize=5)
    words = ["-c", SLOW, "score", "rows.arrow", "-m", "slow", "-m", "exact_match", "--run", "first"]
    with python(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(4):
            assert process.stdout.readline() == "scored\n"
        process.send_signal(sent)
        process.stdout.read()
        said = process.stderr.read()
    assert process.returncode == code
    assert ("the same command with --resume continues" in said) == (sent == signal.SIGINT)
    assert "Traceback" not in said
    assert unfinished_runs() == ["first"]
    assert "not finished" in run("runs").stdout
    refused = python.run(*words)
    assert (refused.returncode, "continue it with --resume" in refused.stderr) == (1, True)
    again = python.run(*words, "--resume", check=True)
    assert again.stdout.splitlines().count("scored") <= 97
    kept = open_run("first")
    assert kept.values["metrics"][1] == karat.score(rows, "exact_match").as_dict()["metrics"][0]
    assert kept.scores("slow").sum() == len(pq.read_table(kept.rows)) == 500
    assert kept.manifest.call == "karat score rows.arrow -m slow -m exact_match --run first --resume"
