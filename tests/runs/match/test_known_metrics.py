"""What a manifest says of a metric is checked against the metric, and against the manifest of the other run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import karat
from karat.data.storage.checksums import seal
from karat.errors import DataError
from karat.runs.store.run import open_run

ROWS = {"id": ["a", "b", "c"], "gold": ["x", "y", "z"], "prediction": ["x", "y", "w"]}


@pytest.fixture(autouse=True)
def _runs_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KARAT_RUNS", raising=False)


def change(name, of_metric=(), **values):
    """Change the manifest of a run, and its checksum with it."""
    path = Path("karat-runs") / name / "manifest.json"
    content = {key: value for key, value in json.loads(path.read_text("utf-8")).items() if key != "checksum"} | values
    content["metrics"][0] |= dict(of_metric)
    path.write_text(json.dumps(seal(content)), "utf-8")


@pytest.mark.parametrize(
    ("spec", "changed"),
    [
        ("exact_match", {"direction": "minimize"}),
        ("exact_match", {"high": 100.0}),
        ("exact_match", {"low": None}),
        ("exact_match", {"counts": True}),
        ("wer", {"direction": "maximize"}),
        ("bleu", {"counts": False}),
    ],
)
def test_a_manifest_that_differs_from_its_metric_is_refused(spec, changed):
    karat.score(ROWS, spec, run="a")
    assert karat.compare("a", "a").findings
    change("a", changed)
    (name, _), *_ = changed.items()
    for read in (lambda: open_run("a"), lambda: karat.compare("a", "a"), lambda: karat.rank("a", "a")):
        with pytest.raises(DataError, match=rf"manifest.json: {name} of .*expected .*score the answers again"):
            read()


def test_of_another_version_the_direction_alone_is_known():
    karat.score(ROWS, "exact_match", run="a")
    change("a", {"signature": "exact_match|version=0", "high": 2.0})
    assert open_run("a").manifest.metrics[0].high == 2.0
    change("a", {"direction": "minimize"})
    with pytest.raises(DataError, match="direction of exact_match is 'minimize', expected 'maximize'"):
        open_run("a")


def test_a_run_has_as_many_rows_as_its_manifest_says():
    karat.score(ROWS, "exact_match", run="a")
    karat.score(ROWS, "exact_match", run="b")
    change("b", n=5)
    with pytest.raises(DataError, match="expected 5 rows, as its manifest says, found 3"):
        karat.compare("a", "b")
    with pytest.raises(DataError, match="expected 5 rows"):
        open_run("b").scores("exact_match")


def test_metrics_of_ones_own_need_the_same_direction_in_both_runs():
    @karat.metric(source="ours", register=False)
    def constant(prediction: karat.kinds.Text) -> karat.kinds.Score:
        "The same for each row."
        return [1.0] * len(prediction)

    karat.score(ROWS, constant, run="a")
    a = open_run("a")
    (metric,) = a.manifest.metrics
    other = replace(a, manifest=replace(a.manifest, name="b", metrics=(replace(metric, direction="minimize"),)))
    for allow in (False, True):
        with pytest.raises(DataError, match="a has maximize, from scores, b minimize, from scores"):
            karat.compare(a, other, allow_different=allow)


def test_a_column_of_yes_and_no_keeps_its_range():
    karat.score(ROWS | {"right": [True, True, False]}, "column(right)", run="a")
    assert open_run("a").manifest.metrics[0].high == 1.0
    assert karat.compare("a", "a").findings
