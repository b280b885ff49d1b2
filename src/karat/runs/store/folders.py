"""Where runs are, on a disk or in a store, and which there are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from glob import has_magic
from itertools import compress
from pathlib import Path

from karat.core.context import current_context
from karat.core.errors import DataError, SpecError, did_you_mean
from karat.data.storage.addresses import hide_secrets, is_address, join_path, split_address
from karat.data.storage.file_names import split_name

MANIFEST = "manifest.json"
ROWS, STATISTICS, VALUES = "rows.parquet", "statistics.parquet", "values.json"
PARTS, STATES = "parts.json", "states"  # of a run in parts, while it is written
SETTINGS, REPLIES = "plan.json", "answers.sqlite"  # of an experiment, while its answers are collected
_NAME = re.compile(r"\w[\w.+@ -]*")
_LONGEST = 200  # bytes of a name, beside which a lock and other files have longer ones
_REQUESTS = 16  # that are on their way to a store at a time
_STORES = ("s3", "gs", "az")  # that take many small files; a file on hf:// is a commit


def runs_folder() -> str | Path:
    """The path or address of all runs: `$KARAT_RUNS`, else `karat-runs` in the working directory.

    Raises `DataError` for an address where no runs are kept.
    """
    folder = current_context().runs or os.environ.get("KARAT_RUNS") or "karat-runs"
    if not is_address(folder):
        return Path(folder)
    store, path = split_address(folder)
    if store not in _STORES or not path.strip("/") or hide_secrets(folder) != folder:
        expected = "expected a folder, or an address s3://, gs:// or az:// without a query"
        raise DataError(f"KARAT_RUNS is {hide_secrets(folder)}: {expected}")
    return folder.rstrip("/")


def make_runs_folder() -> None:
    """Create the folder of all runs; `DataError` where that is not possible or it is not writable."""
    root = runs_folder()
    if not isinstance(root, Path):
        from karat.data.storage.whole_files import check_store  # noqa: PLC0415  (slow to import)

        check_store(root)
        return
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"no run can be stored in {root}: {error}; set $KARAT_RUNS to another folder") from error
    if not os.access(root, os.W_OK):
        raise DataError(f"no run can be stored in {root}: it is not writable; set $KARAT_RUNS to another folder")


def run_folder(name: str) -> str | Path:
    """The folder of the run with that name, which need not exist; `SpecError` for an invalid name."""
    if (size := len(name.encode(errors="surrogatepass"))) > _LONGEST:
        problem = f"a name of {size} bytes; expected at most {_LONGEST}, as folders on a disk have"
        raise SpecError(f"run {name[:20]!r}…: {problem}")
    if not is_name(name):
        raise SpecError(f"run {name!r}: expected a name of letters, digits and _ . + @ -")
    return join_path(runs_folder(), name)


def run_key(name: str) -> str:
    """The key under which a run's calls to models are recorded: the whole path, or the address, of its folder."""
    folder = run_folder(name)
    return str(folder.absolute()) if isinstance(folder, Path) else folder


def is_started(name: str) -> bool:
    """Whether there is a run of that name that was started and not finished."""
    return has_manifest(partial_folder(run_folder(name)))


def is_in_tasks(name: str) -> bool:
    """Whether a run of that name was started in tasks, whose parts are planned, and not finished."""
    from karat.data.storage.remote_files import exists  # noqa: PLC0415  (slow to import)

    return exists(join_path(partial_folder(run_folder(name)), PARTS))


def is_name(name: str) -> bool:
    """Whether a run may have this name."""
    return _NAME.fullmatch(name) is not None and name == name.rstrip(". ") and len(name.encode()) <= _LONGEST


def partial_folder(folder: str | Path) -> str | Path:
    """The folder in which a run is written until it is finished."""
    return _beside(folder, ".partial")


