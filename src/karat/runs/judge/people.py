"""A score beside people's labels: how good it is, which errors it makes, where it fails, and its calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from karat.core.columns.kinds import Array
from karat.runs.judge.praise import Beside, Errors, find_errors
from karat.runs.judge.raters import Rater, Raters, name_label
from karat.runs.labels.reversal import describe_reversal
from karat.stats.agreement.accuracy import accuracy, accuracy_with_each, both, mean, pairwise_accuracy
from karat.stats.agreement.alpha import alpha_with_each, krippendorff_alpha
from karat.stats.agreement.auroc import auroc
from karat.stats.agreement.coefficient import Coefficient, difference
from karat.stats.agreement.correlation import correlation
from karat.stats.agreement.distance import MOST_CATEGORIES
from karat.stats.agreement.kappa import cohen_kappa
from karat.stats.agreement.overview import LEVELS, MeasurementLevel, why_no_labels
from karat.stats.agreement.threshold import Threshold, youden_index
from karat.stats.corrected.judged import Judged
from karat.stats.inference import Inference
from karat.stats.reliability.calibration import Calibration, calibrate
from karat.stats.value import Estimate

_MEASURES: Mapping[str, Callable[..., Coefficient]] = {
    "accuracy": accuracy,
    "auroc": auroc,
    "spearman": partial(correlation, kind="spearman"),
}


@dataclass(frozen=True)
class CutFigure:
    """A figure at a threshold: on the rows that chose it, and by cross-validation."""

    apparent: Estimate
    corrected: Estimate


@dataclass(frozen=True)
class BestThreshold:
    """The best threshold of a score, with its interval, and figures at it; `reason`: why there is none."""

    value: float | None
    low: float | None
    high: float | None
    reason: str | None
    accuracy: CutFigure
    cohen_kappa: CutFigure
    youden: CutFigure


@dataclass(frozen=True)
class Gap:
    """A figure of one group of rows, of another one, and their difference."""

    value: Estimate
    other: Estimate
    difference: Estimate


@dataclass(frozen=True)
class Slice(Gap):
    """A figure in a slice, in the other rows, and the difference, whose interval holds for all slices together.

    `fails`: the score is surely worse here than elsewhere.
    """

    figure: str
    fails: bool


@dataclass(frozen=True)
class HumanAgreement:
    """One score compared with people, on the `labelled` rows that have both.

    `direction`: whether more or less of the score is better. `turned`: less is better, and labels say how good a row
    is: `value`, `slices` and the threshold are of the score with its sign reversed, which is yes up to the threshold.
    `tied`: the rows without a label of most people.

    `labels` are people's, from the worst to the best. `figure` is the name of the coefficient that says how good the
    score is. `with_people`: the alpha of the score with one person (`value`) and of people among themselves (`other`),
    on the rows that two people labelled; `same_label`: how often these give the same label. `false_praise` and
    `false_blame` as in `karat.runs.judge.praise`, cut at `error_cut` with `on_cut` scores on it. `bias`: the mean of
    the score less people's mean label; where less is better it is turned round, so that above 0 is always too kind.
    `calibration` compares the score with people's mean label. `slices`: of labels in common by how often a person gives
    the score's, else by `closeness`, 1 less the mean distance from people's mean label as a share of the range, or,
    on another scale, by `figure`. `reversal`: what to check where the score falls as labels rise. None where it does
    not apply.
    """

    labelled: int
    direction: str
    turned: bool
    tied: int
    labels: tuple[str, ...]
    figure: str
    value: Estimate
    with_people: Gap | None
    same_label: Gap | None
    false_praise: Estimate | None
    false_blame: Estimate | None
    error_cut: float | None
    on_cut: int
    bias: Estimate | None
    cut: BestThreshold | None
    calibration: Calibration | None
    slices: Mapping[str, Slice]
    reversal: str | None


def compare_with_people(
    raters: Raters, rater: Rater, scale: MeasurementLevel, inference: Inference
) -> tuple[HumanAgreement, Array | None]:
    """A score beside people, and its label of each row, shape (rows,), on the scale of people's.

    A score with other values than labels is cut at its best threshold; None where there is no such label.
    """
    label, categories = raters.consensus[0], np.array(sorted(set(raters.choices.values())))
    used = both(rater.scores, label)
    alike = bool(used.any()) and why_no_labels(rater.scores, label, categories, raters.given) is None
    figure = "accuracy" if alike else "auroc" if len(np.unique(label[used])) == 2 else "spearman"
    return _RaterComparison(raters, rater, raters.beside(rater, alike=alike), figure, inference).describe(scale)


@dataclass(frozen=True, eq=False)
class _RaterComparison:
    raters: Raters
    rater: Rater
    beside: Beside
    figure: str
    inference: Inference

    def describe(self, scale: MeasurementLevel) -> tuple[HumanAgreement, Array | None]:
        beside, raters = self.beside, self.raters
        values = np.unique(beside.label[~np.isnan(beside.label)])
        cut = beside.find_threshold(self.inference)
        errors = find_errors(beside, cut)
        pairs = self.rater.rubric is not None and self.rater.rubric.swap is not None
        if (scale == "nominal" and len(values) > 2) or pairs:  # labels are not good or bad
            errors = Errors(calls=errors.calls, shown=errors.shown)
        praise, blame = (None if each is None else self.estimate(each) for each in (errors.praise, errors.blame))
        less, span = beside.minimize and not beside.turned, beside.range
        on_scale = span is not None and not beside.turned and not (scale == "nominal" and len(values) > 2)
        people = HumanAgreement(
            labelled=int((~np.isnan(beside.score) & ~np.isnan(raters.mean_label)).sum()),
            direction="minimize" if beside.minimize else "maximize",
            turned=beside.turned,
            tied=raters.consensus[1],
            labels=tuple(name_label(raters.choices, each) for each in (values[::-1] if less else values)),
            figure=self.figure,
            value=self.estimate(self.measure(beside.signed)),
            with_people=None if errors.calls is None else self.compare_alpha(errors.calls, scale),
            same_label=None if errors.calls is None else self.compare_labels(errors.calls),
            false_praise=praise,
            false_blame=blame,
            error_cut=errors.cut,
            on_cut=errors.on_cut,
            bias=self.estimate(self.bias(span, less=less)) if span and on_scale else None,
            cut=None if cut is None else self.describe_cut(cut),
            calibration=self.calibrate(span) if span and on_scale else None,
            slices=dict(self.compare_slices(span if on_scale else None)),
            reversal=self.describe_reversal(),
        )
        return people, errors.shown

    def estimate(self, coefficient: Coefficient) -> Estimate:
        return coefficient.estimate(self.raters.clusters, self.inference.confidence)

    def gap(self, one: Coefficient, other: Coefficient, confidence: float | None = None) -> Gap:
        apart = difference(one, other, self.raters.clusters, confidence or self.inference.confidence)
        return Gap(self.estimate(one), self.estimate(other), apart)

    def measure(self, scores: Array) -> Coefficient:
        """The figure of these scores with people."""
        label = self.beside.yes if self.figure == "auroc" else self.beside.label
        return _MEASURES[self.figure](scores, label, weights=self.raters.weights)

    def bias(self, span: tuple[float, float], *, less: bool) -> Coefficient:
        reach = span[1] - span[0]
        apart = (self.beside.score - self.raters.mean_label) * (-1 if less else 1)
        return mean(apart, bounds=(-reach, reach), weights=self.raters.weights)

    def calibrate(self, span: tuple[float, float]) -> Calibration:
        scores, labels = (
            (each - span[0]) / (span[1] - span[0]) for each in (self.beside.score, self.raters.mean_label)
        )
        raters, confidence = self.raters, self.inference.confidence
        return calibrate(scores, labels, weights=raters.weights, clusters=raters.clusters, confidence=confidence)

    def describe_reversal(self) -> str | None:
        raters, beside = self.raters, self.beside
        chances = None if raters.weights is None else 1 / raters.weights
        judged = Judged(beside.signed, beside.label, chances, raters.keys)
        return describe_reversal(self.rater.name, judged, self.inference.confidence, turned=beside.turned)

    def describe_cut(self, cut: Threshold) -> BestThreshold:
        def figure(measure: Callable[..., Coefficient]) -> CutFigure:
            return CutFigure(
                *(
                    self.estimate(measure(calls, self.beside.yes, weights=self.raters.weights))
                    for calls in (cut.calls, cut.crossed)
                )
            )

        value, low, high = cut.value, cut.low, cut.high
        if self.beside.turned and value is not None and low is not None and high is not None:
            value, low, high = -value, -high, -low
        return BestThreshold(value, low, high, cut.reason, *map(figure, (accuracy, cohen_kappa, youden_index)))

    def list_people(self, calls: Array) -> Array | None:
        """People's labels of the rows that have a score and two labels, NaN in others; None where there are none."""
        people = self.raters.people
        several = ((~np.isnan(people)).sum(axis=1) > 1) & ~np.isnan(calls)
        return np.where(several[:, None], people, np.nan) if several.any() else None

    def compare_labels(self, calls: Array) -> Gap | None:
        """How often one person gives the score's label, and another person's, on the same rows."""
        people, weights = self.list_people(calls), self.raters.weights
        if people is None or len(np.unique(people[~np.isnan(people)])) > MOST_CATEGORIES:
            return None
        return self.gap(accuracy_with_each(calls, people, weights=weights), pairwise_accuracy(people, weights=weights))

    def compare_alpha(self, calls: Array, scale: MeasurementLevel) -> Gap | None:
        """The alpha of the score with one person, and of people with one another, on the same rows."""
        people, weights, level = self.list_people(calls), self.raters.weights, LEVELS[scale]
        if people is None:
            return None
        one = alpha_with_each(calls, people, level=level, weights=weights)
        return self.gap(one, krippendorff_alpha(people, level=level, weights=weights))

    def compare_slices(self, span: tuple[float, float] | None) -> Iterator[tuple[str, Slice]]:
        """Each slice beside the other rows, corrected for the number of slices (Bonferroni)."""
        raters, weights = self.raters, self.raters.weights
        confidence = 1 - (1 - self.inference.confidence) / max(len(raters.slices), 1)

        def measure(scores: Array) -> Coefficient:
            if self.figure == "accuracy":
                return accuracy_with_each(scores, raters.people, weights=weights)
            if span is None:
                return self.measure(scores)
            return mean(1 - np.abs(scores - raters.mean_label) / (span[1] - span[0]), weights=weights)

        figure = self.figure if self.figure == "accuracy" or span is None else "closeness"
        for name, rows in raters.slices.items():
            inside = np.zeros(len(self.beside.label), bool)
            inside[rows] = True
            here, there = (measure(np.where(part, self.beside.signed, np.nan)) for part in (inside, ~inside))
            gap = self.gap(here, there, confidence)
            fails = gap.difference.high is not None and gap.difference.high < 0
            yield name, Slice(gap.value, gap.other, gap.difference, figure, fails)
