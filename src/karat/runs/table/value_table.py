"""Values with their intervals: as tables, and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from karat.metrics.names.legend import name_recipes, tell_apart
from karat.runs.columns.lengths import list_cautions
from karat.runs.table.table import Column, Row, Table, spell_estimate, spell_range
from karat.stats.aggregate import Bounds, points
from karat.stats.corrected.value import Corrected
from karat.stats.value import Value

if TYPE_CHECKING:
    from karat.runs.table.document import Document


@dataclass(frozen=True)
class MetricValue:
    """The value of a metric, over all rows or over one slice of them, and that corrected by people.

    `bounds` are the lowest and the highest value that the metric can have, `caution` says why the value is low however
    right the answers are. `recipe` is the preset by which the metric was named.
    """

    spec: str
    slice: str | None
    value: Value
    corrected: Corrected | None = None
    bounds: Bounds = (None, None)
    caution: str = ""
    recipe: str = ""

    def as_row(self) -> dict[str, Any]:
        """The figures with their names, as a row of a table."""
        return {"metric": self.spec, "slice": self.slice, **self.value.as_dict(), **corrected_columns(self.corrected)}


def corrected_columns(corrected: Corrected | None) -> dict[str, Any]:
    """The columns of a value or a difference corrected by people; none where there are no labels."""
    if corrected is None:
        return {}
    ends = {"corrected_low": corrected.low, "corrected_high": corrected.high}
    return {"corrected": corrected.value, **ends, "labelled": corrected.labelled}


def corrected_label(corrected: Corrected) -> str:
    """The label of a row with a corrected figure, below the one that it corrects."""
    return f"↳ corrected by people ({corrected.labelled} labels)"


def value_tables(values: Sequence[MetricValue], confidence: float) -> list[Table]:
    """The values as tables, one for each range of values that metrics have; those from 0 to 1 in points."""
    ranges = dict.fromkeys(each.bounds for each in values)
    return [
        value_table([each for each in values if each.bounds == limits], confidence, percent=True) for limits in ranges
    ]


def value_table(values: Sequence[MetricValue], confidence: float, *, percent: bool, caption: str = "") -> Table:
    """The values in one table; where rows are unscored, with the worst and the best value that there could be.

    `percent`: values from 0 to 1 are in per cent.
    """
    ends, stopped = (any(getattr(each.value, name) for each in values) for name in ("unscored", "not_asked"))
    factors = [points(each.bounds) if percent else 1.0 for each in values]
    factor = min(factors, default=1.0)
    columns = [
        Column("metric", name=True),
        Column("points" if factor > 1 else "value", f"{100 * confidence:g} % interval"),
        Column("n"),
        Column("unscored"),
        *([Column("not asked")] if stopped else []),
        *([Column("worst to best")] if ends else []),
    ]
    cautions = list_cautions({each.spec: each.caution for each in values if each.caution})
    notes = [*(["Values from 0 to 1 are in per cent."] if percent else []), *cautions]
    notes += name_recipes({each.spec: each.recipe for each in values})
    notes += tell_apart([each.spec for each in values], hint=False)
    rows = [
        row
        for each, scale in zip(values, factors, strict=True)
        for row in _rows(each, scale, ends=ends, stopped=stopped)
    ]
    return Table(tuple(columns), tuple(rows), caption, tuple(notes), factor=factor)


def _rows(each: MetricValue, factor: float, *, ends: bool, stopped: bool) -> Iterator[Row]:
    """The row of a value and, where people labelled, one of the corrected value."""
    value, corrected, part = each.value, each.corrected, each.slice is not None
    label = each.slice if each.slice is not None else each.spec
    more = [f"{value.not_asked}"] if stopped else []
    more += [spell_range(value.worst, value.best, factor)] if ends else []
    cells = label, spell_estimate(value.value, value.low, value.high, factor), f"{value.n}", f"{value.unscored}"
    yield Row((*cells, *more), "value", part, value.value, value.low, value.high)
    if corrected is not None and corrected.value is not None:
        cells = (
            corrected_label(corrected),
            spell_estimate(corrected.value, corrected.low, corrected.high, factor),
            f"{corrected.n}",
            "",
        )
        yield Row((*cells, *("" for _ in more)), "value", True, corrected.value, corrected.low, corrected.high)


def value_document(
    table: Table, values: Sequence[MetricValue], confidence: float, content: Mapping[str, Any]
) -> Document:
    """The values as a document; `table` is for Markdown and LaTeX, `content` for JSON."""
    from karat.runs.table.document import Document  # noqa: PLC0415  (only where figures are written to a file)
    from karat.runs.table.notebook import show_tables  # noqa: PLC0415

    html = show_tables(table.caption, value_tables(values, confidence), table.notes)
    return Document(table, html, content, [each.as_row() for each in values])
