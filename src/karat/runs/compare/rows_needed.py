"""The number of rows that the next comparison needs, computed from one run or from two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar

import numpy as np

from karat.core.errors import DataError, SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import match_spec
from karat.runs.columns.groups import cluster_keys
from karat.runs.compare.compare import compare
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.match.systems import System, list_specs, open_system
from karat.runs.scoring.clusters import find_clusters
from karat.runs.store.run import Run
from karat.stats.aggregate import Scale
from karat.stats.paired.comparison import Comparison
from karat.stats.paired.margin_size import MarginSize, margin_size_from_comparison, margin_size_from_scores
from karat.stats.paired.sample_size import (
    NoSampleSize,
    SampleSize,
    sample_size_from_comparison,
    sample_size_from_scores,
)
from karat.stats.reliability.design import VarianceComponents, plan_answers
from karat.stats.sums.units import Units

Planned = TypeVar("Planned", SampleSize, MarginSize)
_VARIANCES = "intraclass_correlation"


def plan_rows(
    systems: System | tuple[System, System],
    difference: float,
    *,
    metrics: str | Metric | Iterable[str | Metric] = (),
    correlation: float = 0.5,
    power: float = 0.8,
    level: float = 0.05,
) -> dict[str, SampleSize | NoSampleSize]:
    """For each metric, how many rows show a true `difference`, and the smallest one that the rows at hand can show.

    From two systems the variance of their differences is known; from one it is assumed that another system has the same
    variance and correlates with it by `correlation`. `power` is the probability that one test at `level` shows the
    difference.

    Of a metric whose scores do not say so, as too few rows differ, the result is the reason. Raises `DataError` where
    that is so for all metrics, `SpecError` for a metric that was not scored.

    >>> import karat
    >>> result = karat.score({"prediction": ["yes", "no"] * 50, "gold": ["yes"] * 100}, "em")
    >>> plan_rows(result, 0.02)["em"].rows
    4961
    """
    return _plan(
        systems,
        metrics,
        partial(sample_size_from_comparison, difference=difference, power=power, level=level),
        partial(sample_size_from_scores, difference=difference, correlation=correlation, power=power, level=level),
        level,
    )


def plan_margin(
    systems: System | tuple[System, System],
    margin: float,
    *,
    metrics: str | Metric | Iterable[str | Metric] = (),
    correlation: float = 0.5,
    power: float = 0.8,
    level: float = 0.05,
) -> dict[str, MarginSize | NoSampleSize]:
    """For each metric, how many rows show no worse by a `margin`, and equivalence, if two systems do not differ.

    All else is as in `plan_rows`. Raises `SpecError` for a margin out of range, too.

    >>> import karat
    >>> result = karat.score({"prediction": ["yes", "no"] * 50, "gold": ["yes"] * 100}, "em")
    >>> plan_margin(result, 0.02)["em"].no_worse
    3912
    """
    return _plan(
        systems,
        metrics,
        partial(margin_size_from_comparison, margin=margin, power=power, level=level),
        partial(margin_size_from_scores, margin=margin, correlation=correlation, power=power, level=level),
        level,
    )


def _plan(
    systems: System | tuple[System, System],
    metrics: str | Metric | Iterable[str | Metric],
    from_comparison: Callable[[Comparison], Planned],
    from_scores: Callable[[Units, Scale], Planned],
    level: float,
) -> dict[str, Planned | NoSampleSize]:
    """The plan of each metric, from the comparison of two systems or from the scores of one."""
    wanted = list_specs(metrics)
    if isinstance(systems, tuple):
        findings = compare(*systems, metrics=wanted, confidence=1 - level).findings
        return _plan_each({each.metric: partial(from_comparison, each.comparison) for each in findings})
    run = open_system(systems, "the result", wanted)
    shared = [SharedMetric((run.manifest.metric(spec),)) for spec in wanted or run.specs]
    return _plan_each({each.spec: partial(_plan_alone, run, each, from_scores) for each in shared})


def _plan_alone(run: Run, metric: SharedMetric, from_scores: Callable[[Units, Scale], Planned]) -> Planned:
    return from_scores(_units(run, metric.spec), metric.scale)


def _plan_each(plans: Mapping[str, Callable[[], Planned]]) -> dict[str, Planned | NoSampleSize]:
    """Each plan, or the reason why there is none; raises the first error where there is none at all."""
    planned, errors = dict[str, Planned | NoSampleSize](), list[DataError]()
    for spec, plan in plans.items():
        try:
            planned[spec] = plan()
        except DataError as error:
            planned[spec] = NoSampleSize(str(error))
            errors.append(error)
    if errors and len(errors) == len(planned):
        raise errors[0]
    return planned


def plan_more_answers(
    system: System, *, metrics: str | Metric | Iterable[str | Metric] = ()
) -> dict[str, VarianceComponents]:
    """For each metric of answers, what halves its standard error: more questions, or more answers to each.

    The run was scored with `intraclass_correlation` of that metric, whose statistics hold the variances. Raises
    `SpecError` where it was not, `DataError` where the variances are not known.
    """
    run = open_system(system, "the result")
    wanted = [match_spec(spec, run.specs) for spec in list_specs(metrics)]
    specs = [spec for spec in wanted or run.specs if spec.partition("(")[0] == _VARIANCES]
    if not specs:
        raise SpecError(f"{run.name} has no variances of answers: score it with -m '{_VARIANCES}(METRIC)' too")
    return {spec: plan_answers(np.nansum(run.statistics(spec), axis=0)) for spec in specs}


def _units(run: Run, spec: str) -> Units:
    """The scored rows of a run, in the clusters that it was scored with."""
    statistics = run.statistics(spec)
    scored = ~np.isnan(statistics).any(axis=1)
    if not scored.any():
        raise DataError(f"{run.name}: no row has a score of {spec}")
    cluster = find_clusters([run])
    units = Units(statistics.shape[1], clustered=cluster is not None)
    numbers = np.arange(len(statistics), dtype=np.uint64)
    keys = numbers if cluster is None else cluster_keys(run.column(cluster).combine_chunks())
    units.add(statistics[scored], keys[scored])
    return units
