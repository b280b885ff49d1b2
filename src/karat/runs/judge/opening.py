"""Opening what is examined: rows with scores, people's labels of them, and judges' votes where they are asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError, DataError, SpecError, did_you_mean
from karat.core.metric.metric import Metric
from karat.data.join.join import Joined, split_on
from karat.data.source import Source
from karat.data.storage.addresses import is_file
from karat.runs.columns.output import OutputColumns
from karat.runs.columns.score_columns import fit_range
from karat.runs.judge.asking.votes import VOTES, RepeatedJudge, Votes, repeat
from karat.runs.labels.choices import choices_by_spec
from karat.runs.labels.join import LabelledRows, why_not_corrected
from karat.runs.labels.labels import Labels
from karat.runs.labels.table import LabelTable
from karat.runs.match.match import How, Matched, match
from karat.runs.match.systems import add_named_columns, open_rows, open_system
from karat.runs.scoring.arguments import NONE
from karat.runs.scoring.pipeline import score
from karat.runs.scoring.result import Result
from karat.runs.scoring.sources import open_sources
from karat.runs.scoring.tasks.progress import Progress
from karat.runs.store.folders import find_run
from karat.runs.store.manifest import describe_metric
from karat.runs.store.run import Run

LABEL = "human.score"
LabelMap: TypeAlias = Mapping[str, float] | str | None


@dataclass(frozen=True)
class ExaminationPlan:
    """What is examined: `metrics` and further `columns` of scores, on which rows, and what judges are asked.

    `repetitions`: how many verdicts judges give on each row, and one for each of the `rewordings`. `map`, `gold`, `on`,
    `where`, `limit`, `by`, `cluster`: as in `karat.score`. `label_map`: the score of each label in `columns`. `reads`:
    further columns that are needed, by argument.
    """

    metrics: Sequence[Metric] = ()
    columns: Sequence[str] = ()
    label_map: LabelMap = None
    on: str | None = None
    by: str | None = None
    cluster: str | None = None
    repetitions: int = 0
    rewordings: Sequence[str] = ()
    map: Mapping[str, str] | None = None
    gold: Any = None
    where: str | None = None
    limit: int | None = None
    reads: Sequence[tuple[str, str]] = ()

    @property
    def asks(self) -> bool:
        """Whether judges are asked."""
        return bool(self.repetitions or self.rewordings)

    @property
    def scores(self) -> bool:
        """Whether rows are scored, whatever scores they hold."""
        options = (self.map, self.gold, self.where, self.limit)
        return self.asks or any(each is not None for each in options)


@dataclass(frozen=True)
class Opened:
    """Rows with scores and the labels of some; the votes of judges, by spec.

    `own`: the columns of the rows that hold labels by people. `table`: the rows with all votes, where they were scored.
    """

    matched: Matched
    own: Sequence[str] = ()
    votes: Mapping[str, Votes] = field(default_factory=dict)
    table: pa.Table | None = None


def open_rated(system: Any, chosen: ExaminationPlan, human: Labels | None, progress: Progress | None = None) -> Opened:
    """Open a system and people's labels of its rows; scores that it does not hold are computed, or asked for.

    Raises what opening, scoring, reading and matching labels raise.
    """
    stored = _open_stored(system, chosen.metrics)
    if not chosen.scores:
        run = stored or add_named_columns(open_rows(system), chosen.metrics)
        if all(_holds(run, metric) for metric in chosen.metrics):
            human = human if human is None or human.system else replace(human, system=run.name or None)
            own = [] if human is None else human.columns_of(run.schema.names)
            how = How(by=chosen.by, cluster=chosen.cluster, human=human, scored=False)
            return Opened(match([run], on=chosen.on if human and not own else None, **how), own)
    if not chosen.metrics:
        raise SpecError("which judges are asked, or metrics scored? metrics=['judge:NAME'] (-m judge:NAME)")
    return _score(stored or system, chosen, human, progress)


def _open_stored(system: Any, metrics: Sequence[Metric]) -> Run | None:
    """A run or a result; None for a file, a frame, or any other table."""
    named = isinstance(system, str | Path) and (not is_file(system) or find_run(system) is not None)
    return open_system(system, metrics=metrics, scored=False) if named or isinstance(system, Run | Result) else None


def _holds(run: Run, metric: Metric) -> bool:
    try:
        run.manifest.metric(metric.spec)
    except SpecError:
        return False
    return True


def _score(data: Any, chosen: ExaminationPlan, human: Labels | None, progress: Progress | None) -> Opened:
    """Score the rows, only the labelled ones where there are labels, and ask judges about them."""
    run, gold = data if isinstance(data, Run) else None, chosen.gold
    source = run.source if run else open_sources(data, gold, None if gold is None else chosen.on, ranked=False)
    metrics = [fit_range(metric, source) for metric in chosen.metrics]
    repeated = metrics
    if chosen.asks:
        repeated = [repeat(metric, max(chosen.repetitions, 1), chosen.rewordings) for metric in metrics]
    elif lacking := [metric.spec for metric in metrics if metric.asks_model]:
        problem = f"{source.name} holds no scores of {', '.join(lacking)}"
        raise SpecError(f"{problem}: --ask 3 (ask=3) asks for three verdicts on each row, --ask 1 for one")
    for argument, name in chosen.reads:
        check_column(source.schema, name, f"{source.name}: {argument}")
    labels, own = None, list[str]()
    if human is not None:
        own = human.columns_of(source.schema.names)
        on = split_on(chosen.on)[1] if chosen.on and isinstance(source, Joined) else chosen.on
        source, labels = _keep_labelled(run or open_rows(source), human, None if own else on, metrics)
    roles = {role for metric in metrics for role in metric.definition.columns}
    known = {role: name for role, name in run.manifest.mapping.items() if role in roles} if run else {}
    options: dict[str, Any] = {name: getattr(chosen, name) for name in ("where", "limit", "by", "cluster")}
    options["progress"] = progress
    result = score(source, repeated, map={**known, **(chosen.map or {})} or None, keep=True, **options)
    table = result.table
    matched = match([open_system(result)], by=chosen.by, cluster=chosen.cluster, scored=False)
    if human is not None and labels is not None:
        at = table[LABEL].to_numpy().astype(np.int64)
        matched = replace(matched, labelled=[LabelledRows(np.arange(len(at)), labels.take(at), human)])
        table = table.set_column(table.schema.get_field_index(LABEL), LABEL, pa.array(labels.mean[at]))
    columns = OutputColumns.of_scored(result.table.schema, repeated).details
    votes = {
        metric.spec: Votes.of(table[details[VOTES]], function)
        for metric, details in zip(repeated, columns, strict=True)
        if isinstance(function := metric.definition.function, RepeatedJudge)
    }
    return Opened(matched, own, votes, table)


def _keep_labelled(rows: Run, human: Labels, on: str | None, metrics: Sequence[Metric]) -> tuple[Source, LabelTable]:
    """The rows that people labelled, with the number of each row's labels in a further column, and the labels.

    `DataError` for labels that are not on the scale of a judge, before it is asked.
    """
    choices = choices_by_spec(metrics)
    how = How(human=human, choices=choices.values(), cluster=NONE, scored=False)
    matched = match([rows], on=on, **how)
    (joined,) = matched.labelled
    if judges := [describe_metric(metric, metric.spec) for metric in metrics if metric.asks_model]:
        for spec, reason in why_not_corrected(judges, joined.labels, {} if human.label_map else choices).items():
            raise DataError(f"{joined.labels.source} and {spec}: {reason}")
    numbers = np.full(len(matched.rows), np.nan)
    numbers[joined.at] = np.arange(len(joined.at))
    return _add_numbers(rows.source, LABEL, numbers), joined.labels


def check_column(schema: pa.Schema, name: str, where: str) -> None:
    """Raise `ColumnError`, with the nearest name, for a column that does not exist."""
    if name not in schema.names:
        raise ColumnError(f"{where}: there is no column {name!r}{did_you_mean(name, schema.names)}")


def _add_numbers(source: Source, added: str, numbers: Array) -> Source:
    """The source with a further column of numbers, without the rows where it is NaN."""
    own = [name for name in source.schema.names if name != added]
    schema = pa.schema([*(source.schema.field(name) for name in own), pa.field(added, pa.float64())])

    def read() -> Iterator[pa.RecordBatch]:
        first = 0
        for batch in source.read():
            column = numbers[first : first + len(batch)]
            first += len(batch)
            fields = pa.schema([*(batch.schema.field(name) for name in own), schema.field(added)])
            cells = [*(batch.column(name) for name in own), pa.array(column)]
            yield pa.RecordBatch.from_arrays(cells, schema=fields).filter(pa.array(~np.isnan(column)))

    return replace(source, schema=schema, rows=int((~np.isnan(numbers)).sum()), read=read)
