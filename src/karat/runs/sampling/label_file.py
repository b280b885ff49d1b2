"""The file in which people label proposed rows: earlier labels, then empty ones, with what a person needs to see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError, DataError
from karat.data.write import check_output, refuse_overwriting, write
from karat.runs.labels.layout import PROBABILITY, read_entries
from karat.runs.labels.rows_to_label import BESIDE
from karat.runs.labels.shown import ROLES, check_columns, check_shown, find_role, run_columns, title_columns
from karat.runs.labels.systems import SYSTEM
from karat.runs.match.match import Matched
from karat.runs.sampling.labelled_systems import find_drawn, spell_names
from karat.runs.store.run import Run


@dataclass(frozen=True)
class _LabelLine:
    """One line of the file: a row of a system, with a label or without."""

    system: int
    row: int
    label: str | None = None
    annotator: str | None = None


def tabulate(systems: Matched, drawn: Array, chances: Array, show: Sequence[str]) -> pa.Table:
    """Earlier labels, then the answers without one: of earlier rows, and of the rows in `drawn`.

    `chances`, shape (n,), are the probabilities with which each row was drawn, over all rounds. `show` names the
    columns that a person needs to see, by default the columns of known roles.
    """
    lines = list(_earlier_lines(systems))
    several, there = len(systems.runs) > 1, {(line.row, line.system) for line in lines}
    rows = [*(np.flatnonzero(find_drawn(systems)).tolist() if several else ()), *drawn.tolist()]
    blank = (
        _LabelLine(system, row) for row in rows for system in range(len(systems.runs)) if (row, system) not in there
    )
    lines += blank
    columns = {"label": pa.array([line.label for line in lines], pa.string())}
    if several:
        columns = {SYSTEM: pa.array([systems.runs[line.system].name for line in lines]), **columns}
    if any(line.annotator is not None for line in lines):
        columns["annotator"] = pa.array([line.annotator for line in lines], pa.string())
    columns[PROBABILITY] = pa.array(chances[[line.row for line in lines]])
    table = _read_shown(systems, lines, show)
    for place, (title, column) in enumerate(columns.items(), 1):
        table = table.add_column(place, title, column)
    return table


def write_labels(table: pa.Table, output: str | Path, systems: Matched, human: Any) -> None:
    """Write the table; `DataError` where it would replace a run's rows, or labels that are not in it."""
    check_output(output, table.schema)
    for run in systems.runs:
        refuse_overwriting(output, run.rows, human)
    _refuse_losing_labels(Path(output), systems)
    write(table.to_batches(), table.schema, output)


def _earlier_lines(systems: Matched) -> Iterator[_LabelLine]:
    for system, each in enumerate(systems.labelled):
        labels = each.labels
        names = {score: name for name, score in labels.choices.items()}
        for at, person in np.argwhere(~np.isnan(labels.scores)).tolist():
            score = float(labels.scores[at, person])
            who = labels.annotators[person] if len(labels.annotators) > 1 else None
            yield _LabelLine(system, int(each.at[at]), names.get(score, str(score).removesuffix(".0")), who)


def _read_shown(systems: Matched, lines: list[_LabelLine], show: Sequence[str]) -> pa.Table:
    """The id of each line, and the columns that a person needs to see, titled as in the first run."""
    rows = systems.rows
    tables = [_find_shown(run, key, show) for run, key in zip(systems.runs, rows.columns, strict=True)]
    columns = {column: role if role in ROLES else find_role(column) for role, column in tables[0].items()}
    titled = title_columns(columns, systems.names)
    titles = {role: titled[column] for role, column in tables[0].items()}
    titles = {role: ROLES.get(role, f"shown {title}") if title in BESIDE else title for role, title in titles.items()}
    parts = []
    for system, (run, key) in enumerate(zip(systems.runs, rows.columns, strict=True)):
        numbers = rows.order(system)[np.array([line.row for line in lines if line.system == system], np.int64)]
        shown = {titles[role]: column for role, column in tables[system].items() if role in titles}
        part = run.read(list(dict.fromkeys([key, *shown.values()]))).take(pa.array(numbers))
        parts.append(part.select([key, *shown.values()]).rename_columns([rows.by, *shown]))
    try:
        table = pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowTypeError as error:
        raise ColumnError(
            f"{spell_names(systems)}: columns of the same type are expected in all systems: {error}"
        ) from None
    return table.take(pa.array(np.argsort(np.argsort([line.system for line in lines], kind="stable"), kind="stable")))


def _find_shown(run: Run, on: str, show: Sequence[str]) -> dict[str, str]:
    """The column of each role that a person needs to see, beside the id; the columns of `show` by their own names.

    Raises `ColumnError` where one is not there, and where none is known to be the answer.
    """
    names = run.schema.names
    check_columns(show, names, run.name)
    roles = run_columns(run) if not show else {column: column for column in show}
    if not show:
        check_shown(roles, names, run.name, every=False)
    return {role: name for role, name in roles.items() if name != on}


def _refuse_losing_labels(output: Path, systems: Matched) -> None:
    """Raise `DataError` where the file that would be replaced holds labels that were not passed on."""
    if not output.is_file():
        return
    for system, run in enumerate(systems.runs):
        name = run.name if len(systems.runs) > 1 else None
        try:
            there = read_entries(output, systems.rows.by, (), name)[0]["id"]
        except ColumnError:  # it is not a table of labels
            return
        kept = pa.array([], there.type) if not systems.labelled else systems.labelled[system].labels.ids
        lost = there.filter(pc.invert(pc.is_in(there, kept)))
        if len(lost):
            problem = f"{output} holds labels of {len(lost)} rows, such as {lost[0].as_py()!r}, and would be replaced"
            raise DataError(f"{problem}: name it with human (--human) too, or write to another file")
