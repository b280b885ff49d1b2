"""Spans of OpenTelemetry for the values of a run: one for each metric, not one for each row."""

from __future__ import annotations

from typing import Any

from karat.core import telemetry as tracing
from karat.runs.scoring.result import Result


def trace_values(result: Result, started: int) -> None:
    """Record a span for each value, where the process has set up tracing; judges record theirs for each row.

    `started` is when scoring started, in nanoseconds of `time.time_ns`.
    """
    if not tracing.on():
        return
    for metric in result.metrics:
        if "trace_id" in metric.details:
            continue
        value = result.values[metric.spec]
        about: dict[str, Any] = {"rows": value.n, "unscored": value.failed, "interval": [value.low, value.high]}
        inputs = {"rows": value.n, "columns": {role: result.mapping.get(role) for role in metric.definition.columns}}
        with tracing.evaluation(
            metric.spec, inputs, how="score", cls="Metric", start=started, signature=metric.signature, **about
        ) as span:
            if span is not None:
                span.result(metric.spec, value.value)
