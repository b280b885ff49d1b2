"""The interval of people's mean over all rows, which narrows with every label, and the rule that ends the labelling."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import DataError, SpecError
from karat.stats.inference import Inference
from karat.stats.sequential.population import Population
from karat.stats.sequential.sequence import ConfidenceSequence
from karat.stats.sequential.until import Until, describe_stop

_NAMES = {
    "rows": "number of rows",
    "free": "metrics (-m)",
    "digest": "scores of its metrics, by their digest,",
    "seed": "seed (--seed)",
    "confidence": "confidence",
}
_EARLY = 10  # rows before which nothing foretells how many it takes
MOST_FREE = 3  # metrics that narrow the interval: each of them takes labels to learn what it foretells


@dataclass(frozen=True)
class LabelRule:
    """When a session of labelling ends.

    `price`: what a label costs, in USD. `free`: by spec, the scores of all rows, shape (rows,), by metrics that narrow
    the interval as far as they foretell the labels; NaN for a row without a score.

    Raises `SpecError` for a cost without a price, for one that buys no label, and for more than three metrics.
    """

    until: Until
    price: float = 0.0
    free: Mapping[str, Array] = field(default_factory=dict)
    inference: Inference = field(default_factory=Inference)

    def __post_init__(self) -> None:
        if self.until.cost is not None and not 0 < self.price <= self.until.cost:
            problem = f"a price of a label above 0 and up to the cost of {self.until.cost:g} is expected"
            raise SpecError(f"{problem}, found {self.price:g}")
        if len(self.free) > MOST_FREE:
            problem = f"at most {MOST_FREE} metrics narrow an interval"
            raise SpecError(f"{problem}, found {len(self.free)}: {', '.join(self.free)}")


@dataclass(frozen=True)
class LabelPlan:
    """What an interval follows from besides the labels: it is chosen before the first of them, and stays.

    `seed`: of the order of `rows` rows. `width`: the one at which the interval is at its best. `free`: the metrics that
    narrow it, and `digest`: of their scores, so that rows that a judge scores later do not change the interval.
    """

    seed: int
    rows: int
    width: float | None
    free: tuple[str, ...]
    confidence: float
    digest: str

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> LabelPlan:
        """The plan in a line of a journal; `DataError` for anything else."""
        try:
            return cls(**{**content, "free": tuple(content["free"])})
        except (KeyError, TypeError):
            raise DataError(f"expected the plan of an interval, as karat label writes it, found {content!r}") from None


@dataclass(frozen=True)
class Narrowed:
    """The interval after some labels.

    `finished` of all `rows`, in their order, are labelled or skipped; NaN is the value before any label. `more`: about
    how many further rows the rule takes; None before the first ten show it. `spent`: USD. `stop`: the sentence on how
    labelling ended; empty before.
    """

    value: float
    low: float
    high: float
    finished: int
    rows: int
    more: int | None
    spent: float
    stop: str

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON values; no value is null."""
        return asdict(self) | {"value": None if np.isnan(self.value) else self.value}

    @property
    def ended(self) -> str:
        """How labelling ended, for whoever reads the labels.

        >>> stop = describe_stop(84, 3_000, "width 0.14")
        >>> print(Narrowed(0.7124, 0.6412, 0.779, 84, 3_000, 0, 42.0, stop).ended)
        stopped at 84 of 3,000 rows, by its rule (width 0.14): mean 0.7124, from 0.6412 to 0.7790 at any time of looking
        """
        value = "not known" if np.isnan(self.value) else f"{self.value:.4f}"
        return f"{self.stop}: mean {value}, from {self.low:.4f} to {self.high:.4f} at any time of looking"

    def __str__(self) -> str:
        """The interval in one line.

        >>> print(Narrowed(0.7124, 0.6412, 0.779, 84, 3_000, 130, 42.0, ""))
        people's mean 0.7124, from 0.6412 to 0.7790 (0.1378 wide) after 84 of 3,000 rows, $42.00; about 130 rows more
        """
        value = "not known" if np.isnan(self.value) else f"{self.value:.4f}"
        ends = f"from {self.low:.4f} to {self.high:.4f} ({self.high - self.low:.4f} wide)"
        spent = f", ${self.spent:.2f}" if self.spent else ""
        more = "" if self.more is None else f"; about {self.more:,} rows more"
        then = f"; {self.stop}" if self.stop else more
        return f"people's mean {value}, {ends} after {self.finished:,} of {self.rows:,} rows{spent}{then}"


