"""A governor that answers requests with replies that are kept, and sends none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from karat.models.governor.faults import RequestError
from karat.models.governor.governor import Governor
from karat.models.request import ChatMessage, Model, Reply, Request, Schema

NO_REPLY = "no kept reply"
"""The error of a request that has none."""


@dataclass(frozen=True)
class Answered:
    """A request to a model of an endpoint, and its reply."""

    endpoint: str
    model: str
    request: Request
    reply: Reply


@dataclass(frozen=True)
class KeptModel:
    """A model of which only the name is known: its replies are kept."""

    name: str

    async def __call__(self, _: Sequence[ChatMessage], __: Schema | None, ___: Mapping[str, Any]) -> Reply:
        raise RequestError(NO_REPLY)


class ReplayGovernor(Governor):
    """A governor that sends nothing: replies are what `find` returns for the key of a request, asked at an endpoint.

    `answered`: the requests that have a reply, by key. A request without one raises `RequestError`. Which replies can
    be read is not counted, and none is rejected: that was decided when they came.
    """

    def __init__(self, find: Callable[[str], Reply | None], endpoints: Iterable[str]) -> None:
        super().__init__()
        self.answered = dict[str, Answered]()
        self._find, self._endpoints_asked = find, tuple(endpoints)

    async def ask(self, model: Model, request: Request) -> Reply:
        """The reply that is kept."""
        name = str(getattr(model, "name", ""))
        for endpoint in self._endpoints_asked:
            key = request.key(endpoint, name)
            if (reply := self._find(key)) is not None:
                self.answered[key] = Answered(endpoint, name, request, reply)
                return reply
        raise RequestError(NO_REPLY)

    def count_reading(self, model: Model, request: Request, reply: Reply, problem: str | None = None) -> None:
        """Count nothing."""

    def reject(self, model: Model, requests: Iterable[Request], *, kept: bool = True) -> None:
        """Reject nothing."""
