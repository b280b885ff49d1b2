"""`karat.verify`: every number in a bundle derived again, offline, and compared with what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import DataError, KaratError
from karat.core.metric.metric import Metric
from karat.data.json.objects import JsonObject, Printed
from karat.data.storage.files import temporary_folder
from karat.runs.compare.compare import compare
from karat.runs.export.bundle.agreement import (
    Agreement,
    Check,
    CheckKind,
    Differences,
    compare_columns,
    compare_members,
)
from karat.runs.export.bundle.archive import INDEX, Archive, read_archive
from karat.runs.export.bundle.digested import compute_values, is_digested
from karat.runs.export.bundle.patches import check_patch
from karat.runs.export.bundle.recompute import check_expansion, recompute
from karat.runs.export.bundle.verdicts import VERDICTS, environment, read_verdicts
from karat.runs.store.run import Run, open_run
from karat.runs.table.table import Table

_UNSTABLE = {"error", "trace_id"}
"""Details of a judge that no reply decides: why a request got none, and where it was traced."""
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
            of = "" if each.state == "equal" and each.kind in ("file", "column") else each.of
            alike.setdefault((each.run, each.kind if of == "" else "", of, each.state, each.detail), []).append(each)
        headings = ("run", "of", "what", "agreement", "compared", "where")
        return Table.of_texts(headings, (_row(*each) for each in alike.items()), names=4)


def _row(key: tuple[str, ...], same: Sequence[Check]) -> tuple[str, ...]:
    """A row about checks that agree alike."""
    run, *_, state, detail = key
    of, what = (", ".join(dict.fromkeys(names)) for names in ([each.of for each in same], [each.kind for each in same]))
    count = sum(each.compared for each in same)
    return run, of, what, state, f"{count:,}" if count else "", detail


def verify(path: str | Path) -> Verification:
    """Derive every score, value, interval and verdict in a bundle again, and compare them with what is stored.

    The rows are scored by `karat.score`, and the runs compared by `karat.compare`, as they are here, without a
    connection: what would need one is not recomputed, and `note` says so. What differs only in the last bits, and was
    computed by another version or on another platform, is told apart; anything else that differs was changed.

    Raises `DataError` where the file is no bundle, or so damaged that nothing in it can be read.
    """
    archive = read_archive(path)
    checks = [*_check_files(archive)]
    elsewhere = list[str]()
    if not archive.damaged:
        with temporary_folder() as temporary:
            reading = _Reading(archive, Path(temporary), elsewhere)
            for name in reading.names:
                checks += reading.read_run(name)
            if VERDICTS in archive.starts:
                checks += reading.check_verdicts()
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


@dataclass
class _Reading:
    """A bundle whose runs are recomputed in a folder; `elsewhere` collects what is another version or platform."""

    archive: Archive
    folder: Path
    elsewhere: list[str]

    def __post_init__(self) -> None:
        self.stored, self.again = dict[str, Run](), dict[str, Run]()
        self.arguments: Mapping[str, Any] = {}
        self.content: Mapping[str, Any] = {}
        if VERDICTS in self.archive.starts:
            self.content = read_verdicts(self.archive)
            self.arguments = self.content["arguments"]

    @property
    def names(self) -> Sequence[str]:
        """The runs of the bundle."""
        names = list(self.archive.index.about["runs"])
        there = list(dict.fromkeys(each.split("/")[1] for each in self.archive.starts if each.startswith("runs/")))
        if names != there:
            raise DataError(f"{self.archive.path}: {INDEX} names the runs {names}, found {there}")
        return there

    def read_run(self, name: str) -> list[Check]:
        """The checks of a run; a file of it that is not of its form is a difference."""
        try:
            return [*self.check_run(name)]
        except DataError as error:
            inside = str(error).replace(str(self.folder / "stored"), f"{self.archive.path}: runs")
            return [Check(run=name, of="", kind="file", state="differs", note=inside)]

    def check_run(self, name: str) -> Iterator[Check]:
        """Score the rows of a run again, and compare rows, values and intervals."""
        self.archive.extract(f"runs/{name}/", self.folder / "stored" / name)
        check_expansion(self.folder / "stored" / name)
        run = self.stored[name] = open_run(self.folder / "stored" / name)
        elsewhere = self._note_versions(run.manifest.versions, run.manifest.machine)
        columns = [self.arguments[key] for key in ("by", "cluster", "on") if self.arguments.get(key)]
        again = recompute(run, self.folder / "again", columns, texts=self.archive.index.about["texts"])
        by_scores = compute_values(run) if again.reasons else {}
        for spec, reason in again.reasons.items():
            yield Check(run=name, of=spec, kind="score", state="not recomputed", note=reason)
            yield from _check_values(run, spec, by_scores[spec], elsewhere=elsewhere)
        yield from (*again.checks, *check_patch(run))
        for spec in run.specs if run.values.get("human") else ():
            note = "its correction needs the labels by people, which are not in the bundle"
            yield Check(run=name, of=spec, kind="value", state="not recomputed", note=note)
        if again.run is None:
            return
        if not again.reasons:
            self.again[name] = again.run
        yield from _check_columns(run, again.run)
        for metric in again.metrics:
            yield from _check_metric(run, again.run, metric, elsewhere=elsewhere)

    def check_verdicts(self) -> Iterator[Check]:
        """Compare the runs again: as they were scored again, or as they are in the bundle where a metric was not."""
        runs = [run for name in self.names if (run := self.again.get(name, self.stored.get(name))) is not None]
        elsewhere = self._note_versions(self.content["versions"], self.content["machine"])
        was = self.content["compared"]
        try:
            found = compare(*runs, **self.arguments).as_dict()
        except KaratError as error:
            yield Check(run="", of=VERDICTS, kind="verdict", state="not recomputed", note=str(error))
            return
        of_pair = {(each["metric"], each["system"], each["slice"]): each for each in found.pop("findings")}
        findings = was["findings"]
        for each in findings:
            key = each["metric"], each["system"], each["slice"]
            values, ends = compare_members(each, of_pair.get(key))
            of = each["metric"] if each["slice"] is None else f"{each['metric']} [{each['slice']}]"
            pair = f"{each['system']} against {was['systems'][0]}"
            yield values.check(pair, of, "verdict", elsewhere=elsewhere)
            yield _excuse(ends.check(pair, of, "interval", elsewhere=elsewhere), runs[0])
        rest, _ = compare_members({name: each for name, each in was.items() if name != "findings"}, found)
        yield rest.check("", VERDICTS, "verdict", elsewhere=elsewhere)

    def _note_versions(self, versions: Mapping[str, Any], machine: Mapping[str, Any]) -> bool:
        """Note what is another version or platform here; whether anything is."""
        here = environment()
        pairs = [(name, version, here["versions"].get(name)) for name, version in versions.items()]
        pairs += [(name, machine.get(name), here["machine"][name]) for name in here["machine"]]
        others = [f"{name} {was}, here {now}" for name, was, now in pairs if now is not None and was != now]
        self.elsewhere += others
        return bool(others)


def _check_columns(run: Run, again: Run) -> Iterator[Check]:
    """Whether the columns that were scored have the digests in the manifest."""
    for role, digest in run.manifest.digests.items():
        now = again.manifest.digests.get(role)
        if now is None or digest.startswith("parts:"):
            continue
        compared = Differences()
        compared.add(digest, now, "digest")
        yield compared.check(run.name, role, "column", elsewhere=False)


def _check_metric(run: Run, again: Run, metric: Metric, *, elsewhere: bool) -> Iterator[Check]:
    """Compare the scores, details, counts, values and intervals of a metric."""
    spec = metric.spec
    about: dict[str, Any] = {"run": run.name, "of": spec}
    if run.manifest.n != again.manifest.n:
        rows = Differences()
        rows.add(run.manifest.n, again.manifest.n, "rows")
        yield rows.check(**about, kind="score", elsewhere=elsewhere)
        return
    reasons, kept = _find_uncertain(run, again, metric)
    for kind, reason in reasons.items():
        yield Check(**about, kind=kind, state="not recomputed", note=reason)
    scores = Differences()
    scores.add_numbers(run.scores(spec), again.scores(spec), "row {}", kept)
    yield scores.check(**about, kind="score", elsewhere=elsewhere)
    if run.manifest.metric(spec).counts:
        counts, stored, found = Differences(), run.statistics(spec), again.statistics(spec)
        if stored.shape != found.shape:
            counts.add(str(stored.shape), str(found.shape), "counts")
        else:
            counts.add_numbers(stored, found, "row {}", kept)
        yield counts.check(**about, kind="counts", elsewhere=elsewhere)
    for name in (each for each in metric.details if each not in _UNSTABLE):
        columns = [f"{each.manifest.metric(spec).column}.{name}" for each in (run, again)]
        if all(column in each.schema.names for column, each in zip(columns, (run, again), strict=True)):
            detail = compare_columns(run.column(columns[0]), again.column(columns[1]), kept)
            yield detail.check(run.name, f"{spec}.{name}", "detail", elsewhere=elsewhere)
    if "value" not in reasons:
        values, ends = compare_members(_entry(run, spec), _entry(again, spec))
        yield values.check(**about, kind="value", elsewhere=elsewhere)
        yield ends.check(**about, kind="interval", elsewhere=elsewhere)


def _check_values(run: Run, spec: str, found: dict[str, Any], *, elsewhere: bool) -> Iterator[Check]:
    """Compare the value and the interval of a metric with what its stored scores and counts give."""
    if spec in run.stops:
        note = "asking was ended by a rule, and what its judge replied is not in the bundle"
        yield Check(run=run.name, of=spec, kind="value", state="not recomputed", note=note)
        return
    stored = {name: each for name, each in _entry(run, spec).items() if name in found}
    values, ends = compare_members(stored, found)
    yield values.check(run.name, spec, "value", elsewhere=elsewhere)
    yield _excuse(ends.check(run.name, spec, "interval", elsewhere=elsewhere), run)


def _excuse(check: Check, run: Run) -> Check:
    """A check of an interval; one that goes by texts of which only the digests are here is not recomputed."""
    column = (run.values.get("clusters") or {}).get("column")
    if check.state == "equal" or not is_digested(run, column):
        return check
    return replace(check, state="not recomputed", note=f"it goes by {column}, of which the texts are not in the bundle")


def _find_uncertain(run: Run, again: Run, metric: Metric) -> tuple[dict[CheckKind, str], Array]:
    """What of a metric was not recomputed, and why; and the rows that were, shape (rows,), bool."""
    spec = metric.spec
    kept = np.ones(len(run.scores(spec)), bool)
    if metric.judge is None:
        return {}, kept
    from karat.runs.export.bundle.replies import find_lacking  # noqa: PLC0415  (only for judges)

    reasons = dict[CheckKind, str]()
    lacking, left_out = find_lacking(run, again, spec), run.left_out(spec)
    if lacking.any():
        share = f"{int(lacking.sum()):,} of {len(kept):,} rows"
        reasons = dict.fromkeys(("reply", "value"), f"{share} need a reply that is not in the bundle")
    if spec in run.stops and spec not in again.stops:
        reasons["value"] = "asking was ended by a rule of money or of a decision"
        kept &= left_out is None or ~left_out
    return reasons, kept & ~lacking


def _entry(run: Run, spec: str) -> dict[str, Any]:
    """What `values.json` says of a metric, and of the table."""
    entry = next(dict(each) for each in run.values["metrics"] if each["spec"] == spec)
    groups = {label: _uncorrected(each) for label, each in entry.get("groups", {}).items()}
    entry = _uncorrected(entry) | ({"groups": groups} if groups else {})
    return {**entry, "rows": run.values["n"], "clusters": run.values.get("clusters")}


def _uncorrected(entry: dict[str, Any]) -> dict[str, Any]:
    """A value without the one that people would give."""
    return {name: each for name, each in entry.items() if name != "corrected"}
