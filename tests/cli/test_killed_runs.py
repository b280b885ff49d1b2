"""Judged runs that are killed and resumed: what they used of a model is what the endpoint was asked for."""

import json
import os
import random
import subprocess
from collections import Counter
from functools import partial
from time import sleep

import pytest

from karat.models.testing.fake import FakeServer

KILLS = int(os.environ.get("KARAT_KILLS", "3"))
"""How often each run is killed; 30 for the whole exercise."""
ROWS, CONCURRENCY = 200, 8


@pytest.fixture
def server():
    answer = {"explanation": "the same city", "label": "correct"}
    with FakeServer(answer, latency=(0.01, 0.04), price=(1.0, 4.0)) as server:
        yield server


@pytest.fixture
def start(python, server, tmp_path):
    """Starts a judged run."""
    return partial(_start, python, server, tmp_path)


def _start(python, server, folder, *flags):
    rows = ({"question": f"{n}?", "prediction": str(n), "reference": str(n)} for n in range(ROWS))
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    command = ["score", "rows.jsonl", "-m", "judge:correctness", "--model", "fake", "--run", "first", "--concurrency"]
    environment = {"OPENAI_BASE_URL": server.url, "KARAT_RUNS": "runs", "KARAT_CACHE": str(folder / "replies.sqlite")}
    return python(
        *("-m", "karat", *command, CONCURRENCY, *flags),
        env=os.environ | environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_while_asking(start, server, *flags):
    """Kill a process at a random moment after its first call."""
    before = server.calls
    with start(*flags) as process:
        while server.calls == before and process.poll() is None:
            sleep(0.002)
        sleep(random.uniform(0, 0.2))  # noqa: S311
        process.kill()


def used(folder):
    return json.loads((folder / "runs" / "first" / "manifest.json").read_text())["models"]


def test_a_killed_run_counts_every_call_since_it_began(server, start, tmp_path):
    for kill in range(KILLS):
        kill_while_asking(start, server, *(["--resume"] if kill else []))
    process = start("--resume")
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 0, said
    models, in_flight = used(tmp_path), KILLS * CONCURRENCY
    assert server.calls <= models["calls"] <= server.calls + in_flight
    assert models["calls"] - models["interrupted"] == ROWS
    assert models["interrupted"] <= in_flight
    assert server.charged * 0.999 <= models["cost"] <= server.charged * (1 + in_flight / ROWS)
    assert f"since the run began: {models['calls']:,} calls" in said
    twice = Counter(json.dumps(each["messages"]) for each in server.requests)
    assert twice.total() - len(twice) <= in_flight


def test_a_killed_run_without_a_cache_counts_every_call_too(server, start, tmp_path):
    kill_while_asking(start, server, "--no-cache")
    process = start("--no-cache", "--resume")
    assert process.communicate(timeout=120) is not None
    assert server.calls <= used(tmp_path)["calls"] <= server.calls + CONCURRENCY


def test_a_run_of_a_name_that_was_removed_begins_at_zero(start, python, tmp_path):
    for _ in range(2):
        process = start("--no-cache", "--resume", "--max-calls", "250", "--limit", "150")
        assert process.communicate(timeout=120) is not None
        assert used(tmp_path)["calls"] == 150
        words = ["-m", "karat", "runs", "remove", "first"]
        python.run(*words, cwd=tmp_path, check=True, input="y", env=os.environ | {"KARAT_RUNS": "runs"})
