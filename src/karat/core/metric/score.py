"""The one scoring engine: from columns to the statistics of each row, for every metric and every caller.

A metric's function is written for columns without nulls, with one text a row. The engine casts and checks columns,
handles nulls, lists of texts (``across``) and replies (``extract``), and scores long columns in slices on all cores.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy, is_list
from karat.core.columns.column_cache import column_cache, once
from karat.core.columns.kinds import NUMBER, TEXT, TEXTS, Array
from karat.core.errors import ColumnError, RowError, SpecError
from karat.core.metric.combine import combine
from karat.core.metric.definition import Configured, Definition
from karat.core.metric.extract import extract_both, final_answers
from karat.core.metric.rows import NOTHING, UNMATCHED, Rows, check_rows, concat_rows, null_reasons
from karat.core.metric.setting import SEVERAL
from karat.core.parallel import even_part, map_ordered
from karat.core.progress import advance_by_parts

SLICE = 1 << 15  # rows scored at a time: enough to hide the overhead, few enough for the processor's cache


@dataclass(frozen=True)
class Inner:
    """The metric whose scores another metric takes, with its columns of one slice of rows."""

    metric: Configured
    columns: Mapping[str, pa.Array]

    def score(self) -> Rows:
        """The statistics of the rows by the inner metric."""
        return self._rows

    @cached_property
    def _rows(self) -> Rows:
        return score_rows(self.metric, self.columns)

    def score_samples(self) -> tuple[Rows, Array]:
        """The statistics of each sample, one after the other, and the number of samples of each row, shape (rows,).

        A judge is asked once for all metrics of a batch that take its scores.
        """

        def score() -> tuple[Rows, Array]:
            return _score_items(self.metric, self.columns, find_samples(self.metric.definition))

        if self.metric.judge is None:
            return score()
        samples = self.columns[find_samples(self.metric.definition)]
        with advance_by_parts(len(samples), len(samples.flatten())):
            return once(("samples", self.metric), (*self.columns.values(),), score)


def beside(name: str, own: Collection[str]) -> str:
    """The name of a judge's detail beside the details of the metric that takes its scores."""
    return f"judge_{name}" if name in own else name


def find_samples(definition: Definition) -> str:
    """The column of a metric that holds a list of samples in each row: the prediction, else its one number.

    Raises `SpecError` for a metric that scores neither one text nor one number a row.
    """
    columns = definition.columns
    numbers = [role for role, kind in columns.items() if kind is NUMBER]
    if columns.get("prediction") is TEXT:
        return "prediction"
    if len(numbers) != 1:
        raise SpecError(f"{definition.name} does not score one text or one number a row, so it has no samples")
    return numbers[0]


