"""The compiled matches of tool calls, for the rows that they know; the definitions score all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy
from karat.core.columns.kinds import Array
from karat.core.metric.rows import MOST_PAIRS, Rows
from karat.metrics.text.string_comparison import parts

try:
    from karat.metrics._kernels import bfcl, tool_calls

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False

_HOW = ("exact", "subset", "superset", "ignore")
_MODES = ("strict", "unordered", "subset", "superset")


def count_calls(columns: Sequence[pa.Array], arguments: str, tool: str | None, *, ordered: bool = False) -> Array:
    """Matched, predicted and expected calls of each row, shape (n, 3); NaN where the definition is needed.

    Calls are matched first come, first served: as good as any other way where equality is transitive. `ordered`: a call
    matches the one at the same place.
    """
    out: Array = np.full((len(columns[0]), 3), np.nan)
    if COMPILED and tool != "":
        name = None if tool is None else tool.encode()

        def count(one: pa.Array, other: pa.Array, found: Array) -> None:
            tool_calls.count(*parts(one), *parts(other), _HOW.index(arguments), ordered, name, found)

        _fill(columns, out, count)
    return out


def match_trajectories(columns: Sequence[pa.Array], mode: str, arguments: str) -> Array:
    """Whether each conversation takes the expected course, shape (n, 1); NaN where the definition is needed."""
    out: Array = np.full(len(columns[0]), np.nan)
    if COMPILED:

        def match(one: pa.Array, other: pa.Array, found: Array) -> None:
            tool_calls.match(*parts(one), *parts(other), _MODES.index(mode), _HOW.index(arguments), found)

        _fill(columns, out, match)
    return out[:, None]


def _sizes(texts: pa.Array) -> Array:
    """The bytes of each text."""
    if pa.types.is_dictionary(texts.type):
        sizes: Array = _sizes(texts.dictionary)[np.asarray(texts.indices.fill_null(0))]
        return sizes
    return np.asarray(pc.binary_length(texts).fill_null(0), np.float64)


def _fill(columns: Sequence[pa.Array], out: Array, kernel: Callable[[pa.Array, pa.Array, Array], None]) -> None:
    """Fill the rows of `out` by a kernel; those that may have very many calls are left to the definition."""
    short: Array = _sizes(columns[0]) * _sizes(columns[1]) <= MOST_PAIRS
    if short.all():
        kernel(columns[0], columns[1], out)
        return
    found = np.ascontiguousarray(out[short])
    one, other = (column.filter(from_numpy(short)) for column in columns)
    kernel(one, other, found)
    out[short] = found


def match_allowed(columns: Sequence[pa.Array]) -> Array:
    """Whether calls have allowed arguments, shape (n, 1), from calls, allowed values and tools; NaN as above."""
    out: Array = np.full(len(columns[0]), np.nan)
    if COMPILED:
        calls, expected, tools = map(parts, columns)
        bfcl.match(*calls, *expected, *tools, out)
    return out[:, None]


def complete(statistics: Array, define: Callable[..., Rows], columns: Sequence[pa.Array]) -> Rows:
    """The statistics of all rows: those that are NaN come from the definition, with a reason where there is none."""
    open_rows = np.isnan(statistics[:, 0])
    if not open_rows.any():
        return Rows(statistics)
    mask = from_numpy(open_rows)
    rest = define(*(column.filter(mask) for column in columns))
    statistics[open_rows] = rest.statistics
    reasons: Array = np.full(len(statistics), None, dtype=object)
    reasons[open_rows] = rest.reasons
    return Rows(statistics, reasons)
