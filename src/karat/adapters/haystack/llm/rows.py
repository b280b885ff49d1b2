"""The rows of one run of an evaluator: what each is asked, and what came of it."""

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
from karat.models.governor.faults import AskError
from karat.models.governor.governor import Governor
from karat.models.request import Message, Model, Reply, Request, Schema


class EvaluationError(DataError):
    """A row that failed where failures are raised.

    `results` holds what the other rows had given by then, None for each that had nothing yet.
    """

    results: Sequence[dict[str, Any] | None] = ()


@dataclass(frozen=True)
class ChatReply(Reply):
    """A reply with all that a generator tells of it."""

    meta: dict[str, Any] | None = None


@dataclass(frozen=True)
class ChatModel:
    """A chat generator of Haystack's as a model: awaited where it can be, else run in a thread.

    It has no endpoint, so its replies are kept nowhere.
    """

    generator: Any
    threads: Executor

    @property
    def name(self) -> str:
        """What errors call it."""
        return type(self.generator).__name__

    async def __call__(self, messages: Sequence[Message], _: Schema | None, __: Mapping[str, Any]) -> Reply:
        """The generator's first reply, inside a span that shows tracers what it took."""
        asked = [ChatMessage.from_user(message["content"]) for message in messages]
        tags = {"haystack.component.name": "chat_generator", "haystack.component.type": self.name}
        with tracer.trace("haystack.chat_generator.run", tags=tags) as span:
            span.set_content_tag("haystack.component.input", {"messages": asked})
            given = await self._run(asked)
            span.set_content_tag("haystack.component.output", given)
        if not given["replies"]:
            raise AskError("the generator gave no reply")
        first = given["replies"][0]
        return ChatReply(first.text or "", meta=first.meta or None)

    async def _run(self, messages: list[ChatMessage]) -> Any:
        if hasattr(self.generator, "run_async"):
            return await self.generator.run_async(messages=messages)
        call = partial(copy_context().run, self.generator.run, messages=messages)
        return await asyncio.get_running_loop().run_in_executor(self.threads, call)


@dataclass
class Questions:
    """A question a row, asked through a governor; `results`, `meta` and `reasons` have a place for each.

    `write` makes the prompt of a row, `read` the result of a reply (`ReplyError` where it is none). With `strict` the
    first failure is raised.
    """

    model: Model
    governor: Governor
    rows: Sequence[dict[str, Any]]
    write: Callable[[dict[str, Any]], str]
    read: Callable[[str], dict[str, Any]]
    schema: Schema | None
    strict: bool
    results: list[dict[str, Any] | None] = field(init=False)
    meta: list[dict[str, Any] | None] = field(init=False)
    reasons: list[str | None] = field(init=False)

    def __post_init__(self) -> None:
        self.results, self.meta = [None] * len(self.rows), [None] * len(self.rows)
        self.reasons = ["not asked"] * len(self.rows)

    async def ask(self, place: int) -> None:
        """Ask about one row and write down what came of it."""
        try:
            prompt = [{"role": "user", "content": self.write(self.rows[place])}]
            reply = await self.governor.ask(self.model, Request(prompt, self.schema, {"seed": 42}))
            self.meta[place] = reply.meta if isinstance(reply, ChatReply) else _told(reply)
            self.results[place] = _read(self.read, reply)
        except (AskError, ReplyError) as error:
            self.reasons[place] = str(error)
            if self.strict:
                raise EvaluationError(f"row {place + 1}: {error}") from error
        else:
            self.reasons[place] = None

    def stop(self, error: Exception) -> None:
        """Write down why rows that were not asked were not."""
        self.reasons = [str(error) if reason == "not asked" else reason for reason in self.reasons]

    def error(self, why: Exception) -> EvaluationError:
        """What to raise, and how much of the work it ends."""
        done = sum(result is not None for result in self.results)
        error = EvaluationError(
            f"Error while generating response for {why} ({done} of {len(self.rows)} rows have results, "
            "which are this error's `results`; the calls under way are dropped)"
        )
        error.results = self.results
        return error

    @property
    def failed(self) -> int:
        """How many rows have no result."""
        return sum(reason is not None for reason in self.reasons)


def _read(read: Callable[[str], dict[str, Any]], reply: Reply) -> dict[str, Any]:
    try:
        return read(reply.text)
    except ReplyError as error:
        said = reply.text if len(reply.text) <= 200 else f"{reply.text[:199]}…"
        raise ReplyError(f"{reply.problem or error}; the reply: {said!r}") from None


def _told(reply: Reply) -> dict[str, Any]:
    """What karat's own client tells of a reply, as Haystack's generators have it."""
    usage = {"prompt_tokens": reply.input_tokens, "completion_tokens": reply.output_tokens}
    return {"model": reply.model, "usage": usage, "cost": reply.cost}
