"""Experiments that are stopped: what was answered is stored, and only the rest is asked again."""

import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import karat
from karat.runs.experiment.experiment import experiment
from karat.runs.store.folders import run_names, runs_folder
from karat.runs.store.run import open_run

ROWS = [{"id": row, "question": f"What is {row}?", "gold": f"word {row % 3}"} for row in range(30)]


def folders():
    return sorted(path.name for path in runs_folder().iterdir())


def by_row(row):
    return f"word {row['id'] % 2}"


CHILD = """
import os, sys, time
sys.path.insert(0, ".")
from karat.runs.experiment.experiment import experiment

def answer(id):
    with open("calls.txt", "a") as file:
        file.write(f"{id}\\n")
    time.sleep(0.02)
    with open("ended.txt", "a") as file:
        file.write(f"{id}\\n")
    if id % 7 == 3:
        raise KeyError(id)
    return f"word {id % 2}"

if __name__ == "__main__":
    rows = [{"id": row, "gold": f"word {row % 3}"} for row in range(120)]
    experiment(rows, "child.py:answer", ["em", "bleu"], run=sys.argv[1], resume=sys.argv[2] == "resume", concurrency=4)
"""


@pytest.fixture
def start(python):
    """Starts an experiment in a process of its own."""
    return partial(python, "-c", CHILD, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def lines(name):
    return Path(name).read_text().split() if Path(name).exists() else []


def wait_for(process, ended):
    while len(lines("ended.txt")) < ended and process.poll() is None:
        time.sleep(0.01)


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_stopped_asks_no_answered_row_again(tmp_path, start, stop):
    (tmp_path / "child.py").write_text(CHILD)
    with start("whole", "begin") as process:
        assert process.wait() == 0, process.stderr.read()
    assert sorted(lines("calls.txt"), key=int) == [str(row) for row in range(120)]
    before: list[str] = []
    for how, ended in (("begin", 30), ("resume", 70)):
        (tmp_path / "calls.txt").unlink()
        (tmp_path / "ended.txt").unlink(missing_ok=True)
        with start("cut", how) as process:
            wait_for(process, ended - len(before))
            process.send_signal(stop)
            _, said = process.communicate()
        assert process.returncode != 0
        if stop == signal.SIGINT:
            assert said.rstrip().endswith("KeyboardInterrupt")
            assert sorted(lines("calls.txt")) == sorted(lines("ended.txt"))  # what was under way has ended
        assert not set(before) & set(lines("calls.txt"))
        unsure = 0 if stop == signal.SIGINT else 4 + 4  # under way, and ended but not yet kept
        ended_now = lines("ended.txt")
        before += ended_now[: len(ended_now) - unsure]
        assert run_names() == ["whole"]
    with pytest.raises(
        karat.errors.DataError,
        match="run cut was not finished: continue it with --resume, or start again after `karat runs remove cut`",
    ):
        experiment(ROWS, "child.py:answer", "em", run="cut")
    with pytest.raises(
        karat.errors.DataError, match=r"other task: 'child.py:answer'; now .* start again after `karat runs remove cut`"
    ):
        experiment(ROWS, by_row, "em", run="cut", resume=True)
    (tmp_path / "calls.txt").unlink()
    with start("cut", "resume") as process:
        assert process.wait() == 0, process.stderr.read()
    assert not set(before) & set(lines("calls.txt"))
    cut, whole = open_run("cut"), open_run("whole")
    assert pq.read_table(cut.rows).equals(pq.read_table(whole.rows))
    assert cut.values == whole.values
    assert folders() == ["cut", "whole"]


def test_one_name_is_written_by_one_at_a_time():
    with pytest.warns(UserWarning, match=r"run first is being written by another process"):
        experiment(ROWS[:1], lambda row: experiment(ROWS, by_row, "em", run="first", resume=True), "em", run="first")


def test_a_run_that_was_started_without_a_task_says_by_which_command(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["karat", "score", "rows.jsonl"])
    rows = {"prediction": ["a", "b"], "gold": ["a", "a"]}
    with pytest.raises(KeyboardInterrupt):
        karat.score(rows, "em", run="first", progress=stop)
    expected = "run first was started without a task, by `karat score rows.jsonl`: continue it with the same command"
    with pytest.raises(karat.errors.DataError, match=expected):
        experiment(ROWS, by_row, "em", run="first", resume=True)


def test_the_name_of_an_experiment_that_was_not_finished_is_not_free_for_scoring():
    stopped = [KeyboardInterrupt]

    def answer(row):
        if stopped:
            raise stopped[0]
        return by_row(row)

    with pytest.raises(KeyboardInterrupt):
        experiment(ROWS, answer, "em", run="first")
    stored = folders()
    with pytest.raises(karat.errors.DataError, match="run first is an experiment that was not finished: continue it"):
        karat.score({"prediction": ["a"], "gold": ["a"]}, "em", run="first")
    assert [name for name in folders() if name != ".first.lock"] == stored
    stopped.clear()
    experiment(ROWS, answer, "em", run="first", resume=True)
    assert folders() == ["first"]


def test_rows_that_changed_are_asked_again_and_no_others():
    calls = []

    @karat.metric(source="ours")
    def broken(prediction: karat.kinds.Text) -> karat.kinds.Score:
        """Always fails."""
        raise RuntimeError("broken")

    def answered(row):
        calls.append(row["id"])
        return by_row(row)

    with pytest.raises(RuntimeError, match="broken"):
        experiment(ROWS, answered, broken, run="first")
    calls.clear()
    changed = [{**row, "question": "new"} if row["id"] in (3, 9) else row for row in ROWS]
    with pytest.raises(RuntimeError, match="broken"):
        experiment(changed, answered, broken, run="first", resume=True)
    assert sorted(calls) == [3, 9]


def test_a_metric_that_fails_loses_no_answer():
    calls = []

    def task(row):
        calls.append(row["id"])
        return by_row(row)

    broken = True

    @karat.metric(source="ours")
    def moody(prediction: karat.kinds.Text) -> karat.kinds.Score:
        """Fails while it is broken."""
        if broken:
            raise RuntimeError("broken")
        return [1.0] * len(prediction)

    with pytest.raises(RuntimeError, match="broken"):
        experiment(ROWS, task, moody, run="first")
    broken = False
    result = experiment(ROWS, task, moody, run="first", resume=True)
    assert result.values["moody"].value == 1
    assert len(calls) == len(ROWS)
