"""Which governor the running code sends its requests through, and how a model's name becomes a model.

These belong to a run and are not settings of a metric. `use_governor` sets them for a ``with`` block. Outside of one, a
default of the process caches replies in the user's cache folder, and takes endpoint and key from the environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from karat.core.context import change_context, current_context
from karat.models.governor.governor import Governor
from karat.models.openai.client import Endpoint, find_endpoint
from karat.models.openai.model import OpenAIModel
from karat.models.reply_cache import ReplyCache
from karat.models.request import Model


@dataclass(frozen=True)
class ModelContext:
    """The governor for all calls, the function from a model's name to the model, and the endpoint of embeddings."""

    governor: Governor
    connect: Callable[[str], Model]
    base_url: str | None = None

    def elsewhere(self) -> dict[str, Any]:
        """The arguments of `use_governor` with which names mean the same models in another process, without keys."""
        own = isinstance(self.connect, partial) and self.connect.func is _connect
        return {
            "base_url": self.base_url or os.environ.get("OPENAI_BASE_URL"),
            "connect": None if own else self.connect,
        }


def current_models() -> ModelContext:
    """The context set by `use_governor`, else the default of the process."""
    return current_context().models or _default()


@contextmanager
def use_governor(
    governor: Governor, *, base_url: str | None = None, connect: Callable[[str], Model] | None = None
) -> Iterator[ModelContext]:
    """Within the block, embeddings and judges without a governor of their own send their requests through this one.

    A model's name means the model of that name at the OpenAI-compatible endpoint `base_url`, or what `connect` returns
    for it.
    """
    models = ModelContext(governor, connect or _connect_to(base_url), base_url)
    with change_context(models=models):
        yield models


@cache
def _default() -> ModelContext:
    return ModelContext(Governor(store=ReplyCache()), _connect_to(None))


def _connect_to(base_url: str | None) -> Callable[[str], Model]:
    """A function from a name to its model, at the endpoint and with the key that the environment names at the call."""
    return partial(_connect, base_url)


def _connect(base_url: str | None, name: str) -> Model:
    return _open_model(name, find_endpoint(name, base_url))


@cache
def _open_model(name: str, endpoint: Endpoint) -> OpenAIModel:
    """The same model for the same name and endpoint, so that it probes its endpoint only once."""
    return OpenAIModel(name, base_url=endpoint.url, api_key=endpoint.key)
