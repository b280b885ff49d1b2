"""The requests of one run of an evaluator, one for each row, and their results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from haystack.dataclasses import ChatMessage
from haystack.tracing.tracer import tracer

from karat.core.errors import DataError
from karat.judges.reply_parser import ReplyError
from karat.models.governor.faults import RequestError
from karat.models.governor.governor import Governor
from karat.models.request import Message, Model, Reply, Request, Schema


class EvaluationError(DataError):
    """A row failed and `raise_on_failure` is set.

    `results` holds the results of the rows that were finished by then, None for the other rows.
    """

    results: Sequence[dict[str, Any] | None] = ()


@dataclass(frozen=True)
class ChatReply(Reply):
    """A reply with the metadata of a chat generator."""

    meta: dict[str, Any] | None = None


@dataclass(frozen=True)
class ChatModel:
    """A chat generator of Haystack's as a model: awaited if it is asynchronous, else run in a thread.

    It has no endpoint, so its replies are not cached.
    """

    generator: Any
    threads: Executor

    @property
    def name(self) -> str:
        """The name in error messages."""
        return type(self.generator).__name__

    async def __call__(self, messages: Sequence[Message], _: Schema | None, __: Mapping[str, Any]) -> Reply:
        """The generator's first reply; the call is a span for Haystack's tracers."""
        chat = [ChatMessage.from_user(message["content"]) for message in messages]
        tags = {"haystack.component.name": "chat_generator", "haystack.component.type": self.name}
        with tracer.trace("haystack.chat_generator.run", tags=tags) as span:
            span.set_content_tag("haystack.component.input", {"messages": chat})
            output = await self._run(chat)
            span.set_content_tag("haystack.component.output", output)
        if not output["replies"]:
            raise RequestError("the generator returned no reply")
        first = output["replies"][0]
        return ChatReply(first.text or "", meta=first.meta or None)

    async def _run(self, messages: list[ChatMessage]) -> Any:
        if hasattr(self.generator, "run_async"):
            return await self.generator.run_async(messages=messages)
        call = partial(copy_context().run, self.generator.run, messages=messages)
        return await asyncio.get_running_loop().run_in_executor(self.threads, call)


@dataclass(frozen=True)
class PromptFormat:
    """How a row becomes a prompt and a reply a result.

    `read` raises `ReplyError` for an invalid reply. `schema`: the JSON Schema that is sent with the prompt.
    """

    write: Callable[[dict[str, Any]], str]
    read: Callable[[str], dict[str, Any]]
    schema: Schema | None


@dataclass
class Questions:
    """One request for each row, sent through a governor; `results`, `meta` and `reasons` have an entry for each row.

    `strict`: raise an error for the first row that fails.
    """

    model: Model
    governor: Governor
    rows: Sequence[dict[str, Any]]
    format: PromptFormat
    strict: bool
    results: list[dict[str, Any] | None] = field(init=False)
    meta: list[dict[str, Any] | None] = field(init=False)
    reasons: list[str | None] = field(init=False)

    def __post_init__(self) -> None:
        self.results, self.meta = [None] * len(self.rows), [None] * len(self.rows)
        self.reasons = ["not asked"] * len(self.rows)

    async def ask(self, place: int) -> None:
        """Ask about one row and store its result, or the reason why there is none."""
        try:
            prompt = [{"role": "user", "content": self.format.write(self.rows[place])}]
            reply = await self.governor.ask(self.model, Request(prompt, self.format.schema, {"seed": 42}))
            self.meta[place] = reply.meta if isinstance(reply, ChatReply) else _metadata(reply)
            self.results[place] = _read(self.format.read, reply)
        except (RequestError, ReplyError) as error:
            self.reasons[place] = str(error)
            if self.strict:
                raise EvaluationError(f"row {place + 1}: {error}") from error
        else:
            self.reasons[place] = None

    def stop(self, error: Exception) -> None:
        """Store the error as the reason of all rows that were not asked."""
        self.reasons = [str(error) if reason == "not asked" else reason for reason in self.reasons]

    def error(self, why: Exception) -> EvaluationError:
        """The error to raise, with the results so far."""
        done = sum(result is not None for result in self.results)
        error = EvaluationError(
            f"Error while generating response for {why} ({done} of {len(self.rows)} rows have results, see the "
            "attribute `results` of this error; requests that were running are cancelled)"
        )
        error.results = self.results
        return error

    @property
    def failed(self) -> int:
        """The number of rows without a result."""
        return sum(reason is not None for reason in self.reasons)


def _read(read: Callable[[str], dict[str, Any]], reply: Reply) -> dict[str, Any]:
    try:
        return read(reply.text)
    except ReplyError as error:
        text = reply.text if len(reply.text) <= 200 else f"{reply.text[:199]}…"
        raise ReplyError(f"{reply.problem or error}; the reply: {text!r}") from None


def _metadata(reply: Reply) -> dict[str, Any]:
    """The metadata of a reply of karat's own client, with the keys of Haystack's generators."""
    usage = {"prompt_tokens": reply.input_tokens, "completion_tokens": reply.output_tokens}
    return {"model": reply.model, "usage": usage, "cost": reply.cost}
