"""The table of a paper: a row for each system, columns for each metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from karat.runs.table.table import Cell, Column, Row


@dataclass(frozen=True)
class Figure:
    """What a system has of a metric, over all rows or one slice of them: a cell for each column of the metric."""

    system: str
    metric: str
    slice: str | None
    cells: tuple[Cell, ...]


def paper_columns(columns: Mapping[str, Sequence[Column]]) -> tuple[Column, ...]:
    """A column of systems, then the columns of each metric."""
    return (Column("system", name=True), *(each for of_metric in columns.values() for each in of_metric))


def paper_rows(figures: Sequence[Figure], columns: Mapping[str, Sequence[Column]]) -> tuple[Row, ...]:
    """A row for each system, in the order of the figures; a slice's rows stand below its name.

    >>> found = [Figure(system, "em", None, (Cell(value),)) for system, value in (("b", "0.9"), ("a", "0.4"))]
    >>> [row.cells[0] for row in paper_rows(found, {"em": [Column("em")]})]
    ['b', 'a']
    """
    by_place = {(each.slice, each.system, each.metric): each.cells for each in figures}
    blank = {metric: ("",) * len(of_metric) for metric, of_metric in columns.items()}
    rows = list[Row]()
    for label in dict.fromkeys(each.slice for each in figures):
        if label is not None:
            rows.append(Row((label, *(text for texts in blank.values() for text in texts))))
        for system in dict.fromkeys(each.system for each in figures if each.slice == label):
            cells = (cell for metric in columns for cell in by_place.get((label, system, metric), blank[metric]))
            rows.append(Row((system, *cells), part=label is not None))
    return tuple(rows)