def score_columns(
    metrics: Sequence[Configured],
    columns: Mapping[str, pa.Array | pa.ChunkedArray],
    names: Mapping[str, str] | None = None,
) -> list[Rows]:
    """The statistics of whole columns, one `Rows` for each metric: computed in slices by all cores.

    A metric that waits for other processes is called once with all rows, in this thread.

    Raises `ColumnError` for a column of the wrong kind, `RowError` for columns of unequal length.
    """
    lengths = {role: len(column) for role, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise RowError("columns of unequal length: " + ", ".join(f"{r} has {n} rows" for r, n in lengths.items()))
    table = pa.table(columns)
    batches = table.to_batches(max_chunksize=even_part(len(table), SLICE))
    batches = batches or [pa.RecordBatch.from_pylist([], table.schema)]

    def compute(batch: pa.RecordBatch) -> list[Rows | None]:
        return compute_rows(metrics, dict(zip(columns, batch.columns, strict=True)), names)

    parts = list(map_ordered(compute, batches))
    pairs = zip(metrics, zip(*parts, strict=True), strict=True)
    computed = [None if metric.definition.remote else concat_rows(metric, rows) for metric, rows in pairs]
    if not any(metric.definition.remote for metric in metrics):
        return [rows for rows in computed if rows is not None]
    whole = {role: column.combine_chunks() for role, column in zip(columns, table.columns, strict=True)}
    return complete_rows(metrics, whole, computed, names)


def compute_rows(
    metrics: Sequence[Configured], columns: Mapping[str, pa.Array], names: Mapping[str, str] | None = None
) -> list[Rows | None]:
    """The first step of scoring a batch, for any thread: the metrics that compute; None for those that wait."""
    with column_cache():
        return [None if metric.definition.remote else score_rows(metric, columns, names) for metric in metrics]


def complete_rows(
    metrics: Sequence[Configured],
    columns: Mapping[str, pa.Array],
    computed: Sequence[Rows | None],
    names: Mapping[str, str] | None = None,
) -> list[Rows]:
    """The second step, in the caller's thread, where Ctrl-C arrives: the metrics that wait for other processes."""
    pairs = zip(metrics, computed, strict=True)
    with column_cache():
        return [score_rows(metric, columns, names) if rows is None else rows for metric, rows in pairs]


def score_rows(metric: Configured, columns: Mapping[str, pa.Array], names: Mapping[str, str] | None = None) -> Rows:
    """The statistics of one slice of rows; `names` are what error messages call columns, where that is not the role."""
    cast = cast_columns(metric, columns, names)
    kept = {role: cast[role] for role in metric.definition.inputs.nulls if UNMATCHED in columns}
    if (reasons := null_reasons(kept)) is None:
        return _score(metric, cast)
    return _score_where(metric, cast, ~np.asarray(columns[UNMATCHED]) | np.equal(reasons, NOTHING), reasons)


def cast_columns(
    metric: Configured, columns: Mapping[str, pa.Array], names: Mapping[str, str] | None = None
) -> dict[str, pa.Array]:
    """The metric's columns cast to its kinds; raises `ColumnError` for a wrong type, even of an empty column."""
    names = names or {}
    return {role: _cast(metric, role, columns[role], names.get(role, role)) for role in metric.definition.columns}


def _cast(metric: Configured, role: str, column: pa.Array, where: str) -> pa.Array:
    """The column cast to the kind the metric declares, or to lists of it where rows hold several."""
    kind, inner = metric.definition.columns[role], metric.definition.inner
    if inner is not None and inner.definition.columns.get(role) is kind:
        return _cast(inner, role, column, where)
    if not is_list(column.type) or not _takes_several(metric, role):
        return once(kind, (column,), lambda: kind.of(column, where))
    several = TEXTS.of(column, where)
    if metric.settings[SEVERAL[role]] == "one":
        choice = f"{metric.name}({SEVERAL[role]}='first'), 'max', 'mean' or 'min'"
        raise ColumnError(f"{where} holds {column.type}: several a row. Which of them counts? {choice}")
    return several


def _takes_several(metric: Configured, role: str) -> bool:
    """Whether a row may hold several texts for a role, although the metric is written for one."""
    setting = metric.definition.settings.get(SEVERAL.get(role, ""))
    return setting is not None and setting.of_core


def _score(metric: Configured, columns: Mapping[str, pa.Array]) -> Rows:
    """Score each row, or each pair of a row that holds a list, without the rows that have a null."""
    keeps = metric.definition.inputs.nulls
    if (reasons := null_reasons({role: each for role, each in columns.items() if role not in keeps})) is not None:
        whole = np.equal(reasons, NOTHING)
        mask = from_numpy(whole)
        kept = once("whole rows", (*columns.values(),), lambda: [column.filter(mask) for column in columns.values()])
        return _spread(_score(metric, dict(zip(columns, kept, strict=True))), whole, reasons)
    if metric.settings.get("extract", "none") != "none" and not is_list(columns["prediction"].type):
        return _score_extracted(metric, columns)
    for role in SEVERAL:
        if role in columns and _takes_several(metric, role) and is_list(columns[role].type):
            return _score_lists(metric, columns, role)
    return _call(metric, columns)


def _score_extracted(metric: Configured, columns: Mapping[str, pa.Array]) -> Rows:
    """Score the final answer of each prediction; a row without one is unscored, or wrong with `missing="wrong"`."""
    how, wrong, worst = metric.settings["extract"], metric.settings["missing"] == "wrong", metric.definition.worst
    replies, references = columns["prediction"], columns.get("reference")
    answers = final_answers(replies, references, how)
    metric = replace(metric, settings={**metric.settings, "extract": "none"})
    columns = {**columns, "prediction": answers.fill_null("") if wrong and worst is None else answers}
    answered = np.asarray(columns["prediction"].is_valid())
    rows = _score_where(metric, columns, answered, f"extract={how!r} finds no answer in prediction")
    both = (replies, answers, references)
    if references is not None and (tried := once(("both", how), both, lambda: extract_both(*both, how))) is not None:
        again = {**columns, "prediction": tried[0], "reference": tried[1]}
        rows = _better(metric, rows, _score_where(metric, again, answered & tried[2]))
    if wrong and rows.reasons is not None:
        rows.statistics[~answered], rows.reasons[~answered] = worst, None
    return rows


def _score_where(metric: Configured, columns: Mapping[str, pa.Array], chosen: Array, reason: str | Array = "") -> Rows:
    """Score the chosen rows; the others have no score, and the reason."""
    if chosen.all():
        return _score(metric, columns)
    mask, reasons = from_numpy(chosen), np.where(chosen, NOTHING, reason)
    return _spread(_score(metric, {role: c.filter(mask) for role, c in columns.items()}), chosen, reasons)


def _better(metric: Configured, first: Rows, second: Rows) -> Rows:
    """Of each row the better score; the first where the second has none."""
    both = concat_rows(metric, [first, second])
    scores, others = both.scores(metric).reshape(2, -1)
    better = others > scores if metric.definition.direction == "maximize" else others < scores
    rows = len(scores)
    places = np.arange(rows) + rows * (better | (np.isnan(scores) & ~np.isnan(others)))
    details = {name: column.take(from_numpy(places)) for name, column in both.details.items()}
    return Rows(both.statistics[places], None if both.reasons is None else both.reasons[places], details)


def _spread(rows: Rows, whole: Array, reasons: Array) -> Rows:
    """The rows at the positions where `whole` is true; the others have no score, and a reason."""
    statistics = np.full((len(whole), rows.statistics.shape[1]), np.nan)
    statistics[whole] = rows.statistics
    if rows.reasons is not None:
        reasons[whole] = rows.reasons
    places = from_numpy(np.cumsum(whole) - 1, whole)
    return Rows(statistics, reasons, {name: column.take(places) for name, column in rows.details.items()})


def _score_lists(metric: Configured, columns: Mapping[str, pa.Array], role: str) -> Rows:
    """Flatten the lists of one column, score each text with the rest of its row, and combine the scores by row."""
    items, sizes = _score_items(metric, columns, role)
    rows = combine(metric, items, sizes, metric.settings[SEVERAL[role]])
    if sizes.all():
        return rows
    reasons = np.full(len(sizes), None, dtype=object) if rows.reasons is None else rows.reasons
    reasons[sizes == 0] = f"{role} is an empty list"
    return Rows(rows.statistics, reasons, rows.details)


def _score_items(metric: Configured, columns: Mapping[str, pa.Array], role: str) -> tuple[Rows, Array]:
    """Score each item of the lists of one column with the rest of its row; with the number of items of each row."""
    lists = columns[role]
    sizes = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), dtype=np.int64)
    others = {other: column for other, column in columns.items() if other != role}
    if others:
        parents = from_numpy(np.repeat(np.arange(len(lists)), sizes))
        others = {other: _repeat(metric, column, parents) for other, column in others.items()}
    return _score(metric, others | {role: lists.flatten()}), sizes


