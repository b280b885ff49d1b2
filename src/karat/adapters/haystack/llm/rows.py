"""The questions of one run of an evaluator to a chat generator, one for each row, and their results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import NonCallableMock

from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tracing.tracer import tracer

from karat.core.errors import DataError
from karat.judges.replies.parser import ReplyError
from karat.models.governor.faults import classify


class EvaluationError(DataError):
    """A row has no result, and `raise_on_failure` is set.

    `results` holds the results of the rows that were finished by then, None for the other rows.
    """

    results: Sequence[dict[str, Any] | None] = ()


def is_double(generator: Any) -> bool:
    """Whether a chat generator is a mock of the standard library's, Haystack's own mock, or one with a mocked `run`."""
    return isinstance(generator, NonCallableMock | MockChatGenerator) or isinstance(generator.run, NonCallableMock)


@dataclass
class Questions:
    """One question for each row; `results`, `metas` and `reasons` have an entry for each row.

    The generator's `run` is called in one of `threads`, or its `run_async` is awaited if `awaited`; retries and time
    limits are its own. `write` makes a row's prompt; `read` raises `ReplyError` for an invalid reply. `strict`: raise
    an error for the first row that fails.
    """

    generator: Any
    threads: Executor
    rows: Sequence[dict[str, Any]]
    write: Callable[[dict[str, Any]], str]
    read: Callable[[str], dict[str, Any]]
    strict: bool
    awaited: bool
    results: list[dict[str, Any] | None] = field(init=False)
    metas: list[dict[str, Any] | None] = field(init=False)
    reasons: list[str | None] = field(init=False)

    def __post_init__(self) -> None:
        self.results, self.metas = [None] * len(self.rows), [None] * len(self.rows)
        self.reasons = [None] * len(self.rows)

    async def ask(self, place: int) -> None:
        """Ask about one row and store its result, or the reason why there is none."""
        messages = [ChatMessage.from_user(self.write(self.rows[place]))]
        try:
            reply = await self._reply(messages)
        except Exception as error:  # noqa: BLE001  (whatever a generator raises fails its row)
            self._fail(place, f"failed during chat generation: {classify(error).message}", error)
            return
        text = reply.text or ""
        self.metas[place] = reply.meta or None
        try:
            self.results[place] = self.read(text)
        except ReplyError as error:
            shown = text if len(text) <= 200 else f"{text[:199]}…"
            self._fail(place, f"failed to parse the ChatGenerator response {shown!r}: {error}", error)

    async def _reply(self, messages: list[ChatMessage]) -> ChatMessage:
        """The first reply; the call is a span for Haystack's tracers, as in Haystack."""
        tags = {"haystack.component.name": "chat_generator", "haystack.component.type": type(self.generator).__name__}
        parent = tracer.current_span()
        with tracer.trace("haystack.chat_generator.run", tags=tags, parent_span=parent) as span:
            span.set_content_tag("haystack.component.input", {"messages": messages})
            output = await self._run(messages)
            span.set_content_tag("haystack.component.output", output)
        if not output["replies"]:
            raise ReplyError("it returned no reply")
        reply: ChatMessage = output["replies"][0]
        return reply

    async def _run(self, messages: list[ChatMessage]) -> Any:
        if self.awaited and hasattr(self.generator, "run_async"):
            try:
                return await self.generator.run_async(messages=messages)
            except NotImplementedError:
                pass  # it has only `run`
        call = partial(copy_context().run, self.generator.run, messages=messages)
        return await asyncio.get_running_loop().run_in_executor(self.threads, call)

    def _fail(self, place: int, reason: str, error: Exception) -> None:
        self.reasons[place] = reason
        if self.strict:
            done = sum(result is not None for result in self.results)
            failure = EvaluationError(
                f"Error while generating response for row {place + 1}: it {reason} ({done} of {len(self.rows)} rows "
                "have results, see the attribute `results` of this error; requests that were running are cancelled)"
            )
            failure.results = self.results
            raise failure from error
