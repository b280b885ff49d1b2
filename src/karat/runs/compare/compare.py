"""Compare systems on the same rows: each metric, and each slice, of every system against the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError, SpecError, did_you_mean
from karat.core.metric.metric import Metric
from karat.runs.compare.comparison import Compared, Finding, apply_holm
from karat.runs.compare.compatible import Shared, left_out, refuse_different, share_metrics, unsigned
from karat.runs.compare.flips import find_flips
from karat.runs.compare.row_alignment import ORDER, Alignment, align
from karat.runs.compare.systems import System, open_system
from karat.runs.scoring.totals import cluster_keys, group_rows
from karat.runs.store.run import Run
from karat.stats.aggregate import Scale
from karat.stats.inference import Inference
from karat.stats.paired.compare import compare as compare_rows

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def compare(
    a: System,
    b: System,
    *more: System,
    metrics: str | Metric | Iterable[str | Metric] = (),
    by: str | None = None,
    cluster: str | None = None,
    on: str | None = None,
    flipped: int = 0,
    allow_different: bool = False,
    confidence: float = 0.95,
    seed: int = 0,
) -> Compared:
    """Compare systems that were scored on the same rows, each against the first.

    A system is a run (its name, its folder or a `Run`), a file of scored rows, or a `Result`. Rows belong together by
    the column `on`, else by an id or the question; their order does not matter. `metrics`: those to compare, by
    default all that the systems share. `by`: a column whose values are compared too, one by one. `cluster`: a
    column whose equal values mark rows that are not independent; by default the one that the runs were scored with.
    `flipped`: so many rows on which a system does worst, and best, against the first. `confidence`: of the intervals;
    what is left of 1 is the level of the tests, over all of which Holm's correction is made.

    Raises `JoinError` where the systems are not about the same rows, `DataError` where they were not scored alike or
    against other gold, unless `allow_different`; `SpecError` for a metric that one of them has not.

    >>> import karat
    >>> rows = {"id": range(9), "question": ["?"] * 9, "gold": ["yes"] * 9}
    >>> first = karat.score({**rows, "prediction": ["no"] * 8 + ["yes"]}, "em")
    >>> second = karat.score({**rows, "prediction": ["yes"] * 8 + ["no"]}, "em")
    >>> compared = compare(first, second, flipped=1)
    >>> print(compared.findings[0].sentence)
    B is better than A by 77.8 points [13.0, 96.0], p = 0.039
    >>> compared.findings[0].verdict, compared.findings[0].comparison.test
    ('better', 'mcnemar')
    >>> [(flip.id, flip.predictions) for flip in compared.flipped]
    [('8', ('yes', 'no')), ('0', ('no', 'yes'))]
    """
    if len(more) > len(_LETTERS) - 2:
        raise SpecError(f"at most {len(_LETTERS)} systems are compared at a time, {len(more) + 2} were given")
    runs = list(_name([open_system(given, called) for given, called in zip((a, b, *more), _LETTERS, strict=False)]))
    wanted = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    shared = share_metrics(runs, [each.spec if isinstance(each, Metric) else each for each in wanted])
    rows = align(runs, on)
    if not allow_different:
        refuse_different(runs, shared, rows)
    cluster = cluster or _scored_with(runs)
    clusters = None if cluster is None else cluster_keys(_column(runs, rows, cluster), 0)
    slices = {} if by is None else group_rows(_column(runs, rows, by), set(), by)
    findings = [
        finding
        for metric in shared
        for finding in _compare_metric(runs, metric, rows, clusters, slices, confidence=confidence, seed=seed)
    ]
    return Compared(
        systems=tuple(run.name for run in runs),
        n=len(rows),
        by=rows.by,
        findings=(family := apply_holm(findings)),
        flipped=find_flips(runs, shared, rows, flipped),
        notes=tuple(_notes(runs, shared, rows, cluster, family)),
        confidence=confidence,
    )


def _name(runs: Sequence[Run]) -> Iterator[Run]:
    """The runs, those that are called as one before them with a number."""
    for at, run in enumerate(runs):
        same = sum(other.name == run.name for other in runs[:at])
        yield replace(run, manifest=replace(run.manifest, name=f"{run.name} ({same + 1})")) if same else run


def _compare_metric(
    runs: Sequence[Run],
    metric: Shared,
    rows: Alignment,
    clusters: Array | None,
    slices: dict[str, Array],
    *,
    confidence: float,
    seed: int,
) -> Iterator[Finding]:
    scored, finish = metric.each[0], metric.finish
    bounds = scored.low, scored.high
    first = runs[0].statistics(scored.spec)[rows.orders[0]]
    for run, one, order in zip(runs[1:], metric.each[1:], rows.orders[1:], strict=True):
        second = run.statistics(one.spec)[order]
        if np.isnan(first).all() and np.isnan(second).all():
            finish = None  # which cannot be told what width the counts of no row have
        if first.shape[1] != second.shape[1]:  # one of them has no scored row, and so but one column
            first, second = _widen(first, second), _widen(second, first)
        parts: list[tuple[str | None, Any]] = [(None, slice(None)), *sorted(slices.items())]
        for label, part in parts:
            found = compare_rows(
                first[part],
                second[part],
                Scale(finish, bounds, "minimize" if scored.direction == "minimize" else "maximize"),
                keys=None if clusters is None else clusters[part],
                inference=Inference(confidence, seed),
            )
            yield Finding(metric.spec, runs[0].name, run.name, label, found, bounds)


def _widen(narrow: Array, wide: Array) -> Array:
    return narrow if narrow.shape[1] >= wide.shape[1] else np.full((len(narrow), wide.shape[1]), np.nan)


def _column(runs: Sequence[Run], rows: Alignment, name: str) -> pa.Array:
    """A column of the first run that has it, in the order of the aligned rows."""
    for run, order in zip(runs, rows.orders, strict=True):
        if name in run.schema.names:
            if pa.types.is_nested(kind := run.schema.field(name).type):
                raise ColumnError(
                    f"{run.name}: column {name!r} holds {kind}; values such as text or numbers make groups"
                )
            return run.column(name).combine_chunks().take(pa.array(order))
    raise ColumnError(f"{runs[0].name}: there is no column {name!r}{did_you_mean(name, runs[0].schema.names)}")


def _scored_with(runs: Sequence[Run]) -> str | None:
    """The column of clusters that runs were scored with, where they agree on one."""
    found = {name for run in runs if (name := run.manifest.settings.get("cluster")) is not None}
    return found.pop() if len(found) == 1 else None


def _notes(
    runs: Sequence[Run], shared: Sequence[Shared], rows: Alignment, cluster: str | None, findings: Sequence[Finding]
) -> Iterator[str]:
    if rows.by == ORDER:
        yield "no id or question tells the rows apart: they are taken in their order, in which the gold is the same"
    if cluster is not None:
        yield f"rows that share {cluster} are taken together"
    if others := left_out(runs, shared):
        yield f"not compared: {', '.join(others)}"
    if names := unsigned(runs, shared):
        yield f"{', '.join(names)}: a file does not say how it was scored, so that could not be checked"
    drawn = [each.comparison for each in findings if each.comparison.draws]
    if drawn and findings[0].family > drawn[0].level * (drawn[0].draws + 1):
        yield (
            f"with {findings[0].family} tests counted, {drawn[0].draws} random swaps cannot show a difference: "
            "compare fewer metrics or slices at a time"
        )
