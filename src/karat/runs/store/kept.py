"""Which runs are kept: listing and removing them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from karat.core.errors import DataError, did_you_mean
from karat.data.json.objects import JsonObject, Printed
from karat.data.storage.addresses import join_path
from karat.data.storage.remote_files import list_names
from karat.data.storage.whole_files import remove_file, remove_folder
from karat.runs.store.folders import (
    MANIFEST,
    REPLIES,
    answers_folder,
    has_manifest,
    lock_file,
    partial_folder,
    run_folder,
    run_names,
    runs_folder,
    unfinished_runs,
)
from karat.runs.store.lock import lock
from karat.runs.store.manifest import ASKING, UNTIL, ScoredMetric
from karat.runs.store.run import State, find_state, open_run, open_unfinished
from karat.stats.sequential.stop import Stop


@dataclass(frozen=True)
class KeptRun(JsonObject):
    """One line for each run.

    `created`: when it was begun, ISO 8601; empty where that is not known. `n`: the number of rows, so far. `state`:
    "damaged" where it cannot be read; `problem` says why. `values`: by metric, of a finished run. `stops`:
    by metric, how far a judge was asked, where a rule said when to stop; `asking`: how far, of a run that is written.
    """

    name: str
    created: str = ""
    n: int | None = None
    state: State | Literal["damaged"] = "finished"
    values: Mapping[str, float | None] = field(default_factory=dict)
    stops: Mapping[str, Stop] = field(default_factory=dict)
    asking: str = ""
    problem: str = ""
    metrics: tuple[ScoredMetric, ...] = field(default=(), repr=False)  # from its manifest
    models: Mapping[str, Any] | None = field(default=None, repr=False)  # what it has used of them, so far

    printed: ClassVar = Printed(sparse=("stops", "asking", "problem"), hidden=("metrics", "models"))


def list_runs() -> list[KeptRun]:
    """All runs, finished or not, sorted by the time at which they were started; `open_run` opens one by its name."""
    with ThreadPoolExecutor() as pool:  # each waits for a store, where the runs are in one
        listed = [*pool.map(_describe_kept, run_names()), *pool.map(describe_unfinished, unfinished_runs())]
    return sorted(listed, key=lambda run: (run.created, run.name))


def _describe_kept(name: str) -> KeptRun:
    try:
        run = open_run(name)
    except DataError as error:
        return KeptRun(name, state="damaged", problem=str(error))
    values = {metric["spec"]: metric["value"] for metric in run.values["metrics"]}
    created, n, metrics = run.manifest.created, run.manifest.n, run.manifest.metrics
    return KeptRun(name, created, n, values=values, stops=run.stops, metrics=metrics)


def describe_unfinished(name: str) -> KeptRun:
    """A run that is written, or was stopped; of an experiment that asks for answers, those that it has."""
    folder = run_folder(name)
    try:
        if not has_manifest(partial_folder(folder)):
            answers, failed = _count_answers(Path(answers_folder(folder), REPLIES))
            return KeptRun(name, n=answers, state=find_state(folder), models={"calls": answers, "failed": failed})
        run = open_unfinished(folder)
    except DataError as error:
        return KeptRun(name, state="damaged", problem=str(error))
    manifest = run.manifest
    known = manifest.metrics, manifest.models
    asking = manifest.settings.get(UNTIL, {}).get(ASKING, "")
    return KeptRun(name, manifest.created, manifest.n, run.state, {}, {}, asking, "", *known)


def _count_answers(replies: Path) -> tuple[int, int]:
    """The rows that an experiment's task has answered so far, and the rows on which it failed."""
    if not replies.is_file():
        return 0, 0
    from karat.models.reply_cache import ReplyCache  # noqa: PLC0415  (only where an experiment is in progress)

    with ReplyCache(replies) as cache:
        return cache.count_answers()


def remove_run(name: str) -> None:
    """Remove a run with all its files, finished or not; `DataError` where there is none of that name."""
    folder = run_folder(name)
    partial, answers = partial_folder(folder), answers_folder(folder)
    removed = folder.with_name(f".{name}.removed") if isinstance(folder, Path) else folder
    locked = lock_file(folder)
    there = has_manifest(folder) or Path(removed).is_dir() or any(map(list_names, (partial, answers, removed)))
    if not (there or (os.name != "nt" and Path(locked).is_file())):  # Windows may keep a lock file, which is not a run
        near = did_you_mean(name, [*run_names(), *unfinished_runs()])
        raise DataError(f"there is no run {name!r} in {runs_folder()}{near}")
    with lock(locked, name):
        if not isinstance(folder, Path):
            remove_file(join_path(folder, MANIFEST))  # first, so that a run of that name is never half removed
            remove_folder(folder)
        else:
            remove_folder(removed)  # of a process that was killed
            if has_manifest(folder):
                folder.rename(removed)  # for the same reason
                remove_folder(removed)
        remove_folder(partial)
        if isinstance(answers, Path) and answers.is_dir():
            with lock(answers / "lock", name):
                remove_folder(answers)
