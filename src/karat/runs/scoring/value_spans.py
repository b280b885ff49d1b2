"""What the metrics of a run gave, as spans: one a metric, for one a row would be as many as there are rows."""

from __future__ import annotations

from typing import Any

from karat.core import telemetry as tracing
from karat.runs.scoring.result import Result


def tell_values(result: Result, began: int) -> None:
    """Tell each value, where the process has set up tracing; judges have told theirs, row by row.

    `began` is when scoring began, in nanoseconds of `time.time_ns`.
    """
    if not tracing.on():
        return
    for metric in result.metrics:
        if "trace_id" in metric.details:
            continue
        value = result.values[metric.spec]
        about: dict[str, Any] = {"rows": value.n, "unscored": value.failed, "interval": [value.low, value.high]}
        given = {"rows": value.n, "columns": {role: result.mapping.get(role) for role in metric.definition.columns}}
        with tracing.evaluation(
            metric.spec, given, how="score", cls="Metric", start=began, signature=metric.signature, **about
        ) as span:
            if span is not None:
                span.result(metric.spec, value.value)
