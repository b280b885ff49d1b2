"""The scores of a run's rows as events of OpenTelemetry, `gen_ai.evaluation.result`, sent to a collector.

`events` sends them. Evaluations that go on in a process with OpenTelemetry set up record such events by themselves
(`karat.core.telemetry`); here they come from a kept run, within the spans that the rows are from. Open `events`
first. Needs `karat[otel]`.
"""

from karat.core.errors import MissingExtra

try:
    from karat.adapters.opentelemetry.events import send_results
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "opentelemetry":
        raise
    raise MissingExtra("opentelemetry", extra="otel", need="karat.adapters.opentelemetry") from None

__all__ = ["send_results"]
