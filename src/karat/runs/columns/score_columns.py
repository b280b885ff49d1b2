"""Columns of the data that a metric names itself, as in `column(gpt4)`: their numbers, their range, and their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_list, is_text
from karat.core.columns.json_text import RAW, decode_text
from karat.core.columns.numbers import are_truths, read_numbers
from karat.core.errors import ColumnError, RowError, nearest_name
from karat.core.metric.metric import Metric
from karat.core.metric.registry import find
from karat.data.json.values import value_type
from karat.data.roles import is_known_name

_SHOWN = 5  # columns named in a message


class Readable(Protocol):
    """A source, or a run."""

    @property
    def name(self) -> str:
        """Of the rows, for messages."""

    @property
    def schema(self) -> pa.Schema:
        """The columns."""

    def batches(self, names: list[str], /) -> Iterable[pa.RecordBatch]:
        """The rows, with these columns at least."""


def check_range(
    numbers: pa.Array, expected: tuple[float, float] | None, where: str, place: Callable[[int], str]
) -> None:
    """Raise `RowError` for the first number that is not in the range, where there is one; see `read_numbers`."""
    if expected is None:
        return
    low, high = expected
    ends = pc.min_max(numbers).as_py()
    if ends["min"] is None or low <= ends["min"] <= ends["max"] <= high:
        return
    beyond = pc.or_(pc.less(numbers, low), pc.greater(numbers, high))
    if pc.any(beyond).as_py():
        at = pc.index(beyond, value=True).as_py()
        hint = "; for per cent set scale='percent', for logarithms scale='log'" if expected == (0, 1) else ""
        problem = f"expected a number from {low:g} to {high:g}, found {numbers[at].as_py():g}{hint}"
        raise RowError(f"{place(at)}, {where}: {problem}")


def fit_range(metric: Metric, rows: Readable) -> Metric:
    """The metric, with the range from 0 to 1 where it takes its scores from yes and no, and no end of it is set."""
    definition = metric.definition
    names = [name for name in definition.inputs.named.values() if name in rows.schema.names]
    if not names or (definition.low, definition.high) != (None, None) or not _holds_truths(rows, names[0]):
        return metric
    return replace(metric, definition=replace(definition, low=0.0, high=1.0))


def _holds_truths(rows: Readable, name: str) -> bool:
    kind = value_type(rows.schema.field(name))
    kind = kind.value_type if is_list(kind) else kind
    if kind != RAW and not is_text(kind):
        return bool(pa.types.is_boolean(kind))
    with suppress(RowError):  # reading the scores raises it again, with the row
        for batch in rows.batches([name]):
            column = batch.column(name)
            column = decode_text(column)
            if (truths := are_truths(column.flatten() if is_list(column.type) else column)) is not None:
                return truths
    return False


def suggest_column(rows: Readable, wanted: Iterable[str] = ()) -> str:
    """The tail of a message where no metric was found: the columns of numbers, as metrics; empty without one."""
    names = list(islice(_number_columns(rows), _SHOWN))
    if not names:
        return ""
    near = next(filter(None, (nearest_name(each, names) for each in wanted)), names[0])
    others = [name for name in names if name != near]
    also = f" (or {', '.join(others)})" if others else ""
    return f'; a column of numbers is a metric too: -m "{find("column").using(name=near).spec}"{also}'


def _number_columns(rows: Readable) -> Iterator[str]:
    """The columns whose first rows hold numbers, or yes and no; without ids and other columns of known names."""
    names = [name for name in rows.schema.names if not is_known_name(name)]
    for batch in islice(rows.batches(names), 1):
        first = batch.slice(0, 100)
        for name in names:
            with suppress(ColumnError, RowError):
                if read_numbers(first.column(name), name, str).null_count < len(first):
                    yield name
