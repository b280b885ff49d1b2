"""The result of ranking systems: for each metric and slice their order, groups and possible ranks, and every pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from karat.core.metric.definition import Direction
from karat.data.json.objects import JsonObject, Printed
from karat.runs.table.document import Document, make_frame
from karat.runs.table.notebook import show_tables
from karat.runs.table.paper import Figure, paper_columns, paper_rows
from karat.runs.table.table import Cell, Column, Row, Table, spell_estimate, spell_p
from karat.stats.aggregate import Bounds, points
from karat.stats.paired.comparison import Test
from karat.stats.paired.pair_tests import PairTests
from karat.stats.ranking.standing import Adjustment, Standing, stand
from karat.stats.value import Estimate, Value, format_value, spell

METHODS: Mapping[Adjustment, str] = {"holm": "Holm", "bh": "Benjamini and Hochberg"}
_RANKS = (Column("rank"), Column("may be"))


@dataclass(frozen=True)
class RankedSystem:
    """One system in a ranking.

    `rank` is its value's, 1 for the best; `rank_low` and `rank_high` are the ends of the set of ranks that it may
    have. Systems that share a letter in `groups` are not separated. `low` and `high` are the ends of the value's
    interval; `missing` counts the rows, or verdicts, that this system has no score for.
    """

    system: str
    rank: int
    rank_low: int
    rank_high: int
    groups: tuple[str, ...]
    value: float | None
    low: float | None
    high: float | None
    missing: int


@dataclass(frozen=True)
class RankedPair:
    """Two systems in a ranking: `system` is the one with the better value, `difference` its value minus the other's.

    `low` and `high` are the ends of the difference's interval, `p` comes from the `test`, and `p_adjusted` is corrected
    for all tests of the rankings, as intervals are not. `separated`: whether it is at most 1 - confidence, and the
    interval leaves out 0. A comparison of two systems has the same numbers.
    """

    system: str
    other: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    test: Test
    p_adjusted: float | None
    separated: bool


@dataclass(frozen=True, eq=False)
class Evidence(JsonObject):
    """What one metric says about systems, over all rows or over one slice of them.

    Of `n` rows, `scored` have a score in every system, and count. `values`, and `missing`, the number of rows that a
    system has no score for, are in the order of the systems, as are the arrays of `tests`. `bounds` are the lowest and
    the highest value that there can be.
    """

    metric: str
    slice: str | None
    direction: Direction
    n: int
    scored: int
    values: Sequence[Value | Estimate]
    missing: Sequence[int]
    bounds: Bounds
    tests: PairTests = field(repr=False)


@dataclass(frozen=True, eq=False)
class Ranking(Evidence):
    """The systems, called `names`, in the order of one metric; `standing` has the ranks and the corrected tests."""

    names: Sequence[str]
    standing: Standing = field(repr=False)

    printed: ClassVar = Printed(
        also=("systems", "pairs"),
        hidden=("values", "missing", "bounds", "tests", "names", "standing"),
    )

    @property
    def heading(self) -> str:
        """The metric, and the slice where the ranking is of one."""
        return self.metric if self.slice is None else f"{self.metric}, {self.slice}"

    @property
    def systems(self) -> list[RankedSystem]:
        """The systems, the best first."""
        at = self.standing
        return [
            RankedSystem(
                system=self.names[row],
                rank=at.ranks[row],
                rank_low=at.least[row],
                rank_high=at.most[row],
                groups=at.groups[row],
                value=self.values[row].value,
                low=self.values[row].low,
                high=self.values[row].high,
                missing=self.missing[row],
            )
            for row in at.order
        ]

    @property
    def pairs(self) -> list[RankedPair]:
        """Every pair, in the order of the systems."""
        return [self._pair(one, other) for one, other in combinations(self.standing.order, 2)]

    def _pair(self, one: int, other: int) -> RankedPair:
        names, test = (self.names[one], self.names[other]), self.tests.pair(one, other)
        adjusted = None if test.p is None else float(self.standing.adjusted[one, other])
        separated = bool(self.standing.separated[one, other])
        return RankedPair(*names, test.difference, test.low, test.high, test.p, test.test, adjusted, separated)


@dataclass(frozen=True, repr=False, kw_only=True)
class Ranked(JsonObject):
    """Systems in an order, by one or more metrics, and by slices of the rows.

    `by`: the column that matches the rows of the systems, or "order"; None for verdicts. `correction` of p for the
    `family` tests is "holm" or "bh". `notes`: remarks for the reader. `estimates`, of verdicts: how often ties are, and
    what the order and the lengths of the two answers do.
    """

    systems: tuple[str, ...]
    by: str | None
    confidence: float
    correction: Adjustment
    family: int
    intervals_adjusted: bool = False  # for the number of tests, as p is
    notes: tuple[str, ...] = ()
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    rankings: tuple[Ranking, ...]

    printed: ClassVar = Printed(sparse=("estimates",), names={"by": "aligned_by"})

    def to_frame(self, *, pairs: bool = False) -> Any:
        """The systems of all rankings as a pandas frame, a row each; with `pairs` every pair instead.

        Raises `MissingExtra` without pandas.
        """
        return make_frame(self._rows(pairs=pairs), "Ranked.to_frame")

    def save(self, path: str | Path, *, percent: bool = False, plus_minus: bool = False, label: str = "") -> None:
        """Write the rankings to a file; its ending selects the format.

        `.md` and `.tex`: a row for each system and a column for each metric, in LaTeX with the rules of `booktabs`; the
        best value is bold, and raised letters name the groups. `.html`: what a notebook shows, as a page.
        `.json`: `as_dict`. `.csv`, `.parquet` and the other endings of rows: `to_frame`, with letters in one text.

        `percent`: in tables of Markdown and LaTeX, values from 0 to 1 are in per cent. `plus_minus`: in LaTeX, values
        are ± half the width of their intervals. `label`: of the table in LaTeX, which then is a float with a caption.
        Raises `DataError` for another ending and for a file that cannot be written, `SpecError` for a label that cannot
        be one.
        """
        rows = [row | {"groups": join_letters(row["groups"])} for row in self._rows()]
        table = replace(self._paper(percent=percent), label=label)
        Document(table, self._repr_html_(), self.as_dict(), rows).save(path, plus_minus=plus_minus)

    def _paper(self, *, percent: bool) -> Table:
        """The systems as rows, a column for each metric; in the order of the first one."""
        specs = dict.fromkeys(each.metric for each in self.rankings)
        interval, columns = f"{100 * self.confidence:g} % interval", dict[str, tuple[Column, ...]]()
        for spec in specs:
            columns[spec] = (Column(spec),) if len(specs) > 1 else (Column(spec, interval), *_RANKS)
        figures = []
        for each in self.rankings:
            factor = points(each.bounds) if percent else 1.0
            for at in each.systems:
                value = spell_estimate(at.value, at.low, at.high, factor)
                value = replace(value, strong=at.rank == 1, mark=join_letters(at.groups))
                ranks = () if len(specs) > 1 else (Cell(f"{at.rank}"), Cell(f"{at.rank_low} to {at.rank_high}"))
                figures.append(Figure(at.system, each.metric, each.slice, (value, *ranks)))
        brackets = [f"Beside each value: its {interval}, or ± half the width."] if len(specs) > 1 else []
        unit = ["Values from 0 to 1 are in per cent."] if percent else []
        notes = (*unit, *brackets, *self._explained, *self.notes)
        return Table(paper_columns(columns), paper_rows(figures, columns), self._title, notes)

    def tables(self, *, percent: bool = False) -> list[Table]:
        """A table for each ranking: a row for each system, with its group, its rank and the ranks that it may have."""
        built = []
        for each in self.rankings:
            factor = points(each.bounds) if percent else 1.0
            heading = Column("points" if factor > 1 else "value", f"{100 * self.confidence:g} % interval")
            rows = list[Row]()
            for at in each.systems:
                ranks = join_letters(at.groups), str(at.rank), f"{at.rank_low} to {at.rank_high}"
                cells = (at.system, *ranks, spell_estimate(at.value, at.low, at.high, factor))
                rows.append(Row(cells, value=at.value, low=at.low, high=at.high))
            name = each.heading if len(self.rankings) > 1 else "system"
            columns = (Column(name, name=True), Column("group", name=True), *_RANKS, heading)
            built.append(Table(columns, tuple(rows), each.heading, factor=factor))
        return built

    def pair_table(self, ranking: Ranking) -> Table:
        """Every pair of systems in a ranking, with its test."""
        difference = Column("difference", f"{100 * self.confidence:g} % interval")
        names = Column("system", name=True), Column("other", name=True)
        columns = (*names, difference, *map(Column, ("p", "p, corrected", "separated")))
        rows = (
            (each.system, each.other, spell_estimate(each.difference, each.low, each.high), spell_p(each.p),
             spell_p(each.p_adjusted), "yes" if each.separated else "no")
            for each in ranking.pairs
        )  # fmt: skip
        return Table(columns, tuple(map(Row, rows)), f"{ranking.heading}: every pair")

    @property
    def _title(self) -> str:
        one = f": {self.rankings[0].heading}" if len(self.rankings) == 1 else ""
        return f"{len(self.systems)} systems{one}, {self.rankings[0].n} {'verdicts' if self.by is None else 'rows'}"

    @property
    def _explained(self) -> tuple[str, ...]:
        """What letters and sets of ranks mean."""
        method, level = METHODS[self.correction], spell(1 - self.confidence, ".3g")
        corrected = f"p, corrected for {self.family} tests ({method}), is above {level}"
        return (
            f"Systems that share a letter do not differ significantly: {corrected}.",
            f"With {100 * self.confidence:g} % confidence, all true ranks are among those that the systems may have.",
        )

    def _rows(self, *, pairs: bool = False) -> list[dict[str, Any]]:
        return [
            {"metric": ranking.metric, "slice": ranking.slice, **asdict(each)}
            for ranking in self.rankings
            for each in (ranking.pairs if pairs else ranking.systems)
        ]

    def _repr_html_(self) -> str:
        return show_tables(self._title, self.tables(percent=True), [*self._explained, *self.notes])

    def __repr__(self) -> str:
        lines = [f"<karat.Ranked of {len(self.systems)} systems"]
        for ranking in self.rankings:
            lines.append(f"  {ranking.heading}")
            lines += (f"    {_spell(each)}" for each in ranking.systems)
        return "\n".join(lines) + ">"


def join_letters(groups: Sequence[str]) -> str:
    """The letters of a system in one word, or in several where a letter is written with more than one.

    >>> join_letters(["a", "b"]), join_letters(["z", "aa"])
    ('ab', 'z aa')
    """
    return ("" if all(len(each) == 1 for each in groups) else " ").join(groups)


def order_systems(
    names: Sequence[str], evidence: Sequence[Evidence], correction: Adjustment, confidence: float, **about: Any
) -> Ranked:
    """A ranking of each piece of evidence; all tests are one family. `about`: further fields of `Ranked`."""
    standings = stand(
        [[value.value for value in each.values] for each in evidence],
        [each.tests for each in evidence],
        [each.direction for each in evidence],
        level=round(1 - confidence, 12),
        correction=correction,
    )
    pairs = zip(evidence, standings, strict=True)
    return Ranked(
        systems=tuple(names),
        confidence=confidence,
        correction=correction,
        family=sum(int(np.isfinite(each.tests.p[np.triu_indices(len(names), 1)]).sum()) for each in evidence),
        rankings=tuple(Ranking(**vars(each), names=names, standing=standing) for each, standing in pairs),
        **about,
    )


def _spell(system: RankedSystem) -> str:
    """A system's rank, the ranks that it may have, its letters, its name and its value."""
    ranks = f"{system.rank} ({system.rank_low} – {system.rank_high})"
    return f"{ranks} {join_letters(system.groups)} {system.system} {format_value(system.value)}"
