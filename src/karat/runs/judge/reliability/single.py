"""How far a judge can be relied on without people: its noise, its biases for place, length and author, its prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_text
from karat.core.columns.kinds import Array
from karat.core.columns.python_values import to_python
from karat.core.columns.variance import variance_statistics
from karat.core.errors import ColumnError
from karat.runs.judge.raters import Rater, Raters
from karat.runs.judge.reliability.instrument import find_instrument
from karat.stats.agreement.accuracy import mean
from karat.stats.agreement.coefficient import Coefficient, value_of_sums
from karat.stats.inference import Inference
from karat.stats.intervals.wilson import Ends
from karat.stats.reliability.instrument import Instrument
from karat.stats.reliability.repetition import any_flip, disagreement, noise_share
from karat.stats.reliability.slope import slope
from karat.stats.value import Estimate


@dataclass(frozen=True)
class JudgedAnswers:
    """Which columns hold the judged answers, one or two, and their authors; and which authors are the judge's model."""

    answer: str | None = None
    author: tuple[str, ...] = ()
    own: tuple[str, ...] = ()


@dataclass(frozen=True)
class Replies:
    """How often a judge was asked, the share of verdicts that could not be read, and failed requests by reason."""

    asked: int
    unreadable: Estimate
    errors: Mapping[str, int]


@dataclass(frozen=True)
class Noise:
    """How a judge's verdicts on one row differ.

    `flips`: how probably a second verdict on a row is another one; `flipping_rows`: the share of rows with two
    different verdicts; `share`: the share of the scores' variance that is the judge's own.
    """

    flips: Estimate
    flipping_rows: Estimate
    share: Estimate


@dataclass(frozen=True)
class Position:
    """How a judge of pairs depends on the order of the two answers.

    `first_place`: how much higher the score of an answer is where it stands first; `order_matters`: the share of rows
    on which the orders give different verdicts.
    """

    first_place: Estimate
    order_matters: Estimate


@dataclass(frozen=True)
class Bias:
    """How a score depends on something: `slope` of what people did not explain, or of the score itself.

    `of` is `error`, the judge's score minus people's, or, where there are no labels, `score`: then rows are compared
    only with others of the same task (question, reference), and the slope may be merit.
    """

    slope: Estimate
    of: str


@dataclass(frozen=True)
class Rewordings:
    """How a judge depends on the wording of its prompt.

    `flips`: how probably the verdict is another one after a harmless rewording; `beyond_noise`: by how much that is
    more than after mere repetition; `shifts`: how much each rewording raises the score.
    """

    flips: Estimate
    beyond_noise: Estimate
    shifts: Mapping[str, Estimate]


