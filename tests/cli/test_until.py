"""`karat score --until-width` and `--until-cost`."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.models.testing.fake import FakeServer
from karat.runs.sampling.free_metrics import advise_judging, read_free_metrics
from karat.stats.sequential.until import Until

ROWS = 120
JUDGE = ["-m", "judge:correctness", "--model", "fake", "--concurrency", "2"]
SPEC = "judge:correctness(model='fake')"


def answer(messages):
    row = json.loads(messages[-1]["content"].partition("\n")[2].rpartition("\n")[0])
    return {"explanation": "", "label": "correct" if int(row["prediction"]) % 10 else "incorrect"}


@pytest.fixture
def server(tmp_path, monkeypatch):
    rows = ({"question": f"{n}?", "prediction": str(n), "reference": str(n), "topic": n % 2} for n in range(ROWS))
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "replies.sqlite"))
    with FakeServer(answer, price=(1000.0, 1000.0)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def karat(*words):
    return CliRunner().invoke(main, list(words))


def score(*words):
    return karat("score", "rows.jsonl", *JUDGE, *words)


def test_a_run_that_its_rule_stopped_is_finished(server):
    ended = score(
        "--until-width", "0.3", "--run", "first", "--by", "topic", "--fail-under", "judge:correctness.low=0.5"
    )
    assert ended.exit_code == 0, ended.output
    (entry,) = json.loads(karat("runs", "show", "first", "--json").stdout)["values"]["metrics"]
    assert entry["high"] - entry["low"] <= 0.3
    assert entry["not_asked"] == ROWS - entry["stop"]["asked"] > 0
    assert server.calls <= entry["stop"]["asked"] + 4
    sentence = f"stopped at {entry['stop']['asked']} of 120 rows, by its rule (width 0.3)"
    assert entry["stop"]["sentence"] == sentence
    assert f"{SPEC}: {sentence}\nslices: their intervals are for a number of rows that is fixed" in ended.stdout
    for words in (["runs"], ["runs", "show", "first"], ["report", "first", "-o", "first.html"]):
        shown = karat(*words)
        assert sentence in (shown.output if words[0] == "runs" else Path("first.html").read_text()), shown.output
    (free,) = read_free_metrics("first", ["judge:correctness"]).items()  # people's labels may follow
    assert (free[0], int(np.isnan(free[1]).sum())) == (SPEC, entry["not_asked"])
    assert read_free_metrics("first", ["judge:refusal"]) == {}
    advice = advise_judging("first", Until(width=0.2), price_label=1.0, price_call=0.01, correlation=0.9)
    assert advice.startswith(f"{SPEC} {sentence}; asked the other {entry['not_asked']} too ($")
    assert advise_judging("first", Until(width=0.2), price_label=1.0, price_call=100.0) == ""
    refused = score("--until-width", "0.3", "--fail-under", "judge:correctness.low=0.9")
    assert (refused.exit_code, "low is 0." in refused.stderr) == (3, True)
    calls = server.calls
    assert score("--until-width", "0.3", "--json").stdout.count(sentence) == 1
    assert server.calls == calls  # the same seed asks the same rows, whose answers are kept


def test_the_line_of_progress_is_about_the_interval(server):
    lines = score("--until-width", "0.3", "--progress").stderr.splitlines()
    assert re.search(
        r"^scoring  judge:correctness 0\.\d{4} ± 0\.1\d{3}, \d+ of 120 rows, about 0 more  0:0\d so far", lines[0]
    )


def test_money_ends_a_run_and_finishes_it(server):
    ended = score("--until-cost", "4", "--run", "first")
    assert ended.exit_code == 0, ended.output
    assert "rows, by its rule (cost $4)" in ended.stdout
    assert 2 < server.charged < 4.6


def test_a_dry_run_says_the_most_and_what_is_expected(server):
    said = score("--until-width", "0.3", "--dry-run").stdout
    assert "120 calls" in said
    assert "all 120 rows, the most that can be asked; --until-width 0.3 takes about 48 rows" in said
    assert "--until-cost 2 ends it before" in score("--until-cost", "2", "--dry-run").stdout
    assert server.calls == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--until-width", "0.3", "--write-requests", "r.jsonl"], "leave --write-requests away"),
        (["--until-cost", "3", "--no-cache", "--run", "a", "--resume"], "leave --no-cache away"),
        (["--until-width", "0"], "x>0"),
    ],
)
def test_flags_that_contradict_it(server, words, problem):
    refused = score(*words)
    assert refused.exit_code == 2
    assert problem in refused.stderr
    assert server.calls == 0
