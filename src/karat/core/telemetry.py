"""Evaluations as OpenTelemetry spans and events, if the process has set it up; karat itself never imports it.

It is set up when `opentelemetry` is imported and the process has a tracer provider, which records spans, or a logger
provider, which records events. Attributes of spans have the names of OpenInference
(https://arize-ai.github.io/openinference/spec). Each result is a log event `gen_ai.evaluation.result`
(https://github.com/open-telemetry/semantic-conventions-genai, `docs/gen-ai/gen-ai-events.md`) within the span of its
evaluation. `OPENINFERENCE_HIDE_INPUTS=true` and `OPENINFERENCE_HIDE_OUTPUTS=true` leave texts out. An error in a span
or an event never affects the evaluation.

>>> on()
False
>>> with evaluation("short", {"output": "Paris"}) as span:
...     span is None  # OpenTelemetry is not set up
True
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from itertools import chain
from math import isfinite
from traceback import format_exception
from typing import Any, TypeVar

from karat.core.context import change_context, current_context

JSON = "application/json"
# Error messages may quote inputs and outputs.
_QUOTING = ("status.", "exception.message", "exception.stacktrace", "problem")
_HIDDEN = {
    "OPENINFERENCE_HIDE_INPUTS": ("input.", "llm.input_messages.", *_QUOTING),
    "OPENINFERENCE_HIDE_OUTPUTS": ("output.", "llm.output_messages.", "gen_ai.evaluation.explanation", *_QUOTING),
}
_OFF: AbstractContextManager[None] = nullcontext()
_known: tuple[Any, Any] = (None, None)  # the tracer provider, and its tracer
RESULT = "gen_ai.evaluation.result"


def on() -> bool:
    """Whether spans or events are recorded in this process."""
    return records_spans() or _logger() is not None


def records_spans() -> bool:
    """Whether spans are recorded in this process."""
    return "opentelemetry.trace" in sys.modules and _tracer() is not None


def _logger() -> Any | None:
    """The logger of events; None where the process has set up none."""
    with suppress(Exception):
        logs = sys.modules["opentelemetry._logs"]
        provider = logs.get_logger_provider()
        if not type(provider).__module__.startswith("opentelemetry._logs"):  # the providers that do nothing
            return provider.get_logger("karat")
    return None


def _tracer() -> Any | None:
    global _known  # noqa: PLW0603  (a process sets one provider)
    try:
        trace = sys.modules["opentelemetry.trace"]
        provider = trace.get_tracer_provider()
        known, tracer = _known
        if provider is known:
            return tracer
        if isinstance(provider, (trace.ProxyTracerProvider, trace.NoOpTracerProvider)):
            return None
        _known = provider, provider.get_tracer("karat")
        return _known[1]
    except Exception:  # noqa: BLE001  (whatever a provider raises: there are no spans then)
        return None


class Span:
    """A span that is recorded. Its methods never raise."""

    def __init__(self, span: Any) -> None:
        self._span = span
        self._failed = self._dropped = False

    def put(self, attributes: Mapping[str, Any]) -> None:
        """Set attributes, without those that are None or are to be hidden."""
        with suppress(Exception):
            self._span.set_attributes(show(attributes))

    def event(self, name: str, attributes: Mapping[str, Any]) -> None:
        """Add an event; attributes as in `put`."""
        with suppress(Exception):
            self._span.add_event(name, show(attributes))

    def fail(self, message: str, kind: str | None = None) -> None:
        """Mark the span as failed, with a message and the kind of error."""
        self._failed = True
        self.put({"error.type": kind})
        with suppress(Exception):
            shown = show({"status.description": message})
            self._span.set_status(sys.modules["opentelemetry.trace"].StatusCode.ERROR, *shown.values())

    def raised(self, error: BaseException) -> None:
        """Mark the span as failed by an exception, and add the exception as an event."""
        self.fail(f"{type(error).__name__}: {error}", type(error).__qualname__)
        about = {"exception.type": type(error).__qualname__, "exception.message": str(error)}
        self.event("exception", about | {"exception.stacktrace": "".join(format_exception(error))})

    def drop(self) -> None:
        """Never export this span."""
        self._dropped = True

    def end(self) -> None:
        """End the span, with status OK unless it failed."""
        with suppress(Exception):
            if not self._failed:
                self._span.set_status(sys.modules["opentelemetry.trace"].StatusCode.OK)
            if not self._dropped:
                self._span.end()


class Evaluation(Span):
    """The span of the evaluation `name`, and the events of its results.

    `trace_id` is its trace's, in 32 hexadecimal digits; None where only events are recorded.
    """

    def __init__(self, span: Any, name: str) -> None:
        super().__init__(span)
        self.name = name
        self.trace_id = f"{span.get_span_context().trace_id:032x}" if span.is_recording() else None
        self.metadata: dict[str, Any] = {}
        self.cached = 0  # the number of replies from the cache, which have no spans
        self._results: list[dict[str, Any]] = []

    def result(
        self, name: str | None, score: float | None = None, label: object = None, explanation: str | None = None
    ) -> None:
        """Record one result, as an event and in the span's output."""
        score = _finite(score)
        result = {"name": name, "score": score, "label": label, "explanation": explanation}
        self._results.append({key: value for key, value in result.items() if value is not None})
        if score is not None or label is not None:
            self._emit(result_attributes(name, score, label, explanation))

    def fail(self, message: str, kind: str | None = None) -> None:
        """Mark the span as failed, and record that there is no result."""
        super().fail(message, kind)
        self._emit({"gen_ai.evaluation.name": self.name, "error.type": kind or "_OTHER"})

    def _emit(self, attributes: Mapping[str, Any]) -> None:
        with suppress(Exception):
            if (logger := _logger()) is not None:
                context = sys.modules["opentelemetry.trace"].set_span_in_context(self._span)
                record = sys.modules["opentelemetry._logs"].LogRecord
                logger.emit(record(context=context, event_name=RESULT, attributes=show(attributes)))

    def end(self) -> None:
        """Set the attributes that are known only at the end, and end the span."""
        if self.cached:
            self.metadata["cached_replies"] = self.cached
        self.put({"metadata": spell(self.metadata)})
        if self._results:
            self.put({"output.value": spell(self._results), "output.mime_type": JSON})
        super().end()


