"""The rule by which asking stops, and the sentence that says how far it came."""

from __future__ import annotations

import math
from dataclasses import dataclass

from karat.core.errors import SpecError

DECIDED = ("better", "worse", "equivalent")  # the verdicts on two systems than which nothing stronger can be shown


@dataclass(frozen=True)
class Until:
    """When asking stops: at this `width` of the interval, from end to end, or once this `cost` in USD is spent.

    `decided`: once two systems that are compared are shown to differ, or to be equivalent within a margin; `no_worse`:
    also once the second is shown to be no worse by the margin. With several, whichever comes first; after the last row
    in any case. Raises `SpecError` for none, and for a number that is not above 0.

    >>> until = Until(width=0.06, cost=20)
    >>> until.met(width=0.07, spent=12.0), until.met(width=0.0599, spent=12.0), until.met(width=0.07, spent=20.0)
    ('', 'width 0.06', 'cost $20')
    >>> Until(decided=True).met(0.2, decision="no worse"), Until(decided=True).met(0.1, decision="better")
    ('', 'decided: better')
    """

    width: float | None = None
    cost: float | None = None
    decided: bool = False
    no_worse: bool = False

    def __post_init__(self) -> None:
        for name, value in {"width": self.width, "cost": self.cost}.items():
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise SpecError(f"{name}={value!r}: expected a number above 0")
        if self.width is None and self.cost is None and not self.decisions:
            raise SpecError("expected a width, a cost or a decision at which asking stops")

    @property
    def decisions(self) -> tuple[str, ...]:
        """The verdicts on two systems that end it."""
        return (*DECIDED, "no worse") if self.no_worse else DECIDED if self.decided else ()

    def met(self, width: float, spent: float = 0.0, decision: str = "") -> str:
        """The part of the rule that a width, a decision or money spent has met, in words; empty where asking goes on.

        `decision`: a verdict on two systems that are compared.
        """
        if decision in self.decisions:
            return f"decided: {decision}"
        if self.width is not None and width <= self.width:
            return f"width {self.width:g}"
        if self.cost is not None and spent >= self.cost * (1 - 1e-9):
            return f"cost ${self.cost:g}"
        return ""


def describe_stop(number: int, rows: int, met: str) -> str:
    """The sentence on asking that ended after `asked` of `rows`; `met` is what `Until.met` says.

    >>> describe_stop(212, 3_000, "width 0.06")
    'stopped at 212 of 3,000 rows, by its rule (width 0.06)'
    >>> describe_stop(3_000, 3_000, "")
    'stopped at 3,000 of 3,000 rows, by the end of the rows'
    """
    why = f"its rule ({met})" if met and number < rows else "the end of the rows"
    return f"stopped at {number:,} of {rows:,} rows, by {why}"
