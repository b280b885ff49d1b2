"""An event for each row and metric of a run, by OpenTelemetry's own SDK and exporter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter, LogRecordExportResult
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from karat.core.columns.ids import SPAN_IDS, TRACE_IDS
from karat.core.errors import ColumnError, DataError
from karat.core.telemetry import RESULT, result_attributes, show
from karat.runs.compare.scored_rows import ScoredRow, read_scored_rows
from karat.runs.match.systems import System, open_system

RESPONSE_IDS = ("gen_ai.response.id", "attributes.gen_ai.response.id", "response_id")


def send_results(system: System, *, endpoint: str | None = None, provider: LoggerProvider | None = None) -> int:
    """Send each row's score by each metric as an event `gen_ai.evaluation.result`; the number that was sent.

    An event is within the span of its row, where the rows have `trace_id` and `span_id`, and names the row's
    `response_id`, where they have one. A row without a score has `error.type` `not_scored`, and its reason as
    explanation. The events go to `endpoint`, by default to the one of `OTEL_EXPORTER_OTLP_ENDPOINT`, else to
    http://localhost:4318/v1/logs, over HTTP; or to a logger `provider` of yours. `OPENINFERENCE_HIDE_OUTPUTS=true`
    leaves explanations out.

    Raises `DataError` for events that the collector did not take, `ColumnError` for an id that is not hexadecimal.
    """
    run = open_system(system)
    names = {key: _find(run.schema.names, known) for key, known in _IDS.items()}
    exporter = None
    if provider is None:
        exporter = _CountingExporter(OTLPLogExporter(endpoint=endpoint))
        provider = LoggerProvider()
        provider.add_log_record_processor(BatchLogRecordProcessor(exporter, max_queue_size=_QUEUE))
    logger, sent = provider.get_logger("karat"), 0
    for row in read_scored_rows(run, [name for name in names.values() if name is not None]):
        ids = {key: name and row.columns[name] for key, name in names.items()}
        context = _span(row.id, ids["trace"], ids["span"])
        for spec in run.specs:
            attributes = _attributes(row, spec) | ({"gen_ai.response.id": ids["response"]} if ids["response"] else {})
            logger.emit(LogRecord(event_name=RESULT, context=context, attributes=attributes))
            sent += 1
            if exporter is not None and sent % _QUEUE == 0:
                provider.force_flush()
    if exporter is not None:
        provider.shutdown()
        if exporter.taken < sent:
            raise DataError(f"{sent - exporter.taken} of {sent} events were not taken by {exporter.address}")
    return sent


_IDS = {"trace": TRACE_IDS, "span": SPAN_IDS, "response": RESPONSE_IDS}
_QUEUE = 2048


def _find(names: Sequence[str], known: Sequence[str]) -> str | None:
    return next((name for name in known if name in names), None)


def _span(row: str, trace: str | None, span: str | None) -> Any:
    """The context of a row's span; none where the row does not know it."""
    if not (trace and span):
        return None
    try:
        ids = int(trace, 16), int(span, 16)
    except ValueError:
        raise ColumnError(f"row {row}: expected hexadecimal ids of a trace and a span, found {trace}, {span}") from None
    return set_span_in_context(NonRecordingSpan(SpanContext(*ids, is_remote=True, trace_flags=TraceFlags(1))))


def _attributes(row: ScoredRow, spec: str) -> dict[str, Any]:
    score, details = row.scores[spec], row.details.get(spec, {})
    if score is None:
        return show(result_attributes(spec, explanation=row.reason)) | {"error.type": "not_scored"}
    return show(
        result_attributes(spec, score, details.get("label"), details.get("explanation", details.get("statements")))
    )


class _CountingExporter(LogRecordExporter):
    """An exporter that counts what was taken: a processor drops what an exporter returns."""

    def __init__(self, exporter: OTLPLogExporter) -> None:
        self._exporter: Any = exporter  # not all of it is annotated
        self.address: str = exporter._endpoint  # noqa: SLF001  (it has no public name)
        self.taken = 0

    def export(self, batch: Sequence[Any]) -> LogRecordExportResult:
        result: LogRecordExportResult = self._exporter.export(batch)
        self.taken += len(batch) * (result == LogRecordExportResult.SUCCESS)
        return result

    def force_flush(self, timeout_millis: int = 10_000) -> bool:
        return bool(self._exporter.force_flush(timeout_millis))

    def shutdown(self) -> None:
        self._exporter.shutdown()
