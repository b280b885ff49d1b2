"""The interval of people's mean over all rows, which narrows with every label, and the rule that ends the labelling."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
    "judge": "judge (--model)",
    "digest": "scores of its metrics, by their digest,",
    "seed": "seed (--seed)",
    "confidence": "confidence",
}
_DRAWS = 1  # beside the seed of the order, which says nothing of the rows that are drawn for the judge
_EARLY = 10  # rows before which nothing foretells how many it takes
MOST_FREE = 3  # metrics that narrow the interval: each of them takes labels to learn what it foretells


@dataclass(frozen=True)
class JudgeBeside:
    """A judge that is asked while people label: about each row that they label, and about others.

    `spec` and `signature`: the judge's. `ratio`: how many rows are drawn from all, by chance, for each that is
    labelled; with 0 all rows are asked before the first label. `price`: of a verdict, in USD. `known`: the verdicts
    that are there already, from 0 to 1, shape (rows,), NaN for the other rows. `ask` returns those of some rows, by
    their positions; NaN for a row without a verdict.
    """

    spec: str
    signature: str
    ratio: int
    price: float
    known: Array
    ask: Callable[[Sequence[int]], Array]

    def __str__(self) -> str:
        """About which rows it is asked, in words."""
        if self.ratio:
            return f"{self.spec} is asked about each row that you label, and {self.ratio} of all rows drawn for it"
        return f"{self.spec} is asked about the {int(np.isnan(self.known).sum()):,} rows without its verdict first"


@dataclass(frozen=True)
class LabelRule:
    """When a session of labelling ends.

    `price`: what a label costs, in USD. `free`: by spec, the scores of all rows, shape (rows,), by metrics that narrow
    the interval as far as they foretell the labels; NaN for a row without a score. `judge`: who is asked meanwhile.

    Raises `SpecError` for a cost without a price, for one that buys no label, and for more than three metrics.
    """

    until: Until
    price: float = 0.0
    free: Mapping[str, Array] = field(default_factory=dict)
    inference: Inference = field(default_factory=Inference)
    judge: JudgeBeside | None = None

    def __post_init__(self) -> None:
        step = self.step(0 if self.judge is None else self.judge.ratio)
        if self.until.cost is not None and not (self.price > 0 and step <= self.until.cost):
            problem = f"a price of a label above 0 and up to the cost of {self.until.cost:g} is expected"
            raise SpecError(f"{problem}, found {step:g}")
        if len(self.free) > MOST_FREE:
            problem = f"at most {MOST_FREE} metrics narrow an interval"
            raise SpecError(f"{problem}, found {len(self.free)}: {', '.join(self.free)}")

    def step(self, ratio: int) -> float:
        """The most that a label costs, in USD, with the verdicts that belong to it: of its row and `ratio` others."""
        return self.price + (0.0 if self.judge is None or not ratio else (ratio + 1) * self.judge.price)


@dataclass(frozen=True)
class LabelPlan:
    """What an interval follows from besides the labels: it is chosen before the first of them, and stays.

    `seed`: of the order of `rows` rows. `width`: the one at which the interval is at its best. `free`: the metrics that
    narrow it, and `digest`: of their scores, so that rows that a judge scores later do not change the interval.
    `judge`: the one that is asked meanwhile, empty without one; `ratio`: as in `JudgeBeside`.
    """

    seed: int
    rows: int
    width: float | None
    free: tuple[str, ...]
    confidence: float
    digest: str
    judge: str = ""
    ratio: int = 0

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
    labelling ended; empty before. `verdicts`: how many rows a judge was asked for these labels.
    """

    value: float
    low: float
    high: float
    finished: int
    rows: int
    more: int | None
    spent: float
    stop: str
    verdicts: int = 0

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
        >>> str(Narrowed(0.7124, 0.6412, 0.779, 84, 3_000, 130, 42.0, "", verdicts=412))[64:]
        '84 of 3,000 rows, 412 verdicts, $42.00; about 130 rows more'
        """
        value = "not known" if np.isnan(self.value) else f"{self.value:.4f}"
        ends = f"from {self.low:.4f} to {self.high:.4f} ({self.high - self.low:.4f} wide)"
        verdicts = f", {self.verdicts:,} verdict{'s' * (self.verdicts > 1)}" if self.verdicts else ""
        spent = f"{verdicts}, ${self.spent:.2f}" if self.spent else verdicts
        more = "" if self.more is None else f"; about {self.more:,} rows more"
        then = f"; {self.stop}" if self.stop else more
        return f"people's mean {value}, {ends} after {self.finished:,} of {self.rows:,} rows{spent}{then}"


class Narrowing:
    """The interval of a session: `update` it with the scores of the rows in the order in which they are labelled.

    The interval is about the mean over all rows that have or would get a label by this annotator. It is valid after
    every label, whenever one looks. A row that is labelled before its turn counts when its turn comes, and where an
    earlier label changes the interval is computed anew, so that it follows from the plan and the labels alone.

    A judge beside has scored the rows that are labelled, and for each of them `ratio` rows drawn from all, with
    replacement and by a seed of their own: `unknown` has those whose verdicts are to be asked and kept (`keep`) before
    the label. A row without a verdict counts as one in the middle.

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
        self._rule, self._order, self._bounds, self._judge = rule, np.array(order, int), bounds, rule.judge
        known = dict(rule.free) if self._judge is None else {**rule.free, self._judge.spec: self._judge.known}
        if wrong := next((spec for spec, scores in known.items() if len(scores) != len(order)), None):
            raise SpecError(f"{wrong}: scores of {len(order)} rows expected, found {len(known[wrong])}")
        confidence, digest = rule.inference.confidence, _digest(rule.free.values(), self._judge)
        judge = ("", 0) if self._judge is None else (self._judge.spec, self._judge.ratio)
        self.plan = LabelPlan(seed, len(order), rule.until.width, tuple(rule.free), confidence, digest, *judge)
        self._verdicts = np.full(len(order), np.nan) if self._judge is None else np.array(self._judge.known, float)
        self._kept = np.zeros(len(order), bool)  # rows that were asked for this interval
        self._scores: Array = np.empty(0)
        self._begin()

    def follow(self, plan: LabelPlan, where: str) -> None:
        """Follow the plan with which a journal was begun, with its width; `DataError` where it differs in more."""
        now, then = vars(self.plan), vars(plan)
        if wrong := next((name for name in _NAMES if now[name] != then[name]), None):
            actual, expected = (
                "none" if each in ((), "") else ", ".join(each) if isinstance(each, tuple) else each
                for each in (now[wrong], then[wrong])
            )
            problem = f"{where}: the interval was begun with the {_NAMES[wrong]} {expected}, now it is {actual}"
            raise DataError(f"{problem}; label with the same, or name another file (-o)")
        self.plan = plan
        self._begin()

    def unknown(self, place: int | None = None) -> list[int]:
        """The positions of the rows to ask before the label of the row at this place of the order; at None, of any."""
        if self._judge is None or (place is None) == bool(self.plan.ratio):
            return []
        wanted = self._order if place is None else np.append(self._order[place], self._draws[place])
        new = np.unique(wanted[np.isnan(self._verdicts[wanted]) & ~self._kept[wanted]])
        return [int(at) for at in new]

    def ask(self, rows: Sequence[int]) -> Array:
        """The judge's verdicts on these rows; `DataError` where all rows are to have one, and none gets it."""
        scores = np.asarray(self._judge.ask(rows), float) if self._judge is not None else np.full(len(rows), np.nan)
        if not self.plan.ratio and np.isnan(scores).all():
            problem = f"{self.plan.judge} has no verdict on any of {len(rows):,} rows"
            raise DataError(f"{problem}: raise --budget or --max-calls, if one of them ended it, or leave --model away")
        return scores

    def keep(self, rows: Sequence[int], scores: Sequence[float | None]) -> None:
        """Take the verdicts on some rows, None for a row without one; those that are there already stay."""
        new = [pair for pair in zip(rows, scores, strict=True) if not self._kept[pair[0]]]
        for at, score in new:
            self._verdicts[at], self._kept[at] = np.nan if score is None else score, True
        if new and not self.plan.ratio:
            self._begin()

    def update(self, scores: Array) -> None:
        """Take the scores of the first rows of the order, shape (m,); NaN for a row that was skipped."""
        fed = len(self._scores)
        if len(scores) < fed or not np.array_equal(scores[:fed], self._scores, equal_nan=True):
            self._begin()
            fed = 0
        self._scores = np.array(scores, float)
        further, cheap = self._scores[fed:], None
        if self._draws.size:
            verdicts = np.nan_to_num(self._verdicts, nan=0.5)
            own, drawn = self._order[fed : len(scores)], self._draws[fed : len(scores)]
            cheap = np.column_stack([verdicts[own], verdicts[drawn].mean(axis=1)])
        self._sequence.add(np.nan_to_num(further), (~np.isnan(further)).astype(float), cheap)

    def now(self, paid: int) -> Narrowed:
        """The interval; `paid` rows were labelled or skipped, also before their turn."""
        known, until, verdicts = self._sequence, self._rule.until, int(self._kept.sum())
        judging = 0.0 if self._judge is None else verdicts * self._judge.price
        rows, spent = len(self._order), round(paid * self._rule.price + judging, 9)
        left = rows - known.units
        if until.cost is not None:
            left = min(left, max(0, int((until.cost - spent) / self._rule.step(self.plan.ratio) + 1e-9)))
        met = until.met(known.width, spent if left or until.cost is None else until.cost)
        stop = describe_stop(known.units, rows, met) if met or not left else ""
        more = None if until.width is not None and known.units < _EARLY else left
        if more is not None and until.width is not None:
            more = min(left, known.rows_to(until.width))
        more = 0 if stop else more
        return Narrowed(known.value, known.low, known.high, known.units, rows, more, spent, stop, verdicts)

    def _begin(self) -> None:
        ratio, rows = self.plan.ratio, len(self._order)
        free = list(self._rule.free.values())
        if self._judge is not None and not ratio:
            free.append(self._verdicts)
        columns = np.column_stack([_fill(scores)[self._order] for scores in free]) if free else None
        population = Population(np.ones(rows), self._bounds, columns, cheap=ratio > 0)
        inference = Inference(self.plan.confidence, self._rule.inference.seed)
        self._sequence = ConfidenceSequence(population, inference, self.plan.width)
        self._scores = np.empty(0)
        random = np.random.default_rng([self.plan.seed, _DRAWS])
        self._draws = random.integers(rows, size=(rows, ratio))


def _digest(several: Iterable[Array], judge: JudgeBeside | None) -> str:
    """The same for the same scores alone, in their order, and the same verdicts of the same judge."""
    digest = sha256()
    for scores in several:
        digest.update(np.ascontiguousarray(_fill(scores), "<f8").tobytes())
    if judge is not None:
        digest.update(judge.signature.encode() + np.ascontiguousarray(judge.known, "<f8").tobytes())
    return digest.hexdigest()[:16]


def _fill(scores: Array) -> Array:
    """The scores, with their mean in the place of those that are missing."""
    there = ~np.isnan(scores)
    filled: Array = np.where(there, scores, scores[there].mean() if there.any() else 0.0)
    return filled
