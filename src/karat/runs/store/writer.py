"""Writing a run: its parts are planned, so that any process may write them in any order, or follow one another.

Names and bytes of a planned part follow from the part alone, so a part that is written twice is the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from karat.core.errors import DataError
from karat.data.source import Part
from karat.data.storage.addresses import hide_secrets, join_path
from karat.data.storage.checksums import read_json, seal, unseal
from karat.data.storage.remote_files import exists
from karat.data.storage.whole_files import remove_file, remove_folder, write_bytes
from karat.data.write import check_output
from karat.runs.columns.output import OutputColumns
from karat.runs.store.folders import PARTS, ROWS, STATISTICS
from karat.runs.store.manifest import UNTIL, Manifest
from karat.runs.store.parts import Done, PartsFolder
from karat.runs.store.run import Run
from karat.runs.store.tail import Tail
from karat.runs.store.unfinished import Started, check_schema, describe_columns, open_partial, start_again

MOST_PARTS = 1_000_000
"""The most parts of a run: their names have six digits, by which they are ordered."""


@dataclass
class RunWriter:
    """A run that is being written: the `planned` parts and those that are `done`, or the `tail` to which rows go."""

    started: Started
    folder: PartsFolder
    planned: Sequence[Part]
    done: dict[int, Done]
    tail: Tail | None = None

    def finish(self, values: Mapping[str, Any], **fields: Any) -> Run:
        """Write the rest of the run, with what was `found` for its manifest, and give it its name."""
        digests = _join_digests(self.done) if self.tail is None else self.tail.finish()
        for each in self.done.values() if self.tail is None else self.tail.parts:
            self.started.files.update(each.files)
        if self.tail is None:
            self.folder.remove_others(self.started.files)
        run = self.started.finish(values, digests=digests, **fields)
        if ROWS in run.manifest.files:  # what was written of it before
            for kind in (ROWS, STATISTICS):
                remove_folder(join_path(run.path, Path(kind).stem))
        return run


def _join_digests(done: Mapping[int, Done]) -> dict[str, str]:
    digests: dict[str, Any] = {}
    for task in sorted(done):
        for role, digest in done[task].digests.items():
            digests.setdefault(role, sha256()).update(digest.encode())
    return {role: f"parts:{digest.hexdigest()[:32]}" for role, digest in digests.items()}


@contextmanager
def open_writer(
    manifest: Manifest,
    output: OutputColumns,
    columns: Mapping[str, str],
    planned: Sequence[Part] | None = None,
    others: Sequence[Part] = (),
    *,
    resume: bool,
) -> Iterator[RunWriter]:
    """Write a run, or with `resume` continue one that was stopped. After any error the scored rows stay.

    `columns` are those that must not change meanwhile, by role, as `Digests` has them. `planned` are its parts; one
    that is continued has those with which it was started. `others` are in files that are read too, such as the
    predictions where the parts are gold's. Where a rule decides which rows count, what was
    written before is not kept.

    Raises `DataError` where a run of that name exists, was started with other arguments, or is being written by another
    process; where a file or a column has changed since; and for too many parts.
    """
    if planned is not None and len(planned) > MOST_PARTS:
        problem = f"expected at most {MOST_PARTS} parts, found {len(planned)}"
        raise DataError(f"run {manifest.name}: {problem}; put the rows into fewer files, with larger row groups")
    with open_partial(manifest, resume=resume) as started:
        folder = PartsFolder(started.folder.absolute() if isinstance(started.folder, Path) else started.folder)
        check_output(join_path(folder.written, ROWS), output.schema)
        if planned is not None:
            planned = _list_parts(started, planned, others, output)
            writer = RunWriter(started, folder, planned, folder.finished())
        else:
            parts = _clear(folder, anew=UNTIL in manifest.settings)
            writer = RunWriter(started, folder, (), {}, Tail(started, folder, output, columns, parts))
        try:
            yield writer
        finally:
            if not started.finished:
                if writer.tail is not None:
                    writer.tail.flush()
                if not started.paid and not folder.list_tasks():
                    remove_folder(started.partial)


def _clear(folder: PartsFolder, *, anew: bool) -> list[Done]:
    """The finished parts of a run whose parts follow one another; what else a killed process has left is removed.

    With `anew` everything is.
    """
    parts = {} if anew else folder.finished()
    for task in folder.list_tasks():
        if task not in parts:
            folder.remove(task)
    folder.remove_others(name for each in parts.values() for name in each.files)
    for kind in (ROWS, STATISTICS):  # of a process that was killed just before the end
        remove_file(join_path(folder.written, kind))
    return list(parts.values())


def _list_parts(
    started: Started, parts: Sequence[Part], others: Sequence[Part], output: OutputColumns
) -> Sequence[Part]:
    """Write the planned parts down, or read those with which the run was started."""
    listed, name = join_path(started.partial, PARTS), started.manifest.name
    now = {hide_secrets(part.file): [part.size, part.version] for part in (*parts, *others)}
    if not exists(listed):
        where = [(hide_secrets(part.file), part.groups, {"first": part.first, "rows": part.rows}) for part in parts]
        content = {"files": now, "columns": describe_columns(output.schema), "parts": where}
        write_bytes(listed, json.dumps(seal(content)).encode())
        return parts
    known = unseal(read_json(listed), listed)
    before = known["files"]
    if changed := [file for file in {**before, **now} if before.get(file) != now.get(file)]:
        file = changed[0]
        problem = "is gone" if file not in now else "is new" if file not in before else "has changed since"
        raise DataError(f"run {name}: {file} {problem}; resume with the same files, {start_again(name)}")
    check_schema(name, known["columns"], output.schema)
    files = {hide_secrets(part.file): part for part in parts}
    return [replace(files[file], groups=tuple(groups), **rest) for file, groups, rest in known["parts"]]
