"""Runs pipelines of the real DataFlow, in the environment that scripts/dataflow makes; without it these tests skip."""

import json
import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.dataflow

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / ".dataflow" / "bin" / "python"
WRONG_ROWS = {1, 5, 7, 11, 13}  # in DataFlow's example of worked answers, read by hand


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    if not (ROOT / ".dataflow" / "complete").exists():
        pytest.skip("needs scripts/dataflow")
    folder = tmp_path_factory.mktemp("dataflow")
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    script = Path(__file__).with_name("pipeline_script.py")
    done = subprocess.run(
        [PYTHON, script, folder / "report.json"], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    return json.loads((folder / "report.json").read_text("utf-8"))


def test_it_is_an_operator_that_takes_the_place_of_dataflows_only_when_asked(report):
    assert report["own_operator_until_asked"]
    assert report["karat_when_asked"]
    assert report["is_operator"]
    assert report["logger"]


def test_every_verdict_on_dataflows_examples_is_right(report):
    worked, boxed = report["worked"], report["boxed"]
    assert worked["karat"]["verdicts"] == [row not in WRONG_ROWS for row in range(15)]
    assert boxed["karat"]["verdicts"] == [True] * 20
    # DataFlow accepts (1, 0) for (-1, 0), and rejects x²/2 + C, cos(x), \dfrac{1}{9} and 4:30 p.m.
    own = [row for row, verdict in enumerate(worked["dataflow"]["verdicts"]) if verdict != (row not in WRONG_ROWS)]
    assert own == [5, 8, 14]
    assert [row for row, verdict in enumerate(boxed["dataflow"]["verdicts"]) if not verdict] == [1, 3]


def test_statistics_have_dataflows_keys(report):
    for name in ("worked", "boxed", "semantic"):
        own, ours = report[name]["dataflow"]["statistics"], report[name]["karat"]["statistics"]
        assert own.keys() <= ours.keys()
        if name == "semantic":
            assert own == {key: ours[key] for key in own}


def test_replies_of_a_model_are_read_alike(report):
    semantic = report["semantic"]
    assert semantic["karat"]["verdicts"] == semantic["dataflow"]["verdicts"] == [True] * 20
    assert semantic["parts"]["statistics"]["total_subquestions"] == 20


def test_each_layout_is_scored_as_dataflow_scores_it(report):
    for name, found in report["layouts"].items():
        assert found["scored"] > 10, name
        assert (found["differ"], found["rest"]) == ([], True), name
    assert len(report["layouts"]) == 8


def test_f1_bleu_and_bert_score_are_dataflows(report):
    assert report["columns"]["f1"] < 1e-12
    assert report["columns"]["bleu"] < 1e-8  # it adds tiny constants
    assert report["columns"].get("bert", 0) < 1e-6  # with `scripts/dataflow 1.0.13 models` alone
