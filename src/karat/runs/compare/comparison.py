"""The result of a comparison of systems: for each metric and slice the numbers, the verdict and a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from karat.core.metric.spec import match_spec
from karat.data.json.objects import JsonObject, Printed
from karat.runs.compare.finding import Finding
from karat.runs.compare.flips import Flip
from karat.runs.display.document import Document, check_document
from karat.runs.display.figure import draw
from karat.runs.display.forest import Forest, Line
from karat.runs.display.frame import corrected_columns, make_frame
from karat.runs.display.markdown import escape_markdown, fit, fold, markdown_rows, markdown_table
from karat.runs.display.notebook import show_forests
from karat.stats.value import spell

_LONG = 300  # characters of a text in a comment


@dataclass(frozen=True, repr=False)
class Compared(JsonObject):
    """Systems compared on the same rows, each against the first.

    `findings`: ordered by metric, then system, then slice. `by`: the column that matches the rows of the systems, or
    "order". `notes`: remarks for the reader. `flipped`: the rows on which the systems differ most, if requested.
    `left_out` counts, by system, the rows that not all systems have, if the common ones are compared. `created`: when
    the scoring of each system that is a run began, in the order of `systems`; empty for others.
    """

    systems: tuple[str, ...]
    n: int
    by: str
    findings: tuple[Finding, ...]
    flipped: tuple[Flip, ...]
    notes: tuple[str, ...]
    confidence: float
    left_out: Mapping[str, int] = field(default_factory=dict)
    created: tuple[str, ...] = ()

    printed: ClassVar = Printed(also=("family",), sparse=("left_out",), names={"by": "aligned_by"})

    @property
    def family(self) -> int:
        """The number of tests that p is corrected for."""
        return self.findings[0].family

    @property
    def worse(self) -> tuple[Finding, ...]:
        """The findings in which a system is worse than the first: by people where they have a verdict, else by scores.

        Whoever has people label does not take the scores for the truth.
        """
        return tuple(each for each in self.findings if each.decision == "worse")

    def to_frame(self) -> Any:
        """The findings as a pandas frame, a row each, with the columns of `as_dict`.

        With people's labels also `corrected`, `corrected_low`, `corrected_high` and `labelled`. Raises `MissingExtra`
        without pandas.
        """
        return make_frame(self._rows(), "Compared.to_frame")

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {name: value for name, value in each.as_dict().items() if not isinstance(value, (dict, list))}
            | corrected_columns(each.corrected)
            for each in self.findings
        ]

    def save(self, path: str | Path, *, percent: bool = False, plus_minus: bool = False) -> None:
        """Write the comparison to a file; its ending selects the format.

        `.md`: a comment on a pull request, the verdict first, then what was shown, the rest folded. `.tex`: a table
        with the rules of `booktabs`; the better value is bold where the test supports it, a difference that could not
        be shown has a dagger. `.html`: what a notebook shows, as a page. `.json`: `as_dict`. `.csv`, `.parquet` and the
        other endings of rows: `to_frame`.

        `percent`: in tables of Markdown and LaTeX, values from 0 to 1 are in per cent and their differences in points.
        `plus_minus`: in LaTeX, differences are ± half the width of their intervals. Raises `DataError` for another
        ending and for a file that cannot be written.
        """
        check_document(path)
        level = spell(1 - self.confidence, ".3g")
        document = Document(
            title=f"{' and '.join(self.systems)}: {self.n} rows, matched by {self.by}",
            table=self._table(self.findings, percent=percent),
            html=self._repr_html_(),
            content=self.as_dict(),
            rows=self._rows(),
            markdown=tuple(self._comment(percent=percent)),
            marks=(
                f"{self.n} rows, compared row by row{'; values from 0 to 1 in per cent' if percent else ''}.",
                f"Bold: better, p ≤ {level} after Holm's correction for {self.findings[0].family} tests.",
                "†: no difference could be shown.",
            ),
        )
        document.save(path, plus_minus=plus_minus)

    def _table(self, findings: Sequence[Finding], *, percent: bool, apart: bool = False) -> Forest:
        """All lines in one table; `apart`: those of slices are not below their metric and name it."""
        several, lines = len(self.systems) > 2, list[Line]()
        for each in findings:
            line, *corrected = each.lines(several=several, percent=percent)
            if apart:
                line = replace(line, label=f"{each.heading} · {each.system}" if several else each.heading, part=False)
            lines += [line, *corrected]
        points = percent and all(each.scale > 1 for each in findings)
        return Forest(self._headings(points=points), tuple(lines), difference=True, estimate=2)

    def _comment(self, *, percent: bool) -> Iterator[str]:
        """The lines of a comment on a pull request."""
        shown = [each for each in self.findings if each.decision != "unclear"]
        rest = [each for each in self.findings if each.decision == "unclear"]
        yield f"### {escape_markdown(self._headline(shown))}"
        for findings in (shown, rest):
            told = (f"- {escape_markdown(f'{each.heading}: {text}')}" for each in findings for text in each.sentences)
            table = markdown_table(self._table(findings, percent=percent, apart=True))
            lines = ["", *fit(told), "", *fit(table)]
            if findings:
                yield from lines if findings is shown else fold(f"No difference shown: {len(rest)}", lines)
        if self.flipped:
            yield from fold(f"Rows that differ: {len(self.flipped)}", fit(self._flipped_rows(), 20_000))
        yield ""
        yield escape_markdown(f"{self.n} rows, compared row by row, by {self.by}. {self._age()}")
        yield from (f"- {escape_markdown(note)}" for note in self.notes)

    def _headline(self, shown: Sequence[Finding]) -> str:
        first, *others = self.systems
        who = f"{others[0] if len(others) == 1 else f'{len(others)} systems'} against {first}"
        tests = f"{len(self.findings)} test{'s' * (len(self.findings) > 1)}"
        if not shown:
            return f"○ {who}: no difference could be shown in {tests}"
        counted = {word: sum(each.decision == word for each in shown) for word in ("worse", "better")}
        said = [f"{word} in {count}" for word, count in counted.items() if count]
        return f"{'▼' if counted['worse'] else '▲'} {who}: {', '.join(said)} of {tests}"

    def _flipped_rows(self) -> Iterator[str]:
        names = ("row", "question", *(self.systems if len(self.systems) == 2 else ("first", "system")), "scores")
        rows = (
            (
                *(escape_markdown(_cut(text)) for text in (each.id, each.question, *each.predictions)),
                escape_markdown(f"{each.metric} {spell(each.scores[0], '.4g')} → {spell(each.scores[1], '.4g')}"),
            )
            for each in self.flipped
        )
        return markdown_rows([escape_markdown(name) for name in names], rows, left=5)

    def _age(self) -> str:
        """When the first system was scored, and how long before the others."""
        first, *others = self.created or ("",)
        if not first:
            return f"When {self.systems[0]} was scored is not known."
        begun = datetime.fromisoformat(first)
        line = f"{self.systems[0]} was scored on {begun:%Y-%m-%d at %H:%M} UTC"
        days = (datetime.fromisoformat(max(others)) - begun).days if any(others) else 0
        other = self.systems[1] if len(self.systems) == 2 else "the last of the others"
        return f"{line}, {days} day{'s' * (days > 1)} before {other}." if days > 0 else f"{line}."

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
        chosen = {match_spec(spec, specs) for spec in metrics}
        grouped = dict[Any, list[Finding]]()
        for finding in self.findings:
            if not chosen or finding.metric in chosen:
                grouped.setdefault("points" if finding.scale > 1 else finding.metric, []).append(finding)
        forests = []
        for findings in grouped.values():
            lines = tuple(line for finding in findings for line in finding.lines(several=len(self.systems) > 2))
            headings, factor = self._headings(points=findings[0].scale > 1), findings[0].scale
            forests.append(Forest(headings, lines, difference=True, factor=factor, estimate=2))
        return forests

    def _headings(self, *, points: bool) -> tuple[str, ...]:
        """The headings of a table of differences; `points`: that is their unit."""
        others = (self.systems[0], "system") if len(self.systems) > 2 else self.systems
        interval = f"{100 * self.confidence:g} % interval"
        return ("metric", "", *others, "points" if points else "difference", interval, "p, Holm", "won / lost / tied")

    def _repr_html_(self) -> str:
        whole = [each for each in self.findings if each.slice is None]
        sentences = [f"{each.metric}: {text}" for each in whole for text in each.sentences]
        heading = f"{' and '.join(self.systems)}: {self.n} rows, matched by {self.by}"
        return show_forests(heading, self.forests(), [*sentences, *self.notes])

    def __repr__(self) -> str:
        lines = (f"  {each.heading}: {each.sentence}" for each in self.findings)
        return "\n".join([f"<karat.Compared of {', '.join(self.systems)} on {self.n} rows", *lines]) + ">"


def _cut(text: str | None) -> str:
    """A text of a flipped row, with its first characters if it is long."""
    if text is None:
        return "–"
    return text if len(text) <= _LONG else f"{text[:_LONG]} … and {len(text) - _LONG:,} more characters"
