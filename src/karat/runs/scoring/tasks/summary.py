"""The result of a run, from the totals of its rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from karat.core import telemetry
from karat.data.join.match import Match, Unmatched
from karat.data.paths.known import find_tools
from karat.runs.columns.gold_patch import as_settings
from karat.runs.columns.lengths import read_lengths
from karat.runs.scoring.plan import Plan
from karat.runs.scoring.result import Result, Values
from karat.runs.scoring.sources import describe_gathered
from karat.runs.scoring.totals.totals import Totals


def summarise_run(plan: Plan, totals: Totals, warned: Mapping[str, str], started: int) -> Result:
    """The result of a run from its totals, with no rows; gives the warnings, and traces the values where that is on.

    `started` is in ns of `time.time_ns`.
    """
    for warning in warned.values():
        warnings.warn(warning, stacklevel=3)
    place, clusters = totals.find_clusters()
    grouped = {spec: sorted(each.groups.items()) for spec, each in totals.metrics.items()}
    groups = {spec: {label: total.value(place) for label, total in each} for spec, each in grouped.items()}
    joined = None
    if join := plan.joined:
        match = join.match()
        joined = {
            "missing": match.missing.rows,
            "missing_ids": match.missing.ids,
            "unknown": match.unknown.rows,
            "unknown_ids": match.unknown.ids,
            **totals.counted["documents"],
            **{str(side): dict(notes) for side, notes in join.side_notes.items()},
        }
    corrected, corrected_groups = (
        ({}, {}) if totals.corrected is None else totals.corrected.values(None if clusters is None else place)
    )
    result = Result(
        metrics=tuple(plan.metrics),
        values=Values(
            {
                spec: totals.asked[spec].apply_to(each.whole.value(place))
                if spec in totals.asked
                else each.whole.value(place)
                for spec, each in totals.metrics.items()
            }
        ),
        reasons={spec: dict(each.whole.reasons) for spec, each in totals.metrics.items()},
        counts={spec: each.counts() for spec, each in totals.metrics.items() if each.labels},
        groups=Values(groups if plan.selection.by else {}),
        n=totals.n,
        mapping=plan.mapping,
        tools=tuple(find_tools(plan.base)),
        gathered=describe_gathered(plan.base),
        joined=joined,
        corrected=Values(corrected),
        corrected_groups=Values(corrected_groups),
        human=None if totals.corrected is None else totals.corrected.human(),
        confidence=plan.inference.confidence,
        settings={
            "on": plan.selection.joins_gold,
            "by": plan.selection.by,
            "cluster": plan.selection.cluster,
            **asdict(plan.inference),
            **as_settings(plan.selection.gold_patch),
        },
        schema=plan.output.schema,
        lengths=read_lengths(totals.counted["lengths"]),
        clusters=clusters,
        stops={spec: each.stop for spec, each in totals.asked.items()},
    )
    if telemetry.on():
        _trace_values(result, started)
    return result


def merge_matches(plan: Plan, unmatched: Sequence[tuple[Unmatched, Unmatched]]) -> Plan:
    """The plan with the rows of gold and of predictions that had no partner in their bucket of ids."""
    if plan.joined is None or not unmatched:
        return plan
    missing, unknown = (sum(side, Unmatched()) for side in zip(*unmatched, strict=True))
    match = Match(np.empty(0, np.int32), missing, unknown)
    return replace(plan, joined=replace(plan.joined, match=lambda: match))


def _trace_values(result: Result, started: int) -> None:
    """Record a span for each value; judges record theirs for each row. `started` is in ns of `time.time_ns`."""
    for metric in result.metrics:
        if metric.definition.judge:
            continue
        value = result.values[metric.spec]
        about: dict[str, Any] = {"rows": value.n, "unscored": value.unscored, "interval": [value.low, value.high]}
        about |= {"how": "score", "cls": "Metric", "start": started, "signature": metric.signature}
        inputs = {"rows": value.n, "columns": {role: result.mapping.get(role) for role in metric.definition.columns}}
        with telemetry.evaluation(metric.spec, inputs, **about) as span:
            if span is not None:
                span.result(metric.spec, value.value)
