"""The OpenTelemetry span of one call to a model, if the evaluation that makes it has a span.

It has the attributes of OpenInference (`llm.*`) and of OpenTelemetry's conventions for generative AI (`gen_ai.*`).
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from urllib.parse import urlsplit

from karat.core import telemetry as tracing
from karat.models.governor.faults import Fault, RequestError
from karat.models.request import Model, Reply, Request

_NO_SPAN: AbstractContextManager[None] = nullcontext()
_SETTINGS = ("temperature", "seed", "max_tokens", "top_p", "frequency_penalty", "presence_penalty")


def trace_call(model: Model, request: Request) -> AbstractContextManager[tracing.Span | None]:
    """A span around one call, None if tracing is off. A call that is cancelled or not sent has no span."""
    return _NO_SPAN if tracing.current() is None else _start_span(model, request)


@contextmanager
def _start_span(model: Any, request: Request) -> Iterator[tracing.Span | None]:
    name = str(getattr(model, "name", None) or getattr(model, "__name__", None) or type(model).__name__)
    with tracing.call(f"chat {name}", "LLM") as span:
        if span is not None:
            span.put(_request_attributes(name, str(getattr(model, "endpoint", None) or ""), request))
        try:
            yield span
        except (RequestError, CancelledError):  # a cap is reached, or the run stops
            if span is not None:
                span.drop()
            raise


def record_outcome(span: tracing.Span | None, outcome: Reply | Fault) -> None:
    """Record the reply or the fault of a call in its span."""
    if span is None:
        return
    if isinstance(outcome, Reply):
        span.put(_reply_attributes(outcome))
        if outcome.problem:
            span.event("problem", {"problem": outcome.problem})
        return
    kind = type(outcome.error).__qualname__ if outcome.status is None else str(outcome.status)
    span.fail(outcome.message, kind)
    span.event("exception", {"exception.type": type(outcome.error).__qualname__, "exception.message": outcome.message})


def count_cached() -> None:
    """Count a reply from the cache in the span of the evaluation."""
    if (evaluation := tracing.current()) is not None:
        evaluation.cached += 1


def _request_attributes(name: str, endpoint: str, request: Request) -> dict[str, Any]:
    messages, settings = [dict(message) for message in request.messages], dict(request.settings)
    attributes: dict[str, Any] = {
        "llm.model_name": name,
        "llm.invocation_parameters": tracing.spell(settings),
        "input.value": tracing.spell({"messages": messages}),
        "input.mime_type": tracing.JSON,
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": name,
        "gen_ai.output.type": None if request.schema is None else "json",
    }
    if endpoint.startswith("http"):  # all endpoints use OpenAI's protocol
        place = urlsplit(endpoint)
        attributes |= {"llm.system": "openai", "gen_ai.provider.name": "openai"}
        attributes |= {"server.address": place.hostname, "server.port": place.port}
    for number, message in enumerate(messages):
        attributes[f"llm.input_messages.{number}.message.role"] = message["role"]
        attributes[f"llm.input_messages.{number}.message.content"] = message["content"]
    return attributes | {f"gen_ai.request.{key}": settings[key] for key in _SETTINGS if key in settings}


def _reply_attributes(reply: Reply) -> dict[str, Any]:
    tokens = (reply.input_tokens, reply.output_tokens)
    return {
        "output.value": reply.text,
        "output.mime_type": tracing.JSON if reply.text.lstrip().startswith("{") else "text/plain",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": reply.text,
        "llm.token_count.prompt": reply.input_tokens,
        "llm.token_count.completion": reply.output_tokens,
        "llm.token_count.total": None if None in tokens else sum(filter(None, tokens)),
        "llm.cost.total": reply.cost,
        "gen_ai.response.model": reply.model,
        "gen_ai.usage.input_tokens": reply.input_tokens,
        "gen_ai.usage.output_tokens": reply.output_tokens,
    }
