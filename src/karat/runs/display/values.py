"""Values with their intervals: as forest plots, and as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from karat.runs.columns.lengths import list_cautions
from karat.runs.display.document import Document
from karat.runs.display.forest import Forest, Line, value_headings, value_lines
from karat.runs.display.frame import corrected_columns
from karat.runs.display.notebook import show_forests
from karat.stats.aggregate import Bounds, points
from karat.stats.corrected.corrected import Corrected
from karat.stats.value import Value


@dataclass(frozen=True)
class MetricValue:
    """The value of a metric, over all rows or over one slice of them, and that corrected by people.

    `bounds` are the lowest and the highest value that the metric can have, `caution` says why the value is low however
    right the answers are.
    """

    spec: str
    slice: str | None
    value: Value
    corrected: Corrected | None = None
    bounds: Bounds = (None, None)
    caution: str = ""

    def as_row(self) -> dict[str, Any]:
        """The figures with their names, as a row of a table."""
        return {
            "metric": self.spec,
            "slice": self.slice,
            **self.value.as_dict(),
            **corrected_columns(self.corrected),
        }


def value_forests(values: Sequence[MetricValue], confidence: float) -> list[Forest]:
    """The values as forest plots, one for each range of values that metrics have; those from 0 to 1 in points."""
    bounds = any(each.value.failed for each in values)
    ranges = dict.fromkeys(each.bounds for each in values)
    return [
        _forest([each for each in values if each.bounds == limits], confidence, bounds=bounds, percent=True)
        for limits in ranges
    ]


def value_document(
    title: str, values: Sequence[MetricValue], confidence: float, content: Mapping[str, Any], *, percent: bool
) -> Document:
    """The values as a document; `content` is its JSON, `percent`: values from 0 to 1 are in per cent."""
    cautions = list(list_cautions({each.spec: each.caution for each in values if each.caution}))
    return Document(
        title=title,
        table=_forest(values, confidence, bounds=any(each.value.failed for each in values), percent=percent),
        html=show_forests(title, value_forests(values, confidence), cautions),
        content=content,
        rows=[each.as_row() for each in values],
        notes=[*(["Values from 0 to 1 are in per cent."] if percent else []), *cautions],
        marks=[f"{title}{'; values from 0 to 1 in per cent' if percent else ''}.", *cautions],
    )


def _forest(values: Sequence[MetricValue], confidence: float, *, bounds: bool, percent: bool) -> Forest:
    """The lines of values in one table; with `bounds` they have the worst and the best value that there could be."""
    factors = [points(each.bounds) if percent else 1.0 for each in values]
    lines = list[Line]()
    for each, factor in zip(values, factors, strict=True):
        label, part = (each.spec, False) if each.slice is None else (each.slice, True)
        lines += value_lines(label, each.value, each.corrected, bounds=bounds, part=part, factor=factor)
    factor = min(factors, default=1.0)
    return Forest(value_headings(confidence, bounds=bounds, factor=factor), tuple(lines), factor=factor)
