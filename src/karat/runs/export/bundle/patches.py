"""The gold patch of a run in its bundle: what people said of gold, which the manifest names by a digest."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from karat.core.errors import KaratError
from karat.runs.columns.gold_patch import PatchNote, read_patch
from karat.runs.export.bundle.agreement import Check, Differences
from karat.runs.store.run import Run

PATCH = "gold_patch.jsonl"
"""The file beside a run's in a bundle."""


def collect_patch(run: Run) -> tuple[dict[str, bytes], str]:
    """The patch with which a run was scored, from the file of its name in the working directory; else what is missing.

    Both are empty for a run without one.
    """
    note = PatchNote.of(run.manifest.settings)
    if note is None:
        return {}, ""
    with suppress(KaratError, OSError):
        if Path(note.name).is_file() and (patch := read_patch(note.name)).note.digest == note.digest:
            lines = (json.dumps(each.as_dict(), ensure_ascii=False) for each in patch.changes.values())
            return {PATCH: "".join(f"{line}\n" for line in lines).encode()}, ""
    problem = f"{note.name}, which patched the gold of {run.name}, is not in this folder as it was then"
    return {}, f"{problem}: the bundle has its digest alone"


def check_patch(run: Run) -> tuple[Check, ...]:
    """Whether the patch in a run's folder is the one that its manifest names; nothing where there is none."""
    path, note = Path(run.path, PATCH), PatchNote.of(run.manifest.settings)
    if not path.is_file():
        return ()
    compared = Differences()
    compared.add(None if note is None else note.digest, read_patch(path).note.digest, "digest of the gold patch")
    return (compared.check(run.name, PATCH, "column", elsewhere=False),)
