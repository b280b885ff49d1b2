"""One metric of one system against the first: the numbers, the verdict and a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from karat.data.json.objects import JsonObject, Printed
from karat.runs.columns.missing import MANY
from karat.runs.table.table import p_in_words, spell_value
from karat.stats.aggregate import Bounds, points
from karat.stats.corrected.value import Corrected
from karat.stats.paired.comparison import Comparison, ComparisonVerdict
from karat.stats.paired.margin import MarginTest
from karat.stats.paired.margin_size import differences_of
from karat.stats.paired.multiple import HolmTest
from karat.stats.paired.power import smallest_share, smallest_visible
from karat.stats.sequential.stop import Stop
from karat.stats.value import spell

DIFFERENT = ("better", "worse")  # the verdicts that say that two systems differ


@dataclass(frozen=True)
class Finding(JsonObject):
    """One metric of one system against the first, over all rows or over one slice of them.

    `comparison` holds the numbers. `adjusted` is its p, corrected by Holm's method for all `family` tests; `held` is
    the level that the uncorrected p is compared with. Both are None where there is no p. `bounds` are the lowest and
    the highest value that the metric can have. `joint` are the ends of the interval of the difference if those of all
    findings are to hold together with the same confidence; `low` and `high` hold each alone. `corrected` is the
    difference that people would see, estimated from their labels, and `by_people` its p by Holm's method in the family
    of such differences; None without labels. `reversals` say which of the two systems' scores fall where labels rise.
    `caution` says why the difference may come from the lengths of the answers, and what to compare instead. `stop`:
    where a judge was asked about both systems until a rule ended it, how far; interval and p then hold at all times.
    """

    metric: str
    first: str
    system: str
    slice: str | None
    comparison: Comparison
    bounds: Bounds = (None, None)
    held: float | None = None
    adjusted: float | None = None
    family: int = 1
    joint: Bounds = (None, None)
    corrected: Corrected | None = None
    by_people: HolmTest | None = None
    reversals: tuple[str, ...] = ()
    caution: str = ""
    stop: Stop | None = None

    printed: ClassVar = Printed(
        first=("metric", "system", "slice", "comparison", "verdict", "could_turn"),
        also=(
            "joint_low", "joint_high", "smallest_visible", "rows_for_margin", "verdict", "verdict_by_people",
            "could_turn", "sentence", "corrected_sentence",
        ),
        sparse=(
            "corrected", "by_people", "reversals", "caution", "stop", "rows_for_margin", "verdict_by_people",
            "corrected_sentence",
        ),
        hidden=("first", "bounds", "family", "joint"),
        inline=("comparison",),
        names={"held": "level", "adjusted": "p_adjusted"},
    )  # fmt: skip

    @property
    def known(self) -> bool:
        """Whether there is a result: both systems have scores on a common row, and both values are defined."""
        return self.comparison.scored > 0 and self.comparison.p is not None

    @property
    def verdict(self) -> ComparisonVerdict:
        """Whether the system is better or worse than the first, corrected for the number of tests.

        Where neither is shown and a margin was set: "equivalent", "no worse" or "unclear", as `margin` says.
        """
        return self.comparison.verdict(adjusted=self.adjusted)

    @property
    def verdict_by_people(self) -> ComparisonVerdict | None:
        """The same of the difference corrected by people; None where there is no such difference, or no p of it."""
        corrected, test = self.corrected, self.by_people
        if corrected is None or test is None or corrected.p is None:
            return None
        seen = replace(
            self.comparison,
            difference=corrected.value,
            low=corrected.low,
            high=corrected.high,
            p=corrected.p,
            margin=corrected.margin,
        )
        return seen.verdict(test.level)

    @property
    def decision(self) -> ComparisonVerdict:
        """The verdict by people where they have one, else by scores.

        Labels by people, where there are any, decide.
        """
        return self.verdict_by_people or self.verdict

    @property
    def margin(self) -> MarginTest | None:
        """The test within a margin that decides: by people where they have one, else by scores."""
        if self.corrected is not None and self.corrected.margin is not None:
            return self.corrected.margin
        return self.comparison.margin

    @property
    def decisive_sentence(self) -> str | None:
        """The sentence of the decision."""
        return self.sentence if self.verdict_by_people is None else self.corrected_sentence

    @property
    def could_turn(self) -> bool:
        """Whether the rows without a score in one of the two systems could change the verdict."""
        return self.comparison.could_turn(self.held)

    @property
    def joint_low(self) -> float | None:
        """The lower end of the interval that holds together with those of all findings."""
        return self.joint[0]

    @property
    def joint_high(self) -> float | None:
        """The upper end of the interval that holds together with those of all findings."""
        return self.joint[1]

    @property
    def smallest_visible(self) -> float | None:
        """The smallest difference that these rows can show, corrected for the number of tests; None if they cannot."""
        comparison = self.comparison
        if comparison.smallest_visible is None or comparison.deviation is None or self.held is None:
            return None
        if comparison.test == "mcnemar":
            apart = (comparison.wins + comparison.losses) / comparison.scored
            return smallest_share(comparison.scored, apart, power=comparison.power, level=self.held)
        error = comparison.deviation / comparison.scored**0.5
        visible = smallest_visible(error, comparison.units - 1, power=comparison.power, level=self.held)
        low, high = self.bounds
        return visible if low is None or high is None or visible <= high - low else None

    @property
    def rows_for_margin(self) -> int | None:
        """How many rows would show no worse, with the probability `power`, if the two systems do not differ.

        None without a margin, where it is shown already, and where the rows do not say how differences vary.
        """
        comparison, test = self.comparison, self.comparison.margin
        if (
            self.stop is not None
            or test is None
            or test.verdict != "unclear"
            or (differences := differences_of(comparison)) is None
        ):
            return None
        level = test.no_worse.level or test.level
        return differences.rows_within(test.margin, power=comparison.power, level=level)

    @property
    def scale(self) -> float:
        """The factor from the metric's unit to points: 100 for a metric from 0 to 1, else 1."""
        return points(self.bounds)

    @property
    def heading(self) -> str:
        """The metric, and the slice where the finding is about one."""
        return self.metric if self.slice is None else f"{self.metric}, {self.slice}"

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return "; ".join(self._clauses())

    def _clauses(self) -> Iterator[str]:
        comparison = self.comparison
        if not self.known or comparison.difference is None:
            reason = "a value is not defined" if comparison.scored else "no row is scored in both"
            yield f"nothing can be said of {self.first} and {self.system}: {reason}"
            return
        ends = comparison.difference, comparison.low, comparison.high
        claim, *within = self._claims(self.verdict, ends, self.adjusted, self.family, comparison.margin)
        if self.verdict != "unclear":
            yield from (claim, *within)
            if self.verdict in DIFFERENT and comparison.holds_zero is None:
                yield "these rows give no interval of the difference"
        elif not comparison.wins and not comparison.losses and not comparison.difference:
            yield f"{self.system} and {self.first} score the same on every row"
        else:
            yield claim
            if (
                comparison.holds_zero
                and comparison.p is not None
                and comparison.p <= comparison.level
                and comparison.difference
            ):
                yield "the test tells the systems apart, but the interval of the difference holds 0"
            elif self.family > 1 and comparison.holds_zero is False:
                joint = f"for all together it is {self._interval(*self.joint)}"
                yield f"the interval, which leaves out 0, is not corrected for the {self.family} tests: {joint}"
            yield from self._describe_visible()
        if self.verdict == "unclear":
            yield from within
        if (needed := self.rows_for_margin) is not None:
            chance = f"with a chance of {100 * comparison.power:g} % if the two do not differ"
            yield f"{needed:,} rows would show it {chance}"
        yield from self._describe_stop()
        if self.could_turn:
            missing = comparison.n - comparison.scored
            rows = f"{missing} row{'s' * (missing > 1)}"
            yield f"the {rows} without a score in {self.first} or {self.system} could turn this"
        if comparison.n - comparison.scored > MANY * comparison.n and comparison.all_low is not None:
            around = self._interval(comparison.all_low, comparison.all_high)
            yield f"whatever the scores of the rows without one, the difference of all is {around}"
        if self.caution:
            yield f"but {self.caution}"

    def _describe_visible(self) -> Iterator[str]:
        """What these rows could show, whose number was fixed beforehand."""
        if self.stop is None:
            visible = None if self.smallest_visible is None else self._size(self.smallest_visible)
            too_few = "too few rows to detect any difference"
            yield f"the smallest this data could show is {visible}" if visible else too_few

    def _describe_stop(self) -> Iterator[str]:
        """How far a judge was asked, and what interval and p then are about."""
        if self.stop is not None:
            yield f"{self.stop}; interval and p are about these {self.stop.rows:,} rows, and hold whenever one looks"

    @property
    def corrected_sentence(self) -> str | None:
        """The corrected difference in words; None where there are no labels."""
        if (corrected := self.corrected) is None:
            return None
        if corrected.value is None:
            return f"corrected by people: {corrected.in_words}"
        family = 1 if self.by_people is None else self.by_people.family
        adjusted = None if self.by_people is None else self.by_people.adjusted
        ends = corrected.value, corrected.low, corrected.high
        claims = self._claims(self.verdict_by_people, ends, adjusted, family, corrected.margin)
        return f"corrected by people, {'; '.join(claims)}; {corrected.worth_in_words}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """The finding in words, and where people labelled the corrected difference."""
        return tuple(text for text in (self.sentence, self.corrected_sentence) if text is not None)

    def _claims(
        self,
        verdict: ComparisonVerdict | None,
        ends: tuple[float, float | None, float | None],
        p: float | None,
        family: int,
        margin: MarginTest | None,
    ) -> Iterator[str]:
        """A difference in words, and what a margin shows of it; the verdict comes first.

        `ends` are the difference's value and interval, `p` is corrected for a `family` of tests.
        """
        within = "" if margin is None else self._within(margin)
        value, low, high = ends
        if verdict in DIFFERENT:
            if value < 0:
                low, high = (None if end is None else -end for end in (high, low))
            by = f"{self._size(abs(value))} {self._interval(low, high)}"
            yield f"{self.system} is {verdict} than {self.first} by {by}, {p_in_words(p, family)}"
            if margin is not None and margin.verdict == ("equivalent" if verdict == "better" else margin.verdict):
                yield within
            return
        between = f"between {self.first} and {self.system}"
        shown = f"{self._size(value)} {self._interval(low, high)}, {p_in_words(p, family)}"
        claims = f"no difference {between} could be shown ({shown})", within
        yield from filter(None, claims if verdict in (None, "unclear") else reversed(claims))

    def _within(self, test: MarginTest) -> str:
        """What a margin shows, in words."""
        held = test.equivalent if test.verdict == "equivalent" else test.no_worse
        ends = f"{100 * (1 - 2 * test.level):g} % interval of the difference {self._interval(test.low, test.high)}"
        shown, size = f"({ends}, {p_in_words(held.adjusted, held.family)})", self._size(test.margin)
        if test.verdict == "equivalent":
            return f"{self.system} and {self.first} are equivalent within {size} {shown}"
        claim = f"{self.system} is no worse than {self.first} by {size} or more"
        return f"{claim} {shown}" if test.verdict == "no worse" else f"that {claim} could not be shown {shown}"

    def _interval(self, low: float | None, high: float | None) -> str:
        return f"[{self.scaled(low)}, {self.scaled(high)}]"

    def _size(self, size: float) -> str:
        return f"{self.scaled(size)} points" if self.scale > 1 else self.scaled(size)

    def scaled(self, number: float | None, *, percent: bool = True) -> str:
        """A difference as it is written: in points where the metric is from 0 to 1, unless `percent` is False."""
        if number is None:
            return "?"
        return spell_value(number, self.scale if percent else 1) if self.scale > 1 else spell(number, ".4g")
