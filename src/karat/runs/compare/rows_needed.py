"""How many rows the next comparison needs, from a run that is there or from two."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from karat.core.errors import DataError
from karat.core.metric.metric import Metric
from karat.runs.compare.compare import compare
from karat.runs.compare.compatible import Shared
from karat.runs.compare.systems import System, open_system
from karat.runs.scoring.totals import cluster_keys
from karat.runs.store.run import Run
from karat.stats.aggregate import Scale, Units
from karat.stats.sample_size import SampleSize, sample_size_from_comparison, sample_size_from_scores


def plan_rows(
    run: System,
    difference: float,
    *,
    beside: System | None = None,
    metrics: str | Metric | Iterable[str | Metric] = (),
    correlation: float = 0.5,
    power: float = 0.8,
    level: float = 0.05,
) -> dict[str, SampleSize]:
    """For each metric, the rows with which a true `difference` is found, and the smallest one its rows would show.

    Two systems vary on a row as `run` and `beside` do; without `beside`, as two systems like `run` whose scores
    correlate by `correlation`. `power` is the chance to find the difference in one test at `level`.

    Raises `DataError` where the scores do not vary, `SpecError` for a metric that was not scored.

    >>> import karat
    >>> result = karat.score({"prediction": ["yes", "no"] * 50, "gold": ["yes"] * 100}, "em")
    >>> plan_rows(result, 0.02)["exact_match"].rows
    5061
    """
    if beside is not None:
        found = compare(run, beside, metrics=metrics, confidence=1 - level).findings
        return {
            each.metric: sample_size_from_comparison(each.comparison, difference, power=power, level=level)
            for each in found
        }
    opened = open_system(run, "the result")
    wanted = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    specs = [each.spec if isinstance(each, Metric) else each for each in wanted] or opened.specs
    plans = {}
    for spec in specs:
        metric = Shared((opened.manifest.metric(spec),))
        scored = metric.each[0]
        plans[scored.spec] = sample_size_from_scores(
            _units(opened, scored.spec),
            Scale(metric.finish, (scored.low, scored.high)),
            difference,
            correlation=correlation,
            power=power,
            level=level,
        )
    return plans


def _units(run: Run, spec: str) -> Units:
    """The scored rows of a run, in the clusters that it was scored with."""
    statistics = run.statistics(spec)
    here = ~np.isnan(statistics).any(axis=1)
    if not here.any():
        raise DataError(f"{run.name}: no row has a score of {spec}")
    cluster = run.manifest.settings.get("cluster")
    units = Units(statistics.shape[1], clustered=cluster is not None)
    keys = None if cluster is None else cluster_keys(run.column(cluster).combine_chunks(), 0)[here]
    units.add(statistics[here], keys)
    return units
