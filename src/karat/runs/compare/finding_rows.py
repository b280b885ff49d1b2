"""A finding as rows of a table: its values, its difference with p, its margin, and what people's labels make of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from karat.runs.compare.finding import DIFFERENT, Finding
from karat.runs.table.table import Cell, Row, half_width, spell_p, spell_value
from karat.runs.table.value_table import corrected_label
from karat.stats.paired.margin import MarginTest
from karat.stats.value import spell


def table_rows(
    finding: Finding, *, several: bool, percent: bool, apart: bool = False, margin: bool = False, together: bool = False
) -> Iterator[Row]:
    """The row of a finding, and one of the difference corrected by people; `several`: it names the system.

    `margin`: there is a column for the test within a margin; `together`: one for the intervals that hold together.
    """
    comparison, factor, part = (
        finding.comparison,
        finding.scale if percent else 1.0,
        finding.slice is not None and not apart,
    )
    system = (finding.system,) if several else ()
    strong = {"worse": 0, "better": 1}.get(finding.verdict)
    measure = "odds" if comparison.test == "mcnemar" else "d"
    yield Row(
        (
            finding.slice if part and finding.slice else finding.heading,
            *system,
            Cell(spell_value(comparison.a, factor), strong=strong == 0),
            Cell(spell_value(comparison.b, factor), strong=strong == 1),
            spell_difference(finding, percent=percent),
            *([spell_ends(finding, None, *finding.joint, percent=percent).interval] if together else []),
            spell_p(comparison.p),
            spell_p(finding.adjusted),
            f"{comparison.wins}/{comparison.losses}/{comparison.ties}",
            comparison.test.replace("_", " "),
            "" if comparison.effect is None else f"{measure} {spell(comparison.effect, '.2f')}",
            *([_spell_margin(finding, comparison.margin, percent=percent)] if margin else []),
        ),
        finding.verdict, part, comparison.difference, comparison.low, comparison.high,
    )  # fmt: skip
    if (corrected := finding.corrected) is not None and corrected.value is not None:
        p = "" if finding.by_people is None else spell_p(finding.by_people.adjusted)
        ends = corrected.value, corrected.low, corrected.high
        cells = (corrected_label(corrected), *system, "", "", spell_ends(finding, *ends, percent=percent))
        kind = finding.verdict_by_people or "unclear"
        within = [_spell_margin(finding, corrected.margin, percent=percent)] if margin else []
        yield Row(
            (*cells, *([""] if together else []), spell_p(corrected.p), p, "", "", "", *within), kind, True, *ends
        )


def _spell_margin(finding: Finding, test: MarginTest | None, *, percent: bool) -> Cell:
    """The cell of a margin, with the interval that is held against it."""
    if test is None:
        return Cell("")
    cell = spell_ends(finding, None, test.low, test.high, percent=percent)
    return replace(cell, text=f"±{finding.scaled(test.margin, percent=percent)}")


def spell_difference(finding: Finding, *, percent: bool) -> Cell:
    """The cell of a difference; one that could not be shown has a dagger."""
    comparison = finding.comparison
    cell = spell_ends(finding, comparison.difference, comparison.low, comparison.high, percent=percent)
    return cell if finding.verdict in DIFFERENT else replace(cell, mark="†")


def spell_ends(finding: Finding, value: float | None, low: float | None, high: float | None, *, percent: bool) -> Cell:
    """The cell of a difference with these ends."""
    sign = "+" if value is not None and value > 0 else ""
    texts = (finding.scaled(each, percent=percent) for each in (value, low, high, half_width(low, high)))
    value_, low_, high_, half = (text.replace("-", "−") for text in texts)
    return Cell(f"{sign}{value_}", f"{low_} to {high_}", half)
