"""The metrics that are known of all rows of a system, and narrow the interval of labels that only some rows have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.core.metric.spec import parse
from karat.runs.labels.narrowing import MOST_FREE, JudgeBeside, LabelRule
from karat.runs.match.systems import Metrics, System, list_specs, open_system
from karat.runs.store.manifest import ScoredMetric
from karat.stats.sequential.two_phase import TwoPhase
from karat.stats.sequential.until import Until


def read_free_metrics(system: System, metrics: Metrics = ()) -> dict[str, Array]:
    """The scores of all rows by some metrics, by spec, each of shape (rows,); NaN where a row has none.

    By default the first three metrics of the run whose value is the mean of its rows' scores. A judge by its name alone
    is the one that has scored the rows, by whatever model; one that has not is left out: it may be there for its
    labels. Raises `SpecError` for any other metric that was not scored or whose value is not a mean, and what opening
    raises.

    >>> rows = {"id": [1, 2], "prediction": ["a", "b"], "gold": ["a", "c"]}
    >>> import karat
    >>> {name: scores.tolist() for name, scores in read_free_metrics(karat.score(rows, "em", keep=True)).items()}
    {'em': [1.0, 0.0]}
    """
    named = list_specs(metrics)
    run = open_system(system, metrics=[spec for spec in named if not _asks_model(spec)], scored=False)
    wanted = list[ScoredMetric]()
    for spec in named:
        alike = [each for each in run.specs if each.partition("(")[0] == spec] if _asks_model(spec) else [spec]
        wanted += [run.manifest.metric(each) for each in alike or ([spec] if spec in run.specs else [])]
    if counts := [each.spec for each in wanted if each.counts]:
        raise SpecError(f"{counts[0]} cannot narrow the interval of a mean: its value is no mean of its rows' scores")
    if not named:
        wanted = list(_means(run.manifest.metrics))[:MOST_FREE]
    return {each.spec: run.scores(each.spec) for each in wanted}


def read_rule(
    sources: Sequence[System], metrics: Metrics, until: Until, price: float = 0.0, judge: JudgeBeside | None = None
) -> LabelRule:
    """The rule for labels of the rows of one system, with its free metrics; `price`: of a label, in USD.

    A `judge` that is asked meanwhile (`karat.runs.sampling.judging`) is none of the free metrics.
    Raises `SpecError` for several systems, and what `read_free_metrics` raises.
    """
    if len(sources) != 1:
        raise SpecError(f"a rule for labels (--until-width) is about the rows of one system, found {len(sources)}")
    if judge is not None:
        name = judge.spec.partition("(")[0]
        metrics = [spec for spec in list_specs(metrics) if spec.partition("(")[0] != name]
    free = read_free_metrics(sources[0], metrics)
    if judge is not None:
        free.pop(judge.spec, None)
    return LabelRule(until, price, free, judge=judge)


def advise_judging(
    system: System, until: Until, price_label: float, price_call: float, correlation: float = 0.5
) -> str:
    """Whether a judge that a rule stopped had better be asked the other rows before people label, in words.

    It is assumed that labels vary as the judge's scores do, and correlate with them by `correlation`. Empty where no
    judge was stopped, where more verdicts cost more than the labels that they save, and for a rule without a width.
    """
    run = open_system(system, scored=False)
    for spec, stop in run.stops.items() if until.width is not None else ():
        scores = run.scores(spec)
        variance, left = float(np.nanvar(scores)), int(np.isnan(scores).sum())
        alone, beside = (
            TwoPhase(price_call, price_label, foretold=0.0, rest=rest).rows_for(until.width or 0.0, stop.rows)
            for rest in (variance, variance * (1 - correlation**2))
        )
        if (saved := (alone - beside) * price_label) > (price := left * price_call):
            judged = (
                f"{spec} {stop}; asked the other {left:,} too (${price:.2f}), it saves about {alone - beside:,} labels"
            )
            return (
                f"{judged} (${saved:.2f}), if it correlates with people by {correlation:g}: score them before labelling"
            )
    return ""


def _means(metrics: Iterable[ScoredMetric]) -> Iterable[ScoredMetric]:
    return (each for each in metrics if not each.counts)


def _asks_model(spec: str) -> bool:
    """Whether a spec is of a metric that asks a model; the metric of a stored spec need not be there any more."""
    try:
        return parse(spec).asks_model
    except SpecError:
        return False
