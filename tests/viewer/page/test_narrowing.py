"""The interval of people's mean on the page of labels: what the page is answered, without a server."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import karat
from karat.stats.sequential.until import Until
from karat.viewer.page.label_file import LabelFile
from karat.viewer.page.labelling import Labelling
from karat.viewer.page.query import Query
from karat.viewer.page.workspace import Workspace

ROWS = [{"id": at, "question": "?", "answer": "ab"[at % 3 == 0], "gold": "a"} for at in range(60)]
CHOICES = {"good": 1.0, "bad": 0.0}


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    karat.score(ROWS, "exact_match", run="first")
    option = ("label-map", "good=1,bad=0")
    return LabelFile(Path("labels.jsonl"), "ada", CHOICES, option, until=Until(0.5), price=0.25)


def test_the_page_shows_the_interval_of_the_session_and_stops_with_it(file):
    space, labelling = Workspace(None, file), Labelling(file)
    runs = (space.catalog.describe()[0]["id"],)
    row = labelling.show(space, Query(runs))
    assert row["interval"] | {"finished": 0, "value": None, "low": 0.0, "high": 1.0, "stop": ""} == row["interval"]
    while row["at"] is not None:
        row = labelling.mark(space, Query(runs, at=row["at"], action="label", label="good" if row["at"] % 3 else "bad"))
    assert row["interval"] == file.open_session(["first"])[1].interval.as_dict()
    done = row["interval"]["finished"]
    assert row["finished"] == done < 60
    assert row["interval"]["stop"] == f"stopped at {done} of 60 rows, by its rule (width 0.5)"
    assert row["interval"]["spent"] == done / 4
    words = shlex.split(row["command"])
    assert words[:2] == ["karat", "label"]
    assert words[words.index("--until-width") + 1] == "0.5"
    assert words[words.index("--price-label") + 1] == "0.25"
    assert json.loads(Path("labels.jsonl").read_text("utf-8").splitlines()[0])["plan"]["free"] == ["exact_match"]
    undone = labelling.mark(space, Query(runs, action="undo"))
    assert undone["interval"]["finished"] == done - 1
    assert undone["at"] is not None


def test_without_a_rule_there_is_no_interval(file):
    plain = replace(file, until=None)
    space = Workspace(None, plain)
    assert Labelling(plain).show(space, Query((space.catalog.describe()[0]["id"],)))["interval"] is None
