"""Rows of a run to read: the worst, best or unscored ones, with texts, scores, reasons and judges' verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from karat.core.columns.ids import ROW_IDS
from karat.core.columns.kinds import Array
from karat.core.columns.python_values import rows_to_python, to_text
from karat.core.errors import ColumnError, did_you_mean
from karat.data.json.objects import JsonObject
from karat.data.json.texts import list_golds, read_json
from karat.data.roles import matches_role, singular
from karat.runs.columns.output import find_reason_column
from karat.runs.match.alignment import ORDER
from karat.runs.match.match import Matched
from karat.runs.match.row_query import select_rows
from karat.runs.match.systems import gold_column, question_column
from karat.runs.store.run import Run

Order = Literal["worst", "best", "unscored"]


@dataclass(frozen=True)
class ScoredRow(JsonObject):
    """One row of a run, as a person reads it.

    `references` are the gold answers, `scores` the score of each metric, `details` what each judge returned beside it:
    its label, explanation, statements and votes. `columns` are others of the row. None is what the row does not have.
    """

    id: str
    question: str | None
    references: tuple[str, ...]
    prediction: str | None
    scores: Mapping[str, float | None]
    reason: str | None
    details: Mapping[str, Mapping[str, Any]]
    columns: Mapping[str, Any]


def find_rows(
    run: Run, spec: str, order: Order, most: int, where: str | None = None, columns: Sequence[str] = ()
) -> list[ScoredRow]:
    """At most `most` rows in the order of a metric's score, those with equal scores in the order of the run.

    `order`: the worst or the best first, or those without a score, but for those that a rule left out. `where`: an SQL
    condition on rows. `columns`: others to read.

    Raises `SpecError` for a metric that was not scored, `ColumnError` for a column that does not exist, `DataError` for
    a condition that does not work.
    """
    scored = run.manifest.metric(spec)
    scores = run.scores(scored.spec)
    rows = np.arange(len(scores)) if where is None else select_rows([run], where=where)[0]
    if order == "unscored":
        left_out = run.left_out(scored.spec)
        unscored = np.isnan(scores) if left_out is None else np.isnan(scores) & ~left_out
        chosen = rows[unscored[rows]][:most]
    else:
        rows = rows[~np.isnan(scores[rows])]
        rising = (order == "worst") == (scored.direction == "maximize")
        chosen = rows[np.argsort(scores[rows] if rising else -scores[rows], kind="stable")[:most]]
    return list(_describe(run, chosen.tolist(), columns))


def read_scored_rows(run: Run, columns: Sequence[str] = ()) -> Iterator[ScoredRow]:
    """All rows of a run in their order; `columns`: others to read. Raises what `find_rows` raises."""
    return _describe(run, range(len(run.scores(run.specs[0]))), columns)


def find_matched_rows(
    matched: Matched, most: int, where: str | None = None, order: str | None = None, columns: Sequence[str] = ()
) -> list[tuple[ScoredRow, ...]]:
    """The first `most` rows that `select_rows` chooses, each as every run has it; `columns`: others to read.

    A row of several runs has the id that pairs it.
    """
    runs, rows = matched.runs, matched.rows
    places = [rows.in_first(at) for at in range(len(runs))]
    chosen = [numbers[:most].tolist() for numbers in select_rows(runs, places, where, order)]
    described = zip(*(_describe(run, own, columns) for run, own in zip(runs, chosen, strict=True)), strict=True)
    if rows.by == ORDER or len(runs) == 1:
        return list(described)
    ids = rows.all_ids.take(pa.array(chosen[0], pa.int64())).to_pylist()
    return [tuple(replace(each, id=named) for each in row) for named, row in zip(ids, described, strict=True)]


def name_rows(run: Run, rows: Sequence[int]) -> list[str]:
    """The ids of some rows; where no column has the name of an id, their numbers from 1."""
    name = next((each for each in run.schema.names if singular(each) in ROW_IDS), None)
    if name is None or not rows:
        return [str(row + 1) for row in rows]
    ids = run.column(name)
    return [str(ids[row]) for row in rows]


def read_texts(run: Run, wanted: Collection[int]) -> dict[int, tuple[str | None, str | None]]:
    """The question and the prediction of some rows, by row number; None for what the run does not have."""
    question, prediction = question_column(run), _prediction_column(run)
    cells = _read_cells(run, [question, prediction], wanted)
    return {row: (to_text(each.get(question)), to_text(each.get(prediction))) for row, each in cells.items()}


def show_text(text: str | None, most: int) -> str:
    """A text on one line, cut after `most` characters; `(null)` where there is none."""
    line = "(null)" if text is None else " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"


def _prediction_column(run: Run) -> str | None:
    """The column of what was scored; where scores were given, the column of predictions, if there is one."""
    known = run.manifest.mapping.get("prediction", run.manifest.mapping.get("retrieved"))
    names = [name for name in run.schema.names if matches_role("prediction", name)] if known is None else [known]
    return names[0] if len(names) == 1 else None


def _read_cells(run: Run, names: Sequence[str | None], wanted: Collection[int]) -> dict[int, dict[str | None, Any]]:
    """These columns of some rows, by row number."""
    known = [name for name in dict.fromkeys(names) if name is not None]
    cells = dict[int, dict[str | None, Any]]((row, {}) for row in wanted)
    first, left = 0, len(cells)
    for batch in run.batches(known) if known else ():
        here: Array = np.array(sorted(row for row in cells if first <= row < first + len(batch)), dtype=np.int64)
        cells |= zip(here.tolist(), rows_to_python(batch.take(here - first), read_json), strict=True)
        first, left = first + len(batch), left - len(here)
        if not left:
            break
    return cells


def _describe(run: Run, rows: Sequence[int], columns: Sequence[str]) -> Iterator[ScoredRow]:
    for name in columns:
        if name not in run.schema.names:
            raise ColumnError(f"{run.name}: there is no column {name!r}{did_you_mean(name, run.schema.names)}")
    question, gold, prediction = question_column(run), gold_column(run), _prediction_column(run)
    reason = find_reason_column(run.schema.names, {metric.column for metric in run.manifest.metrics})
    details = {
        metric.spec: [name for name in run.schema.names if name.startswith(f"{metric.spec}.")]
        for metric in run.manifest.metrics
    }
    cells = _read_cells(run, [question, gold, prediction, reason, *columns, *chain(*details.values())], rows)
    scores = {metric.spec: run.scores(metric.spec) for metric in run.manifest.metrics}
    for row, id_ in zip(rows, name_rows(run, rows), strict=True):
        cell = cells[row].get
        verdicts = {
            spec: {name.removeprefix(f"{spec}."): cell(name) for name in names if cell(name) not in (None, "")}
            for spec, names in details.items()
        }
        yield ScoredRow(
            id=id_,
            question=to_text(cell(question)),
            references=tuple(list_golds(cell(gold))),
            prediction=to_text(cell(prediction)),
            scores={spec: None if np.isnan(each[row]) else float(each[row]) for spec, each in scores.items()},
            reason=cell(reason) or None,
            details={spec: each for spec, each in verdicts.items() if each},
            columns={name: cell(name) for name in columns},
        )
