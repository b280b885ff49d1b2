"""The figures of a judge's report: its noise, its biases, and how it compares with people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.columns.variance import variance_statistics
from karat.runs.agreement.praise import Errors, find_errors
from karat.runs.judge_report.examined import Examined, Labelled
from karat.runs.labels.reversal import describe_reversal
from karat.stats.aggregate import Scale
from karat.stats.agreement.accuracy import mean
from karat.stats.agreement.coefficient import difference
from karat.stats.corrected.judged import Judged
from karat.stats.reliability.calibration import Calibration, calibrate
from karat.stats.reliability.estimate import estimate
from karat.stats.reliability.repetition import any_flip, disagreement, noise_share
from karat.stats.reliability.slope import slope
from karat.stats.value import Estimate

ONCE = "each row was judged once"


@dataclass(frozen=True)
class Bias:
    """How a score depends on something: `slope` of what people did not explain, or of the score itself.

    `of` is `error`, the judge's score minus people's, or, where there are no labels, `score`: then rows are compared
    only with others of the same task (question, reference), and the slope may be merit.
    """

    slope: Estimate
    of: str

    def as_dict(self) -> dict[str, Any]:
        """The fields in order, as JSON values."""
        return {**self.slope.as_dict(), "of": self.of}


@dataclass(frozen=True)
class Slice:
    """A slice of the labelled rows: `agreement` there, and its `difference` from all other rows.

    Agreement is 1 minus the mean distance between the judge's score and people's, as a share of the range of scores.
    The intervals of the differences hold for all slices together (Bonferroni).
    """

    agreement: Estimate
    difference: Estimate

    @property
    def fails(self) -> bool:
        """Whether the judge agrees less with people here than elsewhere, surely."""
        return self.difference.high is not None and self.difference.high < 0

    def as_dict(self) -> dict[str, Any]:
        """The fields in order, and `fails`, as JSON values."""
        figures = {"agreement": self.agreement.as_dict(), "difference": self.difference.as_dict()}
        return {**figures, "fails": self.fails}


@dataclass(frozen=True)
class People:
    """A judge beside people: figures of the rows with both.

    `bias`: the mean of the judge's score minus people's. `false_praise`: how often the judge finds an answer good that
    most people find bad, among these; `false_blame`: the opposite; as in `karat.runs.agreement.praise`, cut at
    `error_cut` with `on_cut` scores on it. `reversal`: what to check where its scores fall as people's rise, else None.
    """

    labelled: int
    agreement: Estimate
    bias: Estimate
    false_praise: Estimate
    false_blame: Estimate
    calibration: Calibration
    slices: dict[str, Slice] = field(default_factory=dict)
    error_cut: float | None = None
    on_cut: int = 0
    reversal: str | None = None


class Figures:
    """All figures of one examined judge; each is computed when it is read."""

    def __init__(self, examined: Examined) -> None:
        self._judge, self._rows, self._votes = examined, examined.rows, examined.votes
        weights = None if self._rows.people is None else self._rows.people.weights
        self._of_rows = partial(estimate, weights=weights, keys=self._rows.clusters, inference=self._rows.inference)
        low, high = examined.range
        self._span = high - low

    @property
    def unreadable(self) -> Estimate:
        """The share of verdicts that could not be read."""
        if self._judge.rubric is None:
            return Estimate.missing("the scores were given")
        votes = self._votes
        asked = votes.asked.sum(axis=1)
        return self._of_rows(np.where(asked > 0, votes.unreadable.sum(axis=1) / np.maximum(asked, 1), np.nan))

    @property
    def flips(self) -> Estimate:
        """The probability that a second verdict on the same row is another one."""
        return self._repeated(disagreement(self._codes))

    @property
    def flipping_rows(self) -> Estimate:
        """The share of rows with two different verdicts among the repetitions."""
        return self._repeated(any_flip(self._codes))

    @property
    def noise_share(self) -> Estimate:
        """The share of the variance of scores that is the judge's own."""
        statistics = variance_statistics(self._judge.repeated)
        several = (~np.isnan(self._judge.repeated)).sum(axis=1) > 1
        statistics[~several] = np.nan
        return self._repeated(statistics, Scale(noise_share), undefined="every score is the same")

    @property
    def first_place(self) -> Estimate:
        """How much higher the score of an answer is where it stands first of the two."""
        return self._of_pairs(self._votes.first, self._both_ways)

    @property
    def order_matters(self) -> Estimate:
        """The share of rows on which the two orders give different verdicts."""
        return self._of_pairs(1 - self._votes.consistent, Scale())

    @property
    def length(self) -> dict[str, Bias]:
        """The bias for length: for each doubling of the answer's length, and for each 100 characters."""
        if not (lengths := self._judge.lengths):
            reason = "the judge reads no prediction; answer (--answer) names the column of the answers"
            return {
                "doubling": Bias(Estimate.missing(reason), self._of),
                "100 characters": Bias(Estimate.missing(reason), self._of),
            }
        scales = {
            "doubling": [np.log2(1 + each) for each in lengths],
            "100 characters": [each / 100 for each in lengths],
        }
        return {name: self._bias(_first_minus_second(each)) for name, each in scales.items()}

    @property
    def own_answers(self) -> Bias | None:
        """The preference for answers by the judge's own model; None where no column holds the authors."""
        if not (authors := self._judge.authors):
            return None
        marks = [self._judge.own(each) for each in authors]
        if not any((each == 1).any() for each in marks):
            names = ", ".join(sorted({str(each) for column in authors for each in column if each is not None})[:5])
            own = ", ".join(sorted(self._judge.own_names)) or "the judge's model"
            reason = f"no answer is by {own}; authors: {names}; own (--own) names those that are the judge's model"
            return Bias(Estimate.missing(reason), self._of)
        return self._bias(_first_minus_second(marks))

    @property
    def rewordings(self) -> dict[str, Estimate]:
        """How much each rewording of the prompt raises the score."""
        mean, scores = self._judge.mean, self._votes.scores[:, self._votes.repetitions :].T
        return {
            name: self._of_rows(each - mean, self._both_ways)
            for name, each in zip(self._votes.rewordings, scores, strict=True)
        }

    @property
    def rewording_flips(self) -> Estimate:
        """The probability that a verdict is another one after the prompt is reworded."""
        if not self._votes.rewordings:
            return Estimate.missing("no rewording was asked for")
        return self._of_rows(self._reworded)

    @property
    def rewording_beyond_noise(self) -> Estimate:
        """By how much it is more probable than after mere repetition."""
        if not self._votes.rewordings:
            return Estimate.missing("no rewording was asked for")
        return self._repeated(self._reworded - disagreement(self._codes), Scale(bounds=(-1.0, 1.0)))

    @property
    def people(self) -> People | None:
        """The judge beside people; None without labels."""
        if self._rows.people is None:
            return None
        labels, weights = self._rows.people.scores, self._rows.people.weights
        first = self._votes.scores[:, 0]
        low = self._judge.range[0]
        praise, blame, found = self._praise(self._rows.people)
        agreement = 1 - np.abs(first - labels) / self._span
        return People(
            labelled=int((~np.isnan(agreement)).sum()),
            agreement=self._of_rows(agreement),
            bias=self._of_rows(first - labels, self._both_ways),
            false_praise=praise,
            false_blame=blame,
            calibration=calibrate(
                (first - low) / self._span,
                (labels - low) / self._span,
                weights=weights,
                keys=self._rows.clusters,
                inference=self._rows.inference,
            ),
            slices=dict(self._slices(agreement, weights)),
            error_cut=found.cut,
            on_cut=found.on_cut,
            reversal=describe_reversal(
                self._judge.judge.spec,
                Judged(first, labels, None if weights is None else 1 / weights, self._rows.clusters),
                self._rows.inference.confidence,
            ),
        )

    def _praise(self, people: Labelled) -> tuple[Estimate, Estimate, Errors]:
        """False praise and false blame of the first verdicts, and where they are cut."""
        if self._judge.swap is not None:
            missing = Estimate.missing("the judge says which of two answers is better, not whether one is good")
            return missing, missing, Errors()
        beside, inference = self._judge.beside(people), self._rows.inference
        found = find_errors(beside, beside.find_threshold(inference))
        none = Estimate.missing("labels are beyond the range of its scores")
        praise, blame = (
            none if each is None else each.estimate(beside.clusters, inference.confidence)
            for each in (found.praise, found.blame)
        )
        return praise, blame, found

    def _slices(self, agreement: Array, weights: Array | None) -> Iterator[tuple[str, Slice]]:
        slices, keys = self._rows.slices, self._rows.clusters
        clusters = None if keys is None else np.unique(keys, return_inverse=True)[1]
        confidence = 1 - (1 - self._rows.inference.confidence) / max(len(slices), 1)
        for name, positions in slices.items():
            inside = np.zeros(len(agreement), bool)
            inside[positions] = True
            here, there = (np.where(part, agreement, np.nan) for part in (inside, ~inside))
            apart = difference(mean(here, weights=weights), mean(there, weights=weights), clusters, confidence)
            yield name, Slice(self._of_rows(here), apart)

    @property
    def _both_ways(self) -> Scale:
        return Scale(bounds=(-self._span, self._span))

    @property
    def _codes(self) -> Array:
        return self._votes.codes[:, : self._votes.repetitions]

    @property
    def _reworded(self) -> Array:
        return disagreement(self._codes, self._votes.codes[:, self._votes.repetitions :])

    @property
    def _of(self) -> str:
        return "score" if self._rows.people is None else "error"

    def _repeated(self, statistics: Array, scale: Scale = Scale(), **reasons: Any) -> Estimate:  # noqa: B008  (frozen)
        if self._votes.repetitions < 2:
            return Estimate.missing(ONCE)
        return self._of_rows(statistics, scale, **reasons)

    def _of_pairs(self, votes: Array, scale: Scale) -> Estimate:
        if self._judge.swap is None:
            return Estimate.missing("the judge reads one answer, so there is no order")
        repeated = votes[:, : self._votes.repetitions]
        count = (~np.isnan(repeated)).sum(axis=1)
        return self._of_rows(np.where(count > 0, np.nansum(repeated, axis=1) / np.maximum(count, 1), np.nan), scale)

    def _bias(self, x: Array) -> Bias:
        rows, mean = self._rows, self._judge.mean
        fit = partial(slope, x, clusters=rows.clusters, confidence=rows.inference.confidence)
        if rows.people is not None:
            return Bias(fit(mean - rows.people.scores, weights=rows.people.weights), "error")
        if self._judge.swap is not None:
            return Bias(fit(mean), "score")
        found = fit(mean, groups=self._judge.same_task)
        if found.value is None:
            found = replace(found, reason=f"without labels, answers to one task are compared: {found.reason}")
        return Bias(found, "score")


def _first_minus_second(columns: list[Array]) -> Array:
    return columns[0] if len(columns) == 1 else columns[0] - columns[1]


FIGURES = {name for name, value in vars(Figures).items() if isinstance(value, property) and not name.startswith("_")}
