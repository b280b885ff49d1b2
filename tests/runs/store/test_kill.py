"""Runs killed at random instants: each leaves a finished run or one that goes on, and nothing between."""

import os
import random
import subprocess
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from karat.runs.store.folders import run_folder, run_names, unfinished_runs
from karat.runs.store.parts import PartsFolder
from karat.runs.store.run import open_run

KILLS = int(os.environ.get("KARAT_KILLS", "12"))
ROWS = 400
SPECS = ["exact_match", "token_f1", "bleu", "slow"]

RUN = """
import os, signal, sys, time
import pyarrow.parquet as pq
import karat
from karat.core import atomic
from karat.runs.store import tail, unfinished

name, resume, last = sys.argv[1], sys.argv[2] == "resume", int(sys.argv[3])
steps = []

def sync(path, really=atomic.sync):
    steps.append(path)
    if len(steps) == last:
        os.kill(os.getpid(), signal.SIGKILL)
    really(path)

atomic.sync = unfinished.sync = sync
tail.MIN_SECONDS = tail.MIN_SHARE = tail.PAUSE = 0.0  # after each batch

@karat.metric(source="ours")
def slow(question: karat.kinds.Text) -> karat.kinds.Score:
    "How long the question is."
    time.sleep(0.004)
    sys.stdout.write(f"scored {len(question)}\\n")
    return [len(text) / 100 for text in question.to_pylist()]

rows = pq.read_table("rows.parquet").to_reader(max_chunksize=200 if last else 20)
print("ready", flush=True)
karat.score(rows, ["exact_match", "token_f1", "bleu", slow], by="topic", cluster="topic", run=name, resume=resume)
print("done", len(steps), flush=True)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "kept"))
    table = {
        "question": [f"What is {row}?" for row in range(ROWS)],
        "topic": [f"t{row % 3}" for row in range(ROWS)],
        "prediction": [None if row % 11 == 5 else f"word{row % 4} and {row % 9}" for row in range(ROWS)],
        "gold": [[f"word{row % 4}", f"and {row % 5}"] if row % 13 else [] for row in range(ROWS)],
    }
    pq.write_table(pa.table(table), "rows.parquet")
    return tmp_path


@pytest.fixture
def start(folder, python):
    """Starts a process that writes a run; `last` is the file it keeps last, by number, before it kills itself."""

    def start(name, *, resume, last=0):
        process = python("-c", RUN, name, "resume" if resume else "begin", last, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        return process

    return start


def finish(process):
    """How many rows it scored, to its end."""
    with process:
        said = process.stdout.read()
    assert process.returncode == 0
    return sum(int(line.split()[1]) for line in said.splitlines() if line.startswith("scored"))


def kill(process, after):
    """Kill it so long after it began to score."""
    with process:
        time.sleep(after)
        process.kill()


def undisturbed(process):
    """How long a run takes from its first row to its end, in seconds."""
    with process:
        began = time.monotonic()
        process.stdout.read()
        return time.monotonic() - began


def kept(name):
    """How many rows need not be scored again."""
    return PartsFolder(run_folder(name)).count_rows()


def check_same(resumed, whole):
    assert resumed.values == whole.values
    assert pq.read_table(resumed.rows).equals(pq.read_table(whole.rows))
    for spec in SPECS:
        np.testing.assert_array_equal(resumed.statistics(spec), whole.statistics(spec))
    assert resumed.manifest.digests == whole.manifest.digests
    assert resumed.manifest.n == ROWS


def test_killed_at_any_step_of_writing_it_is_whole_or_goes_on(start):
    assert finish(start("whole", resume=False)) == ROWS
    whole, step = open_run("whole"), 0
    while True:
        step += 1 if KILLS > 50 else 3
        with start(name := f"run{step}", resume=False, last=step) as process:
            done = "done" in process.stdout.read()
        if done:
            break
        assert process.returncode == -9
        if name not in run_names():
            before = kept(name) if name in unfinished_runs() else None
            scored = finish(start(name, resume=True))
            assert scored if before is None else before + scored == ROWS
        check_same(open_run(name), whole)
    assert step > 12


def test_a_killed_run_is_whole_or_goes_on_to_what_an_undisturbed_one_gives(start):
    assert finish(start("whole", resume=False)) == ROWS
    whole = open_run("whole")
    took = undisturbed(start("timed", resume=False))
    chance = random.Random()  # noqa: S311
    kills = in_between = 0
    while kills < KILLS or (not in_between and kills < 20 * KILLS):  # until one fell while rows were being scored
        name = f"run{kills}"
        for again in range(min(chance.choice([1, 1, 2, 3]), max(1, KILLS - kills))):
            if name in run_names():
                break
            kill(start(name, resume=again > 0), chance.uniform(0, 1.2 * took))
            kills += 1
            assert set(run_names()) <= {"whole", "timed", *(f"run{each}" for each in range(kills))}
        if name not in run_names():
            before = kept(name) if name in unfinished_runs() else 0
            in_between += 0 < before < ROWS
            assert finish(start(name, resume=True)) == ROWS - before
        check_same(open_run(name), whole)
    assert in_between > 0
    assert unfinished_runs() == []
