"""Which row a judge asks next: the rows of a table in a random order, until a rule says that enough is known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.core.metric.rows import LEFT_OUT, NOT_ASKED, Rows
from karat.core.progress import report_narrowing
from karat.judges.votes import Vote
from karat.models.governor.governor import Governor
from karat.stats.sequential.drift import LEVEL, find_drift
from karat.stats.sequential.sequence import ConfidenceSequence
from karat.stats.sequential.stop import Stop
from karat.stats.sequential.until import Until

AHEAD = 2


@dataclass(frozen=True)
class AskingOrder:
    """The order of the rows of a table: `rows`, shape (n,), are their numbers; those of one unit follow each other.

    `starts`, shape (units + 1,): where each unit begins in them. The seed decides, and nothing else.

    >>> AskingOrder.draw(np.array([7, 7, 9, 8], np.uint64), seed=1).rows.tolist()
    [0, 1, 3, 2]
    """

    rows: Array
    starts: Array
    seed: int

    @classmethod
    def draw(cls, keys: Array, seed: int) -> AskingOrder:
        """A random order of the units, by the key of each row's unit: shape (rows,), uint64."""
        units, unit_of = np.unique(keys, return_inverse=True)
        place = np.random.default_rng(seed).permutation(len(units))[unit_of]
        sizes = np.bincount(place, minlength=len(units))
        return cls(np.argsort(place, kind="stable"), np.concatenate([[0], np.cumsum(sizes)]), seed)

    @property
    def sizes(self) -> Array:
        """The rows of each unit, shape (units,)."""
        return np.diff(self.starts)

    @property
    def paired(self) -> AskingOrder:
        """The same order of rows that each have two answers: those of row i are 2·i and 2·i + 1."""
        return AskingOrder((2 * self.rows[:, None] + np.arange(2)).ravel(), 2 * self.starts, self.seed)

    def add_units(self, sequence: ConfidenceSequence, scores: Array, rows: int) -> None:
        """Add to a sequence the units of the first `rows` in this order; `scores`, shape (n,), NaN for none."""
        starts = self.starts[: np.searchsorted(self.starts, rows)]
        known = scores[self.rows[:rows]]
        if len(starts):
            counts = np.add.reduceat(np.isfinite(known).astype(float), starts)
            sequence.add(np.add.reduceat(np.nan_to_num(known), starts), counts)

    def add_up(self, values: Array) -> Array:
        """The sums over the units, shape (units, k), of values of the rows of the table: shape (n, k)."""
        return np.add.reduceat(values[self.rows], self.starts[:-1], axis=0)


