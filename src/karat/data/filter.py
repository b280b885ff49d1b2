"""Filter the rows of a source: by an SQL condition, and by a limit on their number."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import DataError, did_you_mean
from karat.data.json.values import read_values, value_type
from karat.data.paths.nested import add_nested, find_nested
from karat.data.source import Source
from karat.data.storage.duckdb import connect, explain, interruptible, is_keyword, quote, to_duckdb, where_option
from karat.data.storage.query_limits import QueryLimit, run_within_limits

_NOT_ROW_BY_ROW = {
    "WINDOW": "a window",
    "SUBQUERY": "a subquery",
    "STAR": "a pattern of columns",
    "unnest": "unnest",
    "unlist": "unlist",
}
"""DuckDB's names for parts of a condition that read other rows or produce several rows, and ours for messages."""

LARGEST = 1_000_000
"""How many times as large as the data a condition may make a value: DuckDB does not stop within a function."""

_BY_NUMBER = dict.fromkeys(("repeat", "lpad", "rpad", "bitstring", "list_resize", "array_resize"), 1)
_BY_NUMBER |= {"equi_width_bins": 2, "to_base": 2, "bar": 3}
"""DuckDB's functions whose value is as large as a number says, and which argument it is."""
_RANGES = {"range", "generate_series"}
_SLEEPS = {"sleep_ms", "pg_sleep"}
_REPLACEMENTS = {"replace": 2, "regexp_replace": 2, "array_to_string": 1, "list_string_agg": 1, "concat_ws": 0}
_REPLACEMENTS |= dict.fromkeys(("list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate"), 2)
"""Functions that put a text many times into another one, and which argument it is."""
_REDUCE = {"list_reduce", "array_reduce", "reduce"}
_LONGER = re.compile(
    r"(to_)?(hex|bin|binary|base64)|url_encode|encode|(icu_)?collate_\w+|regexp_escape|create_sort_key"
    r"|parse_path|path_join|stats|to_json|row_to_json|array_to_json"
    r"|json_(quote|array|object|pretty|structure|merge_patch|(de)?serialize\w*)"
)
"""Functions whose value may be several times as long as what they get."""
_TIMES = 8  # for these, and for a text of any length that is put into another one
_OWN_SCHEMAS = ("", "main", "system", "pg_catalog")

_CLOCKS = frozenset(("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"))
"""Names that are columns where there are such, else the time."""
_CONDITION = "SELECT ({}\n)"
_IN_QUOTES = re.compile(r"""'[^']*'|"[^"]*\"""")
_NEEDS_QUOTES = re.compile(r"[^\W\d][\w.]*[^\w.](.*\w)?")
"""Names that SQL takes for several, or for a calculation: those with a hyphen, a space, an @ or a slash."""

OFFLINE = {"enable_external_access": "false"}  # a condition reads no files


def filter_rows(
    source: Source, where: str | None, limit: int | None, nested: Mapping[str, pa.DataType] | None = None
) -> Source:
    """The first `limit` of the rows for which the SQL condition `where` is true.

    A name in double quotes may be a path into objects, see `extract_nested`: `"attributes.metadata.tier" = 'paid'`;
    `nested` are the types at these paths where `find_nested` has found them before.

    Raises `DataError` with DuckDB's reason for an invalid condition or limit.
    """
    if limit is not None and (not isinstance(limit, int) or not 0 <= limit < 1 << 63):
        raise DataError(f"limit is {limit!r:.40}; expected a whole number from 0 to 2**63 - 1")
    extended, used = source, list[str]()
    if where is not None:
        names = names_in(where, columns=source.schema.names)
        extended = add_nested(source, find_nested(source, names) if nested is None else nested, keep_json=False)
        folded = {name.casefold() for name in names}
        used = [name for name in extended.schema.names if name.casefold() in folded]
        if clocks := _CLOCKS & (folded - {name.casefold() for name in used}):
            raise _refuse_changing(where, min(clocks))
        empty = [pa.nulls(0, value_type(extended.schema.field(name))) for name in used]
        _evaluate(connect(**OFFLINE), where, dict(zip(used, empty, strict=True)), 0, extended.schema.names)

    def read_numbered() -> Iterator[tuple[Array, pa.RecordBatch]]:
        connection = connect(**OFFLINE)
        left = limit
        for numbers, rows_read in extended.numbered_batches():
            if left == 0:
                return
            kept, batch = numbers, rows_read.select(range(len(source.schema)))
            if where is not None:
                fields = map(extended.schema.field, used)
                columns = {field.name: read_values(rows_read.column(field.name), field) for field in fields}
                mask = _evaluate(connection, where, columns, len(rows_read), used)
                kept, batch = numbers[np.asarray(mask.fill_null(False))], filter_batch(batch, mask)
            if left is not None:
                kept, batch = kept[:left], batch.slice(0, left)
                left -= len(batch)
            if len(batch):
                yield kept, batch

    def read() -> Iterator[pa.RecordBatch]:
        return (batch for _, batch in read_numbered())

    known = source.rows if where is None else None
    known = known if limit is None or known is None else min(known, limit)
    return Source(source.name, source.schema, known, read, notes=source.notes, numbered=read_numbered)