def written_folder(folder: str | Path) -> str | Path:
    """Where the files of an unfinished run are: they keep their place in a store, which renames nothing."""
    return folder if is_address(folder) else Path(partial_folder(folder), "run")


def lock_file(folder: str | Path) -> str | Path:
    """The file that the process which writes a run locks."""
    return _beside(folder, ".lock")


def answers_folder(folder: str | Path) -> str | Path:
    """The folder of an experiment's answers until its run is finished."""
    return _beside(folder, ".answers")


def _beside(folder: str | Path, ending: str) -> str | Path:
    parent, name = os.path.split(folder)
    return join_path(parent if is_address(folder) else Path(parent), f".{name}{ending}")


def has_manifest(folder: str | Path) -> bool:
    """Whether a run is in this folder: a finished one, or an unfinished one where that is its partial folder."""
    if not is_address(folder):
        return Path(folder, MANIFEST).is_file()
    from karat.data.storage.remote_files import find_size  # noqa: PLC0415  (slow to import)

    return bool(find_size(join_path(folder, MANIFEST)))  # while a file is sent to Azure it may be empty


def run_names() -> list[str]:
    """The names of all finished runs, sorted."""
    return _find_manifests(name for name in _list_names() if not name.startswith("."))


def unfinished_runs() -> list[str]:
    """The names of the runs that were started and not finished, sorted."""
    hidden = [name for name in _list_names() if name.startswith(".")]
    started = {name[1 : -len(".partial")] for name in _find_manifests(hidden) if name.endswith(".partial")}
    started |= {name[1 : -len(".answers")] for name in hidden if name.endswith(".answers")}
    return sorted(started.difference(_find_manifests(started)))


def _list_names() -> list[str]:
    """What is in the folder of all runs."""
    root = runs_folder()
    if not is_address(root):
        return [path.name for path in Path(root).iterdir()] if Path(root).is_dir() else []
    from karat.data.storage.remote_files import list_names  # noqa: PLC0415  (slow to import)

    return list_names(root)


def _find_manifests(names: Iterable[str]) -> list[str]:
    """Which of the folders of these names hold a manifest, sorted."""
    root, names = runs_folder(), sorted(names)
    with ThreadPoolExecutor(_REQUESTS) as pool:
        return list(compress(names, pool.map(lambda name: has_manifest(join_path(root, name)), names)))


def is_run_address(path: object) -> bool:
    """Whether a path is the address of a folder that holds a run."""
    if not (isinstance(path, str) and is_address(path)) or has_magic(path) or path.lower().startswith("http"):
        return False
    return split_name(path)[0] is None and has_manifest(path.rstrip("/"))


def find_run(name: str | Path, *, unfinished: bool = False) -> str | Path | None:
    """The folder of a finished run by its name, or by the path or address of its folder; None where there is none.

    With `unfinished` the folder that will hold a run which is not finished.
    """
    if is_address(name):
        if not unfinished:
            return str(name).rstrip("/") if is_run_address(name) else None
        folders: list[str | Path] = [str(name).rstrip("/")]
    else:
        root = runs_folder()
        named = [join_path(root, str(name))] if is_name(str(name)) or not is_address(root) else []
        folders = [*named, Path(name)]
    where = partial_folder if unfinished else lambda folder: folder
    return next((folder for folder in folders if has_manifest(where(folder))), None)


def explain_missing(name: str) -> str:
    """Why there is no finished run of that name, or at that path, and what to do."""
    folder = name.rstrip("/") if is_address(name) else join_path(runs_folder(), name)
    if has_manifest(partial_folder(folder)):
        problem = "was not finished, and none of its rows is written yet"
        return f"run {hide_secrets(name)} {problem}: continue it with the same command and --resume"
    if is_address(name):
        return f"{hide_secrets(name)}: there is no run in this folder, which would hold {MANIFEST}"
    return f"there is no run {name!r} in {runs_folder()}{did_you_mean(name, run_names())}"
