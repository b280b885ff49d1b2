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
from karat.runs.compare.finding_rows import spell_difference, table_rows
from karat.runs.compare.flips import Flip
from karat.runs.table.document import Document, check_document, cite_digest, make_frame
from karat.runs.table.figure import draw
from karat.runs.table.markdown import escape_markdown, fit, fold, markdown_table
from karat.runs.table.notebook import show_tables
from karat.runs.table.paper import Figure, paper_columns, paper_rows
from karat.runs.table.table import WORDS, Cell, Column, Table, spell_value
from karat.runs.table.value_table import corrected_columns
from karat.stats.paired.comparison import ComparisonVerdict
from karat.stats.value import spell

_LONG = 300  # characters of a text in a comment
SHOWN: tuple[ComparisonVerdict, ...] = ("worse", "better", "equivalent", "no worse")  # the verdicts that say something


@dataclass(frozen=True, repr=False, kw_only=True)
class Compared(JsonObject):
    """Systems compared on the same rows, each against the first.

    `findings`: ordered by metric, then system, then slice. `by`: the column that matches the rows of the systems, or
    "order". `notes`: remarks for the reader. `flipped`: the rows on which the systems differ most, if requested.
    `left_out` counts, by system, the rows that not all systems have, if the common ones are compared. `created`: when
    the scoring of each system that is a run began, in the order of `systems`; empty for others. `bundle`: the digest of
    the bundle from which these numbers can be derived again, where one was named.
    """

    systems: tuple[str, ...]
    n: int
    by: str
    left_out: Mapping[str, int] = field(default_factory=dict)
    confidence: float
    family: int
    intervals_adjusted: bool = False  # for the number of tests, as p is
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    flipped: tuple[Flip, ...]
    created: tuple[str, ...] = ()
    bundle: str = ""

    printed: ClassVar = Printed(hidden=("created",), sparse=("left_out", "bundle"), names={"by": "aligned_by"})

    @property
    def worse(self) -> tuple[Finding, ...]:
        """The findings in which a system is worse than the first: by people where they have a verdict, else by scores.

        Labels by people, where there are any, decide.
        """
        return tuple(each for each in self.findings if each.decision == "worse")

    @property
    def not_shown(self) -> tuple[Finding, ...]:
        """The findings with a margin that do not show that a system is no worse by it: by people, else by scores."""
        return tuple(each for each in self.findings if each.margin is not None and each.margin.verdict == "unclear")

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

    def save(self, path: str | Path, *, percent: bool = False, plus_minus: bool = False, label: str = "") -> None:
        """Write the comparison to a file; its ending selects the format.

        `.md`: a comment on a pull request, the verdict first, then what was shown, the rest folded. `.tex`: a table
        with the rules of `booktabs`; the better value is bold where the test supports it, a difference that could not
        be shown has a dagger. More than two systems have a row each, and each metric columns, in both. `.html`: what a
        notebook shows, as a page. `.json`: `as_dict`. `.csv`, `.parquet` and the other endings of rows: `to_frame`.

        `percent`: in tables of Markdown and LaTeX, values from 0 to 1 are in per cent and their differences in points.
        `plus_minus`: in LaTeX, differences are ± half the width of their intervals. `label`: of the table in LaTeX,
        which then is a float with a caption. Raises `DataError` for another ending and for a file that cannot be
        written, `SpecError` for a label that cannot be one.
        """
        check_document(path)
        table = self._paper(percent=percent) if len(self.systems) > 2 else self.table(percent=percent)
        document = Document(
            table=replace(table, label=label),
            html=self._repr_html_(),
            content=self.as_dict(),
            rows=self._rows(),
            markdown=tuple(self._comment(percent=percent)),
        )
        document.save(path, plus_minus=plus_minus)

    def table(self, findings: Sequence[Finding] | None = None, *, percent: bool = False, apart: bool = False) -> Table:
        """The findings, by default all, in one table; `apart`: findings of slices name their metric.

        `percent`: values from 0 to 1 are in per cent, and their differences in points.
        """
        findings, several = self.findings if findings is None else findings, len(self.systems) > 2
        scaled = percent and all(each.scale > 1 for each in findings)
        level = spell(1 - self.confidence, ".3g")
        columns = (
            Column("metric", name=True),
            *([Column("system", name=True)] if several else []),
            Column(self.systems[0]),
            Column("system" if several else self.systems[1]),
            Column("points" if scaled else "difference", self._interval),
            *([Column(self._interval.replace("each alone", "all together"), detail=True)] if self.family > 1 else []),
            Column("p", detail=True),
            Column("p, Holm"),
            Column("won/lost/tied"),
            Column("test", detail=True),
            Column("effect", detail=True),
            *([Column("margin", self._margin_interval)] if self._margin_interval else []),
        )
        shown = {"several": several, "percent": percent, "apart": apart, "margin": bool(self._margin_interval)}
        shown["together"] = self.family > 1
        rows = (row for each in findings for row in table_rows(each, **shown))
        notes = (
            f"{self.n} rows, compared row by row{'; values from 0 to 1 in per cent' if percent else ''}.",
            f"Bold: better, p ≤ {level} after Holm's correction for {self.family} tests.",
            "†: no difference could be shown.",
            *self._margin_notes,
            *self.citation,
        )
        factor = findings[0].scale if scaled else 1.0
        return Table(columns, tuple(rows), self._title, notes, difference=True, factor=factor)

    def _paper(self, *, percent: bool) -> Table:
        """The systems as rows, and for each metric their values and their differences from the first."""
        first, level = self.systems[0], spell(1 - self.confidence, ".3g")
        columns = {
            each.metric: (Column(each.metric), Column(f"minus {first}", self._interval)) for each in self.findings
        }
        figures = []
        for each in self.findings:
            factor = each.scale if percent else 1.0
            if each.system == self.systems[1]:
                baseline = Cell(spell_value(each.comparison.a, factor))
                figures.append(Figure(first, each.metric, each.slice, (baseline, Cell(""))))
            mark = {"better": "+", "worse": "−", "equivalent": "=", "no worse": "≥"}.get(each.verdict, "")
            value = Cell(spell_value(each.comparison.b, factor), strong=each.verdict == "better", mark=mark)
            cells = value, spell_difference(each, percent=percent)
            figures.append(Figure(each.system, each.metric, each.slice, cells))
        figures.sort(key=lambda each: (each.slice or "", self.systems.index(each.system)))
        notes = (
            f"{self.n} rows, compared row by row{'; values from 0 to 1 in per cent' if percent else ''}.",
            f"+ and bold: better than {first}, −: worse; p ≤ {level} after Holm's correction for {self.family} tests.",
            "†: no difference could be shown.",
            *(f"≥, =: {note}" for note in self._margin_notes),
            *self.citation,
        )
        return Table(paper_columns(columns), paper_rows(figures, columns), self._title, notes)

    @property
    def citation(self) -> tuple[str, ...]:
        """The sentence that names the bundle; none without one."""
        return cite_digest(self.bundle)

    @property
    def _title(self) -> str:
        return f"{' and '.join(self.systems)}: {self.n} rows, matched by {self.by}"

    @property
    def _interval(self) -> str:
        alone = " (each alone)" if self.family > 1 else ""  # p is corrected for several tests, and they are not
        return f"{100 * self.confidence:g} % interval{alone}"

    @property
    def _margin_interval(self) -> str:
        """What the interval of the tests within a margin is called; empty where no metric has a margin."""
        tests = [each.comparison.margin for each in self.findings if each.comparison.margin is not None]
        return f"{100 * (1 - 2 * tests[0].level):g} % interval" if tests else ""

    @property
    def _margin_notes(self) -> tuple[str, ...]:
        if not self._margin_interval:
            return ()
        level = spell(1 - self.confidence, ".3g")
        what = f"the {self._margin_interval} is above minus the margin, or within both (two one-sided tests)"
        return (f"no worse, equivalent: {what}; p ≤ {level} after Holm's correction.",)

    def _comment(self, *, percent: bool) -> Iterator[str]:
        """The lines of a comment on a pull request."""
        shown = [each for each in self.findings if each.decision != "unclear"]
        rest = [each for each in self.findings if each.decision == "unclear"]
        yield f"### {escape_markdown(self._headline(shown))}"
        if len(self.systems) > 2:
            table = self._paper(percent=percent)
            yield from ("", *fit(markdown_table(table)), "", *map(escape_markdown, table.notes))
        for findings in filter(None, (shown, rest)):
            sentences = (
                f"- {escape_markdown(f'{each.heading}: {text}')}" for each in findings for text in each.sentences
            )
            lines = ["", *fit(sentences), "", *fit(markdown_table(self.table(findings, percent=percent, apart=True)))]
            yield from lines if findings is shown else fold(f"No difference shown: {len(rest)}", lines)
        if self.flipped:
            yield from fold(f"Rows that differ: {len(self.flipped)}", fit(self._flipped_rows(), 20_000))
        yield ""
        yield escape_markdown(f"{self.n} rows, compared row by row, by {self.by}. {self._age()}")
        cited = () if len(self.systems) > 2 else self.citation  # else it is below the table
        yield from (f"- {escape_markdown(note)}" for note in (*self.notes, *cited))

    def _headline(self, shown: Sequence[Finding]) -> str:
        first, *others = self.systems
        who = f"{others[0] if len(others) == 1 else f'{len(others)} systems'} against {first}"
        tests = f"{len(self.findings)} test{'s' * (len(self.findings) > 1)}"
        if not shown:
            return f"○ {who}: no difference could be shown in {tests}"
        counted = {word: sum(each.decision == word for each in shown) for word in SHOWN}
        counts = [f"{word} in {count}" for word, count in counted.items() if count]
        sign = WORDS[next(word for word, count in counted.items() if count)][0]
        return f"{sign} {who}: {', '.join(counts)} of {tests}"

    def _flipped_rows(self) -> Iterator[str]:
        names = ("row", "question", *(self.systems if len(self.systems) == 2 else ("first", "system")), "scores")
        rows = (
            (
                *map(_cut, (each.id, each.question, *each.predictions)),
                f"{each.metric} {spell(each.scores[0], '.4g')} → {spell(each.scores[1], '.4g')}",
            )
            for each in self.flipped
        )
        return markdown_table(Table.of_texts(names, rows, names=5))

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
        tables, first = self.tables(metrics), self.systems[0]
        other = self.systems[1] if len(self.systems) == 2 else "system"
        unit = " (points)" if tables and tables[0].factor > 1 else ""
        return draw(tables, f"{other} minus {first}{unit}, {100 * self.confidence:g} % interval", ax, "Compared.plot")

    def tables(self, metrics: Sequence[str] = ()) -> list[Table]:
        """The differences as tables on one axis each: one of all metrics in points, one of each other metric."""
        specs = {finding.metric for finding in self.findings}
        chosen = {match_spec(spec, specs) for spec in metrics} or specs
        grouped = dict[str, list[Finding]]()
        for finding in self.findings:
            if finding.metric in chosen:
                grouped.setdefault("points" if finding.scale > 1 else finding.metric, []).append(finding)
        return [self.table(findings, percent=True) for findings in grouped.values()]

    def _repr_html_(self) -> str:
        whole = [each for each in self.findings if each.slice is None]
        sentences = [f"{each.metric}: {text}" for each in whole for text in each.sentences]
        return show_tables(self._title, self.tables(), [*sentences, *self.notes, *self.citation])

    def __repr__(self) -> str:
        lines = (f"  {each.heading}: {each.sentence}" for each in self.findings)
        return "\n".join([f"<karat.Compared of {', '.join(self.systems)} on {self.n} rows", *lines]) + ">"


def _cut(text: str | None) -> str:
    """A text of a flipped row, with its first characters if it is long."""
    if text is None:
        return "–"
    return text if len(text) <= _LONG else f"{text[:_LONG]} … and {len(text) - _LONG:,} more characters"
