"""The rows on which two systems differ most, with the question, both predictions and both scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from karat.runs.compare.compatible import SharedMetric
from karat.runs.compare.row_alignment import Alignment
from karat.runs.compare.scored_rows import read_texts
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


def _choose(runs: Sequence[Run], metric: SharedMetric, rows: Alignment, most: int) -> Iterator[_Place]:
    sign = 1 if metric.by_run[0].direction == "maximize" else -1
    columns = zip(runs, metric.by_run, rows.orders, strict=True)
    scores = [run.scores(scored.spec)[order] for run, scored, order in columns]
    for system in range(1, len(runs)):
        gains = np.nan_to_num(sign * (scores[system] - scores[0]))
        losses, wins = (np.argsort(order, kind="stable")[:most] for order in (gains, -gains))
        for row in [*losses[gains[losses] < 0].tolist(), *wins[gains[wins] > 0].tolist()]:
            yield metric.spec, system, row, (float(scores[0][row]), float(scores[system][row]))
