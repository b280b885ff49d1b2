"""What comparing reads: of stored runs each column once, and none that the runs have told before."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import karat
from karat.runs.match.systems import open_rows
from karat.runs.scoring.clusters import find_clusters
from karat.runs.store import run as store
from karat.runs.store.run import open_run

N = 50
ROWS = {
    "question": [f"What is {row * 31 % 97}?" for row in range(N)],
    "prediction": [f"{row}" for row in range(N)],
    "gold": [[f"{row % 7}", f"{row % 9}"] for row in range(N)],
}
IDS = {
    "counts": [f"{row}" for row in range(N)],
    "names": [f"x{row * 7919 % 1000}" for row in range(N)],
    "numbers": [row * 7919 % 1000 for row in range(N)],
}


@pytest.fixture(autouse=True)
def _runs_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KARAT_RUNS", raising=False)


@pytest.fixture
def reads(monkeypatch):
    """How often each column of each run is read to its end."""
    counts = Counter()
    of_batches, of_table = store.read_columns, store.read_table

    def read_columns(source, names, most=None):
        if most is None:
            counts.update((source.name, name) for name in names)
        return of_batches(source, names, most)

    def read_table(file, names):
        counts.update((str(file), name) for name in names)
        return of_table(file, names)

    monkeypatch.setattr(store, "read_columns", read_columns)
    monkeypatch.setattr(store, "read_table", read_table)
    return counts


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("call", [karat.compare, karat.rank])
def test_stored_runs_are_compared_by_reading_each_column_once(ids, shuffled, call, reads):
    table = pa.table({"id": IDS[ids], **ROWS})
    other = table.set_column(2, "prediction", [ROWS["prediction"][::-1]])
    karat.score(table, ["exact_match", "token_f1"], run="a")
    karat.score(
        other.take(np.random.default_rng(1).permutation(N)) if shuffled else other, ["exact_match", "token_f1"], run="b"
    )
    reads.clear()
    assert call("a", "b").by == "id"
    assert set(reads.values()) == {1}
    assert {name for _, name in reads} <= {"id", "question", "exact_match", "token_f1", *(["gold"] if shuffled else [])}


def draw_rows(random):
    """Rows of which ids, numbers of answers, questions and gold repeat in any way."""
    n = int(random.integers(2, 30))
    drawn = {name: random.integers(0, random.choice([1, 3, n, 10 * n]), n) for name in ("id", "sample_id", "question")}
    rows = {name: [f"{each}" for each in drawn[name]] for name in drawn if random.random() < 0.7}
    gold = drawn[random.choice(["id", "sample_id", "question"])] % random.choice([1, 2, 100])
    if random.random() < 0.5:
        gold = random.permutation(gold)
    return {**rows, "prediction": ["a"] * n, "gold": [f"{each}" for each in gold]}


def test_clusters_that_rows_say_are_those_that_scoring_finds():
    random = np.random.default_rng(5)
    found = Counter()
    for _ in range(300):
        rows = draw_rows(random)
        scored = karat.score(rows, "exact_match", keep=False).clusters
        expected = None if scored is None else scored.column
        rows["exact_match"] = [1.0] * len(rows["gold"])
        assert find_clusters([open_rows(rows)]) == expected, rows
        found[expected] += 1
    assert set(found) == {None, "id", "sample_id", "question"}


def test_runs_that_do_not_say_where_clusters_were_looked_for_are_read():
    asked = {**ROWS, "id": IDS["names"], "question": [each[:9] for each in ROWS["question"]], "gold": ["a"] * N}
    karat.score(asked, "exact_match", run="a")
    run = open_run("a")
    assert run.manifest.clusters_in == ("id", "question")
    older = replace(run, manifest=replace(run.manifest, clusters_in=()), values={})
    assert find_clusters([run]) == find_clusters([older]) == "question"
    karat.score({**asked, "gold": IDS["names"]}, "exact_match", run="b")
    run = open_run("b")
    assert find_clusters([run]) is find_clusters([replace(run, manifest=replace(run.manifest, clusters_in=()))]) is None
