"""A cap that ends a run leaves it resumable, says so, and has its own exit code."""

import json
import re
import warnings

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.models.context import use_governor
from karat.models.governor.governor import Governor
from karat.models.openai.model import OpenAIModel
from karat.models.request import Reply
from karat.models.testing.fake import FakeServer
from karat.runs.store.run import open_run

ROWS = 30
JUDGE = ["-m", "judge:correctness", "--model", "fake", "--concurrency", "3"]


@pytest.fixture
def server(tmp_path, monkeypatch):
    rows = ({"question": f"{n}?", "prediction": str(n), "reference": str(n)} for n in range(ROWS))
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "replies.sqlite"))
    with FakeServer({"explanation": "the same", "label": "correct"}, price=(1000.0, 1000.0)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def karat_score(*words):
    return CliRunner().invoke(main, ["score", "rows.jsonl", *JUDGE, *words])


@pytest.mark.parametrize("more", [[], ["--no-cache"]])
def test_a_run_that_a_cap_ends_is_resumed_where_it_was_ended(server, more):
    more = ["-m", "exact_match", *more]
    capped = karat_score("--run", "first", "--max-calls", "10", *more)
    assert capped.exit_code == 6
    assert server.calls == 10
    assert "run first is not finished: a cap is reached" in capped.stderr
    assert "20 requests were not sent; the same command with --resume --max-calls 30 sends them" in capped.stderr
    assert re.search(r"30 +20 +0\.3333 to", capped.stdout)
    listed = CliRunner().invoke(main, ["runs", "--json"])
    assert [json.loads(listed.stdout)[name] for name in ("n", "state")] == [10, "capped"]
    shown = CliRunner().invoke(main, ["runs", "show", "first"])
    assert "run first was ended by a cap: 10 rows are scored" in shown.output or "10 of 30 rows" in shown.output
    again = karat_score("--run", "first", "--resume", "--max-calls", "10", *more)
    assert (again.exit_code, server.calls) == (6, 10)
    rest = karat_score("--run", "first", "--resume", "--max-calls", "500", *more)
    assert rest.exit_code == 0, rest.output
    assert ROWS <= server.calls <= ROWS + 3 * bool(more)
    run = open_run("first")
    assert (run.manifest.n, run.manifest.models["calls"]) == (ROWS, server.calls)
    assert run.manifest.models["cost"] == pytest.approx(server.charged)


def test_a_call_without_a_run_is_continued_too(server):
    assert karat_score("--max-calls", "10").exit_code == 6
    rest = karat_score("--max-calls", "500", "--resume", "--fail-unscored", "0")
    assert (rest.exit_code, server.calls) == (0, ROWS)


def test_a_budget_is_a_cap_too(server):
    capped = karat_score("--run", "first", "--budget", "7")
    assert capped.exit_code == 6
    enough = re.search(r"--resume --budget ([0-9.]+) sends", capped.stderr)[1]
    assert karat_score("--run", "first", "--resume", "--budget", str(2 * float(enough))).exit_code == 0
    assert server.calls == ROWS


def test_where_a_cap_was_reached_no_gate_is_checked(server):
    assert karat_score("--max-calls", "10", "--fail-under", "2", "--fail-unscored", "0.1").exit_code == 6


def test_a_cap_that_is_just_enough_is_no_cap(server):
    assert karat_score("--run", "first", "--max-calls", str(ROWS)).exit_code == 0


def test_in_python_a_capped_run_is_warned_of_and_resumed(server):
    judge = karat.Judge("correctness", model=OpenAIModel("fake", base_url=server.url))
    with use_governor(Governor(max_calls=10)), pytest.warns(UserWarning, match="run first is not finished: a cap"):
        result = karat.score("rows.jsonl", judge, run="first", keep=True)
    assert result.run is None
    assert result.values[judge.spec].scored == 10
    with use_governor(Governor()), warnings.catch_warnings():
        warnings.simplefilter("error")
        result = karat.score("rows.jsonl", judge, run="first", resume=True)
    assert server.calls == ROWS == result.run.manifest.models["calls"]


def test_a_dry_run_says_how_much_second_requests_may_add(server):
    def estimate(*words):
        line = karat_score("--dry-run", "--price", "1,4", *words).stdout
        return re.search(r"30 calls, .* about \$([0-9.]+); at most (\d+) calls and \$([0-9.]+),", line).groups()

    usual, calls, most = estimate()
    assert (int(calls), server.calls) == (2 * ROWS, 0)
    assert 2 * float(usual) < float(most) < 3 * float(usual)
    server._read = lambda *_: Reply("I cannot say.", 1, 1)
    karat_score()
    assert server.calls == 2 * ROWS


def test_several_systems_share_a_cap_and_each_counts_its_own_calls(server, tmp_path):
    rows = ({"question": f"{n}?", "answer_a": str(n), "answer_b": f"{n}.", "gold": str(n)} for n in range(8))
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = ["--predictions", "answer_*", "--map", "reference=gold"]
    assert karat_score(*words, "--run", "first", "--max-calls", "10").exit_code == 6
    assert server.calls == 10
    assert karat_score(*words, "--run", "second", "--max-calls", "16").exit_code == 0
    assert server.calls == 16
    assert [open_run(f"second-{name}").manifest.models["calls"] for name in "ab"] == [0, 6]
