"""Conditions and an order on rows as SQL: of the page's own rows, and of the command that prints them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa

from karat.data.storage.duckdb import literal, spell
from karat.runs.match.alignment import ORDER
from karat.runs.match.row_query import NUMBER
from karat.viewer.rows.columns import name_type
from karat.viewer.rows.fields import Condition, Field, Order
from karat.viewer.rows.relation import matches
from karat.viewer.rows.table import OUTCOMES, RowTable

_TESTS = dict(zip(OUTCOMES, ("> 0", "< 0", "= 0", "IS NULL"), strict=True))


@dataclass(frozen=True)
class RowSql:
    """Writes SQL about the rows of a table.

    `name` spells a column of the run with a number, or, for None, the id by which rows are matched; as a text where the
    last argument is true.
    """

    table: RowTable
    name: Callable[[int, str | None, bool], str]

    def where(self, conditions: Iterable[Condition]) -> str | None:
        """All conditions; None where there are none."""
        return " AND ".join(map(self._write, conditions)) or None

    def order(self, order: Order | None) -> str | None:
        """An order; None for the order of the first run."""
        if order is None:
            return None
        value = self.value(order.field, text=not self.table.holds_numbers(order.field))
        return f"{value} DESC" if order.descending else value

    def value(self, field: Field, *, text: bool = False) -> str:
        """The value of a field; NULL where no column holds it. `text`: its text."""
        if field.kind == "outcome":
            return self.outcome(field)
        if field.kind in {"difference", "size"}:
            return f"{'abs' * (field.kind == 'size')}{self._gain(field)}"
        at, name = (0, None) if field.kind == "id" else self.table.column_of(field)
        return "NULL" if name == "" else self.name(at, name, text)

    def outcome(self, field: Field, kind: str = "") -> str:
        """Whether a system is better or worse than the first; `kind` casts these words, such as `::VARCHAR`."""
        gain = self._gain(field)
        tests = " ".join(f"WHEN {gain} {test} THEN '{word}'{kind}" for word, test in _TESTS.items())
        return f"CASE {tests} END"

    def _write(self, condition: Condition) -> str:
        field, values = condition.field, condition.values
        if condition.op == "contains":
            return _join([matches(self.name(*each, True), values[0]) for each in self.table.searched(field)])
        value = self.value(field)
        if condition.op == "missing":
            return f"{value} IS NULL"
        if condition.op in {"between", "range"}:
            below = "<" if condition.op == "range" else "<="
            ends = [
                f"{value} {sign} {end!r}" for sign, end in zip((">=", below), values, strict=True) if end is not None
            ]
            return " AND ".join(ends) or f"{value} IS NOT NULL"
        if field.kind == "outcome":
            tests = [f"{self._gain(field)} {test}" for word, test in _TESTS.items() if word in values]
        else:
            listed = ", ".join(literal(each) for each in values if each is not None)
            tests = [f"{self.value(field, text=True)} IN ({listed})"] if listed else []
            tests += [f"{value} IS NULL"] if None in values else []
        return _join(tests) if condition.op == "in" else f"({_join(tests)}) IS NOT TRUE"

    def _gain(self, field: Field) -> str:
        """How much better a system is than the first; without a metric's direction, how much more."""
        sides = [self.value(Field("score", metric=field.metric, system=at)) for at in (field.system, 0)]
        maximize = field.kind != "outcome" or self.table.metric(field).by_run[0].direction == "maximize"
        return f"({' - '.join(sides if maximize else sides[::-1])})"


def in_command(table: RowTable) -> RowSql:
    """SQL for `karat show`: columns have their names, behind the name of the run where there are several."""

    def name(at: int, column: str | None, text: bool) -> str:
        column = table.by if column is None else column
        if column == ORDER:
            return f"CAST({NUMBER} AS VARCHAR)" if text else NUMBER
        run = table.runs[at]
        kind = run.schema.field(column).type
        spelled = spell(column) if len(table.runs) == 1 else f"{spell(run.name)}.{spell(column)}"
        if pa.types.is_floating(kind) and column not in {metric.column for metric in run.manifest.metrics}:
            spelled = f"nullif({spelled}, 'NaN')"  # NaN counts as a missing value
        return f"CAST({spelled} AS VARCHAR)" if text and name_type(kind) != "text" else spelled

    return RowSql(table, name)


def _join(conditions: list[str]) -> str:
    return f"({' OR '.join(conditions)})" if len(conditions) > 1 else "".join(conditions) or "false"