class Narrowing:
    """The interval of a session: `update` it with the scores of the rows in the order in which they are labelled.

    The interval is about the mean over all rows that have or would get a label by this annotator. It is valid after
    every label, whenever one looks. A row that is labelled before its turn counts when its turn comes, and where an
    earlier label changes the interval is computed anew, so that it follows from the plan and the labels alone.

    Raises `SpecError` for labels with one score alone.

    >>> rule = LabelRule(Until(width=0.2))
    >>> narrowing = Narrowing(rule, range(400), (0.0, 1.0), 0)
    >>> narrowing.update(np.tile([1.0, 0.0, 1.0], 50)); narrowing.now(150).stop
    'stopped at 150 of 400 rows, by its rule (width 0.2)'
    """

    def __init__(self, rule: LabelRule, order: Sequence[int], scores: Collection[float], seed: int) -> None:
        bounds = min(scores), max(scores)
        if bounds[0] == bounds[1]:
            raise SpecError(f"the mean of labels that all score {bounds[0]:g} is known: labels of two scores expected")
        confidence, digest = rule.inference.confidence, _digest(rule.free.values())
        self.plan = LabelPlan(seed, len(order), rule.until.width, tuple(rule.free), confidence, digest)
        self._rule = rule
        if wrong := next((spec for spec, scores in rule.free.items() if len(scores) != len(order)), None):
            raise SpecError(f"{wrong}: scores of {len(order)} rows expected, found {len(rule.free[wrong])}")
        free = None if not rule.free else np.column_stack([_fill(rule.free[spec])[list(order)] for spec in rule.free])
        self._population = Population(np.ones(len(order)), bounds, free)
        self._scores = np.empty(0)
        self._begin()

    def follow(self, plan: LabelPlan, where: str) -> None:
        """Follow the plan with which a journal was begun, with its width; `DataError` where it differs in more."""
        now, then = vars(self.plan), vars(plan)
        if wrong := next((name for name in _NAMES if now[name] != then[name]), None):
            found, expected = (
                ", ".join(each) or "none" if isinstance(each, tuple) else each for each in (now[wrong], then[wrong])
            )
            problem = f"{where}: the interval was begun with the {_NAMES[wrong]} {expected}, now it is {found}"
            raise DataError(f"{problem}; label with the same, or name another file (-o)")
        self.plan = plan
        self._begin()

    def update(self, scores: Array) -> None:
        """Take the scores of the first rows of the order, shape (m,); NaN for a row that was skipped."""
        fed = len(self._scores)
        if len(scores) < fed or not np.array_equal(scores[:fed], self._scores, equal_nan=True):
            self._begin()
            fed = 0
        self._scores = np.array(scores, float)
        further = self._scores[fed:]
        self._sequence.add(np.nan_to_num(further), (~np.isnan(further)).astype(float))

    def now(self, paid: int) -> Narrowed:
        """The interval; `paid` rows were labelled or skipped, also before their turn."""
        known, until, price = self._sequence, self._rule.until, self._rule.price
        rows, spent = len(self._population), round(paid * price, 9)
        left = rows - known.units
        if until.cost is not None:
            left = min(left, max(0, int((until.cost - spent) / price + 1e-9)))
        met = until.met(known.width, spent if left or until.cost is None else until.cost)
        stop = describe_stop(known.units, rows, met) if met or not left else ""
        more = None if until.width is not None and known.units < _EARLY else left
        if more is not None and until.width is not None:
            more = min(left, known.rows_to(until.width))
        more = 0 if stop else more
        return Narrowed(known.value, known.low, known.high, known.units, rows, more, spent, stop)

    def _begin(self) -> None:
        inference = Inference(self.plan.confidence, self._rule.inference.seed)
        self._sequence = ConfidenceSequence(self._population, inference, self.plan.width)
        self._scores = np.empty(0)


def _digest(several: Iterable[Array]) -> str:
    """The same for the same scores alone, in their order."""
    digest = sha256()
    for scores in several:
        digest.update(np.ascontiguousarray(_fill(scores), "<f8").tobytes())
    return digest.hexdigest()[:16]


def _fill(scores: Array) -> Array:
    """The scores, with their mean in the place of those that are missing."""
    there = ~np.isnan(scores)
    filled: Array = np.where(there, scores, scores[there].mean() if there.any() else 0.0)
    return filled
