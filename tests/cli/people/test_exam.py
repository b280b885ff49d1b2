"""`karat judge --exam`: what a dry run says, the gate, and that nothing answered is asked twice."""

import json
import signal
import subprocess
import time

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.models.testing.fake import FakeServer

pytest.importorskip("aiohttp")
NAMES = ("Ada Byron", "Grace Hopper", "Alan Turing", "Emmy Noether", "Carl Gauss", "Sofia Kovalevska")


@pytest.fixture
def folder(tmp_path, monkeypatch, own_replies):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    rows = [
        {"id": n, "question": f"Who wrote book {n}?", "gold": NAMES[n % 6], "answer": NAMES[n % 5]} for n in range(30)
    ]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def run(*words):
    return CliRunner().invoke(main, ["judge", "answers.jsonl", *words])


def asked(server, *words):
    return run("-m", "judge:correctness", "--model", "small", "--base-url", server.url, *words)


def accepts_all(_):
    return {"explanation": "…", "label": "correct"}


def test_a_dry_run_counts_answers_and_dropped_ones_and_asks_nothing(folder):
    with FakeServer(accepts_all) as server:
        dry = asked(server, "--exam", "10", "--dry-run", "--price", "1,2", "--keep-exam", "paper.jsonl")
        assert (dry.exit_code, server.calls) == (0, 0), dry.output
    kept = [json.loads(line) for line in (folder / "paper.jsonl").read_text().splitlines()]
    first, counts = dry.stdout.splitlines()[:2]
    assert first == "answers.jsonl: 30 rows; question from 'question', reference from 'gold', prediction from 'answer'"
    assert counts == f"10 questions, {len(kept)} answers; types of gold: 10 person"
    table = {tuple(line.split()[:-2]): line.split()[-2:] for line in dry.stdout.splitlines()[2:]}
    assert table["right", "gold"] == ["10", "0"]
    assert table["wrong", "changed", "number"] == ["0", "0"]
    assert f"{len(kept)} calls, of which 0 are in the cache" in dry.stdout


def test_the_gate_fails_a_judge_that_accepts_everything(folder):
    with FakeServer(accepts_all) as server:
        words = ("--exam", "8", "--exam-class", "gold", "--exam-class", "other gold", "--exam-class", "refusal")
        found = asked(server, *words, "--fail-accepts", "0.1", "--errors", "1", "-o", "out.md")
        assert (found.exit_code, server.calls) == (3, 24), found.output
        again = asked(server, *words, "--fail-accepts", "refusal=1", "--json")
        assert (again.exit_code, server.calls) == (0, 24), again.output
    assert "the share of wrong answers that it accepts is 1, at most 0.1 was asked for" in found.stderr
    assert "24 calls, of which 0 are in the cache" in found.stderr
    assert "wrong, accepted by judge:correctness(model='small'): refusal, refusal" in found.stdout
    assert json.loads(again.stdout)["judges"][0]["classes"]["refusal"]["error"]["value"] == 1
    assert "other gold" in (folder / "out.md").read_text()


def test_a_certificate_is_cited_where_the_judge_scores_and_kept_in_the_run(folder):
    words = ("--exam", "30", "--exam-class", "refusal", "--certify", "0.2", "--keep-certificate", "kept.json")
    with FakeServer({"explanation": "…", "label": "incorrect"}) as server:
        found = asked(server, *words)
        assert found.exit_code == 0, found.output
        score = [
            "score",
            "answers.jsonl",
            "-m",
            "judge:correctness",
            "--base-url",
            server.url,
            "--certificate",
            "kept.json",
        ]
        cited = CliRunner().invoke(main, [*score, "--model", "small", "--run", "first"])
        lapsed = CliRunner().invoke(main, [*score, "--model", "other"])
    said = "certified: accepts < 20 % of wrong answers: refusal (α = 0.05 for all together, 30 questions)"
    assert said in found.stdout
    assert f"judge:correctness(model='small'): {said}" in cited.stdout
    assert (
        "the certificate in kept.json has lapsed for judge:correctness: its model was 'small' and is 'other'"
        in lapsed.stdout
    )
    shown = CliRunner().invoke(main, ["report", "first", "-o", "report.html"])
    assert shown.exit_code == 0, shown.output
    assert "certified: accepts" in (folder / "report.html").read_text()


def test_metrics_are_examined_without_a_model(folder):
    found = run("-m", "em", "-m", "contains", "--exam", "12", "--width", "0.1")
    assert found.exit_code == 0, found.output
    assert "it is wrong on most answers of: sentence" in found.stdout
    assert "questions needed" in found.stdout


def test_flags_that_do_not_go_with_an_exam_are_told(folder):
    for words, problem in (
        (("--exam",), "--exam examines the judges and metrics that -m names"),
        (("-m", "em", "--width", "0.1"), "--width is about an exam: --exam"),
        (("-m", "em", "--exam", "--keep-certificate", "k.json"), "--keep-certificate keeps what --certify LIMIT tests"),
        (("-m", "em", "--exam", "--by", "topic"), "--by is about answers that exist"),
        (("-m", "em", "--exam", "--fail-accepts", "2"), "expected a share from 0 to 1, or CLASS=SHARE"),
        (("-m", "em", "--exam", "--fail-accepts", "refusals=0.1"), "did you mean 'refusal'?"),
        (("-m", "em", "--exam", "--exam-class", "wrongs"), "did you mean 'wrong'?"),
    ):
        found = run(*words)
        assert found.exit_code in {1, 2}, words
        assert problem in found.output, found.output


def test_an_exam_that_is_killed_continues_and_asks_nothing_twice_that_was_answered(folder, python):
    with FakeServer(accepts_all, latency=0.05) as server:
        words = ["-m", "karat", "judge", "answers.jsonl", "-m", "judge:correctness", "--model", "small"]
        words += ["--base-url", server.url, "--concurrency", "4", "--exam", "20"]
        killed = python(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while server.calls < 60 and killed.poll() is None:
            time.sleep(0.02)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        before = server.calls
        assert before >= 60
        server.latency = 0.0
        found = asked(server, "--exam", "20", "--json")
        assert found.exit_code == 0, found.output
        n = json.loads(found.stdout)["n"]
        assert before < n
        assert n <= server.calls <= n + 8  # those in flight had no answer yet