@dataclass
class RowAgenda:
    """The agenda of one judge: its rows in an order, and the interval of what it has answered so far.

    `reached`: which rows of the table reach the judge, shape (rows,), bool; others have no score, when their turn
    comes. The interval takes the answers in the order of the rows, whatever the order in which they come. So the rows
    that count, and the interval, follow from the order and the answers alone, however many calls are made at a time;
    the answers that come after the rule was met do not count, but stay in the cache of replies. Where an answer is
    late, at most `AHEAD` times as many rows as calls are made at a time are asked ahead of it.

    `spent()` is the money so far, in USD; `name` is the judge's, for the line of progress. `paired`: two rows of the
    order that follow each other are the answers of two systems to one row of a table, and what counts is the second's
    score minus the first's.
    """

    until: Until
    order: AskingOrder
    sequence: ConfidenceSequence
    reached: Array
    governor: Governor
    spent: Callable[[], float]
    name: str = ""
    paired: bool = False
    ended: bool = False
    met: str = ""
    capped: str = ""
    _next: int = 0  # place in the order
    _counted: int = 0  # units that are in the interval
    _running: int = 0  # rows
    _finished: int = 0
    _closed: bool = False  # no further row is taken
    _known: bool = False  # the width is met
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)
    _scores: Array = field(init=False)
    _heard: Array = field(init=False)
    _places: Array = field(init=False)  # of the judge's rows, in the order

    def __post_init__(self) -> None:
        rows = len(self.order.rows)
        self._scores, self._heard = np.full(rows, np.nan), np.zeros(rows, bool)
        place = np.empty(rows, np.int64)
        place[self.order.rows] = np.arange(rows)
        self._places = place[self.reached]
        self._numbers = np.cumsum(self.reached) - 1
        self._start = self.spent()

    def __iter__(self) -> Iterator[int]:
        while self._skip_unreached() and self._may_start():
            row = self.order.rows[self._next]
            self._next += 1
            self._running += 1
            yield int(self._numbers[row])

    async def turn(self, number: int) -> None:
        """Wait until a row is not too far ahead of those that are counted."""
        place = self._places[number]
        while not (self._closed or place < self._last_ahead()):
            self._waiting.append(asyncio.get_running_loop().create_future())
            await self._waiting[-1]

    def add(self, number: int, vote: Vote) -> None:
        """Hear the vote on a row."""
        self._running -= 1
        self._finished += 1
        if vote.error is not None and NOT_ASKED in vote.error:
            self.capped, self._closed = vote.error, True
            self._wake()
            return
        self._check_cost(vote)
        self._hear(int(self._places[number]), np.nan if vote.score is None else vote.score)
        if self.until.cost is not None and not self.ended and self.spent() >= self.until.cost:
            self.met, self.ended = self.until.met(np.inf, self.spent()), True
        report_narrowing(self.progress, (self.sequence.asked + self.more) * self._answers)

    def why_left_out(self, number: int) -> str:
        """Why the vote on a row does not count; empty where it does."""
        if self.capped:
            return "" if self._heard[self._places[number]] else self.capped
        return "" if self._places[number] < self.rows_counted else self.reason

    def close(self) -> None:
        """Count what was heard at last, where rows at the end do not reach the judge."""
        if not (self.ended or self._closed):
            self._skip_unreached()
        if self._closed and not self.ended and not self.capped:
            self.met = self.until.met(np.inf, np.inf)

    @property
    def reason(self) -> str:
        """Of rows that were left out."""
        return f"{LEFT_OUT} ({self.met}) was met before"

    @property
    def more(self) -> int:
        """About how many further rows the rule takes."""
        rows = self.sequence.rows - self.sequence.asked
        if self.until.decisions:
            rows = min(rows, self.sequence.rows_to_decide(self.until.decisions))
        if self.until.width is not None:
            rows = min(rows, self.sequence.rows_to(self.until.width))
        spent = self.spent()
        if self.until.cost is not None and spent > self._start:
            rows = min(rows, int((self.until.cost - spent) * self._finished / (spent - self._start) / self._answers))
        return max(0, rows)

    @property
    def progress(self) -> str:
        """How narrow the interval is, in words."""
        value, number, rows = self.sequence.value, self.sequence.asked, self.sequence.rows
        shown = "no score" if np.isnan(value) else f"{value:.4f} ± {self.sequence.width / 2:.4f}"
        return f"{self.name} {shown}, {number:,} of {rows:,} rows, about {self.more:,} more"

    @property
    def rows_counted(self) -> int:
        """The rows of the order that are in the interval."""
        return int(self.order.starts[self._counted])

    @property
    def left_out(self) -> Array:
        """The numbers of the rows of the table that are not in the interval."""
        return self.order.rows[self.rows_counted :]

    def leave_out(self, rows: Rows) -> Rows:
        """The rows; those that are not in the interval have no score, and this as their reason."""
        left_out = self.left_out
        if not len(left_out):
            return rows
        statistics, reasons = rows.statistics.copy(), rows.reasons
        reasons = np.full(len(statistics), None, dtype=object) if reasons is None else reasons.copy()
        statistics[left_out], reasons[left_out] = np.nan, self.reason
        return replace(rows, statistics=statistics, reasons=reasons)

    @property
    def stop(self) -> Stop:
        """How it ended."""
        number, rows = self.sequence.asked, self.sequence.rows
        rule = self.until.width, self.until.cost, bool(self.until.decisions)
        return Stop(
            number,
            rows,
            self.order.seed,
            self.met if number < rows else "",
            *rule,
            paired=self.paired,
            drift=self._drift,
        )

    @property
    def _drift(self) -> str:
        """How scores changed from the first half of asking to the second; empty where chance explains it."""
        starts = self.order.starts[: self._counted + 1]
        scores = self._scores[: starts[-1]]
        known = np.isfinite(scores)
        sums, counts = (
            np.add.reduceat(np.append(each, 0), starts[:-1]) for each in (np.where(known, scores, 0), known)
        )
        drift = find_drift(sums[counts > 0] / counts[counts > 0]) if len(starts) > 1 else None
        return drift.in_words if drift is not None and drift.p < LEVEL else ""

    @property
    def scores(self) -> Array:
        """The scores in the order, shape (rows,): NaN where there is none."""
        return self._scores

    @property
    def _answers(self) -> int:
        """The answers to a row, about each of which a judge is asked."""
        return 2 if self.paired else 1

    def _skip_unreached(self) -> bool:
        """Pass the rows that do not reach the judge, and whether one that does comes next."""
        rows = self.order.rows
        while self._next < len(rows) and not self.ended and not self.reached[rows[self._next]]:
            self._next += 1
            self._hear(self._next - 1, np.nan)
        return self._next < len(rows) and not self.ended

    def _may_start(self) -> bool:
        """Whether the money allows another row, beside those that are in progress, at what a row has cost so far."""
        if self.until.cost is not None and self._finished:
            each = (self.spent() - self._start) / self._finished
            self._closed = self._closed or self.spent() + (self._running + 1) * each > self.until.cost * (1 + 1e-9)
        return not self._closed

    def _hear(self, place: int, score: float) -> None:
        self._scores[place], self._heard[place] = score, True
        starts, units = self.order.starts, len(self.order.starts) - 1
        while self._counted < units and not (self._known or self.capped):
            part = slice(starts[self._counted], starts[self._counted + 1])
            if not self._heard[part].all():
                return
            scores = self._scores[part]
            scores = scores[1::2] - scores[::2] if self.paired else scores
            self.sequence.add(np.nansum(scores, keepdims=True), np.isfinite(scores).sum(keepdims=True))
            self._counted += 1
            if met := self.until.met(self.sequence.width, decision=self.sequence.decision):
                self.met, self.ended, self._known = met, True, True
            self._wake()

    def _last_ahead(self) -> int:
        """The place behind the last row that may be asked now: at least the whole unit that is counted next."""
        whole = self.order.starts[min(self._counted + 1, len(self.order.starts) - 1)]
        return max(int(whole), self.rows_counted + AHEAD * self.governor.limits.most)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)

    def _check_cost(self, vote: Vote) -> None:
        """Raise `SpecError` where a rule is about money, and nothing says what an answer costs."""
        unknown = self.governor.limits.price is None and vote.cost is None and vote.score is not None
        if self.until.cost is not None and unknown:
            problem = "the endpoint does not report what a call costs"
            price = "the USD per million tokens in and out, --price IN,OUT (in Python, Governor(price=(IN, OUT)))"
            raise SpecError(f"{problem}: a rule about the cost needs {price}")
