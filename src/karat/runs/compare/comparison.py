"""The result of a comparison of systems: for each metric and slice the numbers, the verdict and a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from karat.core.metric.spec import parse
from karat.runs.compare.flips import Flip
from karat.runs.display.figure import draw
from karat.runs.display.forest import Forest, Line, corrected_line
from karat.runs.display.frame import corrected_columns, make_frame
from karat.runs.display.notebook import show_forests
from karat.stats.aggregate import Bounds
from karat.stats.paired.comparison import Comparison, Verdict
from karat.stats.paired.multiple import holm, holm_levels
from karat.stats.power import smallest_share, smallest_visible
from karat.stats.value import format_value

if TYPE_CHECKING:
    from karat.stats.corrected.corrected import Corrected


@dataclass(frozen=True)
class Finding:
    """One metric of one system against the first, over all rows or over one slice of them.

    `comparison` holds the numbers. `adjusted` is its p, corrected by Holm's method for all `family` tests; `held` is
    the level that the uncorrected p is compared with. Both are None where there is no p. `bounds` are the lowest and
    the highest value that the metric can have. `corrected` is the difference that people would see, estimated from
    their labels; None where there are no labels.
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
    corrected: Corrected | None = None

    @property
    def known(self) -> bool:
        """Whether there is a result: both systems have scores on a common row, and both values are defined."""
        return self.comparison.scored > 0 and self.comparison.p is not None

    @property
    def verdict(self) -> Verdict:
        """Whether the system is better or worse than the first, corrected for the number of tests."""
        return self.comparison.verdict(self.held)

    @property
    def could_turn(self) -> bool:
        """Whether the rows without a score in one of the two systems could change the verdict."""
        return self.comparison.could_turn(self.held)

    @property
    def smallest_visible(self) -> float | None:
        """The smallest difference that these rows can show, corrected for the number of tests; None if they cannot."""
        found = self.comparison
        if found.smallest_visible is None or found.deviation is None or self.held is None:
            return None
        if found.test == "mcnemar":
            apart = (found.wins + found.losses) / found.scored
            return smallest_share(found.scored, apart, power=found.power, level=self.held)
        error = found.deviation / found.scored**0.5
        visible = smallest_visible(error, found.units - 1, power=found.power, level=self.held)
        low, high = self.bounds
        return visible if low is None or high is None or visible <= high - low else None

    @property
    def scale(self) -> float:
        """The factor from the metric's unit to points: 100 for a metric from 0 to 1, else 1."""
        return 100.0 if self.bounds == (0, 1) else 1.0

    @property
    def heading(self) -> str:
        """The metric, and the slice where the finding is about one."""
        return self.metric if self.slice is None else f"{self.metric}, {self.slice}"

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return "; ".join(self._clauses())

    def _clauses(self) -> Iterator[str]:
        found = self.comparison
        if not self.known or found.difference is None:
            reason = "a value is not defined" if found.scored else "no row is scored in both"
            yield f"nothing can be said: {reason}"
            return
        low, high = found.low, found.high
        if self.verdict != "unclear":
            if found.difference < 0:
                low, high = (None if end is None else -end for end in (high, low))
            by = f"{self._size(abs(found.difference))} {self._interval(low, high)}"
            yield f"{self.system} is {self.verdict} than {self.first} by {by}, {self._p_value()}"
        elif not found.wins and not found.losses:
            yield f"{self.system} and {self.first} score the same on every row"
        else:
            shown = f"{self._size(found.difference)} {self._interval(low, high)}, {self._p_value()}"
            yield f"no difference could be shown ({shown})"
            visible = None if self.smallest_visible is None else self._size(self.smallest_visible)
            yield f"the smallest this data could show is {visible}" if visible else "this data could show none"
        if self.could_turn:
            missing = found.n - found.scored
            rows = f"{missing} row{'s' * (missing > 1)}"
            yield f"the {rows} without a score in {self.first} or {self.system} could turn this"

    @property
    def corrected_sentence(self) -> str | None:
        """The corrected difference in words; None where there are no labels."""
        if (found := self.corrected) is None:
            return None
        if found.value is None:
            return f"corrected by people: {found.in_words}"
        shown = f"{self._size(found.value)} {self._interval(found.low, found.high)}"
        if self.family > 1:
            shown += f" (not corrected for the {self.family} tests)"
        return f"corrected by people, {self.system} minus {self.first} is {shown}; {found.worth_in_words}"

    def _p_value(self) -> str:
        p = self.adjusted
        if p is None:
            return "p is not known"
        shown = "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}" if p < 0.995 else "p = 1"
        return f"{shown} after Holm over {self.family}" if self.family > 1 else shown

    def _interval(self, low: float | None, high: float | None) -> str:
        return f"[{self._scaled(low)}, {self._scaled(high)}]"

    def _size(self, size: float) -> str:
        return f"{self._scaled(size)} points" if self.scale > 1 else self._scaled(size)

    def _scaled(self, number: float | None) -> str:
        if number is None:
            return "?"
        return f"{number * self.scale:.1f}" if self.scale > 1 else f"{number:.4g}"

    def lines(self, *, several: bool) -> Iterator[Line]:
        """The line of a forest plot, and one of the difference corrected by people; `several`: it names the system."""
        found = self.comparison
        of = f" · {self.system}" if several else ""
        label, part = (f"{self.metric}{of}", False) if self.slice is None else (self.slice, True)
        counts = f"{found.wins} / {found.losses} / {found.ties}"
        cells = (
            format_value(found.a),
            format_value(found.b),
            *self._difference(found),
            _spell_p(self.adjusted),
            counts,
        )
        reach = (found.least, found.most) if found.scored < found.n else (None, None)
        yield Line(label, found.difference, found.low, found.high, cells, self.verdict, reach, part)
        if (corrected := self.corrected) is not None and corrected.value is not None:
            yield corrected_line(corrected, ("", "", *self._difference(corrected), "", ""))

    def _difference(self, found: Comparison | Corrected) -> tuple[str, str]:
        """A difference with its sign, and its interval."""
        value = found.difference if isinstance(found, Comparison) else found.value
        sign = "+" if value is not None and value > 0 else ""
        return f"{sign}{self._scaled(value)}", f"{self._scaled(found.low)} – {self._scaled(found.high)}"

    def as_dict(self) -> dict[str, Any]:
        """The finding for JSON; `level` is the level that its p is compared with."""
        return {
            "metric": self.metric,
            "system": self.system,
            "slice": self.slice,
            **self.comparison.as_dict(),
            "p_adjusted": self.adjusted,
            "level": self.held,
            "smallest_visible": self.smallest_visible,
            "verdict": self.verdict,
            "could_turn": self.could_turn,
            "sentence": self.sentence,
            **({} if self.corrected is None else {"corrected": self.corrected.as_dict()}),
        }


