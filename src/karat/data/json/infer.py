"""Infers the columns of a file of JSON objects, and their types, from all of its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from karat.core.columns.ids import is_spans
from karat.core.columns.json_text import RAW
from karat.data.json.arrow_types import has_numbers, replace_null_types, same_but_case, to_type, unify_types
from karat.data.json.lines import Lines, scan_lines
from karat.data.roles import find_layout
from karat.data.storage.duckdb import (
    MOST_COLUMNS,
    interruptible,
    literal,
    one_file,
    quote,
    structure,
    too_many_columns,
    widen,
)

Kinds = dict[str, pa.DataType]
FIRST_ROWS, _SAMPLE = 200, 20_000
_TESTS = {
    pa.null(): "{} IS NULL",
    pa.string(): "starts_with({}, '\"')",
    pa.bool_(): "{} IN ('true', 'false')",
    pa.int64(): "regexp_full_match({}, '-?[0-9]{{1,18}}')",
    pa.float64(): "regexp_full_match({}, '-?([0-9]{{1,15}}|[0-9]+[.][0-9]+)(e-?[0-9]{{1,2}})?')",
}
"""SQL that is true only for JSON text of a value of the type, but not necessarily for every such value."""
_AS_EXPECTED = "{}"


@dataclass(frozen=True)
class JsonFile:
    """A file as DuckDB reads it: whole objects, or columns of them."""

    path: str
    layout: str

    def objects(self) -> str:
        """The SQL for a table of the objects' text."""
        return f"read_json_objects({one_file(self.path)}, format={literal(self.layout)})"

    def columns(self, columns: dict[str, str]) -> str:
        """The SQL for a table of columns of the given types."""
        options = f"format={literal(self.layout)}, records=true, columns={structure(columns)}"
        return f"read_json({one_file(self.path)}, {options})"


@interruptible()
def infer_types(connection: duckdb.DuckDBPyConnection, file: JsonFile) -> tuple[Kinds, int, int, int, Lines | None]:
    """The types of the columns, the number of rows, their bytes, and those that a row has at most, from all rows; what
    reads them where a kernel does.

    Calling `json_structure` on every row is slow. So the first rows predict the types, and a compiled kernel checks
    whether it can read all rows with their keys. If not, SQL finds the rows that are not of these types, and only those
    get `json_structure`.
    Raises `ValueError` or `duckdb.Error` if a row is not an object.
    """
    shaped = f"SELECT json_structure(json) AS shape, json FROM {file.objects()}"  # noqa: S608
    kinds, rows, size, longest, unexpected = _unite_shapes(connection, f"{shaped} LIMIT {FIRST_ROWS}", {})
    layout = find_layout(kinds)
    if log := is_spans(kinds) or (layout is not None and layout.is_log):  # nested values differ from row to row
        kinds = _keep_nested_as_text(kinds)
    elif rows == FIRST_ROWS:
        kinds, rows, size, longest, unexpected = _unite_shapes(connection, f"{shaped} LIMIT {_SAMPLE}", {})
    lines = (rows == _SAMPLE or log) and _is_flat(kinds) and file.layout == "newline_delimited"
    if lines and (plain := scan_lines(Path(file.path), list(kinds))) and (types := plain.find_types()) is not None:
        return types, plain.rows, plain.size, 0, plain
    if rows == _SAMPLE or log:
        shaped = _shape_of_unexpected(file, kinds) if _is_flat(kinds) else shaped
        kinds, rows, size, longest, unexpected = _unite_shapes(connection, shaped, kinds)
    kinds = _keep_nested_as_text(kinds) if log else kinds
    ambiguous = {"", *same_but_case(list(kinds))}
    kinds = {key: RAW if key in ambiguous else replace_null_types(kind) for key, kind in kinds.items()}
    widen(connection, len(kinds))
    for key in _too_long(connection, file, kinds) if unexpected else []:
        kinds[key] = RAW
    return kinds, rows, size, longest, None


def _keep_nested_as_text(kinds: Kinds) -> Kinds:
    return {key: RAW if pa.types.is_nested(kind) else kind for key, kind in kinds.items()}


