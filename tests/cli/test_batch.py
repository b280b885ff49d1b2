"""Judges in batches on the command line."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.models.batch import governor
from karat.models.batch.uploader import Timing
from karat.models.testing.fake import FakeServer

pytest.importorskip("aiohttp")
LABEL = "judge:correctness(model='small').label"


def judged(messages):
    asked = next(m["content"] for m in reversed(messages) if m["content"].startswith("<data-"))
    row = json.loads(asked.partition("\n")[2].rpartition("\n")[0])
    return {"explanation": "…", "label": "correct" if row["prediction"] in row["reference"] else "incorrect"}


@pytest.fixture
def folder(tmp_path, monkeypatch, own_replies):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(governor, "TIMING", Timing(0.01, 0.02, 0.02, 0.1))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    rows = [{"id": n, "question": f"q{n}", "prediction": f"a{n % 3}", "gold": ["a1", "a2"]} for n in range(12)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def run(server, *words):
    command = ["score", "answers.jsonl", "-m", "judge:correctness", "--model", "small", "--batch", *words]
    return CliRunner().invoke(main, [*command, "--base-url", server.url])


def sizes(server):
    return [batch.total for batch in server.batches.batches.values()]


def test_a_judge_in_batches_scores_like_a_judge_without(folder):
    with FakeServer(judged) as server:
        result = run(server, "--price", "1,2", "--budget", "1", "-o", "out.jsonl")
        assert sizes(server) == [11]
    assert result.exit_code == 0, result.output
    line = next(line for line in result.stdout.splitlines() if line.startswith("judge:correctness(model='small')"))
    assert line.split()[1] == "0.6667"
    assert "batch_1: its requests are uploaded\nbatch_1: completed, 11 of 11 requests have a reply\n" in result.stderr
    assert re.search(r"models: 12 calls, 0 retries, 0 cached, 0 failed; \d+ tokens in, \d+ out; \$0\.00", result.stderr)
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [row[LABEL] for row in rows[:3]] == ["incorrect", "correct", "correct"]


def test_all_judges_and_all_rows_are_uploaded_before_the_first_reply_is_waited_for(folder, monkeypatch):
    monkeypatch.setattr("karat.data.json.reader.rows_per_batch", lambda *_: 5)
    with FakeServer() as server:
        result = run(server, "-m", "judge:answer_relevance", "-m", "judge:conciseness", "--json", "--run", "first")
        assert sizes(server) == [35]
        assert "models: 36 calls, 0 retries, 0 cached, 0 failed" in result.stderr
        assert len(server.requests) == 36
        assert "12 cached" in run(server, "--json").stderr
    used = json.loads((folder / "karat-runs" / "first" / "manifest.json").read_text())["models"]
    assert (used["calls"], used["cached"]) == (36, 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rpm", "5"], "--rpm does not apply to --batch"),
        (["--concurrency", "5"], "--concurrency does not apply to --batch"),
        (["--no-cache"], "--no-cache caches nothing"),
        (["--budget", "5"], "needs --price IN,OUT"),
    ],
)
def test_what_contradicts_batches_is_refused(words, said, folder):
    with FakeServer(judged) as server:
        result = run(server, *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not server.requests


def test_a_dry_run_quotes_half_the_price(folder):
    with FakeServer(judged) as server:
        whole = CliRunner().invoke(main, ["score", "answers.jsonl", "-m", "judge:correctness", "--model", "small",
                                          "--base-url", server.url, "--dry-run", "--price", "1000,2000"])  # fmt: skip
        half = run(server, "--dry-run", "--price", "1000,2000")
    prices = [float(each.stdout.split("$")[1].partition(";")[0]) for each in (whole, half)]
    assert prices[1] == pytest.approx(prices[0] / 2, abs=1e-4)


def test_a_cap_holds_before_anything_is_uploaded(folder):
    with FakeServer(judged) as server:
        result = run(server, "--max-calls", "5", "--json")
        assert (len(server.requests), sizes(server)) == (5, [4])
        assert json.loads(result.stdout)["metrics"][0]["failed"] == 7
        resumed = run(server, "--max-calls", "9", "--json", "--resume")
        assert len(server.requests) == 9
    assert json.loads(resumed.stdout)["metrics"][0]["failed"] == 3


def test_a_batch_that_was_cancelled_says_how_to_go_on(folder):
    with FakeServer(judged, batch_faults=["cancelled"]) as server:
        result = run(server)
        assert result.exit_code == 1
        assert "batch_1: cancelled, 5 of 11 requests have a reply; somebody has cancelled it" in result.stderr
        assert "the same command with --resume continues" in result.stderr
        assert run(server, "--resume").exit_code == 0
        assert sizes(server) == [11, 5]


def test_after_an_interrupt_the_batch_is_named_and_found_again(folder):
    with FakeServer(judged, batch_seconds=3600) as server:
        words = ["score", "answers.jsonl", "-m", "judge:correctness", "--model", "small", "--batch", "--run", "first"]
        command = [sys.executable, "-m", "karat", *words, "--base-url", server.url]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
            while "uploaded" not in process.stderr.readline():
                pass
            process.send_signal(signal.SIGINT)
            said = process.stderr.read()
        assert process.returncode == 130
        assert "the endpoint goes on with batch_1 (11 requests)" in said
        server.batches._seconds = 0
        result = run(server, "--run", "first", "--resume")
        assert result.exit_code == 0, result.output
        assert len(server.requests) == 12


async def fail(*_):
    raise OSError("the disk is full")


def test_without_resume_too_a_batch_that_goes_on_is_not_uploaded_again(folder, monkeypatch):
    with FakeServer(judged, batch_faults=["cancelled"]) as server:
        with monkeypatch.context() as patch:
            patch.setattr("karat.models.batch.provider.Provider.download", fail)
            assert "the disk is full" in run(server).stderr
        assert "cancelled" in run(server).stderr
        assert sizes(server) == [11]
        assert run(server).exit_code == 0
        assert sizes(server) == [11, 5]


def test_answers_in_lists_and_their_comparisons_are_uploaded_ahead(folder):
    rows = [{"id": n, "prediction": [f"{n}a", f"{n}b", f"{n}c"], "gold": ["x"]} for n in range(4)]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with FakeServer(lambda messages: {**judged(messages), "label": "different"}) as server:
        words = ["-m", "majority(judge:equivalence)", "--model", "small", "--batch", "--base-url", server.url]
        result = CliRunner().invoke(main, ["score", "answers.jsonl", *words])
        assert sizes(server) == [23]  # of 24: 3 answers and 3 pairs of each question
    assert result.exit_code == 0, result.output
    assert "24 calls, 0 retries" in result.stderr
