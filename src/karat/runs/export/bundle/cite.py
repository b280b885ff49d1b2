"""The digest of the bundle that holds some runs, for tables and reports about them."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from karat.core.errors import DataError
from karat.data.storage.addresses import join_path
from karat.data.storage.remote_files import read_bytes
from karat.runs.export.bundle.archive import read_archive
from karat.runs.store.folders import MANIFEST
from karat.runs.store.run import Run, ScoredFile


def cite_bundle(path: str | Path, runs: Sequence[Run]) -> str:
    """The digest of the bundle at a path, which holds these runs as they are.

    Raises `DataError` where it is damaged, and for a run that it does not hold, or not as it is now.
    """
    archive = read_archive(path)
    if archive.damaged:
        name, problem = next(iter(archive.damaged.items()))
        raise DataError(f"{path} is damaged: {name or 'the file'}: {problem}")
    held = archive.index.about["runs"]
    for run in runs:
        if run.name not in held or isinstance(run, ScoredFile):
            raise DataError(f"{path} does not hold {run.name}; it holds {', '.join(held)}")
        if held[run.name] != digest_manifest(run):
            raise DataError(f"{path} holds another run {run.name}: bundle the runs again (karat runs bundle)")
    return archive.index.digest


def digest_manifest(run: Run) -> str:
    """The SHA-256 of the manifest of a run, which has checksums of all its files."""
    return sha256(read_bytes(join_path(run.path, MANIFEST))).hexdigest()
