"""The rows that people should label next, written to a file with the probability with which each was drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import DataError, SpecError, did_you_mean
from karat.runs.columns.groups import cluster_keys
from karat.runs.labels.labels import Labels
from karat.runs.match.match import Matched
from karat.runs.match.systems import Metrics, System, list_specs
from karat.runs.sampling.label_file import tabulate, write_labels
from karat.runs.sampling.labelled_systems import (
    contrast_systems,
    find_drawn,
    find_probabilities,
    judge_systems,
    label_systems,
    spell_names,
)
from karat.stats.corrected.allocation import (
    add_rounds,
    disagreeing,
    draw_rows,
    erring,
    group_pairs,
    probabilities_of,
    share_of_round,
    squared_errors,
    uncertain,
    worth_of,
)
from karat.stats.corrected.judged import Judged

By: TypeAlias = Literal["uniform", "uncertainty", "disagreement", "slice", "active"]
_LEAST = 10  # labels from which the judge's errors are learned


@dataclass(frozen=True)
class Proposal:
    """The rows to label: `table` as it is written, and the `probabilities` of the rows that were drawn.

    `table` has the id, an empty `label`, the `probability` with which each row was drawn, and what a person needs to
    see: question, contexts, reference and prediction, or the columns `show`, but no scores. Rows that have a label
    already stand first, with their labels and with the probabilities that count once this round is added.

    `earlier` rows have labels already, and `missing` answers of these have none. `worth`: how many rows drawn uniformly
    the drawn ones should be worth; None for a uniform draw, where the labels show no error, and where there are too few
    labels to say so. `known`: whether there are enough. `notes`: how rows of systems were matched,
    and what differs.
    """

    table: pa.Table
    probabilities: Array
    earlier: int
    missing: int
    worth: float | None
    known: bool
    notes: Sequence[str] = ()


def label_next(
    system: System | Sequence[System],
    count: int,
    *,
    metrics: Metrics = (),
    by: By = "uniform",
    slices: str | None = None,
    human: Any = None,
    on: str | None = None,
    label_map: Mapping[str, float] | str | None = None,
    seed: int = 0,
    output: str | Path | None = None,
    show: Sequence[str] = (),
) -> Proposal:
    """Draw `count` rows that people should label next, and write them to `output`.

    `system` is a run, a result or a file, which needs no scores for a uniform draw. The file takes the place of the
    earlier labels in `human`. `show` names the columns that a person needs to see, by default columns of known roles.

    Of several systems, as a list, each row is drawn for all of them, with a line for the answer of each and a column
    `system`; the rows are those that say most about the differences from the first. Answers without a label to rows
    that have one in another system are asked for too. `human` is then as in `karat.compare`.

    `by`: "uniform", each row alike; "uncertainty", rather rows whose score is far from both bounds, for scores that are
    probabilities of a good label, which 10 labels in `human` show or refute; "disagreement",
    rather rows on which several metrics differ; "slice", rather from values of the column `slices` in which the judge
    errs more; "active", rather at scores at which the labels so far found it to err more. All but the first keep a
    quarter of the probability the same for all rows. `metrics`: the judges, by default all metrics of the run.

    Raises `SpecError` for a `by` that the metrics, slices or labels do not suffice for and for a count that is not
    positive, `ColumnError` where no column is known to be the answer or none is beside it, `DataError` for more rows
    than have no label, and what `karat.Labels.read` and `karat.compare` raise.

    >>> import karat
    >>> rows = {"id": range(100), "prediction": ["yes", "no"] * 50, "gold": ["yes"] * 100}
    >>> proposed = label_next(karat.score(rows, "em", keep=True), 10)
    >>> proposed.table.num_rows, float(proposed.probabilities[0].round(6)), proposed.table.column_names
    (10, 0.1, ['id', 'label', 'probability', 'gold', 'prediction'])
    """
    human = Labels.of(human, label_map)
    several = list(system) if isinstance(system, Sequence) and not isinstance(system, str) else [system]
    if count < 1 or by not in get_args(By):
        problem = f"expected one of {', '.join(get_args(By))}{did_you_mean(by, get_args(By))}"
        raise SpecError(f"count={count}: expected 1 or more" if count < 1 else f"by={by!r}: {problem}")
    wanted = list_specs(metrics)
    scored = bool(wanted) or by != "uniform"
    rows = label_systems(several, wanted, on, human, scored=scored)
    free = ~find_drawn(rows)
    earlier = np.flatnonzero(~free)
    if count > free.sum():
        raise DataError(f"{spell_names(rows)}: {count} rows to label expected, found {free.sum()} without a label")
    strata = None if slices is None else cluster_keys(rows.column(slices)).astype(np.int64)
    expected = _expect(rows, by, strata)
    chances = probabilities_of(expected.error, count, free, most=share_of_round(len(earlier), count, len(free)))
    drawn = draw_rows(np.where(free, chances, 0.0), seed, strata)
    known = find_probabilities(rows)
    known = np.full(len(free), len(earlier) / len(free)) if known is None else known
    chances[earlier], chances[drawn] = add_rounds(known[earlier], chances[drawn], len(free))
    table = tabulate(rows, drawn, chances, show)
    if output is not None:
        write_labels(table, output, rows, None if human is None else human.source)
    each = expected.worth(free, known)
    return Proposal(
        table,
        probabilities=chances[drawn],
        earlier=len(earlier),
        missing=table["label"].null_count - count * len(rows.runs),
        worth=None if each is None else count * each,
        known=expected.known,
        notes=rows.notes,
    )


@dataclass(frozen=True)
class _Expected:
    """The error to expect of the judge in each row, shape (n,), and what labels have shown of it.

    `squares` are the squared errors that labels have shown, NaN in other rows, and `by_others` the error to expect
    where a row's own label is left out. `known`: whether there are labels enough; `guessed`: the error to expect does
    not follow from them.
    """

    error: Array
    squares: Array
    by_others: Array
    known: bool
    guessed: bool = False

    def worth(self, free: Array, probabilities: Array) -> float | None:
        """How many labels drawn uniformly each label is worth; None for a uniform draw, without an error or labels."""
        if not self.known or (self.error == self.error[0]).all():
            return None
        seen, rest = ~np.isnan(self.squares), self.error[free]
        return worth_of(
            self.by_others[seen],
            self.squares[seen],
            1 / probabilities[seen],
            typical=float(rest.mean()),
            guessed=rest if self.guessed else None,
        )


def _expect(rows: Matched, by: By, strata: Array | None) -> _Expected:
    """The error that is to be expected of the judge in each row: of several differences, of all together."""
    if (by == "slice") != (strata is not None):
        raise SpecError("by='slice' needs a column of slices" if strata is None else f"by={by!r} does not use slices")
    if by == "uniform":
        same = np.ones(len(rows.rows))
        return _Expected(same, same, same, known=False)
    named = ", ".join(metric.spec for metric in rows.metrics)
    if (by == "disagreement") != (len(rows.metrics) > 1):
        needed = "two metrics or more" if by == "disagreement" else "one metric"
        raise SpecError(f"by={by!r} needs {needed}, found {named}: -m SPEC (metrics=) says which")
    contrasts = [contrast_systems(rows, metric) for metric in rows.metrics]
    labelled = int((~np.isnan(sum(each.labels for each in contrasts[0]))).sum())
    if by == "active" and labelled < _LEAST:
        where = " in all systems" if len(rows.runs) > 1 else ""
        problem = f"learns from {_LEAST} labels or more (human=), found {labelled}{where}: label a uniform round first"
        raise SpecError(f"by='active' {problem}")
    if by in {"active", "slice"}:
        first, *others = judge_systems(rows, rows.metrics[0])
        groups: list[Array | None] = [strata] * len(contrasts[0])
        if strata is None and others:
            groups = [group_pairs(first.filled, each.filled) for each in others]
        pooled = list(zip(contrasts[0], groups, strict=True))
        error = _together(erring(each, group) for each, group in pooled)
        by_others = _together(erring(each, group, by_others=True) for each, group in pooled)
    else:
        error = by_others = _disagree(contrasts) if by == "disagreement" else _doubt(rows)
        if not error.any():
            problem = "never differ" if by == "disagreement" else "are all at their bounds"
            raise SpecError(f"by={by!r}: the scores of {named} {problem}; try by='active'")
    if by == "uncertainty" and labelled < _LEAST:
        taken = f"by='uncertainty' takes the scores of {named} for probabilities of a good label"
        remedy = "label a uniform round first (by='uniform', --by uniform), and name it with human (--human)"
        raise SpecError(f"{taken}, which {_LEAST} labels or more have to show, found {labelled}: {remedy}")
    if labelled < (2 if by == "slice" else _LEAST):
        return _Expected(error, error**2, error, known=False)
    squares = np.mean(
        [_together(np.sqrt(squared_errors(each)) for each in metric) ** 2 for metric in contrasts], axis=0
    )
    return _Expected(error, squares, by_others, known=True, guessed=by in {"uncertainty", "disagreement"})


def _together(errors: Iterable[Array]) -> Array:
    """The root of the sum of squares: of several differences, all are to be known as well as can be."""
    error: Array = np.sqrt(sum(each**2 for each in errors))
    return error


def _disagree(contrasts: Sequence[Sequence[Judged]]) -> Array:
    """How far metrics differ on each value or difference that is to be estimated."""
    return _together(
        disagreeing(np.column_stack([each.scores for each in several])) for several in zip(*contrasts, strict=True)
    )


def _doubt(rows: Matched) -> Array:
    """The error to expect of a score or of differences from the first, if scores are probabilities of a good label."""
    metric = rows.metrics[0]
    first, *others = (uncertain(each.scores, metric.scale.bounds) for each in judge_systems(rows, metric))
    return _together([part for other in others for part in (first, other)] or [first])
