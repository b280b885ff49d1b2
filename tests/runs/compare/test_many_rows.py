"""Runs with the same ids in the same order are compared as they are read, with what rows in memory give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.core.columns.hashes.texts import hash_texts
from karat.errors import JoinError
from karat.runs.compare.compare import compare
from karat.runs.match.alignment import Alignment
from karat.runs.match.keys import align
from karat.runs.match.systems import open_systems
from karat.runs.match.text_order import find_twice
from karat.runs.store.run import open_run
from karat.stats.aggregate import LIMIT

N = LIMIT + 3_616
WORDS = np.array([f"w{word}" for word in range(50)])


def table(seed, right):
    """The answers of a system to the same questions, and which rows belong together; some rows have no answer."""
    gold, own = np.random.default_rng(0), np.random.default_rng(seed)
    words = gold.choice(WORDS, (N, 3))
    said = np.where(own.random((N, 3)) < right, words, own.choice(WORDS, (N, 3)))
    answers = [" ".join(row) for row in said.tolist()]
    topic = gold.integers(0, 400, N)
    return pa.table({
        "id": [f"q{row}" for row in gold.permutation(N).tolist()],
        "topic": pa.array([None if each == 7 else f"topic {min(each, 3)}" for each in topic.tolist()]),
        "passage": pa.array([None if each % 9 == 0 else each // 2 for each in gold.integers(0, 900, N).tolist()]),
        "gold": [" ".join(row) for row in words.tolist()],
        "prediction": pa.array([None if each < seed * 3 else answer for each, answer in enumerate(answers)]),
    })  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of each system, written in parts, and one of the second with its rows in another order."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(folder))
        patch.setattr("karat.runs.scoring.tasks.parts.LEAST_ROWS", 1)
        first, second = table(1, 0.85), table(2, 0.86)
        tables = {"first": first, "second": second, "shuffled": second.take(np.random.default_rng(5).permutation(N))}
        for name, rows in tables.items():
            pq.write_table(rows, folder / f"{name}.parquet", row_group_size=6_000)
            karat.score(folder / f"{name}.parquet", ["em", "token_f1", "bleu"], run=name, keep=False)
        return {name: open_run(name) for name in tables}


@pytest.fixture
def streamed(monkeypatch):
    """No run is so small that it is held in memory; the order of all rows, for which they must be held, is an error."""

    def fail(self):
        raise AssertionError("the order of all rows is not needed")

    monkeypatch.setattr("karat.runs.match.alignment._MANY", 0)
    monkeypatch.setattr(Alignment, "orders", property(fail))


HOW = [{"flipped": 3}, {"by": "topic"}, {"cluster": "passage"}, {"by": "topic", "cluster": "passage", "metrics": "em"}]


@pytest.fixture(scope="module")
def held(runs):
    return [compare(runs["first"], runs["shuffled"], **how) for how in HOW]


@pytest.mark.parametrize("at", range(len(HOW)), ids=["flipped", "by", "cluster", "both"])
def test_runs_that_are_read_in_step_compare_as_runs_in_memory(runs, held, streamed, at):
    assert len(runs["first"].files) > 2
    found = compare(runs["first"], runs["second"], **HOW[at])
    for ours, theirs in zip(found.findings, held[at].findings, strict=True):
        assert (ours.slice, ours.comparison) == (theirs.slice, theirs.comparison)
    assert [(each.id, each.predictions, each.scores) for each in found.flipped] == [
        (each.id, each.predictions, each.scores) for each in held[at].flipped
    ]
    assert found.findings[0].comparison.missing_b == 6


def test_ids_that_occur_twice_are_named_without_holding_them(runs, streamed, tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    rows = table(1, 0.9).set_column(0, "id", pa.array([f"q{row % (N - 1)}" for row in range(N)]))
    for name in ("one", "two"):
        karat.score(rows, "em", run=name)
    with pytest.raises(JoinError, match="one: column 'id' has 'q0' more than once"):
        align(open_systems(["one", "two"]), "id")


@given(st.lists(st.text(max_size=3)), st.sampled_from([1, 4, 2**64]))
def test_texts_of_one_hash_are_compared(texts, hashes):
    column = pa.array(texts, pa.large_string())
    numbers = hash_texts(column) % np.uint64(hashes) if hashes < 2**64 else hash_texts(column)
    twice = find_twice(numbers, lambda: [column[:2], column[2:]])
    assert (twice is None) == (len(set(texts)) == len(texts))
    assert twice is None or texts.count(twice) > 1
