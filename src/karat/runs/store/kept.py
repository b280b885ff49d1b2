"""Which runs are kept: listing and removing them."""

from __future__ import annotations

import os
from pathlib import Path

from karat.core.errors import DataError, did_you_mean
from karat.data.storage.addresses import join_path
from karat.data.storage.remote_files import list_names
from karat.data.storage.whole_files import remove_file, remove_folder
from karat.runs.store.folders import (
    MANIFEST,
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
from karat.runs.store.run import Run, open_run


def list_runs() -> list[Run]:
    """All finished runs, sorted by the time at which they were started."""
    return sorted(map(open_run, run_names()), key=lambda run: (run.manifest.created, run.name))


def remove_run(name: str) -> None:
    """Remove a run with all its files, finished or not; `DataError` where there is none of that name."""
    folder = run_folder(name)
    partial, answers = partial_folder(folder), answers_folder(folder)
    removed = folder.with_name(f".{name}.removed") if isinstance(folder, Path) else folder
    locked = lock_file(folder)
    there = has_manifest(folder) or Path(removed).is_dir() or any(map(list_names, (partial, answers, removed)))
    if not (there or (os.name != "nt" and Path(locked).is_file())):  # Windows may keep a lock file, which is no run
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
