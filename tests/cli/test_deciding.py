"""`karat compare --until decided`: a judge asked about two systems until their difference is decided."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.models.testing.fake import FakeServer

ROWS = 120
JUDGE = ["-m", "judge:correctness", "--model", "fake", "--concurrency", "2"]


def answer(messages):
    who, at = json.loads(messages[-1]["content"].partition("\n")[2].rpartition("\n")[0])["prediction"].split()
    right = int(at) % 10 < {"a": 5, "b": 9, "c": 5}[who] or (who == "c" and int(at) % 40 == 7)
    return {"explanation": "", "label": "correct" if right else "incorrect"}


@pytest.fixture
def server(tmp_path, monkeypatch):
    for who in "abc":
        rows = ({"id": n, "question": f"{n}?", "prediction": f"{who} {n}", "reference": "x"} for n in range(ROWS))
        (tmp_path / f"{who}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "replies.sqlite"))
    with FakeServer(answer, price=(1000.0, 1000.0)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def karat(*words):
    return CliRunner().invoke(main, list(words))


def compare(*words):
    return karat("compare", *words[:2], *JUDGE, *words[2:])


def test_a_decision_ends_it_and_both_runs_are_kept(server):
    ended = compare(
        "a.jsonl", "b.jsonl", "--until", "decided", "--margin", "0.05", "--run", "first", "--fail-if-worse", "--json"
    )
    assert ended.exit_code == 0, ended.output
    (finding,) = json.loads(ended.stdout)["findings"]
    stop = finding["stop"]
    assert (finding["verdict"], finding["test"], stop["met"]) == ("better", "sequence", "decided: better")
    assert finding["n"] == stop["asked"] < ROWS / 2
    assert 2 * stop["asked"] <= server.calls <= 2 * stop["asked"] + 8  # those ahead of a late answer
    calls = server.calls
    again = karat("compare", "first-a", "first-b")
    assert stop["sentence"] in again.stdout
    assert "hold whenever one looks" in " ".join(again.stdout.split())
    assert "chosen by looking" not in again.stdout
    swapped = karat("compare", "first-b", "first-a", "--fail-if-worse")
    assert (swapped.exit_code, "first-a is worse than first-b" in swapped.stderr) == (4, True)
    refused = compare("b.jsonl", "a.jsonl", "--until", "decided", "--fail-unless-no-worse", "0.05")
    assert (refused.exit_code, "could not be shown" in refused.stderr) == (3, True)
    assert server.calls <= calls + 8  # the same rows, whose answers are kept
    assert "not asked" in karat("runs", "show", "first-a").stdout
    exists = compare("a.jsonl", "b.jsonl", "--until", "decided", "--run", "first")
    assert (exists.exit_code, "run first-a exists already" in exists.stderr) == (1, True)
    scored = compare("first-a", "first-b", "--until", "decided")
    assert "was scored with judge:correctness(model='fake') already" in scored.stderr


def test_money_and_margins_end_it(server):
    ended = compare("a.jsonl", "c.jsonl", "--until", "decided", "--until-cost", "2")
    assert ended.exit_code == 0, ended.output
    assert "rows, by its rule (cost $2)" in " ".join(ended.stdout.split())
    within = compare("a.jsonl", "c.jsonl", "--until", "decided", "--margin", "0.2", "-o", "compared.md")
    assert within.exit_code == 0, within.output
    assert "by its rule (decided: equivalent)" in Path("compared.md").read_text()
    no_worse = compare("a.jsonl", "c.jsonl", "--until", "no-worse", "--fail-unless-no-worse", "0.2", "--json")
    assert no_worse.exit_code == 0, no_worse.output
    (earlier,) = json.loads(no_worse.stdout)["findings"]
    assert earlier["stop"]["met"] == "decided: no worse"
    (later,) = json.loads(compare("a.jsonl", "c.jsonl", "--until", "decided", "--margin", "0.2", "--json").stdout)[
        "findings"
    ]
    assert earlier["stop"]["asked"] < later["stop"]["asked"]


def test_a_dry_run_asks_nothing(server):
    said = compare("a.jsonl", "b.jsonl", "--until", "decided", "--dry-run").stdout
    assert f"{2 * ROWS} calls" in said
    assert "both answers to all rows" in said
    assert server.calls == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "--model is about models, and nothing is asked without a rule: --until decided"),
        (["--until", "decided", "--replies", "r.jsonl"], "leave --replies away"),
        (["--until", "decided", "--rank"], "leave --rank away"),
        (["--until", "decided", "-m", "judge:refusal"], "asks one judge about two systems"),
        (["--until", "no-worse"], "needs a margin"),
        (["--until", "decided", "--margin", "2"], "no less than the range"),
    ],
)
def test_what_it_cannot_do_is_refused(server, words, problem):
    refused = compare("a.jsonl", "b.jsonl", *words)
    assert refused.exit_code in {1, 2}
    assert problem in refused.stderr
    assert server.calls == 0
    assert "--run keeps what --until asks" in karat("compare", "a.jsonl", "b.jsonl", "--run", "x").stderr
