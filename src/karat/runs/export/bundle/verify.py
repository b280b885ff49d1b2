"""`karat.verify`: every number in a bundle derived again, offline, and compared with what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from karat.core.errors import DataError, KaratError
from karat.data.json.objects import JsonObject, Printed
from karat.data.storage.files import temporary_folder
from karat.runs.compare.compare import compare
from karat.runs.export.bundle.agreement import Agreement, Check, Differences, check_members
from karat.runs.export.bundle.archive import INDEX, Archive, read_archive
from karat.runs.export.bundle.checks import check_run, excuse
from karat.runs.export.bundle.people import LABELS, PATCH, read_labels
from karat.runs.export.bundle.recompute import check_expansion, recompute
from karat.runs.export.bundle.rescore import REPLIES, RUBRICS
from karat.runs.export.bundle.verdicts import VERDICTS, Verdicts, environment, rank_runs, read_verdicts
from karat.runs.labels.labels import Labels
from karat.runs.scoring.tasks.progress import Progress
from karat.runs.store.folders import MANIFEST, VALUES
from karat.runs.store.run import Run, open_run
from karat.runs.table.table import Table

_ORDER: tuple[Agreement, ...] = ("differs", "not recomputed", "last bits", "equal")
"""The states, the worst first."""


@dataclass(frozen=True, kw_only=True)
class Verification(JsonObject):
    """What was derived again from a bundle, and how it agrees with what is stored in it.

    `digest` is the bundle's. `elsewhere`: which versions, or platform, are others than those with which it was made.
    `state` is the worst of all `checks`: "equal", "last bits" (only on another version or platform), "not recomputed"
    or "differs".
    """

    path: str
    digest: str
    elsewhere: tuple[str, ...]
    checks: tuple[Check, ...]

    printed: ClassVar = Printed(also=("state",))

    @property
    def state(self) -> Agreement:
        """The worst state of all checks."""
        return min((each.state for each in self.checks), key=_ORDER.index, default="equal")

    @property
    def table(self) -> Table:
        """The checks: what agrees alike of a file or a metric is in one row."""
        alike = dict[tuple[str, ...], list[Check]]()
        for each in self.checks:
            together = each.state == "equal" and (each.kind in ("file", "column") or each.of in (MANIFEST, VALUES))
            of, kind = ("", each.kind) if together else (each.of, "")
            alike.setdefault((each.run, kind, of, each.state, each.detail), []).append(each)
        headings = ("run", "of", "what", "agreement", "compared", "where")
        return Table.of_texts(headings, (_row(*each) for each in alike.items()), names=4)


def _row(key: tuple[str, ...], same: Sequence[Check]) -> tuple[str, ...]:
    """A row about checks that agree alike."""
    run, *_, state, detail = key
    of, what = (", ".join(dict.fromkeys(names)) for names in ([each.of for each in same], [each.kind for each in same]))
    count = sum(each.compared for each in same)
    return run, of, what, state, f"{count:,}" if count else "", detail


def verify(path: str | Path, *, progress: Progress | None = None) -> Verification:
    """Derive every score, value, interval and verdict in a bundle again, and compare them with what is stored.

    The rows are scored by `karat.score`, and the runs compared by `karat.compare`, as they are here, without a
    connection: what would need one is not recomputed, and `note` says so. What differs only in the last bits is told
    apart; anything else that differs was changed, or is computed otherwise by the versions in `elsewhere`. `progress`:
    as in `karat.score`.

    Raises `DataError` where the file is no bundle, or so damaged that nothing in it can be read.
    """
    archive = read_archive(path)
    checks, elsewhere = [*_check_files(archive)], list[str]()
    if not archive.damaged:
        with temporary_folder() as temporary:
            reading = _Reading(archive, Path(temporary), progress)
            checks += reading.check()
            elsewhere = reading.elsewhere
    return Verification(
        path=str(path), digest=archive.index.digest, elsewhere=tuple(dict.fromkeys(elsewhere)), checks=tuple(checks)
    )


def _check_files(archive: Archive) -> Iterator[Check]:
    """Whether each member of a bundle is as it was written."""
    for name in archive.starts:
        folder, _, file = name.removeprefix("runs/").rpartition("/")
        run, _, part = folder.partition("/")
        state: Agreement = "differs" if name in archive.damaged else "equal"
        note = archive.damaged.get(name, "")
        yield Check(run=run, of="/".join(filter(None, [part, file])), kind="file", state=state, compared=1, note=note)
    if "" in archive.damaged:
        yield Check(run="", of=str(archive.path), kind="file", state="differs", compared=1, note=archive.damaged[""])


class _Reading:
    """A bundle whose runs are recomputed in a folder; `elsewhere` collects what is another version or platform."""

    def __init__(self, archive: Archive, folder: Path, progress: Progress | None) -> None:
        self.archive, self.folder, self.progress = archive, folder, progress
        self.elsewhere = list[str]()
        self.stored, self.again = dict[str, Run](), dict[str, Run]()
        self.verdicts = read_verdicts(archive) if VERDICTS in archive.starts else None

    def check(self) -> list[Check]:
        """The checks of all runs, and of how they compare; a file that is not of its form is a difference."""
        checks = list[Check]()
        for name in self._names():
            try:
                self.stored[name] = self._open(name)
            except DataError as error:
                checks.append(self._not_of_form(name, error))
        done, total = 0, sum(run.manifest.n or 0 for run in self.stored.values())
        for name, run in self.stored.items():
            try:
                checks += self._check_run(run, done, total)
            except DataError as error:
                checks.append(self._not_of_form(name, error))
            done += run.manifest.n or 0
        if self.verdicts is not None and len(self.stored) == len(self._names()):
            checks += self._check_verdicts(self.verdicts)
        return checks

    def _names(self) -> Sequence[str]:
        """The runs of the bundle."""
        names = list(self.archive.index.about["runs"])
        there = list(dict.fromkeys(each.split("/")[1] for each in self.archive.starts if each.startswith("runs/")))
        if names != there:
            raise DataError(f"{self.archive.path}: {INDEX} names the runs {names}, found {there}")
        return there

    def _open(self, name: str) -> Run:
        """A run of the bundle in a folder; `DataError` where it is another one, or a file does not belong to it."""
        folder = self.folder / "stored" / name
        self.archive.extract(f"runs/{name}/", folder)
        check_expansion(folder)
        run = open_run(folder)
        digest = sha256((folder / MANIFEST).read_bytes()).hexdigest()
        if self._texts and self.archive.index.about["runs"][name] != digest:
            raise DataError(f"{self.archive.path}: {INDEX} has another digest of {folder / MANIFEST}")
        known = {MANIFEST, REPLIES, RUBRICS, PATCH, LABELS, *run.manifest.files}
        for file in sorted(each for each in folder.rglob("*") if each.is_file()):
            if (part := file.relative_to(folder).as_posix()) not in known:
                raise DataError(f"{file} does not belong to a run: its manifest does not name {part}")
        return run

    def _not_of_form(self, name: str, error: DataError) -> Check:
        inside = str(error).replace(str(self.folder / "stored"), f"{self.archive.path}: runs")
        return Check(run=name, of="", kind="file", state="differs", note=inside)

    def _check_run(self, run: Run, done: int, total: int) -> Iterator[Check]:
        """Score the rows of a run again, and compare what comes out."""
        release = self._note_versions(run.manifest.versions, run.manifest.machine)
        arguments = {} if self.verdicts is None else self.verdicts.arguments
        columns = [arguments[key] for key in ("by", "cluster", "on") if arguments.get(key)]
        if (labels := read_labels(run)) is not None:
            columns += [*labels[0].columns_of(run.schema.names), *filter(None, [labels[0].strata, labels[1]])]

        def report(rows: int, _: int | None) -> None:
            if self.progress is not None:
                self.progress(done + rows, total)

        again = recompute(run, self.folder / "again", columns, report, texts=self._texts)
        if again.run is not None and not again.reasons:
            self.again[run.name] = again.run
        lacking = self.archive.index.about.get("lacking", {}).get(run.name)
        yield from check_run(run, again, release, lacking=lacking, texts=self._texts)

    def _check_verdicts(self, stored: Verdicts) -> Iterator[Check]:
        """Compare the runs again: as they were scored again, or as they are in the bundle where a metric was not."""
        runs = [self.again.get(name, run) for name, run in self.stored.items()]
        release = self._note_versions(stored.versions, stored.machine)
        note = "" if len(self.again) == len(self.stored) else "from stored scores"
        try:
            derived = compare(*runs, **stored.arguments, human=_join_labels(self.stored)).as_dict()
            ranked = None if stored.ranked is None else rank_runs(runs, stored.arguments)
        except KaratError as error:
            yield Check(run="", of=VERDICTS, kind="verdict", state="not recomputed", note=str(error))
            return
        was = dict(stored.compared)
        ours, theirs = (_by_pair(each.pop("findings")) for each in (was, derived))
        for key in dict.fromkeys([*ours, *theirs]):
            metric, system, group = key
            pair, of = f"{system} against {derived['systems'][0]}", metric if group is None else f"{metric} [{group}]"
            if key not in ours or key not in theirs:
                missing, (was_there, is_there) = (
                    Differences(),
                    ("there" if key in each else "no" for each in (ours, theirs)),
                )
                missing.add(was_there, is_there, "finding")
                yield missing.check(pair, of, "verdict")
                continue
            for check in check_members((pair, of), ours[key], theirs[key], kind="verdict", release=release, note=note):
                yield excuse(check, runs[0], texts=self._texts)
        if ranked is not None:
            yield from check_members(("", "ranks"), stored.ranked, ranked, kind="verdict", release=release, note=note)
        listed = {"findings": len(stored.compared["findings"])}, {"findings": len(theirs)}
        yield from check_members(("", VERDICTS), was | listed[0], derived | listed[1], kind="verdict", release=release)

    @property
    def _texts(self) -> bool:
        return bool(self.archive.index.about["texts"])

    def _note_versions(self, versions: Mapping[str, Any], machine: Mapping[str, Any]) -> str:
        """Note what is another version or platform here; the version of karat, where it is another one."""
        here = environment()
        pairs = [(name, version, here["versions"].get(name)) for name, version in versions.items()]
        pairs += [(name, machine.get(name), here["machine"][name]) for name in here["machine"]]
        self.elsewhere += [f"{name} {was}, here {now}" for name, was, now in pairs if now is not None and was != now]
        release = str(versions.get("karat", "of no version"))
        return "" if release == here["versions"]["karat"] else release


def _by_pair(findings: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, str | None], Mapping[str, Any]]:
    return {(each["metric"], each["system"], each["slice"]): each for each in findings}


def _join_labels(runs: Mapping[str, Run]) -> Labels | None:
    """The labels of all runs of a bundle; None where they do not all have some."""
    labels = {name: labels_of[0] for name, run in runs.items() if (labels_of := read_labels(run)) is not None}
    if not labels or len(labels) < len(runs):
        return None
    first = next(iter(labels.values()))
    return first if isinstance(first.source, list) else replace(first, source={n: e.source for n, e in labels.items()})
