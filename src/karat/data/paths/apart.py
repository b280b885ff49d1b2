"""Logs of known tools in which a document has a row for each filter, prompt or provider: systems of their own."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.json_text import RAW
from karat.core.errors import DataError
from karat.data.paths.nested import add_nested, find_nested
from karat.data.roles import find_layout
from karat.data.source import Source
from karat.data.storage.duckdb import literal, spell, where_option

_SHOWN = 6


def is_log_of_several(source: Source) -> bool:
    """Whether a source is the log of a tool that may have a document several times."""
    layout = find_layout(source.schema.names)
    return layout is not None and bool(layout.apart)


def check_one_system(source: Source, kept_apart: Collection[str]) -> None:
    """Raise `DataError` where a known log has a document several times, in rows of several systems.

    `kept_apart` are the columns or paths whose values have groups of their own.

    >>> from karat.data.formats.frames import open_frame
    >>> row = {"doc_id": 1, "target": "a", "arguments": "", "resps": "", "filtered_resps": ["a"]}
    >>> log = open_frame([{**row, "filter": "strict"}, {**row, "filter": "flexible"}])
    >>> check_one_system(log, ["filter"])
    >>> check_one_system(log, [])
    Traceback (most recent call last):
    karat.core.errors.DataError: list: lm-evaluation-harness has 1 document several times, by filter ('flexible', \
'strict'), which are systems of their own. Score one, --where "filter = 'flexible'" (in Python, \
where="filter = 'flexible'"), or each, --by filter
    """
    layout = find_layout(source.schema.names)
    if layout is None or not is_log_of_several(source):
        return
    paths = [*layout.document, *layout.apart]
    source = add_nested(source, find_nested(source, paths), keep_json=False)
    there = [path for path in paths if path in source.schema.names]
    document = [path for path in layout.document if path in there]
    if not document or {*kept_apart}.issuperset(apart := [path for path in layout.apart if path in there]):
        return
    rows = pa.Table.from_batches(
        [
            pa.RecordBatch.from_arrays([_as_text(batch.column(path)) for path in there], there)
            for batch in source.batches()
        ],
        pa.schema([(path, pa.large_string()) for path in there]),
    )
    for path in apart:
        if path not in kept_apart and (several := _count_several(rows, document, path)):
            values = rows.column(path).unique().to_pylist()
            raise DataError(_explain(source, layout.tool, path, values, several))


def _as_text(column: pa.Array) -> pa.Array:
    if column.type == RAW:
        column = column.storage
    if pa.types.is_nested(column.type):
        column = pa.array(map(str, column.to_pylist()), pa.large_string())
    return column.cast(pa.large_string())


def _count_several(rows: pa.Table, document: list[str], path: str) -> int:
    """How many documents have several values at a path."""
    options = pc.CountOptions(mode="all")
    counts = rows.group_by(document).aggregate([(path, "count_distinct", options)]).column(f"{path}_count_distinct")
    return int(pc.sum(pc.greater(counts, 1)).as_py() or 0)


def _explain(source: Source, tool: str, path: str, values: list[Any], several: int) -> str:
    values = sorted(values, key=lambda value: (value is None, value))
    is_number = pa.types.is_integer(source.schema.field(path).type)
    spelled = ["NULL" if value is None else value if is_number else literal(value) for value in values]
    condition = f"{spell(path)} {'IS' if values[0] is None else '='} {spelled[0]}"
    shown = ", ".join(spelled[:_SHOWN]) + (", …" if len(spelled) > _SHOWN else "")
    return (
        f"{source.name}: {tool} has {several:,} document{'s' * (several != 1)} several times, by {path} ({shown}), "
        f"which are systems of their own. "
        f"Score one, {where_option(condition)} (in Python, where={condition!r}), or each, --by {path}"
    )
