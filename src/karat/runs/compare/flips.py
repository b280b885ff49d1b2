"""The rows on which two systems differ most, with the question, both predictions and both scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy
from karat.data.json.objects import JsonObject
from karat.runs.compare.scored_rows import read_texts
from karat.runs.match.alignment import Alignment
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.match.streams import zip_streams
from karat.runs.store.run import Run


@dataclass(frozen=True)
class Flip(JsonObject):
    """A row on which a system and the first have different scores; pairs are of the first and of the system."""

    metric: str
    system: str
    id: str
    question: str | None
    predictions: tuple[str | None, str | None]
    scores: tuple[float, float]


@dataclass(frozen=True, order=True)
class _FlipRank:
    """A row to report: by how much its system loses, where its id is among those sorted, or the id, and its number."""

    gain: float
    key: Any
    row: int
    scores: tuple[float, float]


def find_flips(runs: Sequence[Run], shared: Sequence[SharedMetric], rows: Alignment, most: int) -> tuple[Flip, ...]:
    """For each metric and system the rows with the largest losses, then those with the largest gains: `most` each."""
    if not most:
        return ()
    chosen = [(metric.spec, *each) for metric in shared for each in _choose(runs, metric, rows, most)]
    places = [{at: int(rows.place(at, np.array(place.row))) for at in (0, system)} for _, system, place in chosen]
    texts = [read_texts(run, {each[at] for each in places if at in each}) for at, run in enumerate(runs)]
    flips = []
    for (spec, at, place), here in zip(chosen, places, strict=True):
        (question, first), (same, second) = (texts[each][here[each]] for each in (0, at))
        name = place.key if rows.in_step else rows.ids[place.row].as_py()
        question = same if question is None else question
        flips.append(Flip(spec, runs[at].name, name, question, (first, second), place.scores))
    return tuple(flips)


def _choose(runs: Sequence[Run], metric: SharedMetric, rows: Alignment, most: int) -> Iterator[tuple[int, _FlipRank]]:
    """The system and the place of each row to report; rows that lose or gain as much come in the order of their ids."""
    sign = 1 if metric.by_run[0].direction == "maximize" else -1
    streams = [run.read_scores(scored.spec) for run, scored in zip(runs, metric.by_run, strict=True)]
    scores = (np.column_stack(piece) for piece in rows.read(streams))
    keys = rows.read_ids() if rows.in_step else [from_numpy(np.arange(len(rows)))]
    best_of = {(system, turn): list[_FlipRank]() for system in range(1, len(runs)) for turn in (sign, -sign)}
    first = 0
    for names, piece in zip_streams([keys, scores]):
        for (system, turn), best in best_of.items():
            gains = turn * (piece[:, system] - piece[:, 0])
            at = np.flatnonzero(gains < (0 if len(best) < most else np.nextafter(best[-1].gain, 0)))
            table = pa.table({"gain": from_numpy(gains[at]), "key": names.take(from_numpy(at))})
            at = at[pc.sort_indices(table, [("gain", "ascending"), ("key", "ascending")])[:most]]
            pairs = piece[at][:, [0, system]].tolist()
            numbers = (first + at).tolist()
            more = zip(
                gains[at].tolist(), names.take(from_numpy(at)).to_pylist(), numbers, map(tuple, pairs), strict=True
            )
            best[:] = sorted([*best, *(_FlipRank(*each) for each in more)])[:most]
        first += len(piece)
    for (system, _), best in best_of.items():
        yield from ((system, place) for place in best)
