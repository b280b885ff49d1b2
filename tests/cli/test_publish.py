"""`karat runs publish`: what each target is told, and what it asks for."""

import json

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main

RECORD = ["--set", "model=acme/m", "--set", "dataset=qa", "--set", "organization=Acme"]


@pytest.fixture(autouse=True)
def _run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    karat.score({"prediction": ["a", "b"], "reference": ["a", "c"]}, "exact_match", run="first", output="scored.jsonl")


def publish(*words):
    return CliRunner().invoke(main, ["runs", "publish", *words])


@pytest.mark.parametrize("name", ["first", "scored.jsonl"])
def test_a_run_and_a_scored_file_are_written(name, tmp_path):
    done = publish(name, "--to", "every-eval-ever", "-o", "record.json", *RECORD)
    assert (done.exit_code, done.stderr) == (0, "written to record.json\n")
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["evaluation_results"][0]["score_details"]["score"] == 0.5


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--to", "every-eval-ever", *RECORD], "--to every-eval-ever writes a file: -o FILE names it"),
        (["--to", "langfuse", "-o", "x"], "--to langfuse takes no -o"),
        (["--to", "every-eval-ever", "-o", "x", *RECORD[:2]], "needs --set dataset=… --set organization=…"),
        (["--to", "huggingface", "-o", "x", "--set", "datset=a"], "did you mean 'dataset'?"),
        (["--to", "huggingface", "-o", "x", "--set", "dataset"], "takes dataset=…, task=…"),
        (["--to", "mlfow"], "'mlfow' is not one of"),
    ],
)
def test_a_mistake_says_what_the_target_takes(words, expected, tmp_path):
    done = publish("first", *words)
    assert done.exit_code == 2
    assert expected in " ".join(done.output.split())
    assert not (tmp_path / "x").exists()


def test_what_a_target_sent_is_told(monkeypatch):
    monkeypatch.setattr("karat.adapters.langfuse.send_scores", lambda name, *, host=None: {"first": 2}[name])
    done = publish("first", "--to", "langfuse", "--set", "host=http://localhost:3000")
    assert (done.exit_code, done.stderr) == (0, "2 scores sent\n")
