"""A column of scores: what evaluators give that score all rows of a frame at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Literal, Protocol, TypeAlias

import pyarrow as pa
from phoenix.evals import Score

Kind: TypeAlias = Literal["human", "llm", "code"]
Direction: TypeAlias = Literal["maximize", "minimize", "neutral"]
Strings: TypeAlias = pa.Array | Sequence[Any]


class Read(Protocol):
    """Reads the columns of a frame for an evaluator."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the frame's columns."""

    def __call__(self, field: str) -> pa.Array:
        """The column that a field is mapped to, else the column of its name; KeyError if that is not a plain column."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """The scores of many rows, as columns of equal length; what is not a column is the same for every row.

    `score`: float64, null or NaN for a row without one. `reason`: for each row the text of the error by which it
    failed, None if it did not fail; None if no row failed. `row_metadata`: further metadata, one value for each row.
    """

    name: str
    score: pa.Array
    label: Strings | None = None
    explanation: Strings | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    kind: Kind = "code"
    direction: Direction = "maximize"
    reason: Strings | None = None
    row_metadata: Mapping[str, Strings] = field(default_factory=dict)

    def at(self, row: int) -> Score:
        """The score of one row."""
        score = _cell(self.score, row)
        metadata = {name: _cell(values, row) for name, values in self.row_metadata.items()}
        return Score(
            name=self.name,
            score=None if score is None or isnan(score) else score,
            label=_cell(self.label, row),
            explanation=_cell(self.explanation, row),
            metadata={**self.metadata, **{name: value for name, value in metadata.items() if value is not None}},
            kind=self.kind,
            direction=self.direction,
        )


def _cell(values: Strings | None, row: int) -> Any:
    value = None if values is None else values[row]
    return value.as_py() if isinstance(value, pa.Scalar) else value
