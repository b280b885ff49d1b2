"""Runs and scorers in MLflow itself, this Python's or that of scripts/mlflow, with a store in SQLite."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import karat

ROOT = Path(__file__).parents[3]
HERE = find_spec("mlflow") is not None
PYTHON = sys.executable if HERE else ROOT / ".mlflow/bin/python"
pytestmark = [
    pytest.mark.mlflow,
    pytest.mark.skipif(not (HERE or (ROOT / ".mlflow/complete").exists()), reason="scripts/mlflow installs MLflow"),
]
ROWS = {"id": [1, 2, 3], "prediction": ["x y", "z", None], "reference": ["x", "z", "x"]}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What MLflow holds after a run was logged and an evaluation was made."""
    done = subprocess.run(
        [PYTHON, Path(__file__).with_name("mlflow_script.py")],
        cwd=tmp_path_factory.mktemp("mlflow"),
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "KARAT_RUNS": "runs", "MLFLOW_DISABLE_TELEMETRY": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_run_has_metrics_with_intervals_settings_signatures_and_rows(found):
    result = karat.score(ROWS, ["exact_match", "token_f1(normalize='none')"])
    em = result.values["exact_match"]
    named = {"": em.value, ".low": em.low, ".high": em.high, ".unscored": em.unscored}
    assert {name: found["metrics"][f"exact_match{name}"] for name in named} == pytest.approx(named)
    assert found["metrics"]["token_f1_normalize__none__"] == pytest.approx(
        result.values["token_f1(normalize='none')"].value
    )
    assert found["params"]["confidence"] == "0.95"
    assert found["tags"]["karat.run"] == "first"
    assert found["tags"]["karat.signature.exact_match"] == result.metrics[0].signature
    assert found["values"] == result.as_dict()
    assert [(str(row["id"]), row["exact_match"], row["reason"]) for row in found["table"]] == [
        ("1", 0, None),
        ("2", 1, None),
        ("3", None, "prediction is null"),
    ]


def test_metrics_are_scorers_of_an_evaluation(found):
    assert found["means"] == pytest.approx({"exact_match/mean": 0.5, "overlap/mean": 5 / 6})
    assert sorted(json.dumps(each, sort_keys=True) for each in found["feedback"]) == [
        '{"exact_match": 0.0, "overlap": 0.6666666666666666}',
        '{"exact_match": 1.0, "overlap": 1.0}',
        '{"exact_match": null, "overlap": null}',
    ]


def test_mistakes_are_told(found):
    unknown, corpus, missing = found["errors"]
    assert "did you mean 'exact_match'?" in unknown
    assert "has no score of a single row" in corpus
    assert "did you mean 'first'?" in missing
