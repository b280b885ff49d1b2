"""Judges on the command line, over HTTP: asked once, quoted before, resumed after, and told in one line."""

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import time
from contextlib import closing

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.models.testing.fake import FakeServer

KILLS = int(os.environ.get("KARAT_KILLS", "3"))  # 200 for the whole exercise


def judged(messages):
    asked = next(m["content"] for m in reversed(messages) if m["content"].startswith("<data-"))
    row = json.loads(asked.partition("\n")[2].rpartition("\n")[0])
    return {
        "explanation": f"about {row['question']}",
        "label": "correct" if row["prediction"] in row["reference"] else "incorrect",
    }


@pytest.fixture
def folder(tmp_path, monkeypatch, own_replies):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    write(tmp_path / "answers.jsonl", 6)
    return tmp_path


def write(path, rows):
    lines = [{"id": n, "question": f"q{n}", "prediction": f"a{n % 3}", "gold": ["a1", "a2"]} for n in range(rows)]
    path.write_text("\n".join(map(json.dumps, lines)))


def run(server, *words):
    given = ["score", "answers.jsonl", "-m", "judge:correctness", "--model", "small", "--base-url", server.url, *words]
    return CliRunner().invoke(main, given)


def test_a_judge_is_scored_like_any_metric_and_says_what_it_took(folder):
    with FakeServer(judged, price=(1.0, 2.0)) as server:
        result = run(server, "-m", "exact_match", "-o", "out.jsonl")
    assert result.exit_code == 0, result.output
    line = next(line for line in result.stdout.splitlines() if line.startswith("judge:correctness(model='small')"))
    assert line.split()[1] == "0.6667"
    assert "judge:correctness(model='small').label: correct 4, incorrect 2" in result.stdout
    assert re.search(r"models: 6 calls, 0 retries, 0 cached, 0 failed; \d+ tokens in, \d+ out; \$0\.00", result.stderr)
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [row["judge:correctness(model='small').label"] for row in rows[:2]] == ["incorrect", "correct"]
    assert {"exact_match", "judge:correctness(model='small').cost"} <= rows[0].keys()
    assert server.calls == 6


def test_a_second_run_asks_nothing(folder):
    with FakeServer(judged) as server:
        first, second = run(server, "--json"), run(server, "--json")
    assert server.calls == 6
    assert first.stdout == second.stdout
    assert "0 calls, 0 retries, 6 cached" in second.stderr
    assert json.loads(first.stdout)["metrics"][0]["counts"] == {"label": {"incorrect": 2, "correct": 4}}


def test_without_cache_every_run_asks(folder):
    with FakeServer(judged) as server:
        run(server, "--no-cache")
        run(server, "--no-cache")
    assert server.calls == 12
    assert not (folder / "replies.sqlite").exists()


def test_a_dry_run_says_what_would_be_asked_and_asks_nothing(folder):
    with FakeServer(judged) as server:
        dry = run(server, "--dry-run", "--price", "1,2", "-o", "out.jsonl")
        assert server.calls == 0
        run(server, "--limit", "2")
        some = run(server, "--dry-run")
    assert re.match(r"6 calls, of which 0 are in the cache; about \d+ tokens in, \d+ out; about \$0\.0", dry.stdout)
    assert some.stdout.startswith("6 calls, of which 2 are in the cache")
    assert server.calls == 2
    assert not (folder / "out.jsonl").exists()


