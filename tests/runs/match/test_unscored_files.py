"""Files of answers without scores: they are scored where they are compared, or what to type is said."""

import re
import shlex

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.data.open import open_source
from karat.data.write import write as write_batches

N = 30
ROWS = {"id": [f"x{row * 7 % 31}" for row in range(N)], "gold": [f"{row}" for row in range(N)]}
ANSWERS = {"fid.csv": [f"{row}" for row in range(N)], "gpt4.jsonl": [f"{row}" if row % 3 else "no" for row in range(N)]}


@pytest.fixture(autouse=True)
def _files_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KARAT_RUNS", raising=False)
    for name, answers in ANSWERS.items():
        write(name, ROWS | {"prediction": answers})


def write(name, rows):
    source = open_source(rows)
    write_batches(source.batches(), source.schema, name)


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_files_are_scored_where_they_are_compared_and_ranked():
    printed = run("compare", "fid.csv", "gpt4.jsonl", "-m", "squad")
    assert "gpt4.jsonl is worse than fid.csv by 33.3 points" in printed.stdout, printed.output
    assert "\nem " in printed.stdout
    assert "\nf1 " in printed.stdout
    kept = [karat.score(name, "squad", run=f"run-{name[0]}").run for name in ANSWERS]
    alone = karat.compare(*ANSWERS, metrics="squad")
    assert [each.comparison for each in alone.findings] == [each.comparison for each in karat.compare(*kept).findings]
    assert karat.rank(*ANSWERS, metrics="exact_match").rankings[0].n == N
    assert karat.compare("run-f", "gpt4.jsonl", metrics="exact_match(normalize='squad')").n == N


def test_without_metrics_the_message_names_them():
    refused = run("compare", "fid.csv", "gpt4.jsonl")
    assert "fid.csv holds no scores" in refused.stderr
    assert "-m METRIC scores its answers" in refused.stderr


def test_the_command_of_the_message_makes_a_run_that_can_be_compared():
    gold = {name: ROWS[name] for name in ("id", "gold")}
    write("gold.csv", gold)
    for name, answers in ANSWERS.items():
        write(name, {"id": ROWS["id"], "prediction": answers})
    refused = run("compare", "fid.csv", "gpt4.jsonl", "-m", "exact_match")
    command = re.search(r"karat (score fid.csv -m exact_match --run NAME), and name that run", refused.stderr)[1]
    for name in ANSWERS:
        typed = command.replace("fid.csv", name).replace("NAME", name[0])
        assert run(*shlex.split(typed), "--gold", "gold.csv", "--on", "id").exit_code == 0
    assert "g is worse than f by 33.3 points" in run("compare", "f", "g").stdout


def test_judges_are_not_asked_where_files_are_compared():
    refused = run("compare", *ANSWERS, "-m", "judge:correctness")
    assert "judge:correctness asks a model" in refused.stderr
    assert "karat score fid.csv -m judge:correctness --run NAME" in refused.stderr


def test_a_verdict_without_a_difference_names_the_systems():
    for name, answers in ANSWERS.items():
        write(name, {key: cells[:4] for key, cells in (ROWS | {"prediction": answers}).items()})
    (finding,) = karat.compare(*ANSWERS, metrics="exact_match").findings
    assert finding.sentence.startswith("no difference between fid.csv and gpt4.jsonl could be shown (")
    assert finding.sentence.endswith("; too few rows to detect any difference")
