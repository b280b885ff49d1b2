"""The rows that people should label next, written to a file with the probability with which each was drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.ids import ROW_IDS
from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError, DataError, SpecError, did_you_mean
from karat.core.metric.metric import Metric
from karat.data.json.raw import spell_ids
from karat.data.roles import matches_role
from karat.data.write import check_output, refuse_overwriting, write
from karat.runs.compare.systems import System, list_specs, open_system
from karat.runs.labels.choices import known_choices
from karat.runs.labels.labels import Labels, match_labels, read_labels
from karat.runs.labels.layout import PROBABILITY, read_entries
from karat.runs.scoring.groups import cluster_keys
from karat.runs.store.run import Run
from karat.stats.corrected.allocation import (
    add_rounds,
    disagreeing,
    draw_rows,
    erring,
    probabilities_of,
    share_of_round,
    uncertain,
)
from karat.stats.corrected.judged import Judged

By: TypeAlias = Literal["uniform", "uncertainty", "disagreement", "slice", "active"]
_SHOWN = ("question", "contexts", "reference", "prediction")
_LEAST = 10  # labels from which the judge's errors are learned


def label_next(
    system: System,
    count: int,
    *,
    metrics: str | Metric | Iterable[str | Metric] = (),
    by: By = "uniform",
    slices: str | None = None,
    human: Any = None,
    on: str | None = None,
    label_map: Mapping[str, float] | str | None = None,
    seed: int = 0,
    output: str | Path | None = None,
) -> pa.Table:
    """Draw `count` rows that people should label next, and write them to `output`.

    The columns are the id, an empty `label`, the `probability` with which each row was drawn, and what a person needs
    to see: question, contexts, reference and prediction, but no scores. Rows that already have a label in `human` stand
    first, with their labels and with the probabilities that count once this round is added: the file takes the place of
    the earlier ones.

    `by`: "uniform", each row alike; "uncertainty", rather rows whose score is far from both bounds; "disagreement",
    rather rows on which several metrics differ; "slice", rather from values of the column `slices` in which the judge
    errs more; "active", rather at scores at which the labels so far found it to err more. All but the first keep a
    quarter of the probability the same for all rows. `metrics`: the judges, by default all metrics of the run.

    Raises `SpecError` for a `by` that the metrics, slices or labels do not suffice for and for a count that is not
    positive, `DataError` for more rows than have no label, and what `karat.runs.labels.labels.read_labels` raises.

    >>> import karat
    >>> rows = {"id": range(100), "prediction": ["yes", "no"] * 50, "gold": ["yes"] * 100}
    >>> proposed = label_next(karat.score(rows, "em", keep=True), 10)
    >>> proposed.num_rows, round(proposed["probability"][0].as_py(), 6), proposed.column_names
    (10, 0.1, ['id', 'label', 'probability', 'gold', 'prediction'])
    """
    if count < 1 or by not in get_args(By):
        problem = f"expected one of {', '.join(get_args(By))}{did_you_mean(by, get_args(By))}"
        raise SpecError(f"count={count}: expected 1 or more" if count < 1 else f"by={by!r}: {problem}")
    wanted = list_specs(metrics)
    run = open_system(system, "the result", wanted)
    name, ids = read_ids(run, on)
    choices = known_choices(run.specs).values()
    labels = None if human is None else read_labels(human, on=name, label_map=label_map, choices=choices)
    at = np.empty(0, np.int64) if labels is None else match_labels(labels, ids, run.name)
    free = np.ones(len(ids), np.bool_)
    free[at] = False
    if count > free.sum():
        raise DataError(f"{run.name}: {count} rows to label expected, found {free.sum()} without a label")
    strata = None if slices is None else cluster_keys(run.column(slices).combine_chunks()).astype(np.int64)
    specs = [run.manifest.metric(spec).spec for spec in wanted or run.specs]
    judges = {spec: run.scores(spec) for spec in specs}
    error = _expect(run, judges, by, strata, (labels, at))
    chances = probabilities_of(error, count, free, most=share_of_round(len(at), count, len(ids)))
    drawn = draw_rows(np.where(free, chances, 0.0), seed, strata)
    known = None if labels is None else labels.probabilities
    earlier, fresh = add_rounds(
        np.full(len(at), len(at) / len(ids)) if known is None else known, chances[drawn], len(ids)
    )
    table = _tabulate(run, name, labels, (at, earlier), (drawn, fresh))
    if output is not None:
        check_output(output, table.schema)
        refuse_overwriting(output, run.rows, human)
        _refuse_losing_labels(Path(output), name, labels)
        write(table.to_batches(), table.schema, output)
    return table


def _refuse_losing_labels(output: Path, on: str, labels: Labels | None) -> None:
    """Raise `DataError` where the file that would be replaced holds labels that were not passed on."""
    if not output.is_file():
        return
    try:
        there = read_entries(output, on, (), None, str(output))[0]["id"]
    except ColumnError:  # it is no table of labels
        return
    lost = there.filter(pc.invert(pc.is_in(there, pa.array([], there.type) if labels is None else labels.ids)))
    if len(lost):
        problem = f"{output} holds labels of {len(lost)} rows, such as {lost[0].as_py()!r}, and would be replaced"
        raise DataError(f"{problem}: name it with human (--human) too, or write to another file")


def read_ids(run: Run, on: str | None) -> tuple[str, pa.Array]:
    """The column of ids and its texts; `ColumnError` where there is none of the name, or no name of an id."""
    names = run.schema.names
    found = on if on is not None else next((each for each in ROW_IDS if each in names), None)
    if found is None:
        shown = f"its columns are {', '.join(names)}; say which with on (--on)"
        raise ColumnError(f"{run.name}: no column has the name of an id; {shown}")
    return found, spell_ids(run.column(found).combine_chunks(), f"{run.name}: column {found!r}")


def _expect(
    run: Run, judges: Mapping[str, Array], by: By, strata: Array | None, labelled: tuple[Labels | None, Array]
) -> Array:
    """The error that is to be expected of the judge in each row, shape (n,)."""
    labels, at = labelled
    if (by == "slice") != (strata is not None):
        raise SpecError("by='slice' needs a column of slices" if strata is None else f"by={by!r} does not use slices")
    scores = np.column_stack(list(judges.values()))
    if by == "uniform":
        return np.ones(len(scores))
    named = ", ".join(judges)
    if (by == "disagreement") != (len(judges) > 1):
        needed = "two metrics or more" if by == "disagreement" else "one metric"
        raise SpecError(f"by={by!r} needs {needed}, found {named}: -m SPEC (metrics=) says which")
    if by == "disagreement":
        return disagreeing(scores)
    if by == "uncertainty":
        error = uncertain(scores[:, 0], run.manifest.metric(next(iter(judges))).scale.bounds)
        if not error.any():
            raise SpecError(f"by='uncertainty': the scores of {named} are all at their bounds; try by='active'")
        return error
    if by == "active" and len(at) < _LEAST:
        problem = f"learns from {_LEAST} labels or more (human=), found {len(at)}: label a uniform round first"
        raise SpecError(f"by='active' {problem}")
    known = np.full(len(scores), np.nan)
    if labels is not None:
        known[at] = labels.mean
    return erring(Judged(scores[:, 0], known), strata)


def _tabulate(
    run: Run, name: str, labels: Labels | None, earlier: tuple[Array, Array], drawn: tuple[Array, Array]
) -> pa.Table:
    """Earlier labels, then the rows to label, with what a person needs to see of each."""
    taken = {metric.column for metric in run.manifest.metrics} | {name, "label", "annotator", PROBABILITY}
    free = [column for column in run.schema.names if column not in taken]
    named = ([run.manifest.mapping.get(role)] + [each for each in free if matches_role(role, each)] for role in _SHOWN)
    shown = (next((column for column in columns if column in free), name) for columns in named)
    rows = run.read(list(dict.fromkeys([name, *shown])))
    row, person = np.nonzero(~np.isnan(labels.scores)) if labels is not None else (drawn[0][:0], drawn[0][:0])
    texts: list[str | None] = []
    if labels is not None:
        names = {score: each for each, score in labels.choices.items()}
        texts = [names.get(score, str(score).removesuffix(".0")) for score in labels.scores[row, person].tolist()]
    blank = [None] * len(drawn[0])
    table = rows.take(pa.array(np.concatenate([earlier[0][row], drawn[0]])))
    columns = {"label": pa.array([*texts, *blank], pa.string())}
    if labels is not None and len(labels.annotators) > 1:
        columns["annotator"] = pa.array([*(labels.annotators[each] for each in person), *blank], pa.string())
    columns[PROBABILITY] = pa.array(np.concatenate([earlier[1][row], drawn[1]]))
    for place, (title, column) in enumerate(columns.items(), 1):
        table = table.add_column(place, title, column)
    return table
