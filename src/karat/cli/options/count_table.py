"""How rows are spread: how many share a value, and how many have scores and differences in each part of the range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from karat.cli.options.item_table import print_items
from karat.cli.options.printed import CountedRows
from karat.cli.options.screen import Screen
from karat.runs.match.row_query import select_rows
from karat.runs.store.run import Run
from karat.runs.table.table import Table
from karat.stats.value import spell
from karat.viewer.rows.facets import count_bins, count_facets, count_items, list_facets, list_histograms
from karat.viewer.rows.table import match_rows

_BAR = 20  # characters of the longest bar


def count_matched_rows(runs: Sequence[Run], spec: str, where: str | None = None, on: str | None = None) -> CountedRows:
    """The number of rows, of those for which a condition holds, and both by label and by score."""
    table = match_rows(runs, on)
    places = [table.in_run(at, np.arange(table.n)) for at in range(len(runs))]
    chosen = None if where is None else table.mark(0, select_rows(runs, places, where)[0])
    fields = [field for field in list_facets(table) if field.kind != "outcome" or field.metric == spec]
    return CountedRows(
        runs=tuple(run.name for run in runs),
        metric=spec,
        n=table.n,
        total=table.n if chosen is None else int(np.count_nonzero(chosen)),
        facets=tuple(count_facets(table, lambda _: chosen, fields)),
        histograms=tuple(count_bins(table, lambda _: chosen, field) for field in list_histograms(table, spec)),
        items=tuple(count_items(table, chosen, spec)),
    )


def print_counts(screen: Screen, counts: CountedRows) -> None:
    """Print what `count_matched_rows` found, as a table for each field."""
    shown, names = 3 if counts.total == counts.n else 4, counts.runs
    facets = (each for each in counts.facets if len(each["values"]) > 1)
    for each in (*facets, *counts.histograms):
        rows = list(_list_bins(each) if "edges" in each else _list_labels(each))
        most = max([1, *(kept for _, kept, _ in rows)])
        cells = ((label, "─" * round(_BAR * kept / most), f"{kept:,}", f"{whole:,}") for label, kept, whole in rows)
        screen.line("")
        headings = [_name_field(each["field"], names), "", "rows", "of all"]
        screen.table(Table.of_texts(headings[:shown], (row[:shown] for row in cells), names=2))

    for at, name in enumerate(names):
        lists = [each for each in counts.items if each["system"] == at]
        numbers = {each["detail"]: {item["value"]: item["kept"] for item in each["values"]} for each in lists}
        print_items(screen, f"{lists[0]['metric']}, {name}" if lists else name, numbers)


def _list_labels(facet: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    for each in facet["values"]:
        yield "no value" if each["value"] is None else each["value"], each["kept"], each["all"]
    if facet["more"]:
        yield f"and {facet['more']} more values", 0, 0


def _list_bins(histogram: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    edges = histogram["edges"]
    for low, high, kept, whole in zip(edges, edges[1:], histogram["kept"], histogram["all"], strict=False):
        if whole:
            yield f"{spell(low, '.4g')} to {spell(high, '.4g')}", kept, whole
    if histogram["missing"]["all"]:
        yield "none", histogram["missing"]["kept"], histogram["missing"]["all"]


def _name_field(field: Mapping[str, Any], names: Sequence[str]) -> str:
    name = names[field.get("system", 0)]
    titles = {
        "column": field.get("name", ""),
        "score": f"{field.get('metric')}, {name}",
        "difference": f"{field.get('metric')}, {name} minus {names[0]}",
        "outcome": f"{field.get('metric')}, {name} against {names[0]}",
        "label": f"label by {field.get('metric')}, {name}",
        "reason": f"unscored because, {name}",
    }
    title: str = titles[field["kind"]]
    return title
