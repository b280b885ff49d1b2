"""Compare systems on the same rows: each metric, and each slice, of every system against the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.runs.columns.lengths import Lengths, find_caution
from karat.runs.compare.asking.sequence import AskedTogether, find_sequences, note_fixed
from karat.runs.compare.comparison import Compared
from karat.runs.compare.finding import DIFFERENT, Finding
from karat.runs.compare.flips import find_flips
from karat.runs.compare.margins import Margin, find_margins
from karat.runs.labels.labels import Labels
from karat.runs.match.match import How, Matched, match
from karat.runs.match.parts import count_statistics, list_slices, read_parts
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.match.systems import Named, System, find_lengths, name_systems
from karat.runs.scoring.tasks.progress import Progress
from karat.stats.aggregate import Bounds
from karat.stats.inference import Inference
from karat.stats.paired.compare import Pairing
from karat.stats.paired.margin import hold_margins
from karat.stats.paired.multiple import bonferroni, holm_tests
from karat.stats.sequential.until import Until

if TYPE_CHECKING:
    from karat.runs.compare.people import People


def compare(
    *systems: System,
    metrics: str | Metric | Iterable[str | Metric] = (),
    by: str | None = None,
    cluster: str | None = None,
    on: str | None = None,
    flipped: int = 0,
    common: bool = False,
    allow_different: bool = False,
    human: Any = None,
    label_map: Mapping[str, float] | str | None = None,
    margin: Margin = None,
    confidence: float = 0.95,
    seed: int = 0,
    until: Until | None = None,
    run: str | None = None,
    progress: Progress | None = None,
    **named: System,
) -> Compared:
    """Compare two or more systems that were scored on the same rows, each against the first.

    A system is a run (its name, its folder or a `Run`), a file of scored rows, or a `Result`; `before=…, after=…` name
    systems as you like. Rows are matched by the
    column `on`, else by an id or the question; their order does not matter. `metrics`: those to compare, by default all
    that the systems share. `by`: a column of slices, each of which is also compared. `cluster`: a column with equal
    values in rows that are not independent; by default the one that the runs were scored with, else an id or a question
    that repeats, as in `karat.score`; `"none"` takes each row by itself. `flipped`: how many rows
    to report on which a system loses most against the first, and as many on which it wins most. `common`: compare the
    rows that all systems have and count the others, with their labels, in `left_out` and `notes`. `allow_different`:
    compare even what was scored differently, and say in `notes` what differs. `human`: labels by people of each
    system's answers, which correct the differences: a column of the rows, a table with a column `system`, or a table
    for each system, by its name; ids are in the column by which rows are matched. `label_map`: the score of each label,
    by default from a judge's own choices. `margin`: also test whether a system is no worse than the first by this much,
    in the metric's unit, and whether the two are equivalent within it: a number for all metrics, or one for each of
    some, by its spec. `confidence`: of the intervals; 1 - `confidence` is the level of the tests,
    which are corrected for their number by Holm's method. `seed` decides which rows form a group where there are very
    many.

    `until`: the judge among `metrics` is asked about both answers to each row, in a random order that the seed decides,
    and stops at the rule: with `karat.Until(decided=True)` once one of two systems is shown to be better, or, with a
    `margin`, both are shown to be equivalent within it; at a width of the interval of the difference; or when money is
    spent. The interval holds however often it was looked at. `run`: both systems' judged rows are kept as runs
    `RUN-SYSTEM`. Answers that are in the cache of replies are not asked for again. `progress`: as in `karat.score`.

    Raises `JoinError` where the systems do not have the same rows, unless `common`; `DataError` where they were scored
    differently or against different gold, or answered other questions, unless `allow_different`; `SpecError` for a
    metric that one of them does not have, and for a margin that is not above 0 or is as wide as a metric's range.

    >>> import karat
    >>> rows = {"id": range(9), "question": ["?"] * 9, "gold": ["yes"] * 9}
    >>> first = karat.score({**rows, "prediction": ["no"] * 8 + ["yes"]}, "em")
    >>> second = karat.score({**rows, "prediction": ["yes"] * 8 + ["no"]}, "em")
    >>> compared = compare(first, second, flipped=1)
    >>> print(compared.findings[0].sentence)
    B is better than A by 77.8 points [13.0, 96.0], p = 0.021
    >>> compared.findings[0].verdict, compared.findings[0].comparison.test
    ('better', 'mcnemar')
    >>> [(flip.id, flip.predictions) for flip in compared.flipped]
    [('8', ('yes', 'no')), ('0', ('no', 'yes'))]
    """
    inference = Inference(confidence, seed)
    people = Labels.of(human, label_map)
    how = How(by=by, cluster=cluster, human=people, common=common, allow_different=allow_different)
    every: Sequence[System | Named] = name_systems(systems, named, compare)
    if until is not None:
        from karat.runs.compare.asking.ask import Asking  # noqa: PLC0415  (only where a judge is asked)

        asking = Asking.plan(metrics, until, margin, inference, run, progress)
        every, metrics = asking.ask(every, on, how), [metric.spec for metric in asking.metrics]
    elif run is not None:
        raise SpecError("run keeps the rows that a judge is asked about: until=karat.Until(decided=True)")
    matched = match(every, metrics, on, **how)
    return compare_matched(matched, inference, people, flipped, margin)


def compare_matched(
    matched: Matched,
    inference: Inference,
    people: Labels | None = None,
    flipped: int = 0,
    margin: Margin = None,
) -> Compared:
    """Compare systems whose rows are matched, with `people`'s labels of them, as `compare` does."""
    runs, shared, rows = matched.runs, matched.metrics, matched.rows
    margins = find_margins(margin, {each.spec: each.scale for each in shared}, inference)
    labels = None
    if people is not None:
        from karat.runs.compare.people import read_people  # noqa: PLC0415  (only where people labelled rows)

        labels = read_people(matched, people)
    paired = _PairedRows(matched, labels, find_sequences(matched))
    together = len(shared) * (len(runs) - 1) * len(list_slices(matched)) - len(paired.sequences)
    findings = apply_holm(
        [each for metric in shared for each in paired.compare(metric, inference, margins.get(metric.spec), together)]
    )
    return Compared(
        systems=tuple(run.name for run in runs),
        n=len(rows),
        by=rows.key,
        family=max(each.family for each in findings),
        findings=findings,
        flipped=find_flips(runs, shared, rows, flipped),
        notes=(
            *matched.notes,
            *note_fixed(matched, paired.sequences),
            *(labels.notes if labels else ()),
            *(people.notes if people else ()),
            *dict.fromkeys(note for finding in findings for note in finding.reversals),
        ),
        confidence=inference.confidence,
        left_out={run.name: count for run, count in zip(runs, rows.left_out, strict=False) if count},
        created=tuple(run.manifest.created for run in runs),
    )


