"""The value of a run, computed again from its kept rows, is what scoring gave: to the last bit."""

import numpy as np
import pyarrow as pa
import pytest

import karat
from karat.runs.columns.groups import group_rows
from karat.runs.compare.run_values import RunValues, scored_inference, value_of
from karat.runs.match.systems import open_system
from karat.runs.scoring.clusters import find_clusters
from karat.stats.inference import Inference

SPECS = ["token_f1", "em", "bleu", "wer", "percentile(seconds, p=50)", "column(seconds)"]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rows_of(n):
    draw = np.random.default_rng(n)
    words = np.array(["a", "b", "c", "d"])
    return {
        "id": [f"q{each}" for each in draw.permutation(n)],
        "prediction": [" ".join(words[draw.integers(4, size=5)]) if draw.random() > 0.05 else None for _ in range(n)],
        "gold": [" ".join(words[draw.integers(4, size=5)]) for _ in range(n)],
        "seconds": draw.lognormal(size=n),
        "topic": [None if draw.random() < 0.1 else f"t{each}" for each in draw.integers(3, size=n)],
        "passage": [None if draw.random() < 0.1 else f"p{each}" for each in draw.integers(n // 4, size=n)],
    }


@pytest.mark.parametrize("cluster", [None, "passage"])
@pytest.mark.parametrize("n", [40, pytest.param(17_000, marks=pytest.mark.slow)])
def test_values_of_kept_rows_are_those_of_scoring(n, cluster):
    result = karat.score(rows_of(n), SPECS, by="topic", cluster=cluster, confidence=0.9, seed=3, run="kept")
    run = open_system("kept", "the result")
    slices = {
        label: np.sort(part) for label, part in group_rows(run.column("topic").combine_chunks(), set(), "").items()
    }
    stored = RunValues.as_scored(run)
    computed = RunValues(run, stored.inference, cluster)
    object.__setattr__(computed, "are_stored", False)
    for spec in result.values:
        for found in (stored.read(spec, slices, by="topic"), computed.read(spec, slices)):
            assert found[None] == result.values[spec]
            assert {label: found[label] for label in slices} == result.groups[spec]


def test_settings_other_than_the_scoring_s_are_computed():
    rows = rows_of(60)
    result = karat.score(rows, "em", run="kept")
    run = open_system("kept", "the result")
    assert scored_inference(run) == Inference()
    assert find_clusters([run]) is None
    assert value_of(run, "em") == result.values["em"]
    assert RunValues(run, Inference(0.5)).value("em") == karat.score(rows, "em", confidence=0.5).values["em"]
    assert RunValues(run, Inference(), "passage").value("em") == karat.score(rows, "em", cluster="passage").values["em"]


def test_chosen_rows_are_a_table_of_their_own():
    rows = rows_of(60)
    karat.score(rows, "token_f1", run="kept")
    chosen = np.arange(0, 60, 2)
    part = pa.table(rows).take(pa.array(chosen))
    found = RunValues(open_system("kept", "the result")).read("token_f1", rows=chosen)
    assert found[None] == karat.score(part, "token_f1").values["token_f1"]
