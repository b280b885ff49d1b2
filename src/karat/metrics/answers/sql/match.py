"""The metric of SQL: whether the predicted query returns what the gold query returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import TEXT, Score, Text
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.definition import Definition
from karat.core.metric.rows import Rows
from karat.core.metric.setting import NotNegative, Positive, Range
from karat.core.parallel import map_ordered
from karat.metrics.answers.sql.databases import Databases, NoDatabase, QueryFailed, QueryLimits, find_databases
from karat.metrics.answers.sql.queries import is_ordered, rewrite
from karat.metrics.answers.sql.results import ColumnOrder, QueryResult, ResultComparison, RowsAs, UndecidedResult

RowOrder: TypeAlias = Literal["gold", "mentioned", "always", "never"]
Rewriting: TypeAlias = Literal["none", "spider", "spider_distinct"]
_NO_COLUMN = pa.nulls(0, pa.string())


def choose_database(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """The definition with the column of databases, unless a setting has the file of all rows."""
    roles = ("prediction", "reference") if settings["file"] else ("prediction", "reference", "database")
    return replace(definition, columns=MappingProxyType(dict.fromkeys(roles, TEXT)))


@metric(
    source=(
        "execution accuracy of Spider, github.com/taoyds/test-suite-sql-eval @14784c3, arXiv:2010.02840, and of BIRD, "
        "arXiv:2305.03111; the tolerance of numbers and the limits are ours"
    ),
    details=lambda _: {"difference": pa.string()},
    specialise=choose_database,
    reads_files=True,
)
def sql_match(
    prediction: Text,
    reference: Text,
    database: Text = _NO_COLUMN,
    *,
    file: str = "",
    rows: RowsAs = "bag",
    order: RowOrder = "gold",
    columns: ColumnOrder = "any",
    relative: NotNegative = 1e-9,
    absolute: NotNegative = 1e-12,
    rewriting: Rewriting = "none",
    seconds: Positive = 30.0,
    most_rows: Annotated[int, Range(1, 1e7)] = 100_000,
) -> Score:
    """1 where a query in SQL returns the rows that the gold query returns from the same database, else 0.

    `database` is a file of SQLite or DuckDB, or its name without the ending, in the folder `KARAT_DATABASES`; of a
    folder every database has to give equal rows. `file`: one for all rows instead of a column. Rows are compared as a
    bag, or as a set; in their order where the gold query orders its rows at its end (`order="gold"`) or has the words
    anywhere ("mentioned"). Columns may have any order. Numbers are equal within `relative` or `absolute`, unless both
    are whole. Two results without rows are equal. `rewriting="spider"` drops `DISTINCT` as Spider's script does. A
    prediction that fails, takes longer than `seconds` or returns more than `most_rows` scores 0, and `difference` says
    why; where the gold query does, the row is unscored. Queries can neither write nor read another file.

    >>> import contextlib, pathlib, sqlite3, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "shop.sqlite")
    >>> with contextlib.closing(sqlite3.connect(path)) as shop:
    ...     _ = shop.executescript("CREATE TABLE item (name, price); INSERT INTO item VALUES ('tea', 3), ('rum', 9)")
    >>> predictions = ["SELECT price, name FROM item", "SELECT name FROM item LIMIT 1", "SELECT nmae FROM item"]
    >>> sql_match.using(file=str(path))(predictions, ["SELECT name, price FROM item"] * 3).to_pylist()
    [1.0, 0.0, 0.0]
    """
    names = [file] * len(prediction) if file else database.to_pylist()
    if file:
        try:
            find_databases(file)
        except NoDatabase as error:
            raise SpecError(f"sql_match: {error}") from None
    queries = list(zip(names, prediction.to_pylist(), reference.to_pylist(), strict=True))
    distinct = list(dict.fromkeys(queries))
    with Databases(QueryLimits(seconds, most_rows)) as databases:
        examination = _Examination(databases, ResultComparison(rows, columns, relative, absolute), order, rewriting)
        verdicts = dict(zip(distinct, map_ordered(examination.examine, distinct), strict=True))
    by_row = [verdicts[each] for each in queries]
    return Rows(
        np.array([each.score for each in by_row])[:, None],
        np.array([each.reason for each in by_row], dtype=object),
        {"difference": pa.array([each.difference for each in by_row], pa.string())},
    )


class _Verdict(NamedTuple):
    """The score of a row, why it has none, and what differs."""

    score: float = np.nan
    reason: str | None = None
    difference: str | None = None


class _Examination:
    """The verdict on each row; a gold query runs once on each database, unless two threads ask for it at once."""

    def __init__(
        self, databases: Databases, comparison: ResultComparison, order: RowOrder, rewriting: Rewriting
    ) -> None:
        self.databases, self.comparison, self.order, self.rewriting = databases, comparison, order, rewriting
        self._gold: dict[tuple[str, str], QueryResult | QueryFailed] = {}

    def examine(self, case: tuple[str, str, str]) -> _Verdict:
        """The verdict on the name of a database, the predicted query and the gold query."""
        name, predicted, gold = case
        if self.rewriting != "none":
            keep = self.rewriting == "spider_distinct"
            predicted, gold = (rewrite(query, keep_distinct=keep) for query in (predicted, gold))
        ordered = self.order == "always"
        if self.order in ("gold", "mentioned"):
            ordered = is_ordered(gold) if self.order == "gold" else "order by" in gold.lower()
        try:
            paths = self.databases.find(name)
            expected = [self._run_gold(path, gold) for path in paths]
        except NoDatabase as error:
            return _Verdict(reason=str(error))
        except QueryFailed as error:
            return _Verdict(reason=f"the gold query fails: {error}")
        for path, wanted in zip(paths, expected, strict=True):
            where = f" ({path.name})" if len(paths) > 1 else ""
            try:
                difference = self.comparison.difference(self.databases.run(path, predicted), wanted, ordered=ordered)
            except QueryFailed as error:
                return _Verdict(0.0, difference=f"the query fails: {error}{where}")
            except UndecidedResult as error:
                return _Verdict(reason=f"{error}{where}")
            if difference is not None:
                return _Verdict(0.0, difference=difference + where)
        return _Verdict(1.0)

    def _run_gold(self, path: Path, query: str) -> QueryResult:
        key = str(path), query
        if key not in self._gold:
            try:
                self._gold[key] = self.databases.run(path, query)
            except QueryFailed as error:
                self._gold[key] = error
        if isinstance(result := self._gold[key], QueryFailed):
            raise result
        return result
