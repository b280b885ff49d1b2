"""Phoenix's `LLM` whose requests go through karat's governor: within its limits, repeated, counted and cached."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, cached_property
from types import MethodType
from typing import Any, cast

from phoenix.evals import LLM, Evaluator

from karat.adapters.phoenix.direct import DirectClient, direct
from karat.core import telemetry as tracing
from karat.models.context import current_models
from karat.models.event_loop import run_coroutine
from karat.models.governor.governor import Governor
from karat.models.request import Reply, Request, Schema

_METHODS = ("generate_text", "generate_object", "async_generate_text", "async_generate_object")


def govern(evaluator: Evaluator) -> Evaluator | None:
    """A copy of an evaluator whose `llm` asks through the current governor; None if it has no LLM of Phoenix's.

    A subclass of `LLM` that generates texts or objects by methods of its own is asked as it is.
    """
    llm = getattr(evaluator, "llm", None)
    if not isinstance(llm, LLM) or any(getattr(type(llm), name) is not vars(LLM)[name] for name in _METHODS):
        return None
    governed: Any = copy(evaluator)
    model: Any = copy(llm)
    model.__class__, model.governor = _governed(cast("Any", type(llm))), current_models().governor
    model._rate_limiters = []  # noqa: SLF001  (Phoenix's own limits: the governor has its own)
    model._async_adapter = copy(llm._async_adapter)  # noqa: SLF001
    model._async_adapter.client = direct(llm._async_client)  # noqa: SLF001
    governed.llm = model
    if not tracing.records_spans():  # Phoenix prepares a span for every call, also where none is recorded
        traced = inspect.unwrap(type(evaluator)._async_traced_evaluate)  # noqa: SLF001
        governed._async_traced_evaluate = MethodType(traced, governed)  # noqa: SLF001
    return cast("Evaluator", governed)


@cache
def _governed(kind: type[LLM]) -> type[LLM]:
    return type(kind.__name__, (GovernedLLM, kind), {})


class GovernedLLM(LLM):
    """An LLM of Phoenix's, as the model of a governor.

    Replies are cached where the address of its endpoint is known.
    """

    governor: Governor

    @property
    def name(self) -> str:
        """The name of the model."""
        return str(self.model)

    @cached_property
    def endpoint(self) -> str | None:
        """The provider and the address of its endpoint; None if the client has no such attribute."""
        address = getattr(self._async_client, "base_url", None)
        return f"{self.provider} {address}" if address else None

    async def __call__(
        self, messages: Sequence[Mapping[str, Any]], schema: Schema | None, settings: Mapping[str, Any]
    ) -> Reply:
        """One request by Phoenix's own method; where spans are recorded, in Phoenix's span."""
        adapter: Any = super() if tracing.records_spans() else self._async_adapter
        prompt: Any = list(messages)
        if schema is None:
            reply = Reply(await adapter.async_generate_text(prompt, **settings))
        else:
            reply = Reply.from_value(await adapter.async_generate_object(prompt, dict(schema), **settings))
        client: Any = self._async_adapter.client
        if not isinstance(client, DirectClient):
            return reply
        read, written = client.take_tokens()
        return replace(reply, input_tokens=read, output_tokens=written)

    async def async_generate_text(self, prompt: Any, *_: Any, **settings: Any) -> str:
        """The text of the reply."""
        return (await self.governor.ask(self, Request(_messages(prompt), None, settings))).text

    async def async_generate_object(
        self, prompt: Any, schema: dict[str, Any], *_: Any, **settings: Any
    ) -> dict[str, Any]:
        """The object that the reply holds. A label that is none of the schema's is not kept in the cache."""
        request = Request(_messages(prompt), schema, settings)
        value: dict[str, Any] = json.loads((await self.governor.ask(self, request)).text)
        if (labels := _labels(schema)) and value.get("label") not in labels:
            self.governor.reject(self, [request])
        return value

    def generate_text(self, prompt: Any, *_: Any, **settings: Any) -> str:
        """The text of the reply, for synchronous code."""
        return run_coroutine(self.async_generate_text(prompt, **settings), drain=lambda: None)

    def generate_object(self, prompt: Any, schema: dict[str, Any], *_: Any, **settings: Any) -> dict[str, Any]:
        """The object that the reply holds, for synchronous code."""
        return run_coroutine(self.async_generate_object(prompt, schema, **settings), drain=lambda: None)


def _messages(prompt: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)


def _labels(schema: Mapping[str, Any]) -> list[Any]:
    """The labels among which a classifier's schema lets the model choose."""
    label = schema.get("properties", {}).get("label", {})
    return label.get("enum") or [each.get("const") for each in label.get("oneOf", ())]
