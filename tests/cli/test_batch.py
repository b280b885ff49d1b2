"""`karat batch`: requests of judges that are answered in batches, and scored as if they had been asked."""

import json
import signal
import subprocess

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.models.batch import sender
from karat.models.testing.fake import FakeServer

BATCH = ["batch", "requests.jsonl", "-o", "replies.jsonl"]


def judged(messages):
    asked = next(m["content"] for m in reversed(messages) if m["content"].startswith("<data-"))
    row = json.loads(asked.partition("\n")[2].rpartition("\n")[0])
    return {"explanation": "…", "label": "correct" if row["prediction"] in row["reference"] else "incorrect"}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch, own_replies):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sender, "FIRST_POLL", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    rows = [{"id": n, "question": f"q{n}", "prediction": f"a{n % 3}", "gold": ["a1", "a2"]} for n in range(12)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))


def run(server, *words, metrics=("judge:correctness",)):
    if words[0] != "batch":
        words = ["score", "answers.jsonl", *(f"-m{each}" for each in metrics), "--model", "small", *words]
    return CliRunner().invoke(main, [*words, "--base-url", server.url])


def sizes(server):
    return [batch.total for batch in server.batches.batches.values()]


def test_judges_in_batches_score_like_judges_that_are_asked():
    metrics = ["judge:correctness", "judge:answer_relevance"]
    with FakeServer(lambda messages: judged(messages) if "reference" in str(messages) else {"score": 1}) as server:
        asked = run(server, "--json", "--no-cache", metrics=metrics)
        assert run(server, "--write-requests", "requests.jsonl", metrics=metrics).exit_code == 0
        sent = run(server, *BATCH)
        assert (sent.exit_code, sent.stdout) == (0, "24 of 24 requests have a reply in replies.jsonl\n")
        assert sent.stderr.splitlines()[0] == "batch_1: 24 requests are uploaded"
        assert sent.stderr.splitlines()[-1] == "batch_1: completed, 24 of 24 requests have a reply"
        assert sizes(server) == [24]
        scored = run(server, "--json", "--replies", "replies.jsonl", metrics=metrics)
    values = [[each["value"] for each in json.loads(result.stdout)["metrics"]] for result in (scored, asked)]
    assert values[0] == values[1]


def test_second_requests_are_a_second_batch_whose_replies_go_to_the_same_file():
    unread = iter([True])
    with FakeServer(lambda messages: "Hm." if next(unread, False) else judged(messages)) as server:
        run(server, "--write-requests", "requests.jsonl")
        run(server, *BATCH)
        run(server, "--replies", "replies.jsonl", "--write-requests", "requests.jsonl")
        assert run(server, *BATCH).stdout.startswith("1 of 1 requests")
        assert sizes(server) == [12, 1]
        scored = run(server, "--json", "--replies", "replies.jsonl")
    assert json.loads(scored.stdout)["metrics"][0]["scored"] == 12


def test_answers_in_lists_and_their_comparisons_are_one_file(tmp_path):
    rows = [{"id": n, "prediction": [f"{n}a", f"{n}b", f"{n}c"], "gold": ["x"]} for n in range(4)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    metrics = ["majority(judge:equivalence)"]
    with FakeServer(lambda messages: {**judged(messages), "label": "different"}) as server:
        run(server, "--write-requests", "requests.jsonl", metrics=metrics)
        run(server, *BATCH)
        assert sizes(server) == [24]  # 3 answers and 3 pairs of each question
        result = run(server, "--replies", "replies.jsonl", "--json", metrics=metrics)
    assert json.loads(result.stdout)["metrics"][0]["scored"] == 4


def test_a_batch_that_was_cancelled_says_how_to_go_on():
    with FakeServer(judged, batch_faults=["cancelled"]) as server:
        run(server, "--write-requests", "requests.jsonl")
        result = run(server, *BATCH)
        assert (result.exit_code, "batch_1 was cancelled" in result.stderr) == (1, True)
        assert result.stdout.endswith(
            "6 of 12 requests have a reply in replies.jsonl; the same command sends the rest\n"
        )
        assert run(server, *BATCH).exit_code == 0
        assert sizes(server) == [12, 6]


def test_after_an_interrupt_the_batch_is_named_and_found_again(python):
    with FakeServer(judged, batch_seconds=3600) as server:
        run(server, "--write-requests", "requests.jsonl")
        words = ["-m", "karat", *BATCH, "--base-url", server.url]
        with python(*words, stderr=subprocess.PIPE, text=True) as process:
            while "in_progress" not in process.stderr.readline():
                pass
            process.send_signal(signal.SIGINT)
            said = process.stderr.read()
        assert process.returncode == 130
        assert "the endpoint goes on with batch_1 (12 requests); the same command waits for it" in said
        server.batches._seconds = 0
        result = run(server, *BATCH)
        assert result.exit_code == 0, result.output
        assert sizes(server) == [12]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["batch", "requests.jsonl", "-o", "requests.jsonl"], 2, "requests.jsonl holds the requests"),
        (["batch", "none.jsonl", "-o", "replies.jsonl"], 1, "none.jsonl"),
        (["batch", "requests.jsonl", "-o", "none/replies.jsonl"], 1, "none"),
        (["batch", "answers.jsonl", "-o", "replies.jsonl"], 1, "answers.jsonl, line 1: expected a JSON object with a"),
    ],
)
def test_files_that_cannot_be_used_are_named(words, code, message):
    with FakeServer(judged) as server:
        run(server, "--write-requests", "requests.jsonl")
        result = run(server, *words)
    assert (result.exit_code, message in result.stderr) == (code, True), result.stderr
