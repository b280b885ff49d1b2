"""`karat.bundle`: runs in one file with all that their numbers rest on, whose digest stands for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core.errors import DataError, SpecError
from karat.data.storage.addresses import join_path
from karat.data.storage.files import temporary_folder
from karat.data.write import refuse_overwriting
from karat.runs.export.bundle.archive import MemberContent, write_archive
from karat.runs.export.bundle.cite import digest_manifest
from karat.runs.export.bundle.patches import collect_patch
from karat.runs.export.bundle.verdicts import COMPARED, VERDICTS, compare_runs
from karat.runs.store.folders import MANIFEST
from karat.runs.store.run import Run, open_run
from karat.runs.store.verify import verify_run


@dataclass(frozen=True)
class Bundle:
    """A bundle that was written: its path, its digest, and remarks about what it lacks."""

    path: Path
    digest: str
    notes: tuple[str, ...] = ()


def bundle(*runs: str | Path | Run, output: str | Path, texts: bool = True, **compared: Any) -> Bundle:
    """Write runs to one file, from which `karat.verify` derives every score, value, interval and verdict again.

    A run is named as in `karat.open_run`. The file, a zip, holds its files as they are: the rows, the values, and the
    manifest with signatures, settings, seeds and versions; of judges what they were asked and replied, from the cache
    of replies; and of several runs how `karat.compare` compares them, each with the first. The same runs make the same
    bytes, and the digest of the bundle is the last link of a chain of digests of all that it holds.

    Without `texts` a digest stands in the place of each question, gold, answer and further text, ids stay, and nothing
    that judges read or said is in it: values are derived from the scores again then, and scores are not. `compared`:
    how runs are compared, by the arguments `metrics`, `by`, `cluster`, `on`, `margin`, `confidence` and `seed` of
    `karat.compare`.

    Raises `DataError` for a run that is missing, not finished or damaged, for two of one name, and for an output that
    cannot be written; `SpecError` where no run is named.

    >>> import karat, os, tempfile
    >>> rows = {"id": [1, 2], "gold": ["Paris", "Rome"], "prediction": ["Paris", "Milan"]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     os.environ["KARAT_RUNS"] = folder
    ...     run = karat.score(rows, "em", run="first").run
    ...     written = bundle(run, output=f"{folder}/first.zip")
    ...     verified = karat.verify(f"{folder}/first.zip")
    >>> len(written.digest), verified.digest == written.digest, verified.state
    (64, True, 'equal')
    """
    if unknown := compared.keys() - set(COMPARED):
        raise SpecError(f"bundle has no argument {min(unknown)!r}; how runs are compared: {', '.join(COMPARED)}")
    opened = [_open(each) for each in runs]
    if not opened:
        raise SpecError("expected the name of a run, or several")
    for at, run in enumerate(opened):
        if run.name.casefold() in {each.name.casefold() for each in opened[:at]}:
            raise DataError(f"two runs are called {run.name}: a bundle holds each once")
    if compared and len(opened) == 1:
        raise SpecError(f"{min(compared)} says how runs are compared, and there is one")
    refuse_overwriting(output, *(join_path(run.path, MANIFEST) for run in opened))
    with temporary_folder() as folder:
        return _write(opened, Path(output), Path(folder) if not texts else None, compared)


def _write(opened: Sequence[Run], output: Path, digested: Path | None, compared: Mapping[str, Any]) -> Bundle:
    """Write a bundle of open runs; `digested` is the folder for those without texts, None with them."""
    members, notes = dict[str, MemberContent](), list[str]()
    for run in opened:
        if digested is not None:
            from karat.runs.export.bundle.digested import write_digested  # noqa: PLC0415  (seldom)

            names = write_digested(run, digested / run.name)
            members.update({f"runs/{run.name}/{name}": digested / run.name / name for name in names})
            continue
        members.update(_list_files(run))
        found = [collect_patch(run)]
        if any("judge:" in spec for spec in run.specs):
            from karat.runs.export.bundle.replies import collect_replies  # noqa: PLC0415  (only for judges)

            found.append(collect_replies(run))
        for files, missing in found:
            members.update({f"runs/{run.name}/{name}": content for name, content in sorted(files.items())})
            notes += [missing] if missing else []
    if len(opened) > 1:
        verdicts, refused = compare_runs(opened, compared)
        members |= {} if verdicts is None else {VERDICTS: verdicts}
        notes += [] if refused is None else [f"no verdicts are in the bundle: {refused}"]
    about = {"texts": digested is None, "runs": {run.name: digest_manifest(run) for run in opened}}
    index = write_archive(output, about, members)
    return Bundle(output, index.digest, tuple(notes))


def _open(run: str | Path | Run) -> Run:
    """A finished run whose files are as they were written."""
    run = run if isinstance(run, Run) else open_run(run)
    if run.state != "finished":
        raise DataError(run.note)
    if problems := verify_run(run.path).problems:
        raise DataError(problems[0])
    return run


def _list_files(run: Run) -> Iterator[tuple[str, MemberContent]]:
    """The files of a run, by their names in a bundle."""
    for name in (MANIFEST, *sorted(run.manifest.files)):
        yield f"runs/{run.name}/{name}", str(join_path(run.path, name))
