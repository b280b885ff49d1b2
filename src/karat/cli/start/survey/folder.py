"""The data files of a folder, opened, with the roles that the names of their columns suggest."""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from karat.core.errors import KaratError
from karat.data.open import open_source
from karat.data.paths.known import find_layout_paths, find_tools
from karat.data.retrieval.long_table import find_columns
from karat.data.retrieval.trec import find_layout
from karat.data.roles import ALIASES, Side, matches_role
from karat.data.source import Source
from karat.data.storage.file_names import split_name
from karat.data.storage.files import read_head
from karat.runs.scoring.wide import guess_systems
from karat.runs.store.folders import has_manifest

MOST_FILES = 100
LARGEST = 256 << 20  # bytes; a file of JSON or CSV is read whole to find the types of its columns
_DEPTH = 3  # folders below each other
_TREC = ("", ".txt", ".trec", ".run", ".qrels", ".res")
_IN_PARTS = ("parquet", "arrow")
_RANKED: dict[str, Side] = {"retrieved": "prediction", "relevant": "reference"}
_OF_PROGRAMS = ("__pycache__", "node_modules", "site-packages")


@dataclass(frozen=True)
class DataFile:
    """A data file: its path from the folder, its rows, or else `problem`, the reason why it was not opened."""

    path: Path
    folder: Path
    source: Source | None = None
    problem: str = ""

    @property
    def whole_path(self) -> Path:
        return self.folder / self.path

    @property
    def columns(self) -> list[str]:
        return [] if self.source is None else list(self.source.schema.names)

    @property
    def tool(self) -> str:
        """The tool whose log this is, where it is known."""
        return "" if self.source is None else " and ".join(find_tools(self.source))

    @cached_property
    def roles(self) -> Mapping[str, tuple[str, ...]]:
        """For each role the columns, or the path in the layout of a known tool, whose names fit it."""
        return {} if self.source is None else _find_roles(self.source)

    @cached_property
    def systems(self) -> list[str]:
        """The columns with the answers of several systems; [] where there are none."""
        return guess_systems(self.columns)

    def fills(self, role: str) -> bool:
        """Whether a column, or each of several, may have the role."""
        return role in self.roles or (role == "prediction" and bool(self.systems))

    @cached_property
    def as_gold(self) -> Mapping[str, tuple[str, ...]]:
        """As `roles`, where the file is the gold of another one."""
        opened = _open(self.whole_path, "reference") if split_name(self.path)[0] == "json" else self.source
        return _find_roles(opened) if isinstance(opened, Source) else {}


@dataclass(frozen=True)
class Survey:
    """The data files of a folder, the runs in it, and how many further files were not opened."""

    folder: Path
    files: list[DataFile]
    runs: list[Path]
    further: int


def survey(folder: Path) -> Survey:
    """Open the data files in a folder and the folders in it, sorted by path; hidden ones are passed over.

    Raises `OSError` where the folder cannot be read.
    """
    paths, runs = list[Path](), list[Path]()
    _walk(folder, paths, runs)
    paths = [path for path in sorted(paths) if _may_hold_rows(path)]
    return Survey(folder, [_look_at(path, folder) for path in paths[:MOST_FILES]], runs, len(paths[MOST_FILES:]))


def _walk(folder: Path, paths: list[Path], runs: list[Path], depth: int = 0) -> None:
    """Collect the plain files below a folder, and the runs, whose files are not data; no link to a folder is followed.

    A folder below the first that cannot be read is passed over.
    """
    with os.scandir(folder) as listed:
        entries = sorted(listed, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith("."):
            continue
        path = folder / entry.name
        if not entry.is_dir(follow_symlinks=False):
            paths.append(path)
        elif has_manifest(path):
            runs.append(path.relative_to(path.parents[depth]))
        elif depth < _DEPTH and entry.name not in _OF_PROGRAMS and not (path / "pyvenv.cfg").exists():
            try:
                _walk(path, paths, runs, depth + 1)
            except PermissionError:
                continue


def _may_hold_rows(path: Path) -> bool:
    """Whether a plain file has the name of a data format, or lines of TREC; pipes and devices are not opened."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        if split_name(path)[0] is not None:
            return True
        plain = path.with_suffix("") if split_name(path)[1] else path
        return plain.suffix.lower() in _TREC and find_layout(read_head(path)) is not None
    except (OSError, KaratError):
        return False


def _look_at(path: Path, folder: Path) -> DataFile:
    kind, compression = split_name(path)
    size = path.stat().st_size * (10 if compression else 1)
    if size > LARGEST and kind not in _IN_PARTS:
        return DataFile(path.relative_to(folder), folder, problem=f"larger than {LARGEST >> 20} MB, not opened")
    opened = _open(path, "prediction")
    if isinstance(opened, str):
        return DataFile(path.relative_to(folder), folder, problem=opened.removeprefix(str(path)).lstrip(":, "))
    return DataFile(path.relative_to(folder), folder, opened)


def _open(path: Path, side: Side) -> Source | str:
    """The rows of a file, or the reason why there are none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return open_source(path, role=side)
    except (KaratError, OSError) as error:
        return str(error)


def _find_roles(source: Source) -> dict[str, tuple[str, ...]]:
    """The columns that fit each role; of tables with one document a row the column of documents."""
    inside, roles = dict[str, str](), dict[str, tuple[str, ...]]()
    with suppress(KaratError):
        inside = find_layout_paths(source, ALIASES)
    for role in ALIASES:
        named = [inside[role]] if role in inside else [name for name in source.schema.names if matches_role(role, name)]
        if named:
            roles[role] = tuple(named)
    for role, side in _RANKED.items():
        with suppress(KaratError):
            if long := find_columns(source, side):
                roles[role] = (long.document,)
    return roles
