"""Folders that hold no whole run: each is listed with what is wrong, and the others stay."""

import json
import os

import pytest

import karat
from karat.data.storage.checksums import seal
from karat.runs.experiment.experiment import experiment
from karat.runs.store.run import open_run
from karat.viewer.page.catalog import Catalog, run_id

encode = pytest.importorskip("karat.viewer.page.guard").encode

DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of runs with `good` and `bad`."""
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    for name in ("good", "bad"):
        karat.score({"id": ["a"], "prediction": ["x"], "gold": ["x"]}, "exact_match", run=name)
    return tmp_path


def listed():
    """The state of each run, by its name."""
    runs = Catalog().describe()
    assert json.loads(encode({"runs": runs}))
    return {run["name"]: run["state"] for run in runs}


@pytest.mark.parametrize("file", ["values.json", "manifest.json"])
@pytest.mark.parametrize("text", ["{}", "[]", "5", '"a"', '{"metrics": [{}]}', '{"metrics": 5}', "{", DEEP, "\\xff"])
def test_a_damaged_file_is_that_of_one_run(folder, file, text):
    (folder / "bad" / file).write_text(text)
    assert listed() == {"bad": "damaged", "good": "finished"}


@pytest.mark.parametrize("name", ["created", "metrics", "n"])
@pytest.mark.parametrize("value", [5.5, [7], {}, [[]], float("nan")])
def test_a_manifest_of_other_types_is_that_of_one_run(folder, name, value):
    path = folder / "bad" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    assert listed()["good"] == "finished"


def test_figures_that_are_not_finite_are_none(folder):
    path = folder / "bad" / "values.json"
    values = json.loads(path.read_text())
    values["metrics"][0] |= {"value": float("nan"), "low": float("-inf")}
    path.write_text(json.dumps(values))
    manifest = json.loads((folder / "bad" / "manifest.json").read_text())
    (folder / "bad" / "manifest.json").write_text(json.dumps(seal(manifest | {"files": {}})))
    ((metric,),) = (run["metrics"] for run in Catalog().describe() if run["name"] == "bad")
    assert (metric["value"], metric["low"], metric["n"]) == (None, None, 1)


@pytest.mark.parametrize("name", ["a\nb", " a ", "\udcff\udcfe", "ü*"])
def test_a_folder_whose_name_is_none_of_a_run_is_listed(folder, name):
    os.rename(folder / "bad", os.fsencode(folder / name))  # noqa: PTH104  (bytes)
    (folder / f".{name}.x.answers").mkdir()
    assert listed() == {name: "damaged", f"{name}.x": "damaged", "good": "finished"}


def test_an_experiment_in_progress_shows_its_answers_calls_and_errors(folder):
    shown = []

    def answer(id):  # noqa: A002  (the column's name)
        if id == 3:
            shown.extend(run for run in Catalog().describe() if run["name"] == "asking")
        if id == 1:
            raise KeyError(id)
        return "x"

    with pytest.warns(UserWarning, match="failed on 1 of 4 rows"):
        experiment([{"id": row, "gold": "x"} for row in range(4)], answer, "em", run="asking", concurrency=1)
    (run,) = shown
    assert (run["state"], run["n"], run["problem"]) == ("running", 3, None)
    assert run["models"] == {"calls": 3, "failed": 1, "cost": 0}
    (kept,) = (run for run in Catalog().describe() if run["name"] == "asking")
    assert (kept["state"], kept["models"]) == ("finished", None)


def test_a_run_has_the_name_of_its_folder(folder):
    (folder / "link").symlink_to(folder / "good")
    assert [run["name"] for run in Catalog().describe()].count("link") == 1
    (run,) = Catalog().open([run_id("link")])
    assert (run.name, open_run(folder / "link").name, open_run("good").name) == ("link", "link", "good")