def apply_holm(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings as one family of tests, each with its corrected p and its level by Holm's method.

    Differences corrected by people are a family of their own, and so are "no worse" and "equivalent": they answer
    other questions. So are differences of which a rule made a judge ask until they were decided.

    >>> import numpy as np
    >>> from karat.stats.aggregate import Scale
    >>> from karat.stats.paired.compare import compare
    >>> found = [compare(np.zeros((8, 1)), scores, Scale()) for scores in (np.ones((8, 1)), np.eye(8)[:, :1])]
    >>> [round(each.adjusted, 6) for each in apply_holm([Finding("em", "a", "b", None, one) for one in found])]
    [0.007813, 0.5]
    """
    level, decided = findings[0].comparison.level, [each.stop is not None for each in findings]
    if any(decided) and not all(decided):
        parts = ([at for at, each in enumerate(decided) if each == own] for own in (False, True))
        held = {
            at: each for part in parts for at, each in zip(part, apply_holm([findings[at] for at in part]), strict=True)
        }
        return tuple(held[at] for at in range(len(findings)))
    own = holm_tests([each.comparison.p for each in findings], level)
    people = holm_tests([None if each.corrected is None else each.corrected.p for each in findings], level)
    within = hold_margins([each.comparison.margin for each in findings], level)
    within_by_people = hold_margins(
        [None if each.corrected is None else each.corrected.margin for each in findings], level
    )
    return tuple(
        replace(
            finding,
            comparison=replace(finding.comparison, margin=margin),
            held=test.level,
            adjusted=test.adjusted,
            family=test.family,
            joint=_agree(finding.joint, replace(finding, adjusted=test.adjusted)),
            corrected=finding.corrected and replace(finding.corrected, margin=by_people),
            by_people=None if finding.corrected is None else corrected,
        )
        for finding, test, corrected, margin, by_people in zip(
            findings, own, people, within, within_by_people, strict=True
        )
    )


def _agree(joint: Bounds, finding: Finding) -> Bounds:
    """The ends of an interval of all findings together: where Holm's steps show which system is better, on its side."""
    low, high = joint
    difference = finding.comparison.difference
    if finding.comparison.verdict(adjusted=finding.adjusted) not in DIFFERENT or difference is None:
        return joint
    if difference > 0:
        return (None if low is None else max(low, 0.0)), high
    return low, (None if high is None else min(high, 0.0))


@dataclass(frozen=True)
class _PairedRows:
    """Systems and their matched rows; `people` corrects differences by people's labels, where there are any.

    `sequences`: by metric and position of a system, the rows about which a judge was asked until a rule ended it.
    """

    matched: Matched
    people: People | None
    sequences: Mapping[tuple[str, int], AskedTogether] = field(default_factory=dict)

    @cached_property
    def lengths(self) -> Mapping[str, Lengths | None]:
        """How long each system's answers are beside their gold."""
        return {run.name: find_lengths(run) for run in self.matched.runs}

    def compare(
        self, metric: SharedMetric, inference: Inference, margin: float | None, together: int
    ) -> Iterator[Finding]:
        """Compare each system with the first, over all rows and over each slice; `together` is how many there are."""
        first, *others = self.matched.names
        pairings = self._pair(metric, inference)
        for at, name in enumerate(others, 1):
            scores = self._read_scores(metric, at) if self.people else None
            caution = find_caution(metric.spec, {each: self.lengths[each] for each in (name, first)})
            for label in list_slices(self.matched):
                comparison = pairings[at, label].compare(margin)
                sequence = self.sequences.get((metric.spec, at)) if label is None else None
                if sequence is None:
                    joint = pairings[at, label].interval(bonferroni(inference.confidence, max(together, 1)))
                else:
                    comparison = sequence.apply_to(comparison, inference, margin)
                    joint = comparison.low, comparison.high
                finding = Finding(
                    metric.spec,
                    first,
                    name,
                    label,
                    comparison,
                    metric.scale.bounds,
                    joint=joint,
                    caution=caution,
                    stop=None if sequence is None else sequence.stop,
                )
                if self.people and scores:
                    part, keys = self._find_rows(label), self._clusters
                    own = None if keys is None else keys[part]
                    corrected = self.people.correct(metric.by_run[0], at, scores, (part, own), inference, margin)
                    reversals = () if label is not None else self.people.reversals(metric.by_run[0], at, scores, keys)
                    finding = replace(finding, corrected=corrected, reversals=reversals)
                yield finding

    def _pair(self, metric: SharedMetric, inference: Inference) -> dict[tuple[int, str | None], Pairing]:
        """The statistics of each system beside the first's, over all rows and over each slice."""
        width, clustered = count_statistics(self.matched, metric), self.matched.clusters is not None
        others = range(1, len(self.matched.runs))
        pairings = {
            (at, label): Pairing(metric.scale, width, clustered=clustered, inference=inference)
            for at in others
            for label in list_slices(self.matched)
        }
        for part in read_parts(self.matched, metric):
            for at in others:
                sides = part.statistics[:, 0], part.statistics[:, at]
                pairings[at, part.slice].add(*sides, part.numbers, part.clusters)
        return pairings

    def _read_scores(self, metric: SharedMetric, at: int) -> tuple[Array, Array]:
        """The first statistic of the first system and of that at this position, of all matched rows."""
        runs, rows = self.matched.runs, self.matched.rows
        pairs = [(runs[each], metric.by_run[each].spec, rows.order(each)) for each in (0, at)]
        one, other = (run.statistics(spec)[order, 0] for run, spec, order in pairs)
        return one, other

    @property
    def _clusters(self) -> Array | None:
        return None if self.matched.clusters is None else self.matched.clusters.keys

    def _find_rows(self, label: str | None) -> Any:
        """The rows of a slice, or all."""
        slices = self.matched.slices
        return slice(None) if slices is None or label is None else slices.codes == slices.labels.index(label)