def test_a_dry_run_needs_no_key(folder, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    words = ["-m", "judge:pairwise", "--model", "m", "--dry-run", "--map", "other_prediction=id"]
    result = CliRunner().invoke(main, ["score", "answers.jsonl", *words])
    assert result.stdout.startswith("12 calls, of which 0 are in the cache")


def test_a_cap_leaves_rows_unscored_and_goes_on_counting_when_resumed(folder):
    with FakeServer(judged, faults=["500"]) as server:
        capped = run(server, "--max-calls", "4", "--concurrency", "1", "--json")
        assert server.calls == 4  # one of them in vain
        assert json.loads(capped.stdout)["metrics"][0]["unscored"] == 3
        resumed = run(server, "--max-calls", "4", "--concurrency", "1", "--resume", "--json")
        assert server.calls == 4
        assert json.loads(resumed.stdout)["metrics"][0]["unscored"] == 3
        run(server, "--max-calls", "7", "--resume", "--json")
        assert server.calls == 7
        anew = run(server, "--max-calls", "1", "--json")
    assert json.loads(anew.stdout)["metrics"][0]["unscored"] == 0


def test_a_bad_key_stops_at_once_and_is_not_shown(folder):
    with FakeServer(judged, key="another") as server:
        result = run(server)
    assert result.exit_code == 1
    assert "401" in result.stderr
    assert "sk-secret" not in result.output
    assert server.calls <= 1
    assert "Traceback" not in result.output


def test_what_came_before_a_fatal_error_is_kept(folder):
    with FakeServer(judged, faults=[None, None, "404", *["404"] * 20]) as server:
        result = run(server, "--concurrency", "1")
    assert result.exit_code == 1
    assert "--resume continues" in result.stderr
    with FakeServer(judged, port=int(server.url.split(":")[2].split("/")[0])) as again:
        assert run(again, "--resume").exit_code == 0
    assert again.calls == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "judge:correctness"], "judge:correctness needs a model: --model NAME"),
        (["-m", "judge:corectness", "--model", "m"], "did you mean 'correctness'"),
        (["-m", "exact_match", "--budget", "1"], "--budget is about models, but no metric asks one"),
        (["-m", "exact_match", "--model", "m"], "--model is about models, but no metric asks one"),
        (["-m", "judge:correctness(model=m)", "--model", "n"], "every judge names its own model already"),
        (["-m", "judge:correctness", "--model", "m", "--resume", "--no-cache"], "--no-cache caches none"),
        (["-m", "judge:correctness", "--model", "m", "--price", "1"], "expected IN,OUT"),
        (["-m", "judge:nowhere.toml", "--model", "m"], "nowhere.toml: No such file"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_asked(words, message, folder):
    result = CliRunner().invoke(main, ["score", "answers.jsonl", *words])
    assert result.exit_code == 2
    assert message in result.stderr


def test_several_models_are_a_panel_and_a_file_is_a_judge(folder):
    (folder / "brief.toml").write_text(
        'name = "brief"\nsummary = "S."\nsource = "ours"\ninputs = ["prediction"]\n[prompt]\ntask = "Is it brief?"\n'
        '[reply]\nkind = "fields"\nnames = ["brief"]\n'
    )
    with FakeServer({"explanation": "yes", "brief": 1}) as server:
        words = ["-m", "judge:brief.toml", "--model", "a", "--model", "b", "--base-url", server.url, "--json"]
        result = CliRunner().invoke(main, ["score", "answers.jsonl", *words])
    assert json.loads(result.stdout)["metrics"][0]["spec"] == "judge:brief.toml(model=['a', 'b'])"
    assert json.loads(result.stdout)["metrics"][0]["value"] == 1
    assert {body["model"] for body in server.requests} == {"a", "b"}


def test_judges_are_listed_and_explained():
    listed = CliRunner().invoke(main, ["metrics"]).stdout
    assert re.search(r"^judge:faithfulness +Which share", listed, re.MULTILINE)
    told = CliRunner().invoke(main, ["metrics", "judge:correctness"]).stdout
    assert "reference: a list of texts" in told
    assert "combined by" not in told


@pytest.fixture
def started(python):
    """Starts a command of a judge that asks a server."""

    def start(server, *words):
        given = ["-m", "judge:correctness", "--model", "small", "--base-url", server.url, "-o", "out.jsonl", *words]
        words = ["-m", "karat", "score", "answers.jsonl", *given]
        return python(*words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    return start


@pytest.fixture
def finish(started):
    """Runs that command to its end."""

    def run(server, *words):
        with started(server, *words) as process:
            _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said

    return run


def table(folder):
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    return [{name: value for name, value in row.items() if not name.endswith(".latency")} for row in rows]


def journalled(folder):
    with closing(sqlite3.connect(folder / "replies.sqlite")) as store:
        return store.execute("SELECT count(*) FROM replies").fetchone()[0]


def test_killed_at_any_instant_and_resumed_it_asks_nothing_again(folder, started, finish):
    rows = 120
    write(folder / "answers.jsonl", rows)
    with FakeServer(judged, latency=(0.01, 0.1)) as server:
        finish(server, "--no-cache")
        undisturbed = table(folder)
    chance = random.Random(5)  # noqa: S311
    for _ in range(KILLS):
        for each in [*folder.glob("replies.sqlite*"), folder / "out.jsonl"]:
            each.unlink()
        with FakeServer(judged, latency=(0.01, 0.1)) as server:
            with started(server, "--concurrency", "8") as killed:
                while not server.calls:
                    time.sleep(0.01)
                time.sleep(chance.uniform(0.0, 0.7))
                killed.send_signal(signal.SIGKILL)
            kept, before = journalled(folder), server.calls
            finish(server, "--resume")
            assert server.calls - before == rows - kept
        assert table(folder) == undisturbed


def test_ctrl_c_keeps_what_came_and_says_how_to_go_on(folder, started, finish):
    rows = 100
    write(folder / "answers.jsonl", rows)
    with FakeServer(judged, latency=0.2) as server:
        with started(server, "--concurrency", "8") as stopped:
            while server.calls < 20:
                time.sleep(0.02)
            stopped.send_signal(signal.SIGINT)
            _, said = stopped.communicate(timeout=20)
        assert stopped.returncode == 130
        assert "--resume continues" in said
        assert "Traceback" not in said
        assert journalled(folder) == server.calls < rows  # the calls under way ended and were kept
        finish(server, "--resume")
        assert server.calls == rows


def test_mended_replies_are_counted_on_the_screen_and_in_the_run(folder, monkeypatch):
    def think(messages):
        said = json.dumps(judged(messages))
        return f"<think>Hm.</think>{said}" if '"q1"' in said or "about q2" in said else said

    monkeypatch.setenv("KARAT_RUNS", "runs")
    with FakeServer(think) as server:
        result = run(server, "--run", "first")
    assert "judge:correctness(model='small').repaired: 1\n" in result.stdout
    assert json.loads((folder / "runs" / "first" / "manifest.json").read_text())["models"]["repaired"] == 1
