"""What a comparison of systems gives: for each metric and slice the numbers, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from karat.runs.compare.flips import Flip
from karat.runs.compare.wording import say
from karat.stats.interval import Bounds
from karat.stats.multiple import holm, holm_levels
from karat.stats.paired.comparison import Comparison, Verdict
from karat.stats.power import smallest_share, smallest_visible


@dataclass(frozen=True)
class Finding:
    """One metric of one system against the first, over all rows or one slice of them.

    `comparison` has the numbers. `adjusted` is its p with all `family` tests counted (Holm), `held` the level that the
    p itself is held against; both are None where there is no p. `bounds` are the least and the greatest value of the
    metric.
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

    @property
    def known(self) -> bool:
        """Whether anything is: a row that both have a score for, and values."""
        return self.comparison.scored > 0 and self.comparison.p is not None

    @property
    def verdict(self) -> Verdict:
        """Whether the system is better or worse than the first, the other tests counted."""
        return self.comparison.verdict(self.held)

    @property
    def could_turn(self) -> bool:
        """Whether the rows that one of the two has no score for could have led to another verdict."""
        return self.comparison.could_turn(self.held)

    @property
    def smallest_visible(self) -> float | None:
        """The smallest difference these rows would have shown, the other tests counted; None where they show none."""
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
        """What makes a difference points: 100 where the metric goes from 0 to 1."""
        return 100.0 if self.bounds == (0, 1) else 1.0

    @property
    def heading(self) -> str:
        """What the finding is about: the metric, and the slice where it is of one."""
        return self.metric if self.slice is None else f"{self.metric}, {self.slice}"

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        return say(self)

    def as_dict(self) -> dict[str, Any]:
        """The finding as JSON holds it; `level` is the one its p is held against."""
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
        }


@dataclass(frozen=True, repr=False)
class Compared:
    """Systems compared on the same rows, each against the first.

    `findings`: by metric, then system, then slice. `by`: the column by which rows belong together, or "order". `notes`:
    what else a reader should know. `flipped`: rows on which the systems differ most, where they were asked for.
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
        """The findings by which a system is worse than the first."""
        return tuple(each for each in self.findings if each.verdict == "worse")

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON holds it: what `karat compare --json` prints."""
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

    def __repr__(self) -> str:
        lines = (f"  {each.heading}: {each.sentence}" for each in self.findings)
        return "\n".join([f"<karat.Compared of {', '.join(self.systems)} on {self.n} rows", *lines]) + ">"


def count_family(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings as one family of tests, each with the level that Holm's method holds it against.

    >>> import numpy as np
    >>> from karat.stats.paired.paired import compare
    >>> found = [compare(np.zeros((8, 1)), scores, bounds=(0, 1)) for scores in (np.ones((8, 1)), np.eye(8)[:, :1])]
    >>> [round(each.adjusted, 6) for each in count_family([Finding("em", "a", "b", None, one) for one in found])]
    [0.015625, 1.0]
    """
    ps = [each.comparison.p for each in findings]
    levels = holm_levels(ps, findings[0].comparison.level)
    # from the first p above its level on, none is significant, whatever its own level
    above = [level for p, level in zip(ps, levels, strict=True) if p is not None and level is not None and p > level]
    held = [None if level is None else min([level, *above]) for level in levels]
    family = sum(p is not None for p in ps)
    return tuple(
        replace(each, held=level, adjusted=p, family=family)
        for each, level, p in zip(findings, held, holm(ps), strict=True)
    )
