"""The scores of each system by another number of the rows: the length of the answer, a column, another score."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError, did_you_mean
from karat.stats.reliability.parts import PARTS, divide, mean_by_part
from karat.viewer.rows.fields import Field
from karat.viewer.rows.filters import field_numbers
from karat.viewer.rows.table import RowTable

LENGTH = "length"
"""The characters of an answer; else the spec of a metric, or the name of a column of numbers."""


def draw_curves(table: RowTable, metric: str, across: str) -> list[dict[str, Any]]:
    """For each system the mean score over the parts of a range, and over all rows.

    The parts are the same for all systems. Rows without one of the two numbers do not count.
    """
    systems = range(len(table.runs))
    numbers = [_numbers(table, at, across) for at in systems]
    scores = [field_numbers(table, Field("score", metric=metric, system=at)) for at in systems]
    ends = divide(np.concatenate(numbers), PARTS)
    return [
        {
            "system": table.runs[at].name,
            "parts": [asdict(each) for each in mean_by_part(numbers[at], scores[at], ends)],
            "whole": [asdict(each) for each in mean_by_part(numbers[at], scores[at], ends[[0, -1]])]
            if len(ends)
            else [],
        }
        for at in systems
    ]


def _numbers(table: RowTable, system: int, across: str) -> Array:
    if across == LENGTH:
        return table.lengths(system)
    if across in table.specs:
        return field_numbers(table, Field("score", metric=across, system=system))
    known = [name for run in table.runs for name in run.schema.names]
    if across not in known:
        raise SpecError(f"there is no column {across[:80]!r}{did_you_mean(across[:80], known)}")
    if across not in table.runs[system].schema.names:  # this system has none
        return np.full(table.n, np.nan)
    if not table.is_number(system, across):
        raise SpecError(f"{across!r} holds no numbers")
    return np.asarray(table.numbers(system, across).to_numpy(zero_copy_only=False))