def _repeat(metric: Configured, column: pa.Array, parents: pa.Array) -> pa.Array:
    if metric.definition.inputs.encoded and not is_list(column.type):
        return pa.DictionaryArray.from_arrays(parents, column)
    return column.take(parents)


def _call(metric: Configured, columns: Mapping[str, pa.Array]) -> Rows:
    """Call the metric's function and check its result: one row of float64 statistics for each row."""
    definition = metric.definition
    settings = {name: value for name, value in metric.settings.items() if not definition.settings[name].of_core}
    n = len(next(iter(columns.values())))
    if n == 0:
        return Rows(np.empty((0, 1)))
    arguments: list[Any] = [columns[role] for role in definition.columns]
    if (composite := definition.composite) is not None:
        inner = composite.inner
        scored = Inner(inner, {role: columns[role] for role in inner.definition.columns})
        arguments = [scored, *(columns[role] for role in composite.own)]
    if definition.judge:  # which is asked once, however many metrics take its scores
        with advance_by_parts(n, n):
            returned = once(metric, tuple(arguments), lambda: definition.function(*arguments, **settings))
    else:
        returned = definition.function(*arguments, **settings)
    rows = returned if isinstance(returned, Rows) else Rows(returned)
    if composite is not None and not composite.samples:
        rows = replace(rows, details={**_judged_details(scored, rows.details), **rows.details})
    return check_rows(metric, rows, n)


def _judged_details(scored: Inner, own: Collection[str]) -> dict[str, pa.Array]:
    """What a judge says of each row, beside the `own` details of the outer metric; empty where no judge does."""
    if scored.metric.judge is None:
        return {}
    columns = zip(scored.metric.details, scored.score().detail_columns(scored.metric), strict=True)
    return {beside(name, own): column for name, column in columns}