@dataclass(frozen=True, repr=False)
class Compared:
    """Systems compared on the same rows, each against the first.

    `findings`: ordered by metric, then system, then slice. `by`: the column that matches the rows of the systems, or
    "order". `notes`: remarks for the reader. `flipped`: the rows on which the systems differ most, if requested.
    """

    systems: tuple[str, ...]
    n: int
    by: str
    findings: tuple[Finding, ...]
    flipped: tuple[Flip, ...]
    notes: tuple[str, ...]
    confidence: float

    @property
    def worse(self) -> tuple[Finding, ...]:
        """The findings in which a system is worse than the first."""
        return tuple(each for each in self.findings if each.verdict == "worse")

    def as_dict(self) -> dict[str, Any]:
        """The comparison for JSON: what `karat compare --json` prints."""
        return {
            "systems": list(self.systems),
            "n": self.n,
            "aligned_by": self.by,
            "confidence": self.confidence,
            "family": self.findings[0].family,
            "notes": list(self.notes),
            "findings": [each.as_dict() for each in self.findings],
            "flipped": [each.as_dict() for each in self.flipped],
        }

    def to_frame(self) -> Any:
        """The findings as a pandas frame, a row each, with the columns of `as_dict`.

        With people's labels also `corrected`, `corrected_low`, `corrected_high` and `labelled`. Raises `MissingExtra`
        without pandas.
        """
        rows = [each.as_dict() | corrected_columns(each.corrected) for each in self.findings]
        return make_frame(rows, "Compared.to_frame")

    def plot(self, *metrics: str, ax: Any = None) -> Any:
        """The differences with their intervals as a forest plot of matplotlib: returns its `Axes`.

        `metrics`: the specs of those to draw, by default all, which must then have the same unit. `ax`: the `Axes` to
        draw on. Raises `SpecError` for metrics of different units, `MissingExtra` without matplotlib.
        """
        forests, first = self.forests(metrics), self.systems[0]
        other = self.systems[1] if len(self.systems) == 2 else "system"
        unit = " (points)" if forests and forests[0].factor > 1 else ""
        return draw(forests, f"{other} minus {first}{unit}, {100 * self.confidence:g} % interval", ax, "Compared.plot")

    def forests(self, metrics: Sequence[str] = ()) -> list[Forest]:
        """The differences as forest plots: one of all metrics in points, one of each other metric."""
        several, chosen = len(self.systems) > 2, {parse(spec).spec for spec in metrics}
        grouped = dict[Any, list[Finding]]()
        for finding in self.findings:
            if not chosen or finding.metric in chosen:
                grouped.setdefault("points" if finding.scale > 1 else finding.metric, []).append(finding)
        others = ("first", "system") if several else self.systems
        interval = f"{100 * self.confidence:g} % interval"
        forests = []
        for unit, findings in grouped.items():
            difference = "points" if unit == "points" else "difference"
            headings = ("metric", "", *others, difference, interval, "p, Holm", "won / lost / tied")
            lines = tuple(line for finding in findings for line in finding.lines(several=several))
            forests.append(Forest(headings, lines, difference=True, factor=findings[0].scale))
        return forests

    def _repr_html_(self) -> str:
        sentences = [f"{each.heading}: {each.sentence}" for each in self.findings if each.slice is None]
        heading = f"{' and '.join(self.systems)}: {self.n} rows, matched by {self.by}"
        return show_forests(heading, self.forests(), [*sentences, *self.notes])

    def __repr__(self) -> str:
        lines = (f"  {each.heading}: {each.sentence}" for each in self.findings)
        return "\n".join([f"<karat.Compared of {', '.join(self.systems)} on {self.n} rows", *lines]) + ">"


def _spell_p(p: float | None) -> str:
    return "?" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def apply_holm(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings as one family of tests, each with its corrected p and its level by Holm's method.

    >>> import numpy as np
    >>> from karat.stats.aggregate import Scale
    >>> from karat.stats.paired.compare import compare
    >>> found = [compare(np.zeros((8, 1)), scores, Scale()) for scores in (np.ones((8, 1)), np.eye(8)[:, :1])]
    >>> [round(each.adjusted, 6) for each in apply_holm([Finding("em", "a", "b", None, one) for one in found])]
    [0.015625, 1.0]
    """
    ps = [each.comparison.p for each in findings]
    levels = holm_levels(ps, findings[0].comparison.level)
    # the first p above its level ends Holm's procedure: no larger p is significant, whatever its own level
    above = [level for p, level in zip(ps, levels, strict=True) if p is not None and level is not None and p > level]
    held = [None if level is None else min([level, *above]) for level in levels]
    family = sum(p is not None for p in ps)
    corrected = zip(findings, held, holm(ps), strict=True)
    return tuple(replace(each, held=level, adjusted=p, family=family) for each, level, p in corrected)
