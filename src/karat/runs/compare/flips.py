"""The rows on which two systems differ most, with the question, both predictions and both scores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from karat.core.columns.ids import ROW_IDS
from karat.core.columns.kinds import Array
from karat.data.roles import singular
from karat.runs.compare.compatible import SharedMetric
from karat.runs.compare.row_alignment import Alignment
from karat.runs.compare.systems import question_column
from karat.runs.store.run import Run


@dataclass(frozen=True)
class Flip:
    """A row on which a system and the first have different scores; pairs are of the first and of the system."""

    metric: str
    system: str
    id: str
    question: str | None
    predictions: tuple[str | None, str | None]
    scores: tuple[float, float]

    def as_dict(self) -> dict[str, Any]:
        """The row for JSON."""
        return asdict(self)


_Place: TypeAlias = tuple[str, int, int, tuple[float, float]]
"""A row to report: its metric, the number of its system, its number among the aligned rows, and its scores."""


def find_flips(runs: Sequence[Run], shared: Sequence[SharedMetric], rows: Alignment, most: int) -> tuple[Flip, ...]:
    """For each metric and system the rows with the largest losses, then those with the largest gains: `most` each."""
    if not most:
        return ()
    places = [place for metric in shared for place in _choose(runs, metric, rows, most)]
    texts = [
        read_texts(run, {int(rows.orders[at][row]) for _, system, row, _ in places if at in (0, system)})
        for at, run in enumerate(runs)
    ]
    flips = []
    for metric, at, row, scores in places:
        (question, first), (same, second) = (texts[each][int(rows.orders[each][row])] for each in (0, at))
        question = same if question is None else question
        flips.append(Flip(metric, runs[at].name, rows.ids[row].as_py(), question, (first, second), scores))
    return tuple(flips)


def find_worst(run: Run, spec: str, most: int) -> list[tuple[str, str | None, str | None, float]]:
    """The at most `most` rows with the worst scores: each with its id or number, question, prediction and score."""
    scored = run.manifest.metric(spec)
    scores = run.scores(scored.spec)
    ranked = np.argsort(scores if scored.direction == "maximize" else -scores, kind="stable")[:most]
    rows = ranked[~np.isnan(scores[ranked])].tolist()
    texts, names = read_texts(run, set(rows)), name_rows(run, rows)
    return [(name, *texts[row], float(scores[row])) for name, row in zip(names, rows, strict=True)]


def name_rows(run: Run, rows: Sequence[int]) -> list[str]:
    """The ids of some rows; where no column has the name of an id, their numbers from 1."""
    name = next((each for each in run.schema.names if singular(each) in ROW_IDS), None)
    if name is None or not rows:
        return [str(row + 1) for row in rows]
    ids = run.column(name)
    return [str(ids[row]) for row in rows]


def show_text(text: str | None, most: int) -> str:
    """A text on one line, cut after `most` characters; `(null)` where there is none."""
    line = "(null)" if text is None else " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"


def _choose(runs: Sequence[Run], metric: SharedMetric, rows: Alignment, most: int) -> Iterator[_Place]:
    sign = 1 if metric.by_run[0].direction == "maximize" else -1
    columns = zip(runs, metric.by_run, rows.orders, strict=True)
    scores = [run.scores(scored.spec)[order] for run, scored, order in columns]
    for system in range(1, len(runs)):
        gains = np.nan_to_num(sign * (scores[system] - scores[0]))
        losses, wins = (np.argsort(order, kind="stable")[:most] for order in (gains, -gains))
        for row in [*losses[gains[losses] < 0].tolist(), *wins[gains[wins] > 0].tolist()]:
            yield metric.spec, system, row, (float(scores[0][row]), float(scores[system][row]))


def read_texts(run: Run, wanted: set[int]) -> dict[int, tuple[str | None, str | None]]:
    """The question and the prediction of some rows, by row number; None for what the run does not have."""
    mapping = run.manifest.mapping
    names = [question_column(run), mapping.get("prediction", mapping.get("retrieved"))]
    if not wanted or not any(names):
        return dict.fromkeys(wanted, (None, None))
    texts, first = dict[int, tuple[str | None, str | None]](), 0
    for batch in run.batches([name for name in dict.fromkeys(names) if name]):
        here: Array = np.array(sorted(row for row in wanted if first <= row < first + len(batch)), dtype=np.int64)
        for row, cells in zip(here.tolist(), batch.take(here - first).to_pylist(), strict=True):
            question, prediction = (None if name is None else _text(cells[name]) for name in names)
            texts[row] = question, prediction
        first += len(batch)
        if len(texts) == len(wanted):
            break
    return texts


def _text(cell: Any) -> str | None:
    return cell if cell is None or isinstance(cell, str) else json.dumps(cell, ensure_ascii=False, default=str)
