"""Values of Arrow as Python and pandas have them, and times, of which these have only some, as text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from math import isnan
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from karat.core.errors import RowError

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1, "D": 86_400 * 10**9}
_KNOWN_DAYS = 11_000_000  # before and after 1970: about the years that Arrow can spell, -32767 to 32767
_TIME = re.compile(r"(:\d\d)(?:\.(\d+))?(Z$|[+-]\d{4}$|$)")
"""The seconds, their fraction, and the time zone at the end of Arrow's text of a time."""


def to_python(column: pa.Array | pa.ChunkedArray, read_json: Callable[[str], Any] = str) -> list[Any]:
    """`column.to_pylist()`, with text (`spell_times`) for each time that Python cannot hold; maps are dicts.

    `read_json` reads a cell of JSON text, which stays text by default.

    >>> to_python(pa.array([[0, 2**40], None]).cast(pa.list_(pa.timestamp("s"))))
    [[datetime.datetime(1970, 1, 1, 0, 0), '1099511627776 s'], None]
    """
    if isinstance(column.type, pa.JsonType):
        return [cell if cell is None else read_json(cell) for cell in column.to_pylist()]
    if not _holds_clock(column.type):
        with suppress(OverflowError, ValueError):
            return list(column.to_pylist(maps_as_pydicts="lossy"))
    return list(map(_to_python, column))


def rows_to_python(batch: pa.RecordBatch, read_json: Callable[[str], Any] = str) -> list[dict[Any, Any]]:
    """`batch.to_pylist()`, with values as `to_python` gives them.

    >>> rows_to_python(pa.record_batch({"a": [1, None], "b": ["x", "y"]}))
    [{'a': 1, 'b': 'x'}, {'a': None, 'b': 'y'}]
    """
    rows: list[dict[Any, Any]] = [{} for _ in range(batch.num_rows)]
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        for row, cell in zip(rows, to_python(column, read_json), strict=True):
            row[name] = cell
    return rows


def read_rows(read: Callable[[Any], Any], rows: Iterable[Any], place: Callable[[int], str] | None = None) -> list[Any]:
    """What `read` makes of each row, None for None and NaN; its `ValueError` becomes a `RowError` that names the row.

    `place` names the row at a position; by default by its number alone.

    >>> read_rows(int, ["7", None, "x"], "row {}".format)
    Traceback (most recent call last):
        ...
    karat.core.errors.RowError: row 2: invalid literal for int() with base 10: 'x'
    """
    values = list[Any]()
    try:
        for row in rows:
            values.append(None if row is None or (isinstance(row, float) and isnan(row)) else read(row))
    except ValueError as error:
        name = f"row {len(values) + 1}" if place is None else place(len(values))
        raise RowError(f"{name}: {error}") from None
    return values


def is_missing(value: Any) -> bool:
    """Whether a value stands for a missing one in records and frames: None, NaN, pandas' NA and NaT.

    >>> [is_missing(value) for value in (None, float("nan"), 0, "")]
    [True, True, False, False]
    """
    if isinstance(value, float):
        return value != value  # noqa: PLR0124  (only NaN differs from itself)
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def to_text(cell: Any) -> str | None:
    """A cell as text: what is not text, as JSON."""
    return cell if cell is None or isinstance(cell, str) else json.dumps(cell, ensure_ascii=False, default=str)


def to_pandas(table: pa.Table) -> Any:
    """The table as a pandas frame; a column that pandas cannot hold has values of Python (`to_python`).

    Raises `ImportError` without pandas.
    """
    try:
        return table.to_pandas()
    except (ValueError, TypeError, NotImplementedError, OverflowError):  # of which Arrow's errors are subclasses
        import pandas as pd  # noqa: PLC0415  (an extra)

        return pd.DataFrame(
            {name: _to_series(column) for name, column in zip(table.column_names, table.columns, strict=True)}
        )


def _to_series(column: pa.ChunkedArray) -> Any:
    import pandas as pd  # noqa: PLC0415

    try:
        return column.to_pandas()
    except (ValueError, TypeError, NotImplementedError, OverflowError):
        return pd.Series(to_python(column), dtype=object)


def _holds_clock(kind: pa.DataType) -> bool:
    """Whether there are times of day in a type: Arrow drops their nanoseconds, and days, where it gives Python's."""
    if isinstance(kind, pa.BaseExtensionType):
        return _holds_clock(kind.storage_type)
    if pt.is_dictionary(kind) or pt.is_run_end_encoded(kind):
        return _holds_clock(kind.value_type)
    return bool(pt.is_time(kind)) or any(_holds_clock(kind.field(at).type) for at in range(kind.num_fields))