def names_in(where: str, statement: str = _CONDITION, columns: Collection[str] = ()) -> set[str]:
    """The names of columns and paths in a condition, or in what `statement` holds at `{}`.

    `columns` are names that it may have. Raises `DataError` if it reads more than its own row, names a column with a
    hyphen without quotes, or, as a condition, chooses other rows each time.
    """
    for name in filter(_NEEDS_QUOTES.fullmatch, columns):
        _check_quoted(where, name)
    try:
        (parsed,) = connect().execute("SELECT json_serialize_sql(?)", [statement.format(where)]).fetchall()[0]
    except duckdb.Error as error:
        raise DataError(f"the condition {where!r} does not work: {explain(error)}") from error
    tree = json.loads(parsed)
    if tree["error"]:
        for name in filter(is_keyword, columns):
            _check_quoted(where, name)
        ends = tree["error_message"].endswith('near ")"') and ")" not in where
        problem = "it ends where a value is expected" if ends else tree["error_message"]
        raise DataError(f"the condition {where!r} does not work: {problem}")
    if refused := _find_growth(tree):
        raise DataError(f"the condition {where!r} {refused}")
    used = set[str]()
    for node in _walk(tree):
        if reason := _NOT_ROW_BY_ROW.get(node.get("class", "")) or _NOT_ROW_BY_ROW.get(node.get("function_name", "")):
            raise DataError(f"the condition {where!r} must hold for one row at a time; {reason} does not")
        names = node.get("column_names", ())
        used |= {*names, ".".join(names)}
        if statement == _CONDITION and (name := node.get("function_name", "")) and _is_changing(name, node):
            raise _refuse_changing(where, f"{name}()")
    return used


def _check_quoted(where: str, name: str) -> None:
    """Raise `DataError` where a condition has a column's name without double quotes, with the right condition."""
    either = re.compile(rf"{_IN_QUOTES.pattern}|(?<!\w)(?P<bare>{re.escape(name)})(?!\w)", re.IGNORECASE)
    written = either.sub(lambda match: quote(name) if match["bare"] else match[0], where)
    if written != where:
        problem = f"names the column {name!r}, which needs double quotes"
        raise DataError(f"the condition {where!r} {problem}: {where_option(written)}")


def _is_changing(name: str, node: dict[str, Any]) -> bool:
    """Whether a function gives another value at another time: one of chance, of the clock, or of the connection."""
    return name.casefold() in _changing() or (name.casefold() == "age" and len(_arguments(node)) == 1)


@cache
def _changing() -> frozenset[str]:
    """The functions of which no form is stable: functions of times with a zone are stable in a connection's zone."""
    changes = "bool_and(coalesce(stability, 'CONSISTENT') <> 'CONSISTENT')"
    query = f"SELECT function_name FROM duckdb_functions() GROUP BY function_name HAVING {changes}"  # noqa: S608
    rows = connect().execute(query)
    return frozenset(name for (name,) in rows.fetchall()) - {"error", "stats", "vector_type"}


def _refuse_changing(where: str, name: str) -> DataError:
    remedy = (
        "write the time itself, such as TIMESTAMP '2026-01-31 12:00:00'"
        if re.search("time|date|now|day|age", name)
        else "choose rows by a column, such as md5(CAST(id AS VARCHAR)) < '8' for about half of them, or take --limit N"
    )
    return DataError(f"the condition {where!r} chooses other rows each time, because of {name}; {remedy}")


