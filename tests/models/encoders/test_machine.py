"""Where encoders run: chosen beside the metric, taken along to workers, and kept in the manifest."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.errors import SpecError
from karat.kinds import Score, Text
from karat.models.encoders.machine import Machine, current_machine, use_machine
from karat.runs.scoring.tasks import parts
from karat.runs.scoring.tasks.local import Threads


@karat.metric(source="this test", high=100, register=False)
def texts_at_a_time(prediction: Text) -> Score:
    """How many texts an encoder would take at a time."""
    return pa.array([float(current_machine().batch_size)] * len(prediction))


def test_workers_are_where_the_run_says(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "LEAST_ROWS", 1)
    for name in "ab":
        pq.write_table(pa.table({"prediction": ["x"] * 3}), tmp_path / f"{name}.parquet")
    with use_machine(Machine(batch_size=7)):
        result = karat.score(str(tmp_path / "*.parquet"), texts_at_a_time, engine=Threads(2))
    assert result.values["texts_at_a_time"].value == 7


def test_a_machine_is_checked():
    with pytest.raises(SpecError, match="did you mean 'onnx'"):
        Machine("onx")
    with pytest.raises(SpecError, match="at least 1"):
        Machine(batch_size=0)


def test_flags_of_the_machine_are_in_the_manifest_and_not_in_the_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")  # nothing is sent
    (tmp_path / "a.jsonl").write_text('{"prediction": "", "reference": "b"}\n')
    spec = "semantic_similarity(model=m, endpoint=true)"
    words = ["score", "a.jsonl", "-m", spec, "--device", "cpu", "--batch-size", "4", "--run", "a", "--no-cache"]
    assert "nothing was scored" in CliRunner().invoke(main, words).output
    manifest = json.loads((tmp_path / "runs/a/manifest.json").read_text())
    assert {"device": "cpu", "batch_size": 4}.items() <= manifest["machine"].items()
    [metric] = manifest["metrics"]
    assert metric["spec"] == "semantic_similarity(endpoint=True, model='m')"
    refused = CliRunner().invoke(main, ["score", "a.jsonl", "-m", "exact_match", "--device", "cpu"])
    assert refused.exit_code == 2
    assert "--device is about models of similarity, but no metric runs one" in refused.output
