"""The runs of the folder, finished and being written, each with an opaque id."""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from karat.core.errors import KaratError, SpecError
from karat.runs.store.folders import MANIFEST, VALUES, run_folder, run_names, unfinished_runs
from karat.runs.store.kept import describe_unfinished
from karat.runs.store.run import Run, open_run
from karat.viewer.answers import answer_metric
from karat.viewer.page.query import Unknown

MOST_RUNS = 8
_FIGURES = ("value", "low", "high", "n", "scored", "unscored", "not_asked")
_USED = ("calls", "failed", "cost")  # of models, so far
_DAMAGED = (OSError, KaratError)  # it may also have been finished or removed meanwhile
_STOPPED = "not finished: the same command with --resume continues it"


class Catalog:
    """The runs in `$KARAT_RUNS`; what was read of a finished one is kept until its files change."""

    def __init__(self) -> None:
        self._finished: dict[str, tuple[list[int], dict[str, Any]]] = {}

    def describe(self) -> list[dict[str, Any]]:
        """All runs by the time at which they were started; those that cannot be read have a `problem`."""
        runs = [*map(self._describe_finished, run_names()), *map(_describe_unfinished, unfinished_runs())]
        return sorted(runs, key=lambda run: (run["created"], run["name"]))

    def open(self, ids: Sequence[str]) -> list[Run]:
        """The finished runs with these ids; `Unknown` where there is none."""
        if not 1 <= len(ids) <= MOST_RUNS or len(set(ids)) < len(ids):
            raise SpecError(f"runs: from 1 to {MOST_RUNS} different ids are expected")
        names = {run_id(name): name for name in run_names()}
        for each in ids:
            if each not in names:
                raise Unknown(f"there is no finished run with the id {each[:40]!r}")
        return [open_run(names[each]) for each in ids]

    def _describe_finished(self, name: str) -> dict[str, Any]:
        try:
            changed = [Path(run_folder(name), file).stat().st_mtime_ns for file in (MANIFEST, VALUES)]
            if name not in self._finished or self._finished[name][0] != changed:
                self._finished[name] = changed, _describe_finished(open_run(name))
            return self._finished[name][1]
        except _DAMAGED as error:
            return _entry(name, "damaged", problem=str(error))


def run_id(name: str) -> str:
    """The id of the run of this name."""
    return blake2b(name.encode(errors="surrogateescape"), digest_size=8).hexdigest()


def display_metrics(run: Run) -> dict[str, dict[str, Any]]:
    """What the page must know of each metric of a run, by spec."""
    return {metric.spec: answer_metric(metric) for metric in run.manifest.metrics}


def _describe_finished(run: Run) -> dict[str, Any]:
    values = {metric["spec"]: metric for metric in run.values["metrics"]}
    metrics = [answer_metric(each) | {name: _finite(values[each.spec].get(name)) for name in _FIGURES}
               for each in run.manifest.metrics if each.spec in values]  # fmt: skip
    return _entry(run.name, "finished", created=run.manifest.created, n=run.manifest.n, metrics=metrics)


def _describe_unfinished(name: str) -> dict[str, Any]:
    try:
        run = describe_unfinished(name)
    except _DAMAGED as error:
        return _entry(name, "damaged", problem=str(error))
    metrics = [answer_metric(each) | dict.fromkeys(_FIGURES) for each in run.metrics]
    problem = run.problem or (None if run.state == "running" else _STOPPED)
    models = run.models and {each: run.models.get(each) or 0 for each in _USED}
    known = {"problem": problem, "models": models, "asking": run.asking}
    return _entry(name, run.state, created=run.created, n=run.n, metrics=metrics, **known)


def _entry(name: str, state: str, **known: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"created": "", "n": None, "problem": None, "metrics": [], "models": None, "asking": ""}
    return {"id": run_id(name), "name": name, "state": state, **empty, **known}


def _finite(figure: float | None) -> float | None:
    return figure if figure is None or math.isfinite(figure) else None
