"""What can be said of one score against people's labels: how good it is, where it fails, and which errors it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.runs.agreement.figures import LEVELS, Scale
from karat.runs.agreement.praise import Beside, find_errors
from karat.runs.agreement.raters import Raters, name_label
from karat.runs.labels.reversal import describe_reversal
from karat.stats.agreement.accuracy import accuracy, accuracy_with_each, mean, pairwise_accuracy
from karat.stats.agreement.alpha import alpha_with_each, krippendorff_alpha
from karat.stats.agreement.auroc import auroc
from karat.stats.agreement.coefficient import Coefficient, difference
from karat.stats.agreement.correlation import correlation
from karat.stats.agreement.distance import MOST_CATEGORIES, Level
from karat.stats.agreement.kappa import cohen_kappa
from karat.stats.agreement.threshold import Threshold, youden_index
from karat.stats.corrected.judged import Judged
from karat.stats.inference import Inference
from karat.stats.value import Estimate

_TITLES = {"accuracy": "accuracy", "auroc": "AUROC", "spearman": "Spearman's rho"}
_MEASURES: Mapping[str, Callable[..., Coefficient]] = {
    "accuracy": accuracy,
    "auroc": auroc,
    "spearman": partial(correlation, kind="spearman"),
}


@dataclass(frozen=True)
class Cut:
    """The best threshold of a score, and three figures at it: on the rows that chose it, and by cross-validation."""

    value: float | None
    low: float | None
    high: float | None
    reason: str | None
    apparent: Mapping[str, Estimate]
    corrected: Mapping[str, Estimate]

    def as_dict(self) -> dict[str, Any]:
        """The fields in order, as JSON values."""
        figures = {
            name: {"apparent": each.as_dict(), "corrected": self.corrected[name].as_dict()}
            for name, each in self.apparent.items()
        }
        return {"value": self.value, "low": self.low, "high": self.high, "reason": self.reason, **figures}


@dataclass(frozen=True)
class Gap:
    """A figure of one group of rows, of another one, and their difference."""

    value: Estimate
    other: Estimate
    difference: Estimate

    def as_dict(self) -> dict[str, Any]:
        """The fields in order, as JSON values."""
        return {name: getattr(self, name).as_dict() for name in ("value", "other", "difference")}


@dataclass(frozen=True)
class Verdict:
    """One score compared with people.

    `direction`: whether more or less of the score is better. `turned`: less is better, and labels say how good a row
    is: `value`, `weak` and the threshold are of the score with its sign reversed, which is yes up to the threshold.
    `tied`: the rows without a label of most people.

    `labels` are people's, from the worst to the best. `figure` is the name of the coefficient that says how good the
    score is. `with_people`: the alpha of the score with one person (`value`) and of people among themselves (`other`),
    on the rows that two people labelled; `same_label`: how often these give the same label. `false_praise` and
    `false_blame` as in `karat.runs.agreement.praise`, cut at `error_cut` with `on_cut` scores on it. `bias`: the mean
    of the score less the label. Where less is better and the score is not turned, all three are turned round: praise is
    always too kind. `weak`: the slices that are worse than the other rows, of labels by how often a person gives the
    score's, corrected for their number. `reversal`: what to check where the score falls as labels rise. None where it
    does not apply.
    """

    score: str
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
    bias: Estimate | None
    cut: Cut | None
    weak: Mapping[str, Gap]
    error_cut: float | None = None
    on_cut: int = 0
    reversal: str | None = None

    @property
    def title(self) -> str:
        """The name of `figure` in a text."""
        return _TITLES[self.figure]

    def as_dict(self) -> dict[str, Any]:
        """The fields in order, as JSON values."""
        single = ("value", "with_people", "same_label", "false_praise", "false_blame", "bias", "cut")
        parts = {name: None if (each := getattr(self, name)) is None else each.as_dict() for name in single}
        weak = {name: gap.as_dict() for name, gap in self.weak.items()}
        names = ("score", "direction", "turned", "tied", "labels", "figure")
        cut = {"error_cut": self.error_cut, "on_cut": self.on_cut}
        known = {name: getattr(self, name) for name in names}
        return {**known, "labels": list(self.labels), **parts, **cut, "weak": weak}


def judge_score(
    raters: Raters, name: str, figures: Mapping[str, Coefficient], scale: Scale, inference: Inference
) -> tuple[Verdict, Array | None]:
    """The verdict on one score, and its label of each row, shape (rows,), on the scale of people's.

    `figures` are the coefficients of the score with people over all rows. A score with other values than labels is cut
    at its best threshold; None where there is no such label.
    """
    defined = [each for each in _TITLES if each in figures and figures[each].reason is None]
    figure = defined[0] if defined else "spearman"
    beside = Beside(
        score=raters.scores[name],
        label=raters.consensus[0],
        alike=figure == "accuracy",
        minimize=name in raters.minimize,
        own=name in raters.own,
        limits=raters.limits.get(name, (None, None)),
        weights=raters.weights,
        clusters=raters.clusters,
    )
    judged = _Judged(raters, name, beside, inference)
    value = judged.measure(figure, beside.signed) if beside.turned else figures[figure]
    return judged.verdict(figure, value, scale)


@dataclass(frozen=True, eq=False)
class _Judged:
    """A score of the raters beside people's label of the same rows."""

    raters: Raters
    name: str
    beside: Beside
    inference: Inference

    @property
    def score(self) -> Array:
        """The score, its sign reversed if it is turned, shape (rows,)."""
        return self.beside.signed

    @property
    def label(self) -> Array:
        """People's label, shape (rows,)."""
        return self.beside.label

    def verdict(self, figure: str, value: Coefficient, scale: Scale) -> tuple[Verdict, Array | None]:
        values = np.unique(self.label[~np.isnan(self.label)])
        less = self.beside.minimize and not self.beside.turned
        cut = self.beside.find_threshold(self.inference)
        found = find_errors(self.beside, cut)
        calls = found.calls
        ordered = scale != "nominal" or len(values) == 2
        praise, blame = (
            self.estimate(each) if each is not None and ordered else None for each in (found.praise, found.blame)
        )
        bias = None
        if calls is not None and ordered:
            reach = max(np.ptp(values), np.nanmax(np.abs(calls - self.label)))
            apart = (calls - self.label) * (-1 if less else 1)
            bias = self.estimate(mean(apart, bounds=(-reach, reach), weights=self.raters.weights))
        verdict = Verdict(
            score=self.name,
            direction="minimize" if self.beside.minimize else "maximize",
            turned=self.beside.turned,
            tied=self.raters.consensus[1] if self.raters.annotators else 0,
            labels=tuple(name_label(self.raters.choices, value) for value in (values[::-1] if less else values)),
            figure=figure,
            value=self.estimate(value),
            with_people=None if calls is None else self.compare_with_people(calls, LEVELS[scale]),
            same_label=None if calls is None else self.compare_labels(calls),
            false_praise=praise,
            false_blame=blame,
            bias=bias,
            cut=None if cut is None else self.describe(cut),
            weak=dict(self.find_weak(figure)),
            error_cut=found.cut if praise is not None else None,
            on_cut=found.on_cut if praise is not None else 0,
            reversal=self.describe_reversal(),
        )
        return verdict, found.shown

    def describe_reversal(self) -> str | None:
        raters = self.raters
        chances = None if raters.weights is None else 1 / raters.weights
        clusters = None if raters.clusters is None else raters.clusters.astype(np.uint64)
        judged = Judged(self.score, self.label, chances, clusters)
        return describe_reversal(self.name, judged, self.inference.confidence, turned=self.beside.turned)

    def estimate(self, coefficient: Coefficient) -> Estimate:
        return coefficient.estimate(self.raters.clusters, self.inference.confidence)

    def measure(self, figure: str, score: Array) -> Coefficient:
        """The figure of this name of these scores with people."""
        label = self.beside.yes if figure == "auroc" else self.label
        return _MEASURES[figure](score, label, weights=self.raters.weights)

    def describe(self, cut: Threshold) -> Cut:
        weights, measures = (
            self.raters.weights,
            {"accuracy": accuracy, "cohen_kappa": cohen_kappa, "youden": youden_index},
        )
        apparent, corrected = (
            {
                name: self.estimate(measure(calls, self.beside.yes, weights=weights))
                for name, measure in measures.items()
            }
            for calls in (cut.calls, cut.crossed)
        )
        value, low, high = cut.value, cut.low, cut.high
        if self.beside.turned and value is not None and low is not None and high is not None:
            value, low, high = -value, -high, -low
        return Cut(value, low, high, cut.reason, apparent, corrected)

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

    def compare_with_people(self, calls: Array, level: Level) -> Gap | None:
        """The alpha of the score with one person, and of people with one another, on the same rows."""
        people, weights = self.list_people(calls), self.raters.weights
        if people is None:
            return None
        one = alpha_with_each(calls, people, level=level, weights=weights)
        return self.gap(one, krippendorff_alpha(people, level=level, weights=weights))

    def gap(self, one: Coefficient, other: Coefficient, confidence: float | None = None) -> Gap:
        apart = difference(one, other, self.raters.clusters, confidence or self.inference.confidence)
        return Gap(self.estimate(one), self.estimate(other), apart)

    def find_weak(self, figure: str) -> Iterator[tuple[str, Gap]]:
        """The slices in which the figure is lower than in the other rows, corrected for their number (Bonferroni)."""
        confidence = 1 - (1 - self.inference.confidence) / max(len(self.raters.slices), 1)
        for name, rows in self.raters.slices.items():
            inside = np.zeros(len(self.label), bool)
            inside[rows] = True
            scores = (np.where(part, self.score, np.nan) for part in (inside, ~inside))
            here, there = (
                accuracy_with_each(each, self.raters.people, weights=self.raters.weights)
                if figure == "accuracy"
                else self.measure(figure, each)
                for each in scores
            )
            gap = self.gap(here, there, confidence)
            if gap.difference.high is not None and gap.difference.high < 0:
                yield name, gap
