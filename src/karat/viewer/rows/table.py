"""The rows of one or several runs, matched as a comparison matches them, with a number or a label by each field."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import plain_column
from karat.core.columns.ids import ROW_IDS
from karat.core.columns.kinds import Array
from karat.core.columns.python_values import rows_to_python
from karat.core.errors import SpecError, did_you_mean
from karat.data.json.texts import read_json
from karat.data.roles import singular
from karat.runs.match.alignment import Alignment
from karat.runs.match.match import Matched, match
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.scoring.arguments import NONE
from karat.runs.store.run import Run, ScoredFile
from karat.viewer.rows.columns import RunColumns, encode, find_facets, name_type
from karat.viewer.rows.fields import Field
from karat.viewer.rows.recent import Recent
from karat.viewer.rows.relation import Relation

OUTCOMES = ("better", "worse", "same", "unscored")
_KEPT = 64 << 20  # bytes of arrays

Kept = TypeVar("Kept", Array, pa.Array)


class RowTable:
    """The matched rows of runs, in the order of the first run's rows.

    `by` is the column of their ids or "order", `key` its name for people, `notes` say how rows were matched. `columns`:
    which columns of each run are read, by default all that have a role. `facets`: the columns that name groups of rows,
    each with the number of the first run that has it; by default those that `find_facets` finds.
    """

    def __init__(
        self, matched: Matched, columns: Sequence[RunColumns] = (), facets: Mapping[str, int] | None = None
    ) -> None:
        self.runs, self.metrics, aligned = tuple(matched.runs), tuple(matched.metrics), matched.rows
        self.by, self.key, self.notes = aligned.by, aligned.key, tuple(matched.notes)
        self.n, self.ids, self._ranked = len(aligned), aligned.all_ids, aligned.orders[0]
        self._orders = [_in_first(aligned, at) for at in range(len(self.runs))]
        self.columns = tuple(columns) or tuple(map(RunColumns.of, self.runs))
        self._kept: Recent[Any] = Recent(_KEPT, lambda array: int(array.nbytes))
        if facets is not None:
            self.facets = dict(facets)

    @cached_property
    def relation(self) -> Relation:
        """The rows in DuckDB."""
        return Relation(self.runs, self.n)

    @property
    def specs(self) -> tuple[str, ...]:
        """The specs of the metrics, as the first run has them."""
        return tuple(metric.spec for metric in self.metrics)

    @cached_property
    def ranks(self) -> Array:
        """The place of each row in the order of the ids, shape (n,)."""
        ranks = np.empty(self.n, np.int32)
        ranks[self._ranked] = np.arange(self.n, dtype=np.int32)
        return ranks

    @cached_property
    def facets(self) -> dict[str, int]:
        """The columns that name groups of rows, each with the number of the first run that has it."""
        facets: dict[str, int] = {}
        for at, (run, columns) in enumerate(zip(self.runs, self.columns, strict=True)):
            free = (name for name in find_facets(run, columns) if singular(name) not in ROW_IDS and name != self.by)
            facets |= {name: at for name in free if not any(name in run.schema.names for run in self.runs[:at])}
        return facets

    def metric(self, field: Field) -> SharedMetric:
        """The metric of a field; `SpecError` where the runs do not share it, or there is no such system."""
        if not 0 <= field.system < len(self.runs):
            raise SpecError(f"there is no system {field.system}: the last one is {len(self.runs) - 1}")
        for metric in self.metrics:
            if metric.spec == field.metric:
                return metric
        raise SpecError(f"there is no metric {field.metric[:80]!r}{did_you_mean(field.metric[:80], self.specs)}")

    def in_run(self, system: int, rows: Array) -> Array:
        """The row numbers of these rows in a run."""
        order = self._orders[system]
        return rows if order is None else order[rows]

    def read(self, system: int, rows: Array, names: Sequence[str]) -> list[dict[str, Any]]:
        """Some columns of these rows in a run, in their order."""
        run, numbers = self.runs[system], self.in_run(system, rows)
        stored = not isinstance(run, ScoredFile) and not run.paths and isinstance(run.path, Path)
        return self.relation.read(run, numbers, names) if stored else take_rows(run, numbers, names)

    def mark(self, system: int, numbers: Array) -> Array:
        """Which rows have these row numbers in a run, shape (n,)."""
        mask = np.zeros(self.n, bool)
        mask[numbers] = True
        return self._in_order(system, mask)

    def searched(self, field: Field) -> Iterator[tuple[int, str | None]]:
        """What is searched for a text: a column (None: the id), or the question, the gold and the answers of all."""
        if field.kind != "text":
            yield (0, None) if field.kind == "id" else self.column_of(field)
            return
        first = self.columns[0]
        predictions = ((at, each.prediction) for at, each in enumerate(self.columns))
        yield from (each for each in [(0, first.question), (0, first.reference), *predictions] if each[1] is not None)

    def search(self, field: Field, text: str) -> Array:
        """Which rows contain a text where a field is searched, shape (n,)."""
        marked = np.zeros(self.n, bool)
        for at, several in groupby(self.searched(field), itemgetter(0)):
            marked |= self.mark(at, self.relation.search(self.runs[at], [name for _, name in several if name], text))
        return marked

    def name_rows(self, rows: Array) -> list[str]:
        """The ids of these rows."""
        return [self.ids[row].as_py() for row in rows.tolist()]

    def keep(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """An array that is computed once, and again after it was dropped for others."""
        kept: Kept = self._kept.get(key, make)
        return kept

    def is_number(self, system: int, name: str) -> bool:
        """Whether the values of a run's column are numbers: scores are, also where a file spells them."""
        scored = name in {metric.column for metric in self.runs[system].manifest.metrics}
        return scored or name_type(self.runs[system].schema.field(name).type) in {"number", "boolean"}

    def holds_numbers(self, field: Field) -> bool:
        """Whether the values of a field are numbers."""
        if field.kind != "column":
            return field.kind in {"score", "difference", "size"}
        return self.is_number(self.run_with(field.name), field.name)

    def numbers(self, system: int, name: str) -> pa.Array:
        """A column of numbers of a run, float64, null where a row has none; whole ones beyond 2^53 are rounded."""
        return self.keep(("numbers", system, name), lambda: self._numbers(system, name))

    def lengths(self, system: int) -> Array:
        """How many characters each answer of a run has, float64, NaN where it is not text."""
        lengths: Array = self.keep(("lengths", system), lambda: self._lengths(system))
        return lengths

    def labels(self, system: int, name: str) -> pa.DictionaryArray:
        """A column of a run, labelled as the slices of a comparison; `DataError` where its values are too many."""
        return self.keep(("labels", system, name), lambda: self._labels(system, name))

    def _numbers(self, system: int, name: str) -> pa.Array:
        run = self.runs[system]
        spec = next((metric.spec for metric in run.manifest.metrics if metric.column == name), None)
        numbers = run.column(name).cast(pa.float64(), safe=False).to_numpy() if spec is None else run.scores(spec)
        return pa.array(self._in_order(system, numbers), from_pandas=True)

    def _lengths(self, system: int) -> Array:
        run, name = self.runs[system], self.columns[system].prediction
        if name is None or name_type(run.schema.field(name).type) != "text":
            return np.full(self.n, np.nan)
        texts = plain_column(run.column(name).combine_chunks())
        texts = texts.storage if isinstance(texts, pa.ExtensionArray) else texts
        lengths = pc.utf8_length(texts.cast(pa.large_string())).cast(pa.float64())
        return self._in_order(system, lengths.to_numpy(zero_copy_only=False))

    def _labels(self, system: int, name: str) -> pa.DictionaryArray:
        order, labels = self._orders[system], encode(self.runs[system], name)
        return labels if order is None else labels.take(pa.array(order))

    def column_of(self, field: Field) -> tuple[int, str]:
        """The number of the run, and the name of the column, that hold a field; "" where the run has none.

        Raises `SpecError` for a run, a metric or a column that is not there.
        """
        if field.kind == "column":
            return self.run_with(field.name), field.name
        if field.kind == "reason":
            return field.system, self.columns[field.system].reason or ""
        metric = self.metric(field).by_run[field.system]
        if field.kind == "label":
            return field.system, self.columns[field.system].details[metric.spec].get("label", "")
        return field.system, metric.column

    def labelled_column(self, field: Field) -> tuple[int, str]:
        """The number of the run, and the name of the column, that hold a field's labels."""
        there = field.kind == "label" or (field.kind == "reason" and field.system < len(self.runs))
        name = self.column_of(field)[1] if there or (field.kind == "column" and field.name in self.facets) else ""
        if not name:
            raise SpecError(f"{field.name or field.kind!r} has no labels to choose from")
        return self.facets.get(field.name, field.system), name

    def run_with(self, name: str) -> int:
        """The number of the first run that has a column."""
        for at, run in enumerate(self.runs):
            if name in run.schema.names:
                return at
        raise SpecError(f"there is no column {name[:80]!r}{did_you_mean(name[:80], self.runs[0].schema.names)}")

    def _in_order(self, system: int, values: Array) -> Array:
        order = self._orders[system]
        return values if order is None else values[order]


def match_rows(runs: Sequence[Run], on: str | None = None, *, allow_different: bool = False) -> RowTable:
    """The matched rows of one run or several; raises what `karat.compare` raises."""
    return RowTable(match(runs, on=on, cluster=NONE, allow_different=allow_different))


def take_rows(run: Run, rows: Array, names: Sequence[str]) -> list[dict[str, Any]]:
    """Some columns of the rows of a run with these numbers, in their order, from any kind of file or from memory."""
    wanted, taken, first = np.unique(rows), list[dict[str, Any]](), 0
    for batch in run.batches(list(names)) if names else ():
        here = wanted[(wanted >= first) & (wanted < first + len(batch))] - first
        taken += rows_to_python(batch.take(pa.array(here)), read_json)
        first += len(batch)
    return [taken[at] if names else {} for at in np.searchsorted(wanted, rows).tolist()]


def _in_first(aligned: Alignment, run: int) -> Array | None:
    """The row numbers of a run in the order of the first run's rows; None where they are the same."""
    if aligned.orders[run] is aligned.orders[0]:
        return None
    placed = aligned.in_first(run).astype(np.int32)
    return None if np.array_equal(placed, np.arange(len(placed))) else placed