def _unite_shapes(connection: duckdb.DuckDBPyConnection, shaped: str, kinds: Kinds) -> tuple[Kinds, int, int, int, int]:
    """The types that can hold `kinds` and all shapes; the numbers of rows, of bytes, of those that one row has at most,
    and of unexpected rows.
    """
    cursor = connection.execute(
        f"SELECT shape, count(*) AS n, sum(strlen(json)), max(strlen(json)) "  # noqa: S608
        f"FROM ({shaped}) GROUP BY shape ORDER BY n DESC, shape"
    )
    kinds, rows, size, longest, unexpected = dict(kinds), 0, 0, 0, 0
    while fetched := cursor.fetchmany(1000):
        for shape, count, length, most in fetched:
            members = {} if shape == '"JSON"' else json.loads(shape)  # DuckDB's structure of {}
            if not isinstance(members, dict):
                raise ValueError("expected an object {…} in every row")  # noqa: TRY004 (the file's fault)
            for key, value in members.items():
                kinds[key] = unify_types(kinds.get(key, pa.null()), to_type(value))
            rows, size, longest = rows + count, size + int(length), max(longest, int(most))
            if len(kinds) > MOST_COLUMNS:
                raise ValueError(too_many_columns("the file"))
            unexpected += count if shape != _AS_EXPECTED else 0
    return kinds, rows, size, longest, unexpected


def _is_flat(kinds: Kinds) -> bool:
    """Whether columns can be tested one by one: no objects, and no names that are the same to DuckDB."""
    return not ("" in kinds or same_but_case(list(kinds)) or any("struct" in str(kind) for kind in kinds.values()))


def _shape_of_unexpected(file: JsonFile, kinds: Kinds) -> str:
    """The SQL for the shape of each row: `{}` if the row has exactly these columns, with these types."""
    tests = [f"json_keys(json) = [{', '.join(map(literal, kinds))}]"]
    tests += [_test(f"cells.{quote(key)}", kind) for key, kind in kinds.items() if kind != RAW]
    texts = json.dumps({key: _texts(kind) for key, kind in kinds.items() if kind != RAW})
    cells = f"from_json(json, {literal(texts)})" if texts != "{}" else "NULL"  # DuckDB refuses to read no key
    rows = f"SELECT json, {cells} AS cells FROM {file.objects()}"  # noqa: S608
    shape = f"CASE WHEN {' AND '.join(tests)} THEN '{_AS_EXPECTED}' ELSE json_structure(json) END AS shape"
    return f"SELECT {shape}, json FROM ({rows})"  # noqa: S608


def _texts(kind: pa.DataType) -> Any:
    """DuckDB's structure that reads values as JSON text, and lists as lists of JSON text."""
    return [_texts(kind.value_type)] if pa.types.is_list(kind) else "JSON"


def _test(value: str, kind: pa.DataType) -> str:
    """The SQL that tests whether JSON text is plainly a value of a type; a null list is not."""
    if pa.types.is_list(kind):
        item = f"item_{str(kind).count('list<')}"
        all_are = f"list_bool_and(list_transform({value}, lambda {item}: {_test(item, kind.value_type)}))"
        return f"{value} IS NOT NULL AND coalesce({all_are}, true)"
    return "true" if kind == RAW else f"coalesce({_TESTS[kind].format(value)}, true)"


def _too_long(connection: duckdb.DuckDBPyConnection, file: JsonFile, kinds: Kinds) -> list[str]:
    """The columns with whole numbers that have too many digits for their type."""
    keys = [key for key, kind in kinds.items() if has_numbers(kind)]
    if not keys:
        return []
    digits = {key: "[0-9]{16,}" if "double" in str(kinds[key]) else "([0-9]{20,}|9[2-9][0-9]{17})" for key in keys}
    tests = (f"bool_or(regexp_matches({quote(key)}, '(^|[^0-9.eE+-])-?{digits[key]}([^0-9.eE]|$)'))" for key in keys)
    query = f"SELECT {', '.join(tests)} FROM {file.columns(dict.fromkeys(keys, 'JSON'))}"  # noqa: S608
    [row] = connection.execute(query).fetchall()
    return [key for key, long in zip(keys, row, strict=True) if long]
