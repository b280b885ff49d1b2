"""`KaratEvaluator`: any metric of karat as a component of a pipeline."""

# No `from __future__ import annotations`: older releases of Haystack cannot read sockets whose types are texts.

from typing import Any, Self, Union

from haystack import component, default_from_dict, default_to_dict

from karat.adapters.haystack.component import INTEGRATION, check_lengths
from karat.core.columns.kinds import GRADED, IDS, NUMBER, NUMBERS, TEXT, TEXTS, Kind
from karat.core.errors import ColumnError, SpecError, did_you_mean
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse, parse_all
from karat.runs.scoring.pipeline import score

_SOCKETS: dict[Kind, Any] = {
    TEXT: list[Union[str, list[str]]],  # noqa: UP007  (older releases of Haystack connect nothing to `str | list[str]`)
    TEXTS: list[Union[str, list[str]]],  # noqa: UP007
    NUMBER: list[Union[float, int, bool]],  # noqa: UP007
    NUMBERS: list[list[Union[float, int, bool]]],  # noqa: UP007
    IDS: list[list[Any]],
    GRADED: list[Any],
}


@component
class KaratEvaluator:
    """A metric, named by its spec such as `"token_f1(normalize='squad')"`; its inputs are the metric's columns.

    >>> evaluator = KaratEvaluator("token_f1(normalize='unicode')")
    >>> evaluator.run(prediction=["city of Paris", "Lyon"], reference=[["Paris", "City of Paris"], None])
    {'score': 1.0, 'individual_scores': [1.0, None], 'interval': [0.0, 1.0], 'reasons': [None, 'reference is null'],
    'unscored': 1}
    >>> evaluator.to_dict()["init_parameters"]
    {'metric': "token_f1(normalize='unicode')"}
    """

    __module__ = INTEGRATION

    def __init__(self, metric: str | Metric) -> None:
        """A component of one metric; `SpecError`, a `ValueError`, for an unknown metric."""
        (self.metric,) = parse_all([parse(metric) if isinstance(metric, str) else metric])
        columns = self.metric.definition.columns
        component.set_input_types(self, **{role: _SOCKETS.get(kind, list[Any]) for role, kind in columns.items()})

    @component.output_types(
        score=float | None,
        individual_scores=list[float | None],
        interval=list[float | None],
        reasons=list[str | None],
        unscored=int,
    )
    def run(self, **columns: Any) -> dict[str, Any]:
        """Score rows with the metric.

        Returns `individual_scores`, one for each row, None for a row that cannot be scored; `reasons`, why it cannot;
        `unscored`, the number of these rows; `score`, the metric's value over the other rows, and `interval`, its 95 %
        confidence interval. Raises a `karat.KaratError` for columns that are empty, missing, unknown, of unequal length
        or of the wrong kind.
        """
        wanted = self.metric.definition.columns
        for name in columns.keys() ^ wanted.keys():
            what = f"takes no {name!r}{did_you_mean(name, wanted)}" if name in columns else f"misses {name!r}"
            raise ColumnError(f"{self.metric.spec} {what}")
        check_lengths(**columns)
        data = {role: _to_lists(column) for role, column in columns.items()}
        result = score(data, self.metric, map={role: role for role in wanted})
        value, table = result.values[self.metric.spec], result.table
        return {
            "score": value.value,
            "individual_scores": table[self.metric.spec].to_pylist(),
            "interval": [value.low, value.high],
            "reasons": table.column(-1).to_pylist() if value.unscored else [None] * len(table),  # see `Result.table`
            "unscored": value.unscored,
        }

    def to_dict(self) -> dict[str, Any]:
        """The component as a dict, as Haystack stores it; `SpecError` if the spec does not restore the metric."""
        spec = self.metric.spec
        if parse(spec) != self.metric:
            raise SpecError(f"{spec} cannot be stored: its spec names another metric")
        return default_to_dict(self, metric=spec)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component from a dict of `to_dict`."""
        return default_from_dict(cls, data)


def _to_lists(column: Any) -> Any:
    """A column that mixes texts and lists of texts as lists only; other columns unchanged."""
    if isinstance(column, list) and {str, list} <= set(map(type, column)):
        return [[cell] if isinstance(cell, str) else cell for cell in column]
    return column
