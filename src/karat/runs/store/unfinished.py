"""Writing a run: in a hidden folder beside its place, which is renamed when the run is finished.

In a store, which renames nothing, the files are in their place from the start, and the manifest comes last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from karat.core.atomic import sync
from karat.core.errors import DataError
from karat.data.storage.addresses import is_address, join_path
from karat.data.storage.checksums import FileSum
from karat.data.storage.whole_files import make_folder, remove_folder
from karat.runs.store.folders import (
    STATES,
    VALUES,
    answers_folder,
    has_manifest,
    lock_file,
    make_runs_folder,
    partial_folder,
    run_folder,
    written_folder,
)
from karat.runs.store.lock import lock
from karat.runs.store.manifest import ASKING, ENDPOINTS, UNTIL, Manifest, read_manifest, write_json, write_manifest
from karat.runs.store.run import Run, open_run

MOVED = "KARAT_MOVED_FROM"
"""The variable that names the address of an endpoint whose models have moved."""


@dataclass
class Started:
    """A run that is being written: the folder that will hold it, and its manifest.

    `check` raises `DataError` where its lock was lost. `resumed`: it was started before. `usage()` is what it has
    used of models so far, `capped()` whether a cap has kept requests from being sent, `paid` whether any was sent.
    `files` are the checksums of what is written. `asking`: how far a judge was asked, where a rule says when to stop.
    """

    folder: str | Path
    manifest: Manifest
    check: Callable[[], None]
    resumed: bool = False
    usage: Callable[[], Mapping[str, Any] | None] = lambda: None
    capped: Callable[[], bool] = lambda: False
    paid: bool = False
    asking: str = ""
    files: dict[str, FileSum] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Whether the finished run is there."""
        return has_manifest(self.folder)

    @property
    def partial(self) -> str | Path:
        """The folder of what is kept until the run is finished."""
        return partial_folder(self.folder)

    def note_usage(self) -> None:
        """Write down what it has used of models so far, and how far they were asked."""
        if (used := self.usage()) is not None and not self.finished:
            self.paid = bool(used["calls"])
            settings = dict(self.manifest.settings)
            settings |= {UNTIL: {**settings[UNTIL], ASKING: self.asking}} if self.asking else {}
            write_manifest(replace(self.manifest, models=used, settings=settings), self.partial)

    def finish(self, values: Mapping[str, Any], **fields: Any) -> Run:
        """Write the values and, last, the manifest with what was `found`, and give the folder its name."""
        written = written_folder(self.folder)
        self.files[VALUES] = write_json(join_path(written, VALUES), values)
        self.check()
        mended = (metric.get("counts", {}).get("repaired", {}) for metric in values["metrics"])
        models = (used := self.usage()) and {**used, "repaired": sum(each.get("true", 0) for each in mended)}
        write_manifest(replace(self.manifest, **fields, models=models, files=self.files), written)
        if isinstance(written, Path):
            written.rename(self.folder)
            sync(written.parents[1])
        return open_run(self.folder)


@contextmanager
def open_partial(manifest: Manifest, *, resume: bool) -> Iterator[Started]:
    """Lock the name of a run, and make the folder in which it is written, or with `resume` find it.

    What was kept for resuming is removed once the finished run is there.
    """
    folder = run_folder(manifest.name)
    make_runs_folder()
    with lock(lock_file(folder), manifest.name) as check:
        if has_manifest(folder):  # its process may have been killed just after the end
            remove_folder(partial_folder(folder))
        check_name_free(folder)
        if "task" not in manifest.settings and isinstance(folder, Path) and Path(answers_folder(folder)).exists():
            remedy = f"continue it with `karat experiment` and --resume, {start_again(manifest.name)}"
            raise DataError(f"run {manifest.name} is an experiment that was not finished: {remedy}")
        started = Started(folder, manifest, check, resumed=has_manifest(partial_folder(folder)))
        if started.resumed:
            started.manifest = _resume(manifest, read_manifest(started.partial), resume=resume)
        else:  # of a process that was killed while it removed a run
            remove_folder(started.partial)
            remove_folder(written_folder(folder))
        make_folder(written_folder(folder))
        make_folder(join_path(started.partial, STATES))
        write_manifest(started.manifest, started.partial)
        try:
            yield started
        finally:
            if started.finished:
                remove_folder(started.partial)


