"""A judge inside another metric on the command line: every answer is judged once, over HTTP."""

import json
import random
import re
import signal
import subprocess
import time

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.models.testing.fake import FakeServer
from karat.runs.store.run import open_run

SPEC = "pass_at(judge:correctness(model='small'))@2"


def judged(messages):
    asked = next(m["content"] for m in reversed(messages) if m["content"].startswith("<data-"))
    row = json.loads(asked.partition("\n")[2].rpartition("\n")[0])
    right = row["prediction"].lower() in [each.lower() for each in row["reference"]]
    return {"explanation": f"about {row['prediction']}", "label": "correct" if right else "incorrect"}


@pytest.fixture
def folder(tmp_path, monkeypatch, own_replies):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    write(tmp_path, [["a", "b", "A", "c"], ["x", "y", "z", "v"]])
    return tmp_path


def write(folder, answers):
    rows = [
        {"id": n, "question": f"q{n}", "prediction": each, "gold": ["a", "alpha"], "confidence": 0.5}
        for n, each in enumerate(answers)
    ]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))


def run(server, *words, metrics=("pass_at(judge:correctness)@2",)):
    specs = [word for metric in metrics for word in ("-m", metric)]
    given = ["score", "answers.jsonl", *specs, "--model", "small", "--base-url", server.url, *words]
    return CliRunner().invoke(main, given)


def lines(folder, name="out.jsonl"):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def test_every_answer_is_judged_and_what_was_said_stands_on_the_row(folder):
    with FakeServer(judged, price=(1.0, 2.0)) as server:
        result = run(server, "-o", "out.jsonl", "--run", "kept")
    assert result.exit_code == 0, result.output
    assert server.calls == 8
    assert re.search(r"models: 8 calls, 0 retries, 0 cached, 0 failed", result.stderr)
    first, second = lines(folder)
    assert (first[SPEC], second[SPEC]) == (pytest.approx(5 / 6), 0)
    assert first[f"{SPEC}.labels"] == ["correct", "incorrect", "correct", "incorrect"]
    said = json.loads(first[f"{SPEC}.statements"])
    assert said[1] == {"answer": 2, "score": 0, "label": "incorrect", "explanation": "about b"}
    manifest = open_run("kept").manifest
    assert manifest.models["names"] == ["small"]
    assert manifest.models["calls"] == 8
    assert first[f"{SPEC}.cost"] + second[f"{SPEC}.cost"] == pytest.approx(manifest.models["cost"])
    assert "prompt=" in manifest.metrics[0].signature
    shown = CliRunner().invoke(main, ["show", "kept", "--first", "1", "--whole"]).stdout
    assert "about b" in shown


def test_answers_are_judged_once_for_all_metrics_and_the_same_text_once(folder):
    write(folder, [["a", "b", "a", None, "b"], ["x", "y", "x", "x", "x"]])
    metrics = [f"{name}(judge:correctness)" for name in ("pass_at", "pass_all", "mean_of", "flips", "best_of")]
    with FakeServer(judged) as server:
        dry = run(server, "--dry-run", metrics=metrics)
        result = run(server, "--json", metrics=metrics)
        again = run(server, "--json", metrics=metrics)
        uncached = run(server, "--no-cache", "--json", metrics=metrics)
    assert dry.stdout.startswith("9 calls, of which 0 are in the cache and 5 repeat others; about")
    assert "4 calls, 0 retries, 5 cached" in result.stderr
    assert "0 calls, 0 retries, 9 cached" in again.stderr
    assert "9 calls, 0 retries, 0 cached" in uncached.stderr  # not once for each metric
    assert server.calls == 13
    found = json.loads(result.stdout)["metrics"]
    assert [each["value"] for each in found] == pytest.approx([0.5, 0.0, 0.25, 0.5, 0.5])
    assert result.stdout == again.stdout


def test_rows_that_share_an_id_are_judged_alike(folder):
    lists = lines(folder, "answers.jsonl")
    apart = [{**row, "prediction": each} for row in lists for each in row["prediction"]]
    random.Random(3).shuffle(apart)  # noqa: S311
    with FakeServer(judged) as server:
        whole = json.loads(run(server, "--json").stdout)
        (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, apart)))
        result = run(server, "--json")
        assert "8 rows are answers to 2 questions, by id" in run(server).stdout
    assert json.loads(result.stdout)["metrics"][0]["value"] == whole["metrics"][0]["value"]
    assert "0 calls, 0 retries, 8 cached" in result.stderr


def test_a_failing_call_leaves_its_question_unscored_and_names_the_answer(folder):
    with FakeServer(judged, faults=[None, None, "400"]) as server:
        result = run(server, "--concurrency", "1", "-o", "out.jsonl", "--json")
        assert server.calls == 8
        second = run(server, "--json")
        assert server.calls == 9  # what failed alone is asked again
    first, other = lines(folder)
    assert first[SPEC] is None
    assert first["reason"].startswith("answer 3 of 4: HTTP 400")
    assert first[f"{SPEC}.error"].startswith("answer 3: HTTP 400")
    assert first[f"{SPEC}.labels"] == ["correct", "incorrect", None, "incorrect"]
    assert other[SPEC] == 0
    assert json.loads(result.stdout)["metrics"][0]["unscored"] == 1
    assert json.loads(second.stdout)["metrics"][0]["unscored"] == 0


