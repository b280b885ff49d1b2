"""Whether all files of a run, finished or not, are as they were written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, ParamSpec, TypeVar

from karat.core.errors import DataError
from karat.data.json.objects import JsonObject, Printed
from karat.data.storage.addresses import join_path
from karat.data.storage.checksums import check_file, read_json, unseal
from karat.data.storage.remote_files import exists
from karat.runs.store.files import check_files
from karat.runs.store.folders import (
    MANIFEST,
    PARTS,
    ROWS,
    SETTINGS,
    STATISTICS,
    answers_folder,
    explain_missing,
    find_run,
    is_name,
    partial_folder,
    run_folder,
    unfinished_runs,
)
from karat.runs.store.manifest import read_manifest
from karat.runs.store.parts import PartsFolder
from karat.runs.store.run import open_run

Content = TypeVar("Content")
Arguments = ParamSpec("Arguments")


@dataclass
class Verified(JsonObject):
    """How many `files` of a run were read, and what is wrong with them.

    `problems`: what is wrong.
    """

    name: str
    files: int = 0
    problems: list[str] = field(default_factory=list)

    printed: ClassVar = Printed(also=("state",))

    def __str__(self) -> str:
        return "; ".join(self.problems) or f"{self.files} files, all as they were written"

    @property
    def state(self) -> Literal["intact", "damaged"]:
        """The state of the run."""
        return "damaged" if self.problems else "intact"

    def read(
        self, reader: Callable[Arguments, Content], *args: Arguments.args, **options: Arguments.kwargs
    ) -> Content | None:
        """What a reader of a file gives; None where that is damaged."""
        self.files += 1
        try:
            return reader(*args, **options)
        except DataError as error:
            self.problems.append(str(error))
            return None


def verify_run(name: str | Path) -> Verified:
    """Read all files of a run, finished or not, and compare them with their checksums.

    Raises `DataError` where there is no run of that name.
    """
    verified = Verified(str(name))
    if (folder := find_run(name)) is not None:
        _verify_finished(folder, verified)
    elif is_name(verified.name) and verified.name in unfinished_runs():
        _verify_unfinished(run_folder(verified.name), verified)
    else:
        raise DataError(explain_missing(verified.name))
    return verified


def _verify_finished(folder: str | Path, verified: Verified) -> None:
    manifest = verified.read(read_manifest, folder)
    if manifest is None:
        return
    for name, written in manifest.files.items():
        verified.read(check_file, join_path(folder, name), written)
    if not manifest.files:
        verified.problems.append(f"{join_path(folder, MANIFEST)} has no checksums of the other files")
    if not verified.problems:
        checks = Verified(verified.name)  # of what is there besides, and of what the files hold
        checks.read(open_run, folder)
        for kind in (ROWS, STATISTICS):
            if any(name.startswith(Path(kind).stem) for name in manifest.files):
                checks.read(check_files, folder, kind, manifest.files)
        verified.problems += checks.problems


def _verify_unfinished(folder: str | Path, verified: Verified) -> None:
    partial, parts = partial_folder(folder), PartsFolder(folder)
    sealed = [join_path(partial, MANIFEST), join_path(partial, PARTS), join_path(answers_folder(folder), SETTINGS)]
    for path in filter(exists, sealed):
        verified.read(_check_sealed, path)
    for task in parts.list_tasks():
        done = verified.read(parts.find, task)
        for name, written in (done.files if done else {}).items():
            verified.read(check_file, join_path(parts.written, name), written)


def _check_sealed(path: str | Path) -> None:
    """Raise `DataError` for a JSON file with the checksum of another content."""
    unseal(read_json(path), path)