def _walk(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for inner in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _walk(inner)


def _find_growth(tree: Any) -> str:
    """Why a condition is refused that may make a large value of little data, or wait; empty for any other.

    Factors are multiplied over all that is not joined by AND or OR: what is nested, and what is compared, which for two
    long texts may take as many steps.
    """
    times, parts = 1, [tree]
    while parts:
        part = parts.pop()
        if isinstance(part, list):
            parts.extend(part)
        elif isinstance(part, dict) and part.get("class") == "CONJUNCTION":
            if reason := next(filter(None, map(_find_growth, part["children"])), ""):
                return reason
        elif isinstance(part, dict):
            factor, reason = _growth(part)
            times *= factor
            if reason or times > LARGEST:
                too_large = f"may make values more than {LARGEST:,} times as large as the data; write smaller numbers"
                return reason or too_large
            parts.extend(part.values())
    return ""


def _growth(node: dict[str, Any]) -> tuple[int, str]:
    """By what factor one part of a condition may enlarge a value, and why it is refused."""
    name, inner = node.get("function_name", "").casefold(), _arguments(node)
    is_method = node.get("schema", "") not in _OWN_SCHEMAS  # x.repeat(3): the first argument is not among the others
    if name in _SLEEPS:
        return 1, f"waits: leave {name} out"
    if name in _BY_NUMBER:
        place = _BY_NUMBER[name]
        return _count(name, inner[place : place + 1] or inner[-1:])
    if name in _RANGES:
        return _count(name, [{}] if is_method else inner[:2])
    if name in ("printf", "format"):
        text = _constant(inner[0]) if inner and not is_method else None
        if text is None or re.search(r"\*|\{[^}]*\{", text):
            return 1, f"does not work: {name} needs its widths as numbers in a constant text"
        return max([1, *map(int, re.findall(r"\d{1,18}", text))]), ""
    if name in _REPLACEMENTS and inner:
        text = _constant(inner[min(_REPLACEMENTS[name], len(inner) - 1)])
        return _TIMES if text is None else max(1, len(text)), ""
    if name in _REDUCE:
        steps = (part for each in inner if each.get("class") == "LAMBDA" for part in _walk(each))
        one_each = all(_growth(part) == (1, "") for part in steps)
        return 1, "" if one_each else f"does not work: {name} may name each value once, and make nothing longer"
    if node.get("class") == "LAMBDA":  # a name for a value: `x || x` doubles it
        names, used = (
            [name for each in _walk(node.get(side)) for name in each.get("column_names", ())]
            for side in ("lhs", "expr")
        )
        return max([1, *map(used.count, names)]), ""
    kind = json.dumps(node.get("type_expr") or node.get("cast_type")).casefold()
    return (_TIMES if _LONGER.fullmatch(name) or '"blob"' in kind or '"bit"' in kind else 1), ""


def _count(name: str, nodes: list[Any]) -> tuple[int, str]:
    """`_growth` of a function that makes so many, or all from the first number to the second one."""
    numbers = [_constant(node) for node in nodes]
    if not all(number is not None and re.fullmatch(r"-?\d{1,30}", number) for number in numbers):
        remedy = f"write the number itself, up to {LARGEST:,}"
        return 1, f"does not work: {name} makes as much as the number says that it gets; {remedy}"
    whole = [int(number or 0) for number in numbers]
    return max(1, abs(whole[-1] - (whole[0] if len(whole) > 1 else 0))) if whole else 1, ""


def _arguments(node: dict[str, Any]) -> list[Any]:
    """The arguments of a function, as the versions of DuckDB write them."""
    arguments = node.get("arguments")
    return [each["expression"] for each in arguments] if arguments is not None else node.get("children") or []


def _constant(node: dict[str, Any]) -> str | None:
    """The text of a constant, of any type; None for anything else."""
    if node.get("class") != "CONSTANT":
        return None
    value = node["literal"].get("text") if "literal" in node else node["value"].get("value")
    return None if value is None else str(value)


def _evaluate(
    connection: duckdb.DuckDBPyConnection, where: str, used: Mapping[str, pa.Array], rows: int, names: Sequence[str]
) -> pa.Array:
    """Whether the condition is true, row by row. DuckDB gets one batch at a time, which keeps row order and types."""
    columns = map(to_duckdb, used.values())
    table = pa.table([*columns, pa.nulls(rows)], [*used, "karat_no_column"])  # a table needs a column

    def evaluate() -> pa.Table:
        connection.register("karat_rows", table)
        return connection.sql(f"SELECT CAST(({where}\n) AS BOOLEAN) FROM karat_rows").to_arrow_table()  # noqa: S608

    try:
        with interruptible():
            mask = run_within_limits(connection, evaluate)
    except (duckdb.Error, MemoryError, QueryLimit) as error:
        unquoted = [name for name in used if "." in name and f'"{name}"' not in where]
        hint = f'; names with dots need double quotes: "{unquoted[0]}"' if unquoted else ""
        if not hint and re.search(r"\w-\w", _IN_QUOTES.sub("''", where)):
            hint = "; names with hyphens need double quotes"
        missing = None if hint else re.search(r'Referenced column "(.+?)" not found', str(error))
        problem = f"there is no column {missing[1]!r}{did_you_mean(missing[1], names)}" if missing else explain(error)
        raise DataError(f"the condition {where!r} does not work: {problem}{hint}") from error
    if mask.shape != (rows, 1):
        raise DataError(f"the condition {where!r} must hold for one row at a time; an aggregate does not")
    return mask.column(0).combine_chunks()


def filter_batch(batch: pa.RecordBatch, mask: pa.Array) -> pa.RecordBatch:
    """The rows where the mask is true. Types that Arrow cannot filter are sliced, run by run."""
    try:
        return batch.filter(mask)
    except pa.ArrowNotImplementedError:
        chosen = np.flatnonzero(mask.fill_null(False).to_numpy(zero_copy_only=False))
        runs = np.split(chosen, np.flatnonzero(np.diff(chosen) > 1) + 1) if len(chosen) else []
        return pa.concat_batches([batch.slice(run[0], len(run)) for run in runs]) if runs else batch.slice(0, 0)
