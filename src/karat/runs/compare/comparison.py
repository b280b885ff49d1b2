"""The result of a comparison of systems: for each metric and slice the numbers, the verdict and a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from karat.core.metric.spec import match_spec
from karat.runs.compare.finding import Finding
from karat.runs.compare.flips import Flip
from karat.runs.display.figure import draw
from karat.runs.display.forest import Forest
from karat.runs.display.frame import corrected_columns, make_frame
from karat.runs.display.notebook import show_forests


@dataclass(frozen=True, repr=False)
class Compared:
    """Systems compared on the same rows, each against the first.

    `findings`: ordered by metric, then system, then slice. `by`: the column that matches the rows of the systems, or
    "order". `notes`: remarks for the reader. `flipped`: the rows on which the systems differ most, if requested.
    `left_out` counts, by system, the rows that not all systems have, if the common ones are compared.
    """

    systems: tuple[str, ...]
    n: int
    by: str
    findings: tuple[Finding, ...]
    flipped: tuple[Flip, ...]
    notes: tuple[str, ...]
    confidence: float
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def worse(self) -> tuple[Finding, ...]:
        """The findings in which a system is worse than the first: by people where they have a verdict, else by scores.

        Whoever has people label does not take the scores for the truth.
        """
        return tuple(each for each in self.findings if (each.verdict_by_people or each.verdict) == "worse")

    def as_dict(self) -> dict[str, Any]:
        """The comparison for JSON: what `karat compare --json` prints."""
        return {
            "systems": list(self.systems),
            "n": self.n,
            "aligned_by": self.by,
            **({"left_out": dict(self.left_out)} if self.left_out else {}),
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
        specs = {finding.metric for finding in self.findings}
        several, chosen = len(self.systems) > 2, {match_spec(spec, specs) for spec in metrics}
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
        whole = [each for each in self.findings if each.slice is None]
        pairs = ((each.metric, text) for each in whole for text in (each.sentence, each.corrected_sentence) if text)
        sentences = [f"{metric}: {text}" for metric, text in pairs]
        heading = f"{' and '.join(self.systems)}: {self.n} rows, matched by {self.by}"
        return show_forests(heading, self.forests(), [*sentences, *self.notes])

    def __repr__(self) -> str:
        lines = (f"  {each.heading}: {each.sentence}" for each in self.findings)
        return "\n".join([f"<karat.Compared of {', '.join(self.systems)} on {self.n} rows", *lines]) + ">"
