"""`karat power --width`: how many labels, from a pilot or an assumption."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.core.errors import JoinError
from karat.runs.labels.labels import Labels
from karat.runs.sampling.labels_needed import plan_labels_from_pilot


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    answers = ["yes" if at % 3 else "no" for at in range(900)]
    karat.score({"id": range(900), "prediction": answers, "gold": ["yes"] * 900}, "exact_match", run="before")
    labels = ["id,label"] + [f"{at},{'good' if at % 3 and at % 7 else 'bad'}" for at in range(90)]
    (tmp_path / "labels.csv").write_text("\n".join(labels))
    return tmp_path / "labels.csv"


def invoke(*words):
    return CliRunner().invoke(main, ["power", "--run", "before", *map(str, words)])


def test_a_pilot_shows_the_correlation(run):
    done = invoke("--width", 0.1, "--human", run, "--on", "id", "--label-map", "good=1,bad=0")
    assert done.output.startswith("exact_match: ")
    assert "labels of 900 rows give an interval 0.1 wide" in done.output
    assert done.output.endswith(
        "its correlation with people is 0.80, assuming one more error than in the pilot's 90 labels\n"
    )
    plan = plan_labels_from_pilot("before", 0.1, Labels(run, "good=1,bad=0"))["exact_match"]
    assert plan.labels < 0.6 * plan.alone
    assert json.loads(invoke("--width", 0.1, "--human", run, "--label-map", "good=1,bad=0", "--json").output) == {
        "exact_match": plan.as_dict()
    }


def test_without_labels_the_correlation_is_assumed(run):
    assert invoke("--width", 0.1, "--correlation", 0.8).output == (
        "exact_match: 163 labels of 900 rows give an interval 0.1 wide, 342 without the judge; "
        "its correlation with people is 0.80, assumed\n"
    )
    assert invoke("--width", 0.01).output == (
        "exact_match: not even labels of all 900 rows give an interval 0.01 wide: theirs is 0.0616 wide; "
        "labels of all of 34147 rows would do\n"
    )


def test_a_sample_that_prefers_some_rows_is_weighted(run):
    random = np.random.default_rng(0)
    chances = np.where(np.arange(900) % 3, 0.1, 0.4)
    drawn = np.flatnonzero(random.random(900) < chances)
    human = {"id": drawn, "label": (drawn % 3 > 0) * (drawn % 7 > 0) * 1.0, "probability": chances[drawn]}
    plan = plan_labels_from_pilot("before", 0.1, Labels(human), on="id")["exact_match"]
    assert plan.deviation == pytest.approx(0.495, abs=0.02)
    assert 0.6 < plan.correlation < 0.9


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "expected --difference or --margin, or --width for labels by people"),
        (("--difference", 0.1, "--width", 0.1), "expected --difference or --margin, or --width"),
        (("--width", 0.1, "--run", "before"), "--run: expected one run, found 2"),
        (("--difference", 0.1, "--label-map", "a=1,b=0"), "--label-map needs --width"),
    ],
)
def test_wrong_usage(run, words, problem):
    done = invoke(*words)
    assert done.exit_code == 2
    assert problem in done.output


def test_labels_of_unknown_rows(run):
    with pytest.raises(JoinError, match="1 of 1 labelled rows are not in before: '901'"):
        plan_labels_from_pilot("before", 0.1, Labels([{"id": 901, "label": 1}]))