def check_name_free(folder: str | Path) -> None:
    """Raise `DataError` where a finished run is in that folder."""
    if has_manifest(folder) if is_address(folder) else Path(folder).exists():
        name = Path(folder).name
        rule = has_manifest(folder) and read_manifest(folder).settings.get(UNTIL)
        known = "; the answers that it has, under the same seed, are not asked again" if rule else ""
        raise DataError(f"run {name} exists already, in {folder}: {other_name(name)}{known}")


def other_name(name: str) -> str:
    """The remedies, for messages, where a run of that name is in the way."""
    return f"choose another name (--run OTHER), or `karat runs remove {name}`"


def start_again(name: str) -> str:
    """The remedy, for messages, where a run cannot be continued."""
    return f"or start again after `karat runs remove {name}`"


def check_unchanged(name: str, *arguments: tuple[Mapping[str, Any], Mapping[str, Any]]) -> None:
    """Raise `DataError` where arguments of a continued run, as pairs of before and now, have changed."""
    changes = [
        f"{key}: {before.get(key)!r}; now {now.get(key)!r}"
        for before, now in arguments
        for key in dict.fromkeys([*before, *now])
        if before.get(key) != now.get(key)
    ]
    if changes:
        problem = f"run {name} was started with other {'; '.join(changes)}"
        raise DataError(f"{problem}. Resume with the same, {start_again(name)}")


def describe_columns(schema: pa.Schema) -> dict[str, str]:
    """The columns of scored rows and their types, for `check_schema`."""
    return {f"column {each.name!r}": str(each.type) for each in schema}


def check_schema(name: str, before: Mapping[str, str], now: pa.Schema) -> None:
    """Raise `DataError` where a continued run would have other columns than those in parts that are written."""
    check_unchanged(name, (before, describe_columns(now)))


def check_resumed(name: str, *, resume: bool) -> None:
    """Raise `DataError` where a run was not finished and `resume` is not set."""
    if not resume:
        raise DataError(f"run {name} was not finished: continue it with --resume, {start_again(name)}")


def _resume(manifest: Manifest, before: Manifest, *, resume: bool) -> Manifest:
    """The manifest of a continued run; `DataError` where `resume` is not set or an argument has changed."""
    check_resumed(manifest.name, resume=resume)
    endpoints = _join_endpoints(manifest.name, *(each.settings.get(ENDPOINTS, ()) for each in (before, manifest)))
    settings = {ENDPOINTS: endpoints} if endpoints else {}
    before, manifest = (replace(one, settings={**one.settings, **settings}) for one in (before, manifest))
    decided = [
        ({"metrics": ", ".join(str(each.signature) for each in one.metrics)}, one.mapping, _decisive(one.settings))
        for one in (before, manifest)
    ]
    as_stored = json.loads(json.dumps(decided))  # tuples become lists, as in a stored manifest
    check_unchanged(manifest.name, *zip(*as_stored, strict=True))
    models = before.models and {**before.models, "capped": 0}  # what caps kept back is counted by attempt
    return replace(manifest, created=before.created, models=models)


def _decisive(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that must not change; a rule by which asking stops may be another one, as it decides no answer."""
    return {name: "a rule" if name == UNTIL and value else value for name, value in settings.items()}


def _join_endpoints(name: str, before: Sequence[str], now: Sequence[str]) -> list[str]:
    """All addresses at which a continued run asks its models; `DataError` for another that is not said to be the same.

    One server may have moved, another may be another provider's: nobody can tell them apart but the user.
    """
    added = [each for each in now if each not in before]
    if before and added and os.environ.get(MOVED, "").rstrip("/") not in before:
        raise DataError(
            f"run {name} asked its models at {', '.join(before)}, and would now ask them at {', '.join(added)}. Resume "
            f"with the same address, {start_again(name)}; if the same models have moved there: {MOVED}={before[-1]}"
        )
    return [*before, *added]
