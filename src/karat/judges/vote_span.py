"""A row's vote as a span, where the process has set up tracing."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

from karat.core import telemetry as tracing
from karat.judges.votes import Vote


async def traced(name: str, given: Any, voting: Awaitable[Vote], *, cls: str = "Judge") -> Vote:
    """The vote that is awaited, in a span that tells it; its calls to models are spans within."""
    with tracing.evaluation(name, given, kind="llm", cls=cls) as span:
        vote = await voting
        if span is None:
            return vote
        verdict = vote.verdict
        if verdict is None:
            span.fail(vote.error or "no verdict")
        elif verdict.reason is not None:
            span.metadata["reason"] = verdict.reason
        else:
            span.result(name, verdict.score, verdict.label, verdict.explanation or verdict.statements)
            for field, value in verdict.fields.items():
                span.result(f"{name}.{field}", value)
        return replace(vote, trace_id=span.trace_id)
