"""The flags of engines."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.engines import Ray, Spark
from karat.runs.scoring import pipeline


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"prediction": ["a", "b"] * 9, "gold": ["a", "a"] * 9}), path, row_group_size=4)
    return str(path)


def run(*words):
    return CliRunner().invoke(main, ["score", *words])


def test_an_engine_of_this_machine_is_named(file):
    plain, processes = (
        run(file, "-m", "exact_match", "--json"),
        run(file, "-m", "exact_match", "--json", "--engine", "processes"),
    )
    assert json.loads(processes.stdout) == json.loads(plain.stdout)


def test_the_address_and_the_failures_allowed_reach_the_engine(file, monkeypatch):
    seen = {}
    monkeypatch.setattr(pipeline, "score", lambda data, metrics, **options: seen.update(options) or 1 / 0)
    monkeypatch.setattr(
        "karat.runs.scoring.tasks.local.find_engine", lambda engine: Ray() if engine == "ray" else engine
    )
    flags = ["--address", "ray://head:10001", "--gpus", "0.5", "--cluster-judges", "--max-failed-tasks", "2"]
    run(file, "-m", "exact_match", "--engine", "ray", *flags)
    assert seen["engine"] == Ray("ray://head:10001", gpus=0.5, judges=True)
    assert seen["max_failed_tasks"] == 2


def test_the_server_reaches_spark(file, monkeypatch):
    seen = {}
    monkeypatch.setattr(pipeline, "score", lambda data, metrics, **options: seen.update(options) or 1 / 0)
    monkeypatch.setattr("karat.runs.scoring.tasks.local.find_engine", lambda name: Spark())
    run(file, "-m", "exact_match", "--engine", "spark", "--remote", "sc://host:15002")
    assert seen["engine"] == Spark("sc://host:15002")


@pytest.mark.parametrize("engine", [[], ["--engine", "threads"]])
def test_an_address_without_a_cluster_is_refused(file, engine):
    assert "it needs --engine ray" in run(file, "-m", "exact_match", "--address", "auto", *engine).output
    assert "it needs --engine ray" in run(file, "-m", "exact_match", "--gpus", "1", *engine).output
    assert "it needs --engine ray" in run(file, "-m", "exact_match", "--cluster-judges", *engine).output
    assert "it needs --engine spark" in run(file, "-m", "exact_match", "--remote", "sc://host", *engine).output


def test_a_dry_run_of_a_judge_needs_no_engine(file):
    flags = ["-m", "judge:equivalence", "--model", "fake", "--base-url", "http://localhost:1/v1", "--dry-run"]
    assert "18 calls" in run(file, *flags, "--engine", "ray").stdout


def test_the_nearest_engine_is_named(file):
    assert "did you mean 'processes'" in run(file, "-m", "exact_match", "--engine", "proceses").output
