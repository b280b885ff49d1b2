"""Which runs are kept, and in which state they are."""

from dataclasses import replace
from pathlib import Path

import pytest

import karat
from karat.runs.store.manifest import Manifest, write_manifest
from karat.runs.store.unfinished import open_partial


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    return tmp_path


def states():
    return {run.name: run.state for run in karat.list_runs()}


def test_runs_are_listed_in_every_state(runs):
    karat.score({"prediction": ["a", "b"], "gold": ["a", "a"]}, "exact_match", run="done")
    karat.score({"prediction": ["a"], "gold": ["a"]}, "exact_match", run="broken")
    Path(runs, "broken", "values.json").write_text("{")
    Path(runs, ".asking.answers").mkdir()
    with open_partial(Manifest("begun", "2020-01-01", (), {}), resume=False):
        assert states() == {"asking": "stopped", "begun": "running", "broken": "damaged", "done": "finished"}
    listed = {run.name: run for run in karat.list_runs()}
    assert (listed["begun"].state, listed["begun"].n) == ("stopped", 0)
    assert (listed["done"].n, listed["done"].values) == (2, {"exact_match": 0.5})
    assert "values.json" in listed["broken"].problem
    assert list(listed) == ["asking", "broken", "begun", "done"]  # by the time of their start, where it is known
    assert "problem" not in listed["done"].as_dict()


def test_a_capped_run_that_is_killed_when_it_goes_on_is_stopped():
    manifest = Manifest("first", "2020-01-01", (), {})
    with open_partial(manifest, resume=False) as started:
        write_manifest(replace(manifest, models={"calls": 3, "capped": 2}), started.partial)
    assert states() == {"first": "capped"}
    with open_partial(manifest, resume=True) as started:
        pass
    assert states() == {"first": "stopped"}
    assert started.manifest.models == {"calls": 3, "capped": 0}
