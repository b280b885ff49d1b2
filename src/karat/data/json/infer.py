"""The columns of a file of JSON objects, and their types, from all of its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from karat.data.json.arrow_types import has_numbers, settle, to_type, twins, unite
from karat.data.json.uniform import count_lines
from karat.data.roles import is_spans
from karat.data.source import RAW
from karat.data.storage.duckdb import connect, interruptible, literal, one_file, quote, structure

Kinds = dict[str, pa.DataType]
_GLANCE, _SAMPLE = 200, 20_000
_TESTS = {
    pa.null(): "{} IS NULL",
    pa.string(): "starts_with({}, '\"')",
    pa.bool_(): "{} IN ('true', 'false')",
    pa.int64(): "regexp_full_match({}, '-?[0-9]{{1,18}}')",
    pa.float64(): "regexp_full_match({}, '-?([0-9]{{1,15}}|[0-9]+[.][0-9]+)(e-?[0-9]{{1,2}})?')",
}
"""SQL that is true of JSON text only if it is a value of the type; it need not be true of every such value."""
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
        return (
            f"read_json({one_file(self.path)}, format={literal(self.layout)}, records=true, "
            f"columns={structure(columns)})"
        )


@interruptible()
def look(file: JsonFile) -> tuple[Kinds, int, int]:
    """The columns' types, the number of rows and their bytes, from all rows.

    `json_structure` of every row is dear. So the first rows say what to expect: a compiled kernel sees whether all
    are plainly that, and where it does not, only those that are not are looked at so closely. Raises `ValueError` or
    `duckdb.Error` for what are no objects.
    """
    connection = connect()
    shaped = f"SELECT json_structure(json) AS shape, json FROM {file.objects()}"  # noqa: S608
    kinds, rows, size, odd = _unite_shapes(connection, f"{shaped} LIMIT {_GLANCE}", {})
    if spans := is_spans(kinds):  # what they nest differs from span to span, and is kept as it is spelled
        kinds = _unnest(kinds)
    elif rows == _GLANCE:
        kinds, rows, size, odd = _unite_shapes(connection, f"{shaped} LIMIT {_SAMPLE}", {})
    lines = (rows == _SAMPLE or spans) and _is_flat(kinds) and file.layout == "newline_delimited"
    if lines and (plain := count_lines(file.path, kinds)):
        return {key: settle(kind) for key, kind in kinds.items()}, *plain
    if rows == _SAMPLE or spans:
        kinds, rows, size, odd = _unite_shapes(
            connection, _shape_odd(file, kinds) if _is_flat(kinds) else shaped, kinds
        )
    kinds = _unnest(kinds) if spans else kinds
    blurred = twins(list(kinds)) | ({""} & kinds.keys())
    kinds = {key: RAW if key in blurred else settle(kind) for key, kind in kinds.items()}
    for key in _too_long(connection, file, kinds) if odd else []:
        kinds[key] = RAW
    return kinds, rows, size


def _unnest(kinds: Kinds) -> Kinds:
    return {key: RAW if pa.types.is_nested(kind) else kind for key, kind in kinds.items()}


def _unite_shapes(connection: duckdb.DuckDBPyConnection, shaped: str, kinds: Kinds) -> tuple[Kinds, int, int, int]:
    """The types that hold `kinds` and all shapes; the number of rows, their bytes, and the rows that have a shape."""
    found = connection.execute(
        f"SELECT shape, count(*) AS n, sum(strlen(json)) FROM ({shaped}) GROUP BY shape ORDER BY n DESC, shape"  # noqa: S608
    )
    kinds = dict(kinds)
    rows = size = odd = 0
    while some := found.fetchmany(1000):
        for shape, count, length in some:
            members = json.loads(shape)
            if members == "JSON":  # DuckDB's structure of {}
                members = {}
            if not isinstance(members, dict):
                raise ValueError("expected an object {…} in every row")  # noqa: TRY004 (the file's fault)
            for key, value in members.items():
                kinds[key] = unite(kinds.get(key, pa.null()), to_type(value))
            rows, size = rows + count, size + int(length)
            odd += count if shape != _AS_EXPECTED else 0
    return kinds, rows, size, odd


def _is_flat(kinds: Kinds) -> bool:
    """Whether columns can be tested one by one: no objects in them, and no names that DuckDB takes for one."""
    return not ("" in kinds or twins(list(kinds)) or any("struct" in str(kind) for kind in kinds.values()))


def _shape_odd(file: JsonFile, kinds: Kinds) -> str:
    """The SQL for every row's shape, which is `{}` where the row has just these columns, of these types."""
    keys = f"[{', '.join(map(literal, kinds))}]"
    tests = " AND ".join(
        [
            f"json_keys(json) = {keys}",
            *(_test(f"cells.{quote(key)}", kind) for key, kind in kinds.items() if kind != RAW),
        ]
    )
    texts = json.dumps({key: _texts(kind) for key, kind in kinds.items() if kind != RAW})
    rows = f"SELECT json, from_json(json, {literal(texts)}) AS cells FROM {file.objects()}"  # noqa: S608
    return f"SELECT CASE WHEN {tests} THEN '{_AS_EXPECTED}' ELSE json_structure(json) END AS shape, json FROM ({rows})"  # noqa: S608


def _texts(kind: pa.DataType) -> Any:
    """DuckDB's structure for a value as JSON text, for a list as a list of these."""
    return [_texts(kind.value_type)] if pa.types.is_list(kind) else "JSON"


def _test(value: str, kind: pa.DataType) -> str:
    """The SQL for whether JSON text is plainly a value of a type; a list that is null is not."""
    if pa.types.is_list(kind):
        item = f"item_{str(kind).count('list<')}"
        all_are = f"list_bool_and(list_transform({value}, lambda {item}: {_test(item, kind.value_type)}))"
        return f"{value} IS NOT NULL AND coalesce({all_are}, true)"
    return "true" if kind == RAW else f"coalesce({_TESTS[kind].format(value)}, true)"


def _too_long(connection: duckdb.DuckDBPyConnection, file: JsonFile, kinds: Kinds) -> list[str]:
    """The columns with whole numbers of more digits than their type holds."""
    keys = [key for key, kind in kinds.items() if has_numbers(kind)]
    if not keys:
        return []
    digits = {key: "[0-9]{16,}" if "double" in str(kinds[key]) else "([0-9]{20,}|9[2-9][0-9]{17})" for key in keys}
    tests = (f"bool_or(regexp_matches({quote(key)}, '(^|[^0-9.eE+-])-?{digits[key]}([^0-9.eE]|$)'))" for key in keys)
    found = connection.execute(
        f"SELECT {', '.join(tests)} FROM {file.columns(dict.fromkeys(keys, 'JSON'))}"  # noqa: S608
    ).fetchall()
    return [key for key, long in zip(keys, found[0], strict=True) if long]
