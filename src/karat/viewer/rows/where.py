"""Conditions and an order as the SQL of `karat show`, for the command that prints the rows of a filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from karat.data.storage.duckdb import literal, spell
from karat.runs.compare.row_query import NUMBER
from karat.runs.match.alignment import ORDER
from karat.viewer.rows.columns import name_type
from karat.viewer.rows.fields import Condition, Field, Order
from karat.viewer.rows.table import RowTable
from karat.viewer.rows.texts import escape

_OUTCOMES = {"better": "> 0", "worse": "< 0", "same": "= 0", "unscored": "IS NULL"}


def to_where(table: RowTable, conditions: Iterable[Condition]) -> str | None:
    """The conditions on the rows of a table; None where there are none."""
    return " AND ".join(_write(table, condition) for condition in conditions) or None


def to_order(table: RowTable, order: Order | None) -> str | None:
    """The order of the rows of a table; None for that of the first run."""
    if order is None:
        return None
    value = _value(table, order.field) if table.holds_numbers(order.field) else _text(table, order.field)
    return f"{value} DESC" if order.descending else value


def _write(table: RowTable, condition: Condition) -> str:
    field, values = condition.field, condition.values
    if condition.op == "contains":
        found = [f"regexp_matches({each}, {literal(escape(values[0]))}, 'i')" for each in _searched(table, field)]
        return _join(found)
    value = _value(table, field)
    if condition.op == "missing":
        return f"{value} IS NULL"
    if condition.op in {"between", "range"}:
        below = "<" if condition.op == "range" else "<="
        ends = [f"{value} {sign} {end!r}" for sign, end in ((">=", values[0]), (below, values[1])) if end is not None]
        return " AND ".join(ends) or f"{value} IS NOT NULL"
    if field.kind == "outcome":
        found = [f"{_gain(table, field)} {test}" for outcome, test in _OUTCOMES.items() if outcome in values]
    else:
        listed = ", ".join(literal(each) for each in values if each is not None)
        found = [f"{_text(table, field)} IN ({listed})"] if listed else []
        found += [f"{value} IS NULL"] if None in values else []
    return _join(found) if condition.op == "in" else f"({_join(found)}) IS NOT TRUE"


def _join(found: list[str]) -> str:
    return f"({' OR '.join(found)})" if len(found) > 1 else "".join(found) or "false"


def _searched(table: RowTable, field: Field) -> Iterator[str]:
    """What is searched for a text: a column, the id, or the question, the gold and the answers of all systems."""
    if field.kind != "text":
        yield _text(table, field)
        return
    first = table.columns[0]
    places = [
        (0, first.question),
        (0, first.reference),
        *((at, each.prediction) for at, each in enumerate(table.columns)),
    ]
    for at, name in places:
        if name is not None:
            yield _spell(table, at, name, text=True)


def _gain(table: RowTable, field: Field) -> str:
    """How much better a system is than the first; without a metric's direction, how much more."""
    sides = [_value(table, Field("score", metric=field.metric, system=at)) for at in (field.system, 0)]
    maximize = field.kind != "outcome" or table.metric(field).by_run[0].direction == "maximize"
    return f"({' - '.join(sides if maximize else sides[::-1])})"


def _value(table: RowTable, field: Field, *, text: bool = False) -> str:
    """The value of a field; NULL where no column holds it. `text`: its text."""
    if field.kind == "outcome":
        tests = " ".join(f"WHEN {_gain(table, field)} {test} THEN '{outcome}'" for outcome, test in _OUTCOMES.items())
        return f"CASE {tests} END"
    if field.kind in {"difference", "size"}:
        return f"{'abs' * (field.kind == 'size')}{_gain(table, field)}"
    if field.kind == "id":
        by_number = f"CAST({NUMBER} AS VARCHAR)" if text else NUMBER
        return by_number if table.by == ORDER else _spell(table, 0, table.by, text=text)
    at, name = field.system, None
    if field.kind == "column":
        at, name = table.run_with(field.name), field.name
    elif field.kind == "reason":
        name = table.columns[at].reason
    else:
        metric = table.metric(field).by_run[at]
        name = metric.column if field.kind == "score" else table.columns[at].details[metric.spec].get("label")
    return "NULL" if name is None else _spell(table, at, name, text=text)


def _text(table: RowTable, field: Field) -> str:
    return _value(table, field, text=True)


def _spell(table: RowTable, at: int, name: str, *, text: bool = False) -> str:
    """A column of a run, as SQL; NaN is no value. `text`: its text."""
    run = table.runs[at]
    kind = run.schema.field(name).type
    column = spell(name) if len(table.runs) == 1 else f"{spell(run.name)}.{spell(name)}"
    if pa.types.is_floating(kind) and name not in {metric.column for metric in run.manifest.metrics}:
        column = f"nullif({column}, 'NaN')"
    return f"CAST({column} AS VARCHAR)" if text and name_type(kind) != "text" else column
