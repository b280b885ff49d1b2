"""Where runs are on the disk, and which there are."""

from __future__ import annotations

import os
import re
from pathlib import Path

from karat.core.errors import DataError, SpecError
from karat.data.storage.addresses import hide_secrets, is_address

MANIFEST = "manifest.json"
PARTS, STATES = "parts.json", "states"  # of a run in parts, while it is written
_NAME = re.compile(r"\w[\w.+@ -]*")


def runs_folder() -> Path:
    """The folder of all runs: `$KARAT_RUNS`, else `karat-runs` in the working directory; `DataError` for an address."""
    folder = os.environ.get("KARAT_RUNS") or "karat-runs"
    if is_address(folder):
        remedy = "set it to a folder, and write the rows to the store with output (-o)"
        raise DataError(
            f"KARAT_RUNS is {hide_secrets(folder)}: a run is locked and renamed, which no store does; {remedy}"
        )
    return Path(folder)


def run_folder(name: str) -> Path:
    """The folder of the run with that name, which need not exist; `SpecError` for an invalid name."""
    if not _NAME.fullmatch(name) or name != name.rstrip(". "):
        raise SpecError(f"run {name!r}: expected a name of letters, digits and _ . + @ -")
    return runs_folder() / name


def partial_folder(folder: Path) -> Path:
    """The folder in which a run is written until it is finished."""
    return folder.with_name(f".{folder.name}.partial")


def lock_file(folder: Path) -> Path:
    """The file that the process which writes a run locks."""
    return folder.with_name(f".{folder.name}.lock")


def answers_folder(folder: Path) -> Path:
    """The folder of an experiment's answers until its run is finished."""
    return folder.with_name(f".{folder.name}.answers")


def run_names() -> list[str]:
    """The names of all finished runs, sorted."""
    found = (path.parent.name for path in runs_folder().glob(f"*/{MANIFEST}"))
    return sorted(name for name in found if not name.startswith("."))


def unfinished_runs() -> list[str]:
    """The names of the runs that were started and not finished, sorted."""
    started = {path.parent.name[1 : -len(".partial")] for path in runs_folder().glob(f".*.partial/{MANIFEST}")}
    started |= {path.name[1 : -len(".answers")] for path in runs_folder().glob(".*.answers")}
    return sorted(name for name in started if not (runs_folder() / name).exists())
