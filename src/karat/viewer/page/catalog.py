"""The runs of the folder, finished and being written, each with an id that says nothing of its path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from karat.core.errors import KaratError
from karat.runs.store.folders import (
    MANIFEST,
    VALUES,
    answers_folder,
    has_manifest,
    lock_file,
    partial_folder,
    run_folder,
    run_names,
    unfinished_runs,
)
from karat.runs.store.lock import is_locked
from karat.runs.store.manifest import read_manifest
from karat.runs.store.parts import PartsFolder
from karat.runs.store.run import Run, open_run
from karat.viewer.answers import describe_metric
from karat.viewer.page.query import Unknown

_FIGURES = ("value", "low", "high", "n", "scored", "failed")
_DAMAGED = (OSError, KaratError)
_STOPPED = "not finished: the same command with --resume continues it"


class Catalog:
    """The runs in `$KARAT_RUNS`; what was read of a finished one is kept until its files change."""

    def __init__(self) -> None:
        self._finished: dict[str, tuple[tuple[int, int], dict[str, Any]]] = {}

    def describe(self) -> list[dict[str, Any]]:
        """All runs by the time at which they were started; those that cannot be read have a `problem`."""
        runs = [*map(self._describe_finished, run_names()), *map(_describe_unfinished, unfinished_runs())]
        return sorted(runs, key=lambda run: (run["created"], run["name"]))

    def open(self, ids: Sequence[str]) -> list[Run]:
        """The finished runs with these ids; `Unknown` where there is none."""
        names = {run_id(name): name for name in run_names()}
        for each in ids:
            if each not in names:
                raise Unknown(f"there is no finished run with the id {each[:40]!r}")
        return [open_run(names[each]) for each in ids]

    def _describe_finished(self, name: str) -> dict[str, Any]:
        try:
            folder = run_folder(name)
            changed = _changed(Path(folder, MANIFEST)), _changed(Path(folder, VALUES))
            if name not in self._finished or self._finished[name][0] != changed:
                self._finished[name] = changed, _describe_finished(open_run(name))
            return self._finished[name][1]
        except _DAMAGED as error:
            return _entry(name, "unreadable", problem=str(error))


def run_id(name: str) -> str:
    """The id of the run of this name."""
    return blake2b(name.encode(errors="surrogateescape"), digest_size=8).hexdigest()


def display_metrics(run: Run) -> dict[str, dict[str, Any]]:
    """What the page must know of each metric of a run, by spec."""
    return {metric.spec: describe_metric(metric) for metric in run.manifest.metrics}


def _describe_finished(run: Run) -> dict[str, Any]:
    values = {metric["spec"]: metric for metric in run.values["metrics"]}
    metrics = [describe_metric(each) | {name: _finite(values[each.spec][name]) for name in _FIGURES}
               for each in run.manifest.metrics if each.spec in values]  # fmt: skip
    n = run.manifest.n
    return _entry(run.name, "finished", created=run.manifest.created, n=n, rows=n, metrics=metrics)


def _describe_unfinished(name: str) -> dict[str, Any]:
    """A run that is being written, or was stopped: an experiment that still asks for answers has no manifest."""
    state = "stopped"
    problem: str | None = _STOPPED
    try:
        folder = run_folder(name)
        partial, answers = partial_folder(folder), answers_folder(folder)
        if is_locked(Path(lock_file(folder))) or is_locked(Path(answers, "lock")):
            state, problem = "running", None
        if not has_manifest(partial):
            return _entry(name, state, problem=problem)
        manifest = read_manifest(partial)
        metrics = [describe_metric(each) | dict.fromkeys(_FIGURES) for each in manifest.metrics]
        rows = PartsFolder(folder).count_rows()
        return _entry(name, state, created=manifest.created, rows=rows, metrics=metrics, problem=problem)
    except _DAMAGED as error:  # it may also have been finished or removed meanwhile
        return _entry(name, state, problem=str(error))


def _entry(name: str, state: str, **known: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"created": "", "n": None, "rows": None, "problem": None, "metrics": []}
    return {"id": run_id(name), "name": name, "state": state, **empty, **known}


def _finite(figure: float | None) -> float | None:
    return figure if figure is None or math.isfinite(figure) else None


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns
