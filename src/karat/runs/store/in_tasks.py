"""A run whose parts are planned, so that any process may write them, in any order.

Names and bytes follow from the part alone, so a part that is written twice is the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from karat.core.errors import DataError
from karat.data.source import Part
from karat.data.storage.addresses import hide_secrets, join_path
from karat.data.storage.checksums import read_json, seal, unseal
from karat.data.storage.remote_files import exists
from karat.data.storage.whole_files import remove_folder, write_bytes
from karat.runs.store.folders import PARTS
from karat.runs.store.manifest import Manifest
from karat.runs.store.parts import Done, PartsFolder
from karat.runs.store.run import Run
from karat.runs.store.unfinished import Started, check_columns, describe_columns, open_partial, start_again

MOST_PARTS = 1_000_000
"""The most parts of a run: their names have six digits, and their order is that of their names."""


@dataclass
class PartsRun:
    """A run in parts that is being written: which parts it has, and which of them are finished."""

    started: Started
    folder: PartsFolder
    parts: Sequence[Part]
    done: dict[int, Done]

    def finish(self, values: Mapping[str, Any], **found: Any) -> Run:
        """Write the rest of the run, with what was `found` for its manifest, and give it its name."""
        digests: dict[str, Any] = {}
        for task in range(len(self.parts)):
            self.started.files.update(self.done[task].files)
            for role, digest in self.done[task].digests.items():
                digests.setdefault(role, sha256()).update(digest.encode())
        self.folder.remove_others(self.started.files)
        by_role = {role: f"parts:{digest.hexdigest()[:32]}" for role, digest in digests.items()}
        return self.started.finish(values, digests=by_role, **found)


@contextmanager
def open_parts(
    manifest: Manifest, schema: pa.Schema, parts: Sequence[Part], others: Sequence[Part] = (), *, resume: bool
) -> Iterator[PartsRun]:
    """Write a run in parts, or with `resume` continue one that was stopped, with the parts that it was started with.

    `schema` is that of the scored rows. `others` are in files that are read too, such as the predictions where the
    parts are gold's.

    Raises `DataError` as `open_in_order` does, where a file or a column has changed since, and for too many parts.
    """
    if len(parts) > MOST_PARTS:
        problem = f"expected at most {MOST_PARTS} parts, found {len(parts)}"
        raise DataError(f"run {manifest.name}: {problem}; put the rows into fewer files, with larger row groups")
    with open_partial(manifest, resume=resume) as started:
        whole = started.folder.absolute() if isinstance(started.folder, Path) else started.folder
        listed, folder = join_path(started.partial, PARTS), PartsFolder(whole)
        if exists(listed):
            before = unseal(read_json(listed), listed)
            _check_files(manifest.name, before["files"], _identify([*parts, *others]))
            check_columns(manifest.name, before["columns"], schema)
            files = {hide_secrets(part.file): part for part in parts}
            parts = [replace(files[file], groups=tuple(groups), **rest) for file, groups, rest in before["parts"]]
        else:
            where = [(hide_secrets(part.file), part.groups, {"first": part.first, "rows": part.rows}) for part in parts]
            content = {"files": _identify([*parts, *others]), "columns": describe_columns(schema), "parts": where}
            write_bytes(listed, json.dumps(seal(content)).encode())
        try:
            yield PartsRun(started, folder, parts, folder.finished())
        finally:
            if not started.finished and not started.paid and not folder.list_tasks():
                remove_folder(started.partial)


def _identify(parts: Sequence[Part]) -> dict[str, list[int | str]]:
    """The size and the version of each file."""
    return {hide_secrets(part.file): [part.size, part.version] for part in parts}


def _check_files(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise `DataError` where files are not those that a run was started with."""
    changed = [file for file in {**before, **now} if before.get(file) != now.get(file)]
    if changed:
        file = changed[0]
        problem = "is gone" if file not in now else "is new" if file not in before else "has changed since"
        raise DataError(f"run {name}: {file} {problem}; resume with the same files, {start_again(name)}")
