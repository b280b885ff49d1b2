import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.models.governor.retry import RetryPolicy
from karat.runs.store.run import open_run

TASK = """
import time
from pathlib import Path

def answer(question):
    if question == "q3":
        raise KeyError("verdict")
    return "a" + question[1:]

async def slow(row):
    with open("asked.txt", "a") as file:
        print(row["id"], file=file)
    import asyncio
    await asyncio.sleep(0.05)
    return {"prediction": "a0", "contexts": ["x"]}
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KARAT_RUNS", raising=False)
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "replies.sqlite"))
    monkeypatch.setattr(RetryPolicy, "pause", lambda *_: 0.01)
    rows = [{"id": row, "question": f"q{row}", "gold": f"a{row % 6}"} for row in range(8)]
    Path("questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("task.py").write_text(TASK)

    def invoke(*words):
        return CliRunner().invoke(main, ["experiment", *words])

    return invoke


def test_a_file_names_the_task_and_the_run_is_kept(run):
    done = run("task.py:answer", "--data", "questions.jsonl", "-m", "exact_match", "-m", "token_f1", "--run", "first")
    assert done.exit_code == 0, done.output
    assert "task failed on 1 of 8 rows, which have no prediction: KeyError: 'verdict' (1)" in done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("exact_match"))
    assert "0.7143" in line.split()
    kept = open_run("first")
    assert kept.manifest.sources == {"data": "questions.jsonl", "task": "task.py:answer"}
    assert kept.column("error").to_pylist()[3] == "KeyError: 'verdict'"
    again = run("task.py:answer", "--data", "questions.jsonl", "-m", "exact_match", "--run", "first")
    assert (again.exit_code, "run first exists already" in again.stderr) == (1, True)


def test_options_of_scoring_hold(run):
    words = ["task.py:slow", "--data", "questions.jsonl", "-m", "exact_match", "--where", "id < 6", "--limit", "4"]
    done = run(*words, "--repetitions", "2", "--concurrency", "8", "--json", "-o", "out.jsonl", "--fail-under", "0.9")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["n"] == 8
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [(row["row"], row["repetition"]) for row in rows[:3]] == [(1, 1), (1, 2), (2, 1)]
    assert rows[0]["contexts"] == ["x"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["task.py:anser"], 2, "did you mean 'answer'"),
        (["absent.py:answer"], 1, "No such file"),
        (["task.py:answer", "--resume"], 2, "--run NAME"),
        (["task.py:answer", "--dry-run"], 2, "--dry-run"),
        (["task.py:answer", "--rpm", "3"], 2, "--rpm is about models"),
        (["task.py:answer", "--repetitions", "0"], 2, "repetitions"),
    ],
)
def test_what_cannot_be(run, words, code, said):
    done = run(*words, "--data", "questions.jsonl", "-m", "exact_match")
    assert (done.exit_code, said in done.stderr) == (code, True), done.output


def test_an_interrupted_experiment_says_how_to_go_on_and_does(run, python):
    rows = [{"id": row, "gold": "a0"} for row in range(60)]
    Path("many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["task.py:slow", "--data", "many.jsonl", "-m", "exact_match", "--run", "cut", "--concurrency", "3"]
    asked = Path("asked.txt")
    with python(
        "-m", "karat", "experiment", *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None and not (asked.exists() and len(asked.read_text().split()) > 9):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert "run cut is kept up to here: the same command with --resume continues" in said
    assert len(asked.read_text().split()) < 60
    assert run(*words).exit_code == 1
    done = run(*words, "--resume")
    assert done.exit_code == 0, done.output
    assert sorted(map(int, asked.read_text().split())) == list(range(60))
    assert [path.name for path in Path("karat-runs").iterdir()] == ["cut"]
