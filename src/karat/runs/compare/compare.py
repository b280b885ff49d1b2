"""Compare systems on the same rows: each metric, and each slice, of every system against the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.metric.in_order import Curve, Percentile
from karat.core.metric.metric import Metric
from karat.core.metric.rows import widen
from karat.runs.columns.lengths import Lengths, find_caution
from karat.runs.compare.comparison import Compared
from karat.runs.compare.finding import Finding, apply_holm
from karat.runs.compare.flips import find_flips
from karat.runs.labels.labels import Labels
from karat.runs.match.alignment import Alignment
from karat.runs.match.match import match
from karat.runs.match.row_groups import Slices
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.match.systems import System, find_lengths
from karat.runs.store.run import Run
from karat.stats.aggregate import Scale
from karat.stats.confidence.paired import CurvePairing
from karat.stats.inference import Inference
from karat.stats.paired.compare import Pairing
from karat.stats.percentiles.paired import PercentilePairing

if TYPE_CHECKING:
    from karat.runs.compare.people import People

AnyPairing: TypeAlias = Pairing | PercentilePairing | CurvePairing


def compare(
    a: System,
    b: System,
    *more: System,
    metrics: str | Metric | Iterable[str | Metric] = (),
    by: str | None = None,
    cluster: str | None = None,
    on: str | None = None,
    flipped: int = 0,
    common: bool = False,
    allow_different: bool = False,
    human: Any = None,
    label_map: Mapping[str, float] | str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Compared:
    """Compare systems that were scored on the same rows, each against the first.

    A system is a run (its name, its folder or a `Run`), a file of scored rows, or a `Result`. Rows are matched by the
    column `on`, else by an id or the question; their order does not matter. `metrics`: those to compare, by default all
    that the systems share. `by`: a column of slices, each of which is also compared. `cluster`: a column with equal
    values in rows that are not independent; by default the one that the runs were scored with, else an id or a question
    that repeats, as in `karat.score`; `"none"` takes each row by itself. `flipped`: how many rows
    to report on which a system loses most against the first, and as many on which it wins most. `common`: compare the
    rows that all systems have and count the others, with their labels, in `left_out` and `notes`. `allow_different`:
    compare even what was scored differently, and say in `notes` what differs. `human`: labels by people of each
    system's answers, which correct the differences: a column of the rows, a table with a column `system`, or a table
    for each system, by its name; ids are in the column by which rows are matched. `label_map`: the score of each label,
    by default from a judge's own choices. `confidence`: of the intervals; 1 - `confidence` is the level of the tests,
    which are corrected for their number by Holm's method. `seed`: of the permutation test.

    Raises `JoinError` where the systems do not have the same rows, unless `common`; `DataError` where they were scored
    differently or against different gold, or answered other questions, unless `allow_different`; `SpecError` for a
    metric that one of them does not have.

    >>> import karat
    >>> rows = {"id": range(9), "question": ["?"] * 9, "gold": ["yes"] * 9}
    >>> first = karat.score({**rows, "prediction": ["no"] * 8 + ["yes"]}, "em")
    >>> second = karat.score({**rows, "prediction": ["yes"] * 8 + ["no"]}, "em")
    >>> compared = compare(first, second, flipped=1)
    >>> print(compared.findings[0].sentence)
    B is better than A by 77.8 points [13.0, 96.0], p = 0.039
    >>> compared.findings[0].verdict, compared.findings[0].comparison.test
    ('better', 'mcnemar')
    >>> [(flip.id, flip.predictions) for flip in compared.flipped]
    [('8', ('yes', 'no')), ('0', ('no', 'yes'))]
    """
    inference = Inference(confidence, seed)
    people = Labels.of(human, label_map)
    people, on = (None, on) if people is None else people.split_on(on)
    matched = match([a, b, *more], metrics, on, by=by, cluster=cluster, common=common, allow_different=allow_different)
    runs, shared, rows = matched.runs, matched.metrics, matched.rows
    labels = None
    if people is not None:
        from karat.runs.compare.people import read_people  # noqa: PLC0415  (only where people labelled rows)

        labels = read_people(people, runs, shared, rows)
    clusters = None if matched.clusters is None else matched.clusters.keys
    paired = _PairedRows(runs, rows, clusters, matched.slices, labels)
    findings = apply_holm([finding for metric in shared for finding in paired.compare(metric, inference)])
    return Compared(
        systems=tuple(run.name for run in runs),
        n=len(rows),
        by=rows.key,
        findings=findings,
        flipped=find_flips(runs, shared, rows, flipped),
        notes=(
            *matched.notes,
            *(labels.notes if labels else ()),
            *(people.notes if people else ()),
            *dict.fromkeys(note for finding in findings for note in finding.reversals),
            *_note_draws(findings),
        ),
        confidence=confidence,
        left_out={run.name: count for run, count in zip(runs, rows.left_out, strict=False) if count},
        created=tuple(run.manifest.created for run in runs),
    )


@dataclass(frozen=True)
class _PairedRows:
    """The runs and their matched rows, with the cluster keys of these rows and their slices.

    `people` corrects differences by people's labels, where there are any.
    """

    runs: Sequence[Run]
    rows: Alignment
    clusters: Array | None
    slices: Slices | None
    people: People | None

    @cached_property
    def lengths(self) -> Mapping[str, Lengths | None]:
        """How long each system's answers are beside their gold."""
        return {run.name: find_lengths(run) for run in self.runs}

    def compare(self, metric: SharedMetric, inference: Inference) -> Iterator[Finding]:
        """Compare each system with the first, over all rows and over each slice."""
        labels = sorted(self.slices.labels) if self.slices else []
        pairings = self._pair(metric, inference)
        for at, run in enumerate(self.runs[1:], 1):
            scores = self._read_scores(metric, at) if self.people else None
            caution = find_caution(metric.spec, {each.name: self.lengths[each.name] for each in (run, self.runs[0])})
            for label in (None, *labels):
                comparison = pairings[at, label].compare()
                finding = Finding(
                    metric.spec, self.runs[0].name, run.name, label, comparison, metric.scale.bounds, caution=caution
                )
                if self.people and scores:
                    part = self._find_rows(label)
                    keys = None if self.clusters is None else self.clusters[part]
                    corrected = self.people.correct(metric.by_run[0], at, scores, part, keys, inference)
                    reversals = () if label is not None else self.people.reversals(metric.by_run[0], at, scores, keys)
                    finding = replace(finding, corrected=corrected, reversals=reversals)
                yield finding

    def _pair(self, metric: SharedMetric, inference: Inference) -> dict[tuple[int, str | None], AnyPairing]:
        """The statistics of each system beside those of the first, over all rows and over each slice."""
        widths = [run.count_statistics(scored.spec) for run, scored in zip(self.runs, metric.by_run, strict=True)]
        widths = [max(widths[0], width) for width in widths]
        pairings = {
            (at, label): _make_pairing(scale, width, inference, clustered=self.clusters is not None)
            for at, width in enumerate(widths)
            if at
            for scale in (self._scale(metric, at, width),)
            for label in (None, *(self.slices.labels if self.slices else ()))
        }
        first = 0
        for one, *others in self.rows.read(self._open(metric)):
            rows = slice(first, first + len(one))
            first = rows.stop
            parts: list[tuple[str | None, Any]] = [
                (None, slice(None)),
                *(self.slices.split(rows) if self.slices else ()),
            ]
            numbers, clusters = self.rows.numbers[rows], None if self.clusters is None else self.clusters[rows]
            for at, other in enumerate(others, 1):
                a, b = widen(one, widths[at]), widen(other, widths[at])
                for label, part in parts:
                    keys = None if clusters is None else clusters[part]
                    pairings[at, label].add(a[part], b[part], numbers[part], keys)
        return pairings

    def _open(self, metric: SharedMetric) -> list[Iterator[Array]]:
        """The statistics of each run, as they come."""
        return [run.read_statistics(scored.spec) for run, scored in zip(self.runs, metric.by_run, strict=True)]

    def _scale(self, metric: SharedMetric, at: int, width: int) -> Scale:
        """That of the metric; where neither system has a score, rows have no counts that its finish could take."""
        if width > 1 or metric.scale.finish is None:
            return metric.scale
        streams = self._open(metric)
        unscored = all(np.isnan(each).all() for stream in (streams[0], streams[at]) for each in stream)
        return replace(metric.scale, finish=None) if unscored else metric.scale

    def _read_scores(self, metric: SharedMetric, at: int) -> tuple[Array, Array]:
        """The first statistic of the first system and of that at this position, of all matched rows."""
        pairs = [(self.runs[each], metric.by_run[each].spec, self.rows.order(each)) for each in (0, at)]
        one, other = (run.statistics(spec)[order, 0] for run, spec, order in pairs)
        return one, other

    def _find_rows(self, label: str | None) -> Any:
        """The rows of a slice, or all."""
        if self.slices is None or label is None:
            return slice(None)
        return np.flatnonzero(self.slices.codes == self.slices.labels.index(label))


def _make_pairing(scale: Scale, width: int, inference: Inference, *, clustered: bool) -> AnyPairing:
    if isinstance(scale.finish, Curve):
        return CurvePairing(scale, clustered=clustered, inference=inference)
    if isinstance(scale.finish, Percentile):
        return PercentilePairing(scale, clustered=clustered, inference=inference)
    return Pairing(scale, width, clustered=clustered, inference=inference)


def _note_draws(findings: Sequence[Finding]) -> Iterator[str]:
    """A note where the random swaps are too few for a p below its corrected level."""
    drawn = [each.comparison for each in findings if each.comparison.draws]
    if drawn and findings[0].family > drawn[0].level * (drawn[0].draws + 1):
        shown = f"{drawn[0].draws} random swaps cannot show a difference"
        yield f"with {findings[0].family} tests counted, {shown}: compare fewer metrics or slices at a time"