class Reliability:
    """What the votes and the scores of one rater show; a part that the data cannot show is None."""

    def __init__(self, raters: Raters, rater: Rater, answers: JudgedAnswers, inference: Inference) -> None:
        self._raters, self._rater, self._answers, self._inference = raters, rater, answers, inference
        low, high = ((0.0, 1.0)[at] if each is None else each for at, each in enumerate(rater.limits))
        self._bounds, self._both_ways = (low, high), (low - high, high - low)
        self._pairs = None if rater.rubric is None else rater.rubric.swap
        self._labelled = bool(raters.annotators)

    def find_replies(self) -> Replies | None:
        """How often the judge was asked, and what it failed to answer."""
        if (votes := self._rater.votes) is None:
            return None
        calls = votes.asked.sum(axis=1)
        unreadable = np.where(calls > 0, votes.unreadable.sum(axis=1) / np.maximum(calls, 1), np.nan)
        return Replies(int(calls.sum()), self._mean_of(unreadable), votes.errors)

    def find_noise(self) -> Noise | None:
        """How far the repetitions differ."""
        if (votes := self._rater.votes) is None or votes.repetitions < 2:
            return None
        statistics, codes = variance_statistics(votes.repeated), votes.repeated_codes
        statistics[(~np.isnan(votes.repeated)).sum(axis=1) < 2] = np.nan
        share = value_of_sums(statistics, noise_share, weights=self._raters.weights, empty="every score is the same")
        return Noise(self._mean_of(disagreement(codes)), self._mean_of(any_flip(codes)), self._estimate(share))

    def find_position(self) -> Position | None:
        """What the order of two answers does."""
        if self._pairs is None:
            return None
        if (votes := self._rater.votes) is None:
            stored, run = f"{self._rater.name}.consistent", self._raters.run
            if stored not in run.schema.names:
                return None
            agree = self._raters.cells(stored).cast(pa.bool_()).cast(pa.float64()).to_numpy(zero_copy_only=False)
            unknown = Estimate.missing("stored verdicts do not say which order had which: --ask 1 (ask=1) asks again")
            return Position(unknown, self._mean_of(1 - agree))
        first, consistent = (_mean(each[:, : votes.repetitions]) for each in (votes.first, votes.consistent))
        return Position(self._mean_of(first, self._both_ways), self._mean_of(1 - consistent))

    def find_rewordings(self) -> Rewordings | None:
        """What other words of the prompt do."""
        if (votes := self._rater.votes) is None or not votes.rewordings:
            return None
        codes, others = votes.repeated_codes, votes.codes[:, votes.repetitions :]
        reworded, beyond = disagreement(codes, others), Estimate.missing("each row was judged once")
        if votes.repetitions > 1:
            beyond = self._mean_of(reworded - disagreement(codes), (-1.0, 1.0))
        scores = zip(votes.rewordings, votes.scores[:, votes.repetitions :].T, strict=True)
        shifts = {name: self._mean_of(each - self._mean, self._both_ways) for name, each in scores}
        return Rewordings(self._mean_of(reworded), beyond, shifts)

    def find_instrument(self) -> Instrument | None:
        """What the mean of its verdicts varies by."""
        return (
            None
            if self._rater.votes is None
            else find_instrument(self._raters, [self._rater], self._bounds, self._inference)
        )

    def find_length(self) -> Mapping[str, Bias] | None:
        """The bias for length: for each doubling of the answer's length, and for each 100 characters."""
        lengths = [_measure(self._raters.cells(name, "answer"), name) for name in self._answer_columns]
        if not lengths:
            return None
        scales = {
            "doubling": [np.log2(1 + each) for each in lengths],
            "100 characters": [each / 100 for each in lengths],
        }
        return {name: self._bias(_first_minus_second(each)) for name, each in scales.items()}

    def find_own_answers(self) -> Bias | None:
        """The preference for answers by the judge's own model; None where no column holds the authors."""
        if not self._answers.author:
            return None
        authors = [to_python(self._raters.cells(name, "author")) for name in self._answers.author]
        names = self._own_names
        marks = [
            np.array([np.nan if each is None else float(_author_name(each) in names) for each in column], np.float64)
            for column in authors
        ]
        if any((each == 1).any() for each in marks):
            return self._bias(_first_minus_second(marks))
        known = ", ".join(sorted({str(each) for column in authors for each in column if each is not None})[:5])
        own = ", ".join(sorted(names)) or "the judge's model"
        reason = f"no answer is by {own}; authors: {known}; own (--own) names those that are the judge's model"
        return Bias(Estimate.missing(reason), "error" if self._labelled else "score")

    def _mean_of(self, values: Array, bounds: Ends = (0.0, 1.0)) -> Estimate:
        return self._estimate(mean(values, bounds=bounds, weights=self._raters.weights))

    def _estimate(self, coefficient: Coefficient) -> Estimate:
        return coefficient.estimate(self._raters.clusters, self._inference.confidence)

    @cached_property
    def _mean(self) -> Array:
        """The mean score of the repetitions, shape (rows,): the noise of single votes is out of it."""
        return self._rater.scores if self._rater.votes is None else _mean(self._rater.votes.repeated)

    @cached_property
    def _answer_columns(self) -> Sequence[str]:
        """The columns of the judged answers: two for a judge of pairs; none where it reads no prediction."""
        mapping, rubric = self._raters.run.manifest.mapping, self._rater.rubric
        if self._answers.answer is not None:
            return [self._answers.answer]
        if rubric is None:
            return []
        roles = ("prediction",) if self._pairs is None else self._pairs.inputs
        names = [mapping[role] for role in roles if role in mapping and role in rubric.inputs]
        schema = self._raters.run.schema
        return names if len(names) == len(roles) and all(_is_text(schema.field(name).type) for name in names) else []

    @property
    def _own_names(self) -> set[str]:
        """The names by which the judge's own model goes as an author, without the provider's part and in lower case."""
        model = None if self._rater.metric is None else self._rater.metric.settings.get("model")
        names = self._answers.own or ((model,) if isinstance(model, str) else tuple(model or ()))
        return {_author_name(name) for name in names}

    @property
    def _same_task(self) -> Array:
        """A number for each row, shape (rows,): equal where the judge reads the same beside the answers."""
        rubric, mapping = self._rater.rubric, self._raters.run.manifest.mapping
        names = [] if rubric is None else [mapping[role] for role in rubric.inputs if role in mapping]
        cells = [to_python(self._raters.cells(name)) for name in names if name not in self._answer_columns]
        if not cells:  # what it read is not known, or all is one task
            return np.arange(len(self._raters.rows)) if rubric is None else np.zeros(len(self._raters.rows), np.int64)
        codes: dict[str, int] = {}
        return np.array([codes.setdefault(repr(row), len(codes)) for row in zip(*cells, strict=True)], dtype=np.int64)

    def _bias(self, x: Array) -> Bias:
        raters = self._raters
        fit = partial(slope, x, clusters=raters.clusters, confidence=self._inference.confidence)
        if self._labelled:
            return Bias(fit(self._mean - raters.mean_label, weights=raters.weights), "error")
        if self._pairs is not None:
            return Bias(fit(self._mean), "score")
        bias = fit(self._mean, groups=self._same_task)
        if bias.value is None:
            bias = replace(bias, reason=f"without labels, answers to one task are compared: {bias.reason}")
        return Bias(bias, "score")


def _mean(votes: Array) -> Array:
    """The mean of each row's votes, shape (rows,), NaN where it has none."""
    count = (~np.isnan(votes)).sum(axis=1)
    mean: Array = np.where(count > 0, np.nansum(votes, axis=1) / np.maximum(count, 1), np.nan)
    return mean


def _first_minus_second(columns: Sequence[Array]) -> Array:
    return columns[0] if len(columns) == 1 else columns[0] - columns[1]


def _author_name(name: Any) -> str:
    return str(name).rpartition("/")[2].casefold()


def _is_text(kind: pa.DataType) -> bool:
    return is_text(kind) or bool(pa.types.is_null(kind))


def _measure(column: pa.ChunkedArray, name: str) -> Array:
    """The number of characters of each answer, shape (rows,), NaN where there is none."""
    if not _is_text(column.type):
        raise ColumnError(f"answer: column {name!r} holds {column.type}; a text a row is expected")
    lengths: Array = pc.utf8_length(column.cast(pa.large_string())).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return lengths
