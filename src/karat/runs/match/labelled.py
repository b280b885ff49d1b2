"""Labels by people beside matched rows: of each system's answers, in the order in which the rows are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from karat.core.errors import SpecError
from karat.data.open import open_source
from karat.runs.labels.join import LabelledRows, join_labels
from karat.runs.labels.labels import Labels
from karat.runs.match.alignment import ORDER, Alignment
from karat.runs.store.run import Run


def label_rows(
    labels: Labels, runs: Sequence[Run], rows: Alignment, choices: Iterable[Mapping[str, float]]
) -> list[LabelledRows]:
    """The labels of each run's answers; row numbers and strata are in the order of `rows.read`.

    `choices`: the labels and scores of judges. Raises `SpecError` where it is not known of which run labels are, or no
    column of ids matches the rows, and what reading and matching raise.
    """
    choices, own = list(choices), labels_by_run(labels, runs)
    return [_label(each, run, at, rows, choices) for at, (each, run) in enumerate(zip(own, runs, strict=True))]


def labels_by_run(labels: Labels, runs: Sequence[Run]) -> list[Labels]:
    """The labels of each run; raises what `Labels.by_system` raises."""
    if len(runs) == 1 or all(labels.columns_of(run.schema.names) for run in runs):
        return [labels] * len(runs)
    return list(labels.by_system([run.name for run in runs]))


def _label(labels: Labels, run: Run, at: int, rows: Alignment, choices: Sequence[Mapping[str, float]]) -> LabelledRows:
    columns = labels.columns_of(run.schema.names)
    if not columns:
        labels.check_files(run.schema.names, run.name)
    if rows.by == ORDER and not columns:
        raise unidentified(run, rows)
    key = rows.columns[at] if rows.columns else rows.by
    needed = dict.fromkeys([*(columns or [key]), *([labels.strata] if labels.strata else [])])
    source = replace(open_source(run.read(list(needed))), name=run.name)
    theirs = labels.on or (rows.by if labels.system else key)  # a table with labels of several systems has one key
    joined = join_labels(labels, source, source, (key, theirs), choices)
    order, strata = rows.order(at), joined.strata
    places = np.full(max(order.max(initial=-1), joined.at.max(initial=-1)) + 1, -1)
    places[order] = np.arange(len(order))
    there = places[joined.at]
    if (kept := there >= 0).sum() < len(there):
        joined = replace(joined, labels=joined.labels.take(kept), left_out=int((~kept).sum()))
    return replace(joined, at=there[kept], strata=None if strata is None else strata[order])


def unidentified(run: Run, rows: Alignment) -> SpecError:
    """The error for labels that are joined by id where no column tells the rows apart."""
    names = f"no column of {run.name} has the name of an id; its columns are {', '.join(run.schema.names)}"
    problem = "; ".join(rows.passed_over.values()) or names
    return SpecError(f"say which column tells the rows apart, --on COLUMN (in Python, on=): {problem}")
