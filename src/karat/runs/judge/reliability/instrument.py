"""The mean of all verdicts of one judge or several, and what it varies by: rows, prompts, judges, repetition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from karat.core.errors import DataError
from karat.runs.judge.raters import Rater, Raters
from karat.stats.inference import Inference
from karat.stats.intervals.wilson import Ends
from karat.stats.reliability.instrument import Instrument, measure_instrument

OWN = ""  # the name of a judge's own prompt beside its rewordings


def find_instrument(raters: Raters, judges: Sequence[Rater], bounds: Ends, inference: Inference) -> Instrument | None:
    """What the mean of these judges' scores varies by, in the prompts that all of them were asked with.

    A score that was not asked for again is one verdict. None where the verdicts do not show it: there is one row, or
    one verdict on each.
    """
    tried = [(OWN,) if each.votes is None else each.votes.prompts for each in judges]
    shared = [name for name in dict.fromkeys(tried[0]) if all(name in names for names in tried)]
    columns, prompts, of_judges = list[np.ndarray](), list[int](), list[int]()
    for at, (judge, names) in enumerate(zip(judges, tried, strict=True)):
        scores = judge.scores[:, None] if judge.votes is None else judge.votes.scores
        kept = [column for column, name in enumerate(names) if name in shared]
        columns.append(scores[:, kept])
        prompts += [shared.index(names[column]) for column in kept]
        of_judges += [at] * len(kept)
    try:
        return measure_instrument(
            np.concatenate(columns, axis=1),
            {"prompt": np.array(prompts), "judge": np.array(of_judges)},
            bounds=bounds,
            weights=raters.weights,
            clusters=raters.clusters,
            inference=inference,
        )
    except DataError:
        return None
