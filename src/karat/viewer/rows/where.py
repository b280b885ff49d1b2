"""Conditions as the SQL of `karat show --where`, for the command that prints the rows of a filter."""

from __future__ import annotations

from collections.abc import Iterable

from karat.data.storage.duckdb import literal, quote
from karat.runs.compare.row_alignment import ORDER
from karat.viewer.rows.columns import name_type
from karat.viewer.rows.fields import Condition, Field
from karat.viewer.rows.table import RowTable
from karat.viewer.rows.texts import escape


def to_where(table: RowTable, conditions: Iterable[Condition], system: int) -> str | None:
    """The conditions on the rows of one system; None where one of them is about another one, or about several."""
    parts = [_write(table, condition, system) for condition in conditions]
    return None if None in parts else " AND ".join(part for part in parts if part is not None)


def _write(table: RowTable, condition: Condition, system: int) -> str | None:
    values, name = condition.values, _column(table, condition.field, system)
    if condition.op == "contains":
        several = [name] if name is not None else _texts(table) if condition.field.kind == "text" else []
        text = literal(escape(values[0]))
        parts = (f"regexp_matches(CAST({quote(each)} AS VARCHAR), {text}, 'i')" for each in several)
        return f"({' OR '.join(parts)})" if several else None
    if name is None:
        return None
    column = quote(name)
    if condition.op == "missing":
        return f"{column} IS NULL"
    if condition.op in {"between", "range"}:
        below = "<" if condition.op == "range" else "<="
        ends = [f"{column} {sign} {end!r}" for sign, end in ((">=", values[0]), (below, values[1])) if end is not None]
        return " AND ".join(ends) or f"{column} IS NOT NULL"
    is_text = name_type(table.runs[system].schema.field(name).type) == "text"
    listed = ", ".join(literal(value) for value in values if value is not None)
    found = [f"{column if is_text else f'CAST({column} AS VARCHAR)'} IN ({listed})"] if listed else []
    found += [f"{column} IS NULL"] if None in values else []
    if condition.op == "in":
        return f"({' OR '.join(found)})" if found else "false"
    return f"({' OR '.join(found)}) IS NOT TRUE" if found else "true"


def _texts(table: RowTable) -> list[str]:
    """The columns that are searched for a text, where these are of one run."""
    columns = table.columns[0]
    several = (columns.question, columns.reference, columns.prediction) if len(table.runs) == 1 else ()
    return [name for name in several if name is not None]


def _column(table: RowTable, field: Field, system: int) -> str | None:
    """The column of a system's run that holds a field; None where there is none."""
    columns, run = table.columns[system], table.runs[system]
    if field.kind == "id" and table.by != ORDER:
        return table.by
    if field.kind == "column" and field.name in run.schema.names:
        return field.name
    if field.kind in {"score", "label", "reason"} and field.system == system:
        if field.kind == "reason":
            return columns.reason
        metric = table.metric(field).by_run[system]
        return metric.column if field.kind == "score" else columns.details[metric.spec].get("label")
    return None
