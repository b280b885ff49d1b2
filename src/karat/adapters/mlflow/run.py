"""A run of karat as a run of MLflow: parameters, metrics, tags, a table of the rows, and the run's own files."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

from karat.core.errors import DataError, MissingExtra
from karat.runs.compare.run_values import value_of
from karat.runs.compare.scored_rows import ScoredRow, read_scored_rows
from karat.runs.match.systems import System, open_system

TABLE = "karat_rows.json"
_NOT_A_NAME = re.compile(r"[^\w\-. :/]")  # of a metric: letters, digits and _ - . space : /


def log_run(system: System, *, experiment: str | None = None) -> str:
    """Log a run, a scored file or a `Result` as a new run of MLflow; the id of that run.

    Each metric becomes the metrics `SPEC`, `SPEC.low` and `SPEC.high` (its interval) and `SPEC.unscored`; characters
    that MLflow forbids in names become `_`. The settings are parameters; the run's name, call and signatures are tags;
    the manifest and the values are the artifacts `karat/manifest.json` and `karat/values.json`; the rows with their
    scores are the table `karat_rows.json`. `experiment` is by default MLflow's current one; the server comes from
    `MLFLOW_TRACKING_URI` or `mlflow.set_tracking_uri`.

    Raises `DataError` for two metrics whose names become the same, `MissingExtra` without MLflow.
    """
    try:
        import mlflow  # noqa: PLC0415  (slow to import, and an extra)
    except ModuleNotFoundError:
        raise MissingExtra("mlflow", extra="mlflow", need="log_run") from None
    run = open_system(system, "karat")
    names = {spec: _NOT_A_NAME.sub("_", spec) for spec in run.specs}
    if len(set(names.values())) < len(names):
        raise DataError(f"{run.name}: MLflow cannot tell these metrics apart: {', '.join(names)}")
    manifest, chosen = run.manifest, experiment and mlflow.set_experiment(experiment).experiment_id
    with mlflow.start_run(experiment_id=chosen or None, run_name=run.name) as logged:
        mlflow.log_params({name: each for name, each in manifest.settings.items() if each is not None})
        signatures = {f"karat.signature.{names[each.spec]}": each.signature for each in manifest.metrics}
        tags = {"karat.run": manifest.name, "karat.call": manifest.call, **signatures}
        mlflow.set_tags({name: each for name, each in tags.items() if each})
        for spec, name in names.items():
            value = value_of(run, spec)
            figures = {"": value.value, ".low": value.low, ".high": value.high, ".unscored": value.unscored}
            mlflow.log_metrics({name + part: each for part, each in figures.items() if each is not None})
        mlflow.log_dict(json.loads(json.dumps(asdict(manifest), default=str)), "karat/manifest.json")
        mlflow.log_dict(json.loads(json.dumps(dict(run.values), default=str)), "karat/values.json")
        mlflow.log_table(_table([*read_scored_rows(run)], run.specs), TABLE)
        return str(logged.info.run_id)


def _table(rows: list[ScoredRow], specs: tuple[str, ...]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        "id": [row.id for row in rows],
        "question": [row.question for row in rows],
        "references": [list(row.references) for row in rows],
        "prediction": [row.prediction for row in rows],
        "reason": [row.reason for row in rows],
    }
    return columns | {spec: [row.scores[spec] for row in rows] for spec in specs}
