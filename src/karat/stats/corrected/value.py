"""A value corrected by people's labels, with what the judge and what the labels alone would have given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from karat.data.json.objects import JsonObject, Printed
from karat.stats.paired.margin import MarginTest
from karat.stats.value import spell

Method: TypeAlias = Literal["normal", "wilson", "bootstrap", "labels", "combined"]

TUNED = "prediction-powered inference with power tuning (PPI++)"
IN_WORDS: dict[Method, str] = {
    "normal": f"{TUNED}, normal approximation",
    "wilson": f"{TUNED}, Wilson's interval since few labels deviate from the judge",
    "bootstrap": f"{TUNED}, studentised bootstrap since few labels deviate from the judge; if single labels may be far "
    "from all others, the interval may be too narrow",
    "combined": f"{TUNED} of each system by its own labels, the two intervals combined (MOVER)",
    "labels": "labels alone, since they do not show how far the judge can be trusted",
}


@dataclass(frozen=True)
class Corrected(JsonObject):
    """The mean that people would give to all rows, or the difference of two such means.

    `low` and `high` are the ends of its interval; None for an end that is not known. Of `n` rows, `labelled` have a
    label. `weight` is the share of the judge's scores that is used (lambda of PPI++): 0 is labels alone. `effective` is
    how many uniformly drawn labels alone would give an interval of this width. `weight` is None for a difference of two
    systems with labels of different rows, each of which has its own. `uncorrected` is the mean of the judge's
    scores, `labels_alone` value, low and high without the judge. Where there is no estimate, `reason` says why, and the
    other values are None. `margin`: the test of a difference within a margin, where one was set.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    labelled: int
    method: Method | None
    weight: float | None
    effective: float | None
    uncorrected: float | None
    labels_alone: tuple[float, float | None, float | None] | None
    reason: str | None = None
    p: float | None = None
    margin: MarginTest | None = None

    printed: ClassVar = Printed(sparse=("margin",))

    @property
    def ends(self) -> tuple[float, float | None, float | None] | None:
        """Value, low and high; None where there is no estimate."""
        return None if self.value is None else (self.value, self.low, self.high)

    @property
    def in_words(self) -> str:
        """The method in words or, where there is no estimate, its reason."""
        if self.method is None:
            return f"no estimate: {self.reason}"
        if self.labelled == self.n and self.method != "combined":
            return "the labels themselves, since all rows are labelled"
        return IN_WORDS[self.method]

    @property
    def worth_in_words(self) -> str:
        """How many labels alone these are worth, and the method; or why there is no estimate."""
        if self.weight == 0 or self.effective is None:
            return self.in_words
        worth = spell(self.effective, ".0f")
        return f"{self.labelled} labels with the scores are worth {worth} labels alone; {self.in_words}"