def test_a_cap_leaves_questions_unscored_and_resuming_asks_the_rest(folder):
    with FakeServer(judged) as server:
        capped = run(server, "--max-calls", "5", "--concurrency", "1", "-o", "out.jsonl")
        assert server.calls == 5
        assert "answer 2 of 4: not asked: the cap of 5 calls is reached in 1 of 2 rows" in capped.stdout
        assert [row[SPEC] for row in lines(folder)] == [pytest.approx(5 / 6), None]
        resumed = run(server, "--max-calls", "8", "--resume", "--json")
        assert server.calls == 8
        assert json.loads(resumed.stdout)["metrics"][0]["unscored"] == 0


def test_a_majority_asks_which_answers_agree_and_quotes_at_most_that(folder):
    metrics = ["majority(judge:equivalence)"]
    with FakeServer(lambda m: {**judged(m), "label": same(m)}) as server:
        dry = run(server, "--dry-run", metrics=metrics)
        result = run(server, "-o", "out.jsonl", metrics=metrics)
    assert dry.stdout.startswith("20 calls")  # 8 answers, and 6 pairs of each question
    assert result.exit_code == 0, result.output
    spec = "majority(judge:equivalence(model='small'))"
    assert [row[spec] for row in lines(folder)] == [1, 0]
    assert server.calls <= 8 + 6 + 6


def same(messages):
    return "equivalent" if judged(messages)["label"] == "correct" else "different"


def test_a_comparison_that_fails_leaves_the_question_unscored(folder):
    write(folder, [["a", "b", "A"]])
    metrics = ["majority(judge:equivalence)"]
    with FakeServer(lambda m: {**judged(m), "label": same(m)}, faults=[None, None, None, None, "400"]) as server:
        run(server, "--concurrency", "1", "-o", "out.jsonl", metrics=metrics)
    assert lines(folder)[0]["reason"].startswith("answers 1 and 3 of 3: HTTP 400")


def test_confidence_beside_a_judge(folder):
    write(folder, ["a", "b", "A", "c"])
    metrics = ["brier(judge:correctness)", "answered(judge:correctness)", "auroc(judge:correctness)"]
    with FakeServer(judged) as server:
        result = run(server, "--no-cache", "-o", "out.jsonl", "--json", metrics=metrics)
    assert server.calls == 4
    found = json.loads(result.stdout)["metrics"]
    assert [each["value"] for each in found] == [0.25, 1, 0.5]
    row = lines(folder)[1]
    assert row["brier(judge:correctness(model='small')).explanation"] == "about b"
    assert row["answered(judge:correctness(model='small')).label"] == "wrong"
    assert row["answered(judge:correctness(model='small')).judge_label"] == "incorrect"


@pytest.mark.parametrize(
    ("spec", "words", "message"),
    [
        ("pass_at(judge:correctness)", [], "judge:correctness needs a model: --model NAME"),
        ("pass_at(judge:corectness)", ["--model", "m"], "did you mean 'correctness'"),
        ("pass_at(judge:faithfulness)", ["--model", "m"], "say from which score on an answer counts as right"),
        ("pass_at(judge:correctness)", ["--model", "a", "--model", "b"], "say from which score on"),
        ("pass_at(judge:correctness(model=m))", ["--model", "n"], "every judge names its own model already"),
        ("majority(judge:refusal)", ["--model", "m"], "does not say which answers are equal"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_asked(spec, words, message, folder):
    result = CliRunner().invoke(main, ["score", "answers.jsonl", "-m", spec, *words])
    assert result.exit_code != 0
    assert message in result.stderr + str(result.exception)
    assert not (folder / "replies.sqlite").exists()


def finish(python, server, *words, signal_after=None):
    given = ["-m", "mean_of(judge:correctness)", "--model", "small", "--base-url", server.url, "-o", "out.jsonl"]
    words = ["-m", "karat", "score", "answers.jsonl", *given, *words]
    with python(*words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        if signal_after is not None:
            while not server.calls:
                time.sleep(0.01)
            time.sleep(signal_after)
            process.send_signal(signal.SIGKILL)
        _, said = process.communicate(timeout=60)
    assert signal_after is not None or process.returncode == 0, said


def test_killed_and_resumed_it_judges_no_answer_twice(folder, python):
    write(folder, [[f"{n}{letter}" for letter in "abcd"] for n in range(30)])
    with FakeServer(judged, latency=(0.01, 0.05)) as server:
        finish(python, server, "--run", "whole", "--concurrency", "8")
    undisturbed = without_latency(folder)
    for path in folder.glob("replies.sqlite*"):
        path.unlink()
    with FakeServer(judged, latency=(0.01, 0.05)) as server:
        finish(python, server, "--run", "stopped", "--concurrency", "8", signal_after=0.3)
        before = server.calls
        finish(python, server, "--run", "stopped", "--resume")
        asked_again = server.calls - before
    assert 0 < before < 120
    assert 120 - before <= asked_again <= 120 - before + 8  # those under way when it was killed
    assert without_latency(folder) == undisturbed


def without_latency(folder):
    return [{name: cell for name, cell in row.items() if not name.endswith("latency")} for row in lines(folder)]