def _to_python(cell: pa.Scalar) -> Any:
    kind = cell.type
    if not cell.is_valid:
        return None
    if pt.is_struct(kind):
        return {name: _to_python(item) for name, item in cell.items()}
    if isinstance(cell, pa.ListScalar):  # a map is one too
        items = list(map(_to_python, cell.values))
        return dict(tuple(item.values()) for item in items) if pt.is_map(kind) else items
    if pt.is_dictionary(kind) or pt.is_union(kind) or pt.is_run_end_encoded(kind):
        return _to_python(cell.value)
    if pt.is_time(kind) and (not 0 <= cell.value < _in_day(kind) or cell.value * _NANOSECONDS[kind.unit] % 1000):
        return _spell_time(cell)
    try:
        return cell.as_py()
    except (OverflowError, ValueError):
        if not pt.is_temporal(kind):
            raise
        return _spell_time(cell)


def _spell_time(cell: pa.Scalar) -> str:
    return str(spell_times(pa.array([cell.value], _integer(cell.type)).view(cell.type))[0])


def _integer(kind: pa.DataType) -> pa.DataType:
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _unit(kind: pa.DataType) -> str:
    return "D" if pt.is_date32(kind) else "ms" if pt.is_date64(kind) else str(kind.unit)


def _in_day(kind: pa.DataType) -> int:
    return _NANOSECONDS["D"] // _NANOSECONDS[_unit(kind)]


def spell_times(column: pa.Array) -> pa.Array:
    """Times as the text that Python prints, where it can hold them.

    Others have the same form: nine digits for nanoseconds, years up to 32767, UTC where their zone's rules are
    unknown. Later times, times outside of a day, and durations that Python cannot hold, are written as number and unit.

    >>> spell_times(pa.array([1, 2**62]).cast(pa.timestamp("ms", "UTC"))).to_pylist()
    ['1970-01-01 00:00:00.001000+00:00', '4611686018427387904 ms']
    >>> spell_times(pa.array([90, 2**62]).cast(pa.duration("s"))).to_pylist()
    ['0:01:30', '4611686018427387904 s']
    """
    kind = column.type
    if pt.is_duration(kind):
        cells = column.view(pa.int64()).to_pylist()
        return pa.array([cell if cell is None else _spell_duration(cell, kind.unit) for cell in cells], pa.string())
    texts = time_texts(column).to_pylist()
    return pa.array([text if text is None else _TIME.sub(_trim, text) for text in texts], pa.string())


def time_texts(column: pa.Array) -> pa.Array:
    """Times, or durations, as `column.cast(pa.string())` writes them; those that it cannot write as number and unit.

    >>> time_texts(pa.array([1, 2**40]).cast(pa.timestamp("s", "Europe/Berlin"))).to_pylist()
    ['1970-01-01 01:00:01+0100', '1099511627776 s']
    """
    kind, texts = column.type, column.cast(pa.string())
    if pt.is_duration(kind):
        return texts
    if not (late := are_late(column)).any():
        return texts
    numbers = column.view(_integer(kind)).filter(pa.array(late)).to_pylist()
    return pc.replace_with_mask(texts, pa.array(late), pa.array([f"{v} {_unit(kind)}" for v in numbers], pa.string()))


def are_late(column: pa.Array) -> np.ndarray[Any, Any]:
    """Which times Arrow cannot write: those thirty thousand years away, and times of day that no day has."""
    kind = column.type
    days = pc.fill_null(column.view(_integer(kind)).cast(pa.int64()), 0).to_numpy() // _in_day(kind)
    late: np.ndarray[Any, Any] = days != 0 if pt.is_time(kind) else np.abs(days) > _KNOWN_DAYS
    return late


def _trim(time: re.Match[str]) -> str:
    """The end of a time as Python prints it: a fraction of no, six or nine digits, and a zone such as +01:00."""
    digits, zone = (time[2] or "").ljust(9, "0"), time[3].replace("Z", "+0000")
    fraction = "" if not digits.strip("0") else f".{digits[:6]}" if digits.endswith("000") else f".{digits}"
    return f"{time[1]}{fraction}{zone and f'{zone[:3]}:{zone[3:]}'}"


def _spell_duration(number: int, unit: str) -> str:
    """As Python prints it, where it can hold it.

    >>> _spell_duration(90, "s"), _spell_duration(1, "ns"), _spell_duration(2**62, "s")
    ('0:01:30', '1 ns', '4611686018427387904 s')
    """
    micro, rest = divmod(number * _NANOSECONDS[unit], 1000)
    with suppress(OverflowError):
        return f"{number} {unit}" if rest else str(timedelta(microseconds=micro))
    return f"{number} {unit}"