AnySpan = TypeVar("AnySpan", bound=Span)


def evaluation(
    name: str,
    inputs: Any,
    *,
    kind: str | None = "code",
    how: str = "evaluate",
    cls: str | None = None,
    start: int | None = None,
    **metadata: Any,
) -> AbstractContextManager[Evaluation | None]:
    """A span `<name>.<how>` around an evaluation of `inputs`; None where neither spans nor events are recorded.

    `kind` is the evaluator's (code, llm, human), `cls` its class. `start` is in nanoseconds of `time.time_ns`;
    the default is now. An exception of the block becomes the span's status and is raised again.
    """
    if not on():
        return _OFF
    about = {"evaluator.kind": kind and kind.lower(), "evaluator.class": cls, **metadata}
    return _evaluating(name, how, inputs, about, start)


@contextmanager
def _evaluating(
    name: str, how: str, inputs: Any, about: dict[str, Any], start: int | None
) -> Iterator[Evaluation | None]:
    tracer = _tracer() or sys.modules["opentelemetry.trace"].NoOpTracer()
    evaluation = partial(Evaluation, name=name)
    with _recorded(tracer, f"{name}.{how}", "EVALUATOR", evaluation, start=start) as recorded:
        if recorded is not None:
            recorded.metadata = {key: value for key, value in about.items() if value is not None}
            recorded.put({"input.value": spell(inputs), "input.mime_type": JSON})
        with change_context(evaluation=recorded):
            yield recorded


def current() -> Evaluation | None:
    """The recorded evaluation that the running code is a part of; None where there is none."""
    evaluation: Evaluation | None = current_context().evaluation
    return evaluation


def call(name: str, kind: str) -> AbstractContextManager[Span | None]:
    """A span around a request to another process, inside the `current` evaluation; None where there is none."""
    if current() is None or (tracer := _tracer()) is None:
        return _OFF
    return _recorded(tracer, name, kind, Span, leaves=True)


@contextmanager
def _recorded(
    tracer: Any,
    name: str,
    kind: str,
    record: Callable[[Any], AnySpan],
    *,
    start: int | None = None,
    leaves: bool = False,
) -> Iterator[AnySpan | None]:
    attached: AbstractContextManager[Any] = _OFF
    recorded: AnySpan | None = None
    with suppress(Exception):
        trace = sys.modules["opentelemetry.trace"]
        if not sys.modules["opentelemetry.context"].get_value("suppress_instrumentation"):
            direction = trace.SpanKind.CLIENT if leaves else trace.SpanKind.INTERNAL
            attributes = {"openinference.span.kind": kind}
            span = tracer.start_span(name, kind=direction, attributes=attributes, start_time=start)
            attached = trace.use_span(span, record_exception=False, set_status_on_exception=False)
            recorded = record(span) if span.is_recording() or (not leaves and _logger() is not None) else None
    with attached:
        try:
            yield recorded
        except BaseException as error:
            if recorded is not None:
                recorded.raised(error)
            raise
        finally:
            if recorded is not None:
                recorded.end()


def spell(value: Any) -> str | None:
    """A value as JSON text, with `str` for types that JSON lacks; None where that fails."""
    with suppress(Exception):
        return json.dumps(value, ensure_ascii=False, default=_json_default)
    return None


def result_attributes(
    name: str | None, score: float | None = None, label: object = None, explanation: str | None = None
) -> dict[str, Any]:
    """The attributes of the event of one result, None where there is no such value."""
    return {
        "gen_ai.evaluation.name": name,
        "gen_ai.evaluation.score.value": score,
        "gen_ai.evaluation.score.label": None if label is None else str(label),
        "gen_ai.evaluation.explanation": explanation,
    }


def _finite(score: Any) -> float | None:
    with suppress(Exception):
        return float(score) if isfinite(score) else None
    return None


def _json_default(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def show(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes without those that are None or are to be hidden."""
    on = [prefixes for name, prefixes in _HIDDEN.items() if os.environ.get(name, "").lower() == "true"]
    hidden = tuple(chain(*on))
    return {key: value for key, value in attributes.items() if value is not None and not key.startswith(hidden)}
