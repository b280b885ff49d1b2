"""Compare systems on the same rows: each metric, and each slice, of every system against the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.metric.metric import Metric
from karat.core.metric.rows import widen
from karat.runs.compare.comparison import Compared
from karat.runs.compare.compatible import SharedMetric, check_comparable, list_unshared, list_unsigned, share_metrics
from karat.runs.compare.finding import Finding, apply_holm
from karat.runs.compare.flips import find_flips
from karat.runs.compare.row_alignment import ORDER, Alignment, align
from karat.runs.compare.systems import System, list_specs, open_systems
from karat.runs.labels.human import Human, split_on_labels
from karat.runs.scoring.groups import check_group_column, cluster_keys, group_rows
from karat.runs.store.run import Run
from karat.stats.inference import Inference
from karat.stats.paired.compare import compare as compare_rows

if TYPE_CHECKING:
    from karat.runs.compare.people import People


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
    values in rows that are not independent; by default the one that the runs were scored with. `flipped`: how many rows
    to report on which a system loses most against the first, and as many on which it wins most. `common`: compare the
    rows that all systems have and count the others, with their labels, in `left_out` and `notes`. `allow_different`:
    compare even what was scored differently. `human`: labels by people of each system's answers, which correct the
    differences: a column of the rows, a table with a column `system`, or a table for each system, by its name; ids are
    in the column by which rows are matched. `label_map`: the score of each label, by default from a judge's own
    choices. `confidence`: of the intervals; 1 - `confidence` is the level of the
    tests, which are corrected for their number by Holm's method. `seed`: of the permutation test.

    Raises `JoinError` where the systems do not have the same rows, unless `common`; `DataError` where they were scored
    differently or against different gold, unless `allow_different`; `SpecError` for a metric that one of them does not
    have.

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
    wanted = list_specs(metrics)
    runs = open_systems([a, b, *more], wanted)
    shared = share_metrics(runs, wanted)
    people = human if human is None or isinstance(human, Human) else Human(human, label_map)
    if people is not None:
        people, on = split_on_labels(people, on)
    rows = align(runs, on, common=common)
    if not allow_different:
        check_comparable(runs, shared, rows)
    cluster = cluster or _cluster_column(runs)
    clusters = None if cluster is None else cluster_keys(_column(runs, rows, cluster))
    slices = {} if by is None else group_rows(_column(runs, rows, by), set(), by)
    labels = None
    if people is not None:
        from karat.runs.compare.people import read_people  # noqa: PLC0415  (only where people labelled rows)

        labels = read_people(people, runs, shared, rows)
    paired = _PairedRows(runs, rows, clusters, slices, labels)
    findings = apply_holm([finding for metric in shared for finding in paired.compare(metric, inference)])
    return Compared(
        systems=tuple(run.name for run in runs),
        n=len(rows),
        by=rows.by,
        findings=findings,
        flipped=find_flips(runs, shared, rows, flipped),
        notes=(
            *_notes(runs, shared, rows, cluster),
            *(labels.notes if labels else ()),
            *(people.notes if people else ()),
            *dict.fromkeys(note for finding in findings for note in finding.reversals),
            *_note_draws(findings),
        ),
        confidence=confidence,
        left_out={run.name: count for run, count in zip(runs, rows.left_out, strict=False) if count},
    )


@dataclass(frozen=True)
class _PairedRows:
    """The runs and their matched rows, with the cluster keys of these rows and the row numbers of each slice.

    `people` corrects differences by people's labels, where there are any.
    """

    runs: Sequence[Run]
    rows: Alignment
    clusters: Array | None
    slices: dict[str, Array]
    people: People | None

    def compare(self, metric: SharedMetric, inference: Inference) -> Iterator[Finding]:
        """Compare each system with the first, over all rows and over each slice."""
        columns = zip(self.runs, metric.by_run, self.rows.orders, strict=True)
        first, *others = (run.statistics(scored.spec)[order] for run, scored, order in columns)
        parts: list[tuple[str | None, Any]] = [(None, slice(None)), *sorted(self.slices.items())]
        for at, (run, other) in enumerate(zip(self.runs[1:], others, strict=True), 1):
            width = max(first.shape[1], other.shape[1])
            one, two = widen(first, width), widen(other, width)
            unscored = np.isnan(one).all() and np.isnan(two).all()
            scale = replace(metric.scale, finish=None) if unscored and width == 1 else metric.scale
            for label, part in parts:
                keys = None if self.clusters is None else self.clusters[part]
                comparison = compare_rows(one[part], two[part], scale, keys=keys, inference=inference)
                finding = Finding(metric.spec, self.runs[0].name, run.name, label, comparison, metric.scale.bounds)
                if self.people is not None:
                    scores = (one[:, 0], two[:, 0])
                    corrected = self.people.correct(metric.by_run[0], at, scores, part, keys, inference)
                    reversals = () if label is not None else self.people.reversals(metric.by_run[0], at, scores, keys)
                    finding = replace(finding, corrected=corrected, reversals=reversals)
                yield finding


def _column(runs: Sequence[Run], rows: Alignment, name: str) -> pa.Array:
    """A column of the first run that has it, in the order of the aligned rows."""
    at = next((at for at, run in enumerate(runs) if name in run.schema.names), 0)
    check_group_column(runs[at].schema, name, runs[at].name)
    return runs[at].column(name).combine_chunks().take(pa.array(rows.orders[at]))


def _cluster_column(runs: Sequence[Run]) -> str | None:
    """The column of clusters that the runs were scored with, where there is exactly one."""
    names = {name for run in runs if (name := run.manifest.settings.get("cluster")) is not None}
    return names.pop() if len(names) == 1 else None


def _notes(runs: Sequence[Run], shared: Sequence[SharedMetric], rows: Alignment, cluster: str | None) -> Iterator[str]:
    if rows.by == ORDER:
        yield "no id or question tells the rows apart: they are taken in their order, in which the gold is the same"
    if counts := [f"{count} of {run.name}" for run, count in zip(runs, rows.left_out, strict=False) if count]:
        yield f"left out, since not all systems have them: {' and '.join(counts)}"
    if cluster is not None:
        yield f"rows that share {cluster} are taken together"
    if specs := list_unshared(runs, shared):
        yield f"not compared: {', '.join(specs)}"
    if names := list_unsigned(runs, shared):
        yield f"{', '.join(names)}: a file does not say how it was scored, so that could not be checked"


def _note_draws(findings: Sequence[Finding]) -> Iterator[str]:
    """A note where the random swaps are too few for a p below its corrected level."""
    drawn = [each.comparison for each in findings if each.comparison.draws]
    if drawn and findings[0].family > drawn[0].level * (drawn[0].draws + 1):
        shown = f"{drawn[0].draws} random swaps cannot show a difference"
        yield f"with {findings[0].family} tests counted, {shown}: compare fewer metrics or slices at a time"
