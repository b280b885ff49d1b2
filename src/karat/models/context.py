"""Through which governor models are asked, and what a name means: things of a run, not settings of a metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from karat.core.context import change_context, current_context
from karat.models.governor.governor import Governor
from karat.models.reply_cache import Store
from karat.models.request import Model


@dataclass(frozen=True)
class Asking:
    """The governor that all calls go through, what makes a model of its name, and the endpoint of embeddings."""

    governor: Governor
    connect: Callable[[str], Model]
    base_url: str | None = None


def current() -> Asking:
    """How models are asked here: as told by `asking`, else as the environment says."""
    return current_context().models or _default()


@contextmanager
def asking(
    governor: Governor, *, base_url: str | None = None, connect: Callable[[str], Model] | None = None
) -> Iterator[Asking]:
    """Within it, judges without a governor of their own ask through this one, and so do embeddings of an endpoint.

    A model's name means that of an OpenAI-compatible endpoint, `base_url`; a judge's, what `connect` makes of it.
    """
    with change_context(models=Asking(governor, connect or _connector(base_url), base_url)):
        yield current()


@cache
def _default() -> Asking:
    return Asking(Governor(store=Store()), _connector(None))


@cache
def _connector(base_url: str | None) -> Callable[[str], Model]:
    """One model for each name, so that what it learns of its endpoint is learnt once."""
    from karat.models.openai.model import OpenAIModel  # noqa: PLC0415  (only where a model is asked by name)

    return cache(lambda name: OpenAIModel(name, base_url=base_url))
