"""The results of evaluators: a score of one record, and a column of scores."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Literal, Protocol, TypeAlias, get_args

import pyarrow as pa

from karat.core.errors import SpecError, did_you_mean

KindType: TypeAlias = Literal["human", "llm", "heuristic", "code"]
DirectionType: TypeAlias = Literal["maximize", "minimize", "neutral"]
Strings: TypeAlias = pa.Array | Sequence[Any]


@dataclass(frozen=True, init=False, repr=False)
class Score:
    """One score of one record, with Phoenix's fields.

    `kind`: who scored: "code", "llm" or "human"; another text is kept, as in Phoenix, whose annotations count it as
    "llm". `direction`: whether a higher score is better. Equal scores have the same hash; it leaves out the metadata.
    Raises `SpecError`, a `ValueError`, for an unknown direction.

    >>> Score(name="tone", score=1.0, label="polite", kind="llm")
    Score(name='tone', score=1.0, label='polite', kind='llm', direction='maximize')
    >>> Score(score=1.0, direction="maximum")
    Traceback (most recent call last):
        ...
    karat.core.errors.SpecError: direction='maximum' is not known; did you mean 'maximize'?
    """

    name: str | None
    score: float | int | None
    label: str | None
    explanation: str | None
    metadata: Mapping[str, Any] = field(hash=False)
    kind: KindType | None
    direction: DirectionType

    def __init__(
        self,
        *,
        name: str | None = None,
        score: float | None = None,
        label: str | None = None,
        explanation: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        kind: KindType | None = None,
        direction: DirectionType = "maximize",
        source: KindType | None = None,
    ) -> None:
        kind = current_kind(kind, source)
        if direction not in get_args(DirectionType):
            raise SpecError(
                f"direction={direction!r} is not known{did_you_mean(str(direction), get_args(DirectionType))}"
            )
        if metadata is not None and not isinstance(metadata, Mapping):
            raise TypeError(f"metadata={metadata!r:.80}: a dict is expected")
        metadata = {} if metadata is None else metadata
        self.__dict__.update(name=name, score=score, label=label, explanation=explanation)
        self.__dict__.update(metadata=metadata, kind=kind, direction=direction)

    @property
    def source(self) -> KindType | None:
        """The old name of `kind`."""
        warnings.warn("'source' is deprecated: Score.kind is its name now", DeprecationWarning, stacklevel=2)
        return self.kind

    def to_dict(self) -> dict[str, Any]:
        """The fields that are not None, in Phoenix's order.

        >>> Score(name="exact_match", score=1.0, kind="code").to_dict()
        {'name': 'exact_match', 'score': 1.0, 'metadata': {}, 'kind': 'code', 'direction': 'maximize'}
        """
        fields = self.__dict__ | {"metadata": dict(self.metadata)}
        return {name: value for name, value in fields.items() if value is not None}

    def pretty_print(self, indent: int = 2) -> None:
        """Print the score as JSON."""
        print(json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, default=_plain))  # noqa: T201

    def __repr__(self) -> str:
        fields = {name: value for name, value in self.to_dict().items() if value != {}}
        return f"Score({', '.join(f'{name}={value!r}' for name, value in fields.items())})"


class Read(Protocol):
    """Reads the columns of a frame for an evaluator."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the frame's columns."""

    def __call__(self, field: str) -> pa.Array:
        """The column that a field is mapped to, else the column of its name; KeyError if there is no plain column."""


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
    kind: KindType = "code"
    direction: DirectionType = "maximize"
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


def _plain(value: Any) -> Any:
    """A value that JSON cannot hold: NumPy's as Python's, anything else as its text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def current_kind(kind: KindType | None, source: KindType | None = None) -> KindType | None:
    """The kind, also from its old names, of which a `DeprecationWarning` tells; `SpecError` if both differ."""
    if source is not None:
        warnings.warn("'source' is deprecated: use 'kind'", DeprecationWarning, stacklevel=3)
        if kind not in (None, source):
            raise SpecError(f"Provide only one of 'kind' or 'source' (they differ). Use 'kind'. {kind!r}, {source!r}")
        kind = source
    if kind == "heuristic":
        warnings.warn("kind='heuristic' is deprecated: use 'code'", DeprecationWarning, stacklevel=3)
        return "code"
    return kind
